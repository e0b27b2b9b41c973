"""Tables of one step: its speeds, its variants, its sweeps."""

from __future__ import annotations

import statistics

from records import BASELINES, CUBLAS, CUTLASS, Record

from .. import passes, step_charts, sweep_charts, swizzle_charts, traffic
from ..course import Step
from .page import (
    MIDDLE,
    Page,
    Table,
    as_figure,
    by_gpu,
    by_rounds,
    in_percent,
    in_tflops,
    ratios_of,
    shares_of,
    variant_name,
)


def speeds(page: Page, step: Step) -> str:
    """A step's default at every square size, beside the step before and the libraries."""
    before, records = page.course.before(step), page.records

    def of(gpu: str) -> Table | None:
        baselines = records.beside(gpu, [step.name])
        head = ["M = N = K", *([before.short] if before else []), f"**{step.short}**"]
        head += [cell for b in baselines for cell in (BASELINES[b](page.language), page.of(b))]
        head += [page.say("of peak", "相对峰值"), *([page.say("gain", "提升")] if before else [])]
        made = Table(head, texts=0)
        peak, shares = page.course.peak(gpu, step), []
        for size in records.square_sizes(gpu, [step.name]):
            now = records.default_at(gpu, step.name, size)
            if now is None:
                continue
            old = records.default_at(gpu, before.name, size) if before else None
            cells = [str(size), *([in_tflops(old)] if before else []), f"**{in_tflops(now)}**"]
            shares.append(shares_of(page, gpu, now, baselines))
            for base, ratio in shares[-1].items():
                speed = records.baseline_at(gpu, [step.name], size, baseline=base)
                cells += [as_figure(speed), in_percent(ratio)]
            cells.append(in_percent(now["tflops"] / peak if peak else None))
            gain = f"×{now['tflops'] / old['tflops']:.2f}" if old else "–"
            made.rows.append([*cells, *([gain] if before else [])])
            made.used.append(now)
        note = page.say("TFLOPS, the default variants", "单位 TFLOPS，均为默认变体")
        made.note = page.say("; ", "；").join(filter(None, [note, by_rounds(page, shares)]))
        return made if made.rows else None

    return by_gpu(page, [step], of, f"no timing of {step.name} at a square size")


def measured(page: Page, step: Step) -> str:
    """A step's default at every square size in at most five columns: beside the step before where that multiplies the
    same elements, and as shares."""
    before, records = page.course.before(step), page.records
    if before and before.element != step.element:
        before = None

    def of(gpu: str) -> Table | None:
        yardstick = page.course.yardstick(step.ladder)
        beside = {r.get("baseline") for r in records.of_step(gpu, step.name)}
        baseline = yardstick if yardstick in beside else CUBLAS
        head = ["M = N = K", *([before.short] if before else []), f"**{step.short}**"]
        head += [page.say("gain", "提升")] if before else []
        made = Table([*head, page.of(baseline)], texts=0, note="TFLOPS")
        for size in records.square_sizes(gpu, [step.name]):
            now = records.default_at(gpu, step.name, size)
            old = records.default_at(gpu, before.name, size) if before else None
            if now is None:
                continue
            cells = [str(size), *([in_tflops(old)] if before else []), f"**{in_tflops(now)}**"]
            cells += [f"×{now['tflops'] / old['tflops']:.2f}" if old else "–"] if before else []
            made.rows.append([*cells, *ratios_of(page, gpu, now, [baseline])])
            made.used.append(now)
        return made if made.rows else None

    return by_gpu(page, [step], of, f"no timing of {step.name} at a square size")


def beside_cutlass(page: Page) -> str:
    """Every timing beside CUTLASS, and the same variant's share of what its ladder is measured against."""

    def of(gpu: str) -> Table | None:
        head = [page.say("step", "步骤"), page.say("types", "类型"), "M = N = K", "TFLOPS", "CUTLASS"]
        head += [page.of(CUTLASS), MIDDLE(page.language), page.say("of the library", "相对库")]
        made = Table([*head, page.say("its kernel", "它的 kernel")], texts=2, remark=True)
        for step in page.course.steps:
            rows = [r for r in page.records.of_step(gpu, step.name) if not r.get("options")]
            beside = page.course.yardstick(step.ladder)
            library = {_measured(r): r.get("ratio") for r in rows if r.get("baseline") == beside}
            of_step = [r for r in page.records.beside_cutlass.get(gpu, []) if r["step"] == step.name]
            for r in sorted(of_step, key=_measured):
                cells = [
                    f"{page.link(step)} `{r['variant']}`",
                    step_charts.kind_in_words(r, page.language),
                    str(r["m"]),
                ]
                cells += [in_tflops(r), as_figure(r["baseline_tflops"]), in_percent(r["ratio"]), _span_of_ratio(r)]
                made.rows.append([*cells, in_percent(library.get(_measured(r))), r["baseline_kernel"]])
                made.used.append(r)
        made.note = page.course.the_library(page.language)
        made.note += page.say(", as in the tables of the steps", "，与各步骤的表相同")
        return made if made.rows else None

    return by_gpu(page, page.course.steps, of, "no timing beside CUTLASS")


