"""docs/chooser: what step 29's launcher goes by, and how often it takes each kernel."""

from __future__ import annotations

from collections import Counter

from records import BEST_LIBRARY, costs

from ..style import Missing
from .page import Page, Table, by_gpu, in_tflops, ratios_of

STEP = "29_split_k"


def constants(page: Page) -> str:
    """The costs of each kernel, at how many sizes it is taken, and at how many it was the fastest that was timed."""
    step = page.course.step(STEP)
    if step is None:
        raise Missing(f"there is no {STEP}")

    def of(gpu: str) -> Table | None:
        used = [r for r in page.records.of_step(gpu, STEP) if r.get("baseline") == "none" and not r.get("beta")]
        times = costs.times_of(used)
        if not times:
            return None
        found = costs.fitted(times)
        taken = Counter(costs.chosen(found, size) for size in times)
        fastest = Counter(min(of_size, key=lambda name: of_size[name]) for of_size in times.values())
        head = ["kernel", page.say("tile", "分块"), "`per_slice`", "`per_tile`", "`shared`", "`per_launch`"]
        made = Table([*head, page.say("taken", "选中"), page.say("fastest", "最快")], used=used, texts=2)
        made.note = page.say(
            f"constants in µs; at how many of {len(times)} sizes it is taken, and was the fastest",
            f"常数的单位是 µs；{len(times)} 种尺寸里，选中它的有几种，实测它最快的有几种",
        )
        for way in costs.WAYS:
            shared = "" if way.blocks == 1 else page.say(f", {way.blocks} blocks", f"，{way.blocks} 个线程块")
            cells = [f"`{way.name}`", f"{way.bm}×{way.bn}{shared}", *(f"{cost:.3f}" for cost in found.of[way.name])]
            made.rows.append([*cells, str(taken[way.name]), str(fastest[way.name])])
        tiles = page.say("pairs, then another", "先成对，再换一个")
        counts = [str(taken[costs.CUT]), str(fastest[costs.CUT])]
        made.rows.append([f"`{costs.CUT}`", tiles, "", "", "", f"+ {found.cut:.3f}", *counts])
        return made

    return by_gpu(page, [step], of, f"the kernels of {STEP} were not timed in turn")


def squares(page: Page) -> str:
    """The launcher at the square sizes beside the fastest step of its ladder before it."""
    step = page.course.step(STEP)
    if step is None:
        raise Missing(f"there is no {STEP}")
    steps = page.course.ladder(step.ladder)
    before = steps[: steps.index(step)]

    def of(gpu: str) -> Table | None:
        records = page.records
        times = costs.times_of(r for r in records.of_step(gpu, STEP) if r.get("baseline") == "none")
        found = costs.fitted(times) if times else {}
        head = ["M = N = K", page.say("takes", "选中"), page.say("fastest step before", "此前最快的一步"), "TFLOPS"]
        head += [f"**{step.short}**", "÷", page.of(BEST_LIBRARY)]
        made = Table(
            head, texts=0, note=page.say("TFLOPS; ÷: by the fastest step before", "TFLOPS；÷：与此前最快的一步之比")
        )
        for size in records.square_sizes(gpu, [STEP]):
            now = records.default_at(gpu, STEP, size)
            olds = [(r, s) for s in before if (r := records.default_at(gpu, s.name, size))]
            if now is None or not olds:
                continue
            old, best = max(olds, key=lambda one: one[0]["tflops"])
            taken = f"`{costs.chosen(found, (size, size, size))}`" if found else "–"
            cells = [str(size), taken, best.short, in_tflops(old), f"**{in_tflops(now)}**"]
            cells.append(f"{now['tflops'] / old['tflops']:.2f}")
            made.rows.append([*cells, *ratios_of(page, gpu, now, [BEST_LIBRARY])])
            made.used.append(now)
        return made if made.rows else None

    return by_gpu(page, [step], of, f"no timing of {STEP} at a square size")
