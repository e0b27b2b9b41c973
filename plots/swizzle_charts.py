"""Charts of the block swizzle: TFLOPS over the stride with the L2's hit rate beside, and stages against strides."""

from __future__ import annotations

import re
from collections import Counter

from matplotlib.figure import Figure

from records import Record, Records
from records.metrics import L2_HITS

from . import findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

_STAGES = re.compile(r"(\w+)_stages(\d)")


def default_over_stride(records: Records, gpu: str, step: str) -> dict[int, dict[int, Record]]:
    """The default variant's timings by square size and stride; stride 0 is the step's own choice."""
    found: dict[int, dict[int, Record]] = {}
    for record in records.swizzled(gpu, step):
        if record.get("default") and record["m"] == record["n"] == record["k"]:
            found.setdefault(record["m"], {}).setdefault(record["options"]["swizzle_stride"], record)
    for size, rows in found.items():
        if plain := records.default_at(gpu, step, size):
            rows[0] = plain
    return {size: dict(sorted(rows.items())) for size, rows in sorted(found.items()) if len(rows) > 2}


def hit_rates(records: Records, gpu: str, step: str) -> dict[int, dict[int, float]]:
    """The L2's hit rate in per cent by square size and stride, of the variant that was profiled most."""
    rows = [r for r in records.profiles.get(gpu, []) if r["step"] == step and r["metric"] == L2_HITS]
    rows = [r for r in rows if r["m"] == r["n"] == r["k"]]
    most = Counter(r["variant"] for r in rows).most_common(1)
    found: dict[int, dict[int, float]] = {}
    for row in rows:
        if row["variant"] == most[0][0]:
            found.setdefault(row["m"], {})[row.get("swizzle_stride") or 0] = row["value"]
    return {size: dict(sorted(values.items())) for size, values in sorted(found.items())}


def over_stride(course: Course, records: Records, step: Step, language: str) -> Figure:
    """TFLOPS over the swizzle stride, a line per size; beside it the hit rate of the L2 cache."""
    gpu = next((g for g in records.gpus([step.name]) if default_over_stride(records, g, step.name)), None)
    if gpu is None:
        raise Missing(f"{step.name} was not timed at two swizzle strides or more")
    found = default_over_stride(records, gpu, step.name)
    timed = {s: {k: (*panels.spread(r), r["tflops"]) for k, r in rows.items() if k} for s, rows in found.items()}
    rates = {s: {k: (v,) for k, v in r.items() if k} for s, r in hit_rates(records, gpu, step.name).items()}
    shown = [("TFLOPS", timed)]
    shown += (
        [(say(language, "L2 hit rate, % (Nsight Compute)", "L2 命中率，%（Nsight Compute）"), rates)] if rates else []
    )
    texts = Texts(
        findings.strides(step, found, language),
        say(
            language,
            f"{records.gpu_name(gpu)}; medians; a whisker spans the middle 60% of a timing's rounds; no axis starts at 0",
            f"{records.gpu_name(gpu)}；中位数；竖线为同一次计时中间 60% 的各轮；纵轴不从 0 开始",
        ),
        foot=panels.conditions(records, gpu, language),
    )
    height = 2.0
    drawn, axes = layout.page(texts, [Panel(height, title=name) for name, _ in shown], layout.SPEEDS, 0.8)
    strides = sorted({k for rows in [*timed.values(), *rates.values()] for k in rows})
    others = iter((style.PLUM, style.AMBER, style.BROWN, style.RED))
    colours = {size: style.SIZES.get(size) or next(others) for size in sorted({*timed, *rates})}
    for ax, (_, values) in zip(axes, shown, strict=True):
        lines = panels.Lines(ax)
        every = [v for rows in values.values() for cell in rows.values() for v in cell]
        for index, (size, rows) in enumerate(values.items()):
            colour = colours[size]
            for stride, (*span, _) in rows.items():
                ax.plot(
                    [stride * 1.04 ** (index - 1)] * len(span), span, color=colour, lw=1.2, marker="_", ms=5, zorder=2.5
                )
            lines.add([(k, cell[-1]) for k, cell in rows.items()], f"{size}³", colour, 2.1)
        lines.top = max(every)
        panels.size_axis(ax, strides, say(language, "swizzle stride (rows of C)", "swizzle 步长（C 的行数）"))
        lines.finish(height, 1.12, max(0.0, min(every) - 0.3 * (max(every) - min(every))))
    return drawn