def _span_of_ratio(record: Record) -> str:
    """The 20th and 80th percentile of the ratio over the rounds, in percent: `101.4–102.4%`."""
    low, high = (record.get(key) for key in ("ratio_p20", "ratio_p80"))
    return f"{100 * low:.1f}–{high:.1%}" if low and high else "–"


def _measured(record: Record) -> tuple[str, int, int, int]:
    return record["variant"], record["m"], record["n"], record["k"]


def variants(page: Page, step: Step) -> str:
    """Every variant of a step, the fastest first, with the published kernels that it covers."""
    covers = page.records.covers(step.name)

    def of(gpu: str) -> Table | None:
        found = step_charts.variant_rows(page.records, gpu, step)
        baselines = page.records.beside(gpu, [step.name])
        kinds = len({step_charts.kind(r) for r in found}) > 1
        head = [page.say("variant", "变体"), page.say("published kernel it covers", "对应的公开 kernel")]
        head += [page.say("types", "类型")] if kinds else []
        head += [page.say("TFLOPS at 4096³", "4096³ TFLOPS"), *map(page.of, baselines)]
        made = Table([*head, page.say("relative to the default", "相对默认变体")], used=found, texts=2 + kinds)
        made.note = by_rounds(page, [r["versus"] for r in found])
        default = next((r["tflops"] for r in found if r.get("default")), None)
        for r in found:
            cells = [variant_name(r), ", ".join(covers.get(r["variant"], []))]
            cells += [step_charts.kind_in_words(r, page.language)] if kinds else []
            cells += [in_tflops(r), *(in_percent(r["versus"].get(b)) for b in baselines)]
            made.rows.append([*cells, f"{r['tflops'] / default:.3f}" if default else "–"])
        return made if found else None

    return by_gpu(page, [step], of, f"no timing of {step.name} at 4096")


def sgemm27(page: Page, step: Step) -> str:
    """A step over the 27 sizes of the SGEMM sweep."""

    def of(gpu: str) -> Table | None:
        found = sweep_charts.sweep_rows(page.records, gpu, step.name, sweep_charts.SGEMM27)
        made = Table(
            ["M", "N", "K", step.short, "cuBLAS", page.say("ratio", "比值")], used=list(found.values()), texts=0
        )
        for size, r in found.items():
            made.rows.append([*map(str, size), in_tflops(r), as_figure(r["baseline_tflops"]), f"{r['ratio']:.3f}"])
        if found:
            mean = f"**{sweep_charts.geometric_mean(found.values()):.3f}**"
            made.rows.append([page.say("geometric mean", "几何平均"), "", "", "", "", mean])
        return made if found else None

    return by_gpu(page, [step], of, f"no sweep of {step.name} over the 27 sizes")


def sweep(page: Page, step: Step, sweep: sweep_charts.Sweep) -> str:
    """The geometric means of a sweep, by K and in all, with the best and the worst size: the heat map has each size."""

    def of(gpu: str) -> Table | None:
        by_baseline = {b: sweep_charts.sweep_rows(page.records, gpu, step.name, sweep, b) for b in BASELINES}
        found = {b: rows for b, rows in by_baseline.items() if rows}
        made = Table(["K", page.say("sizes", "尺寸数"), "TFLOPS"], texts=0)
        made.note = page.say("geometric means of the ratio", "比值取几何平均")
        for base in found:
            mean = page.say(f"÷ {BASELINES[base]('en')}, mean", f"÷ {BASELINES[base]('zh-CN')}，平均")
            made.head += [mean, page.say("worst", "最差"), page.say("best", "最好")]
        for k in (*sweep.k, None):
            chosen = [[r for size, r in rows.items() if k in (None, size[2])] for rows in found.values()]
            if not chosen or not all(chosen):
                continue
            speeds = [r["tflops"] for r in chosen[0]]
            cells = [str(k) if k else page.say("all", "全部"), str(len(speeds))]
            cells.append(f"{as_figure(min(speeds))}–{as_figure(max(speeds))}")
            for rows in chosen:
                ratios, mean = [r["ratio"] for r in rows], f"{sweep_charts.geometric_mean(rows):.3f}"
                cells += [mean if k else f"**{mean}**", f"{min(ratios):.3f}", f"{max(ratios):.3f}"]
            made.rows.append(cells)
            made.used += [] if k else [r for rows in chosen for r in rows]
        return made if found else None

    return by_gpu(page, [step], of, f"no sweep of {step.name} over the {len(sweep.sizes)} sizes")


