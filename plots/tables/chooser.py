"""docs/chooser: what step 29's launcher goes by, and how often it takes each kernel."""

from __future__ import annotations

from collections import Counter

from records import costs

from ..style import Missing
from .page import Page, Table, by_gpu

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
        taken = Counter(costs.chosen_name(found, size) for size in times)
        fastest = Counter(min(of_size, key=lambda name: of_size[name]) for of_size in times.values())
        head = ["kernel", page.say("tile", "分块"), "`per_slice`", "`per_tile`", "`shared`", "`per_launch`"]
        made = Table([*head, page.say("taken", "选中"), page.say("fastest", "最快")], used=used, texts=2)
        made.note = page.say(
            f"constants in µs; at how many of {len(times)} sizes it is taken, and was the fastest",
            f"常数的单位是 µs；{len(times)} 种尺寸里，选中它的有几种，实测它最快的有几种",
        )
        for way in costs.WAYS:
            shared = "" if way.blocks == 1 else page.say(f", {way.blocks} blocks", f"，{way.blocks} 个线程块")
            cells = [f"`{way.name}`", f"{way.bm}×{way.bn}{shared}", *(f"{cost:.3f}" for cost in found[way.name])]
            made.rows.append([*cells, str(taken[way.name]), str(fastest[way.name])])
        both = page.say("`pairs`, and another below", "`pairs`，下方另一种")
        made.rows.append([both, "–", *["–"] * 4, str(taken[costs.CUT]), str(fastest[costs.CUT])])
        return made

    return by_gpu(page, [step], of, f"the kernels of {STEP} were not timed in turn")