def stages_of(variant: str) -> tuple[str, int] | None:
    """What a variant is apart from its stages, and how many it has: `warp2x4_stages3` → (`warp2x4`, 3)."""
    match = _STAGES.fullmatch(variant)
    return (match[1], int(match[2])) if match else None


def stage_grid(records: Records, gpu: str, step: str) -> tuple[int, dict[str, dict[tuple[int, int], Record]]]:
    """The square size with most of them, and by family the timings at (stages, stride)."""
    by_size: dict[int, dict[str, dict[tuple[int, int], Record]]] = {}
    for record in records.swizzled(gpu, step):
        family = stages_of(record["variant"])
        if family and record["m"] == record["n"] == record["k"]:
            at = family[1], record["options"]["swizzle_stride"]
            by_size.setdefault(record["m"], {}).setdefault(family[0], {}).setdefault(at, record)
    full = {size: {f: g for f, g in families.items() if _crosses(g)} for size, families in by_size.items()}
    size = max(full, key=lambda s: (sum(map(len, full[s].values())), s), default=0)
    return size, full.get(size, {})


def _crosses(grid: dict[tuple[int, int], Record]) -> bool:
    """Whether at least two numbers of stages were timed at two strides or more each."""
    return sum(count > 1 for count in Counter(depth for depth, _ in grid).values()) > 1


def stages(course: Course, records: Records, step: Step, language: str) -> Figure:
    """TFLOPS by number of stages and swizzle stride, a panel per kind of tile."""
    gpu = next((g for g in records.gpus([step.name]) if stage_grid(records, g, step.name)[1]), None)
    if gpu is None:
        raise Missing(f"{step.name} was not timed at several stages and swizzle strides")
    size, families = stage_grid(records, gpu, step.name)
    strides = sorted({k for grid in families.values() for _, k in grid})
    depths = sorted({d for grid in families.values() for d, _ in grid})
    values = [r["tflops"] for grid in families.values() for r in grid.values()]
    low, reach = min(values), (max(values) - min(values)) or 1
    default = records.default_at(gpu, step.name, size)
    beside = ("", "")
    if default and not any(default["variant"].startswith(family) for family in families):
        speed = style.number(default["tflops"])
        beside = (
            f"; the default, {default['variant']}, is no such tile: {speed}",
            f"；默认变体 {default['variant']} 不在其中：{speed}",
        )
    texts = Texts(
        findings.stages(step, families, language),
        say(
            language,
            f"TFLOPS at {size}³, {records.gpu_name(gpu)}; bold: the best of a panel{beside[0]}",
            f"{size}³ 的 TFLOPS，{records.gpu_name(gpu)}；粗体：该图中最快{beside[1]}",
        ),
    )
    last = list(families)[-1]
    places = [Panel(0.25 * len(depths), 0.04, 0.46 if name == last else 0.24, name) for name in families]
    drawn, axes = layout.page(texts, places, 0.56, 0.15)
    for ax, (family, grid) in zip(axes, families.items(), strict=True):
        best = max(r["tflops"] for r in grid.values())
        cells = {(depths.index(d), strides.index(k)): (r["tflops"], style.number(r["tflops"]), "")
                 for (d, k), r in grid.items()}  # fmt: skip
        style.cells(
            ax,
            len(depths),
            len(strides),
            cells,
            lambda value: style.blend(style.BLUE, 0.6 * (value - low) / reach),  # pale enough for dark text
            lambda value, best=best: value == best,
        )
        ax.set_xticks([c + 0.5 for c in range(len(strides))], [str(s) for s in strides])
        ax.set_yticks([r + 0.5 for r in range(len(depths))], [str(d) for d in depths])
        ax.set_ylabel(say(language, "stages", "stage 数"))
        if family == last:
            ax.set_xlabel(say(language, "swizzle stride (rows of C)", "swizzle 步长（C 的行数）"))
    return drawn