def swizzle(page: Page, step: Step) -> str:
    """A step's speed and its hits in L2 over the block-swizzle stride."""

    def of(gpu: str) -> Table | None:
        rates = swizzle_charts.hit_rates(page.records, gpu, step.name)
        head = ["M = N = K", page.say("stride", "步长"), "TFLOPS", page.of("cublas")]
        made = Table([*head, page.say("L2 hit rate", "L2 命中率")], texts=0)
        for size, timed in swizzle_charts.default_over_stride(page.records, gpu, step.name).items():
            best = max(r["tflops"] for r in timed.values())
            for stride, r in timed.items():
                rate = rates.get(size, {}).get(stride)
                cells = [str(size), str(stride) if stride else page.say("the step's own", "这一步自选")]
                cells += [f"**{in_tflops(r)}**" if r["tflops"] == best else in_tflops(r), in_percent(r.get("ratio"))]
                made.rows.append([*cells, f"{rate:.1f}%" if rate is not None else "–"])
                made.used.append(r)
        return made if made.rows else None

    return by_gpu(page, [step], of, f"{step.name} was not timed at two swizzle strides or more")


def l2_traffic(page: Page, step: Step) -> str:
    """What a step and the one before it received by TMA, and what crossed from L2 for that."""
    steps = {s.name: s for s in (page.course.before(step), step) if s}

    def of(gpu: str) -> Table | None:
        head = ["M = N = K", page.say("step", "步骤"), *(page.say(*names) for *names, _ in traffic.COLUMNS)]
        made = Table(head, texts=2)
        made.note = page.say(
            "default variants where none is named, each launch counted once by Nsight Compute",
            "未注明的均为默认变体，每项由 Nsight Compute 计数一次",
        )
        for (size, name, variant), counts in traffic.counted(page.records, gpu, steps).items():
            default = page.records.default_at(gpu, name, size) or page.records.default_at(gpu, name, 4096)
            is_default = default is None or variant == default["variant"]
            short = steps[name].short if is_default else f"{steps[name].short}, `{variant}`"
            short = f"**{short}**" if name == step.name and is_default else short
            made.rows.append([str(size), short, *(cell(counts) for *_, cell in traffic.COLUMNS)])
        return made if any(row[1].startswith((step.short, f"**{step.short}")) for row in made.rows) else None

    return by_gpu(page, [step], of, f"no traffic of {step.name} was counted: python -m lab.l2_traffic")


def beside_the_step_before(page: Page, step: Step) -> str:
    """The default's time beside that of the step before, in passes of both one after the other."""

    def of(gpu: str) -> Table | None:
        other, found = passes.beside(page.course, page.records, gpu, step)
        if not found:
            return None
        both = (other, f"{step.number:02d}")
        headings = [f"{name}, {unit}" for unit in ("ms", "MHz", "W") for name in both]
        spread = [page.say("more", "多出"), page.say("least – most", "最少 – 最多")]
        made = Table(["M = N = K", *headings[:2], *spread, *headings[2:]])
        made.note = page.say(
            "medians of passes, each of which times both one after the other",
            "取各遍的中位数；每一遍里两者交替计时",
        )
        for size, timed in found.items():
            more = timed.more
            times, clocks, watts = (timed.medians(key) for key in ("ms", "sm_mhz", "power_w"))
            made.rows.append(
                [
                    str(size),
                    *(f"{ms:.3f}" for ms in times),
                    f"{statistics.median(more):z.1%}",
                    f"{more[0]:z.1%} – {more[-1]:z.1%}",
                    *(f"{value:.0f}" for value in (*clocks, *watts)),
                ]
            )
        made.used += [r for timed in found.values() for r in timed.now.values()]
        return made

    return by_gpu(page, [step], of, f"no passes of {step.name} and the step before it")
