"""Charts of the block swizzle: TFLOPS over the stride with the L2's hit rate beside, and stages against strides."""

from __future__ import annotations

import re
from collections import Counter

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import panels, style
from .course import Course, Step
from .records import Record, Records
from .style import Missing, say

HIT_RATE = "lts__t_sector_hit_rate.pct"
_STAGES = re.compile(r"(?:^|_)(?:stages?_?|s)(\d)(?=_|$)|(?:^|_)(\d)_?stages?(?=_|$)")


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
    rows = [r for r in records.profiles.get(gpu, []) if r["step"] == step and r["metric"] == HIT_RATE]
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
    timed = {s: {k: r["tflops"] for k, r in rows.items() if k} for s, rows in found.items()}
    rates = hit_rates(records, gpu, step.name)
    columns = 2 if rates else 1
    height, panel, left, right = 4.3, 3.7 if rates else 5.4, 0.68, 1.05
    width = columns * (left + panel + right)
    drawn, axes = style.figure(width, height, columns=columns)
    drawn.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        top=1 - 1.0 / height,
        bottom=0.85 / height,
        wspace=(left + right) / panel,
    )
    strides = sorted({k for rows in [*timed.values(), *rates.values()] for k in rows if k})
    palette = (style.GREY, style.BLUE, style.GREEN, style.VIOLET, style.AMBER)
    colours = {size: palette[i % len(palette)] for i, size in enumerate(sorted({*timed, *rates}))}
    rate_title = say(language, "L2 hit rate, % (Nsight Compute)", "L2 命中率，%（Nsight Compute）")
    for ax, values, title in ((axes[0], timed, "TFLOPS"), (axes[-1], rates, rate_title)):
        if not values or (ax is axes[0]) != (values is timed):
            continue
        lines = panels.Lines(ax)
        bounds = [v for rows in values.values() for v in rows.values()]
        for size, rows in values.items():
            colour = colours[size]
            ink = style.MUTED if colour == style.GREY else colour
            lines.add([(k, v) for k, v in rows.items() if k], f"{size}³", colour, ink, width=2.1)
        panels.size_axis(ax, strides, say(language, "swizzle stride (rows of C)", "swizzle 步长（C 的行数）"))
        ax.tick_params(axis="x", labelsize=9)
        lines.finish(2.45, 1.12, max(0.0, min(bounds) - 0.6 * (max(bounds) - min(bounds))))
        ax.set_title(title, fontsize=10)
    where, spread = records.gpu_name(gpu), _spread([r for rows in found.values() for k, r in rows.items() if k])
    style.heading(
        drawn,
        say(language, f"{step.short}: block swizzle · {where}", f"{step.short}：block swizzle · {where}"),
        (
            say(
                language,
                f"medians; the middle 60% of a timing's rounds span up to {spread:.0%} of it; ",
                f"中位数；同一次计时中间 60% 的各轮相差最多 {spread:.0%}；",
            )
            if spread
            else ""
        )
        + say(language, "no axis starts at 0", "纵轴不从 0 开始"),
    )
    style.footnote(drawn, panels.conditions(records, gpu, language))
    return drawn


def _spread(rows: list[Record]) -> float:
    """From the 20th to the 80th percentile of a timing's rounds, as a share of its median: the largest of them."""
    known = [r for r in rows if r.get("ms_p20") and r.get("ms_p80")]
    return max(((r["ms_p80"] - r["ms_p20"]) / r["ms"] for r in known), default=0.0)


def stages_of(variant: str) -> tuple[str, int] | None:
    """What a variant is apart from its stages, and how many it has: `warp2x4_stages3` → (`warp2x4`, 3)."""
    match = _STAGES.search(variant)
    if match is None:
        return None
    return (variant[: match.start()] + variant[match.end() :]).strip("_"), int(match[1] or match[2])


def stage_grid(records: Records, gpu: str, step: str) -> tuple[int, dict[str, dict[tuple[int, int], Record]]]:
    """The square size with most of them, and by family the timings at (stages, stride)."""
    by_size: dict[int, dict[str, dict[tuple[int, int], Record]]] = {}
    for record in [*records.swizzled(gpu, step), *(r for r in records.of_step(gpu, step) if not r.get("options"))]:
        family = stages_of(record["variant"])
        if family and record["m"] == record["n"] == record["k"]:
            stride = (record.get("options") or {}).get("swizzle_stride", 0)
            by_size.setdefault(record["m"], {}).setdefault(family[0], {}).setdefault((family[1], stride), record)
    full: dict[int, dict[str, dict[tuple[int, int], Record]]] = {}
    for size, families in by_size.items():
        full[size] = {f: g for f, g in families.items() if _crosses(g)}
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
    low, high = min(values), max(values)
    columns = min(2, len(families))
    rows = -(-len(families) // columns)
    cell, tall = 0.72, 0.36
    panel, gap, left = cell * len(strides), 0.95, 0.85
    width = max(6.2, left + columns * panel + (columns - 1) * gap + 0.25)
    block = tall * len(depths) + 0.85
    height = 1.0 + rows * block
    drawn = style.plt.figure(figsize=(width, height))
    for index, (family, grid) in enumerate(families.items()):
        x = left + index % columns * (panel + gap)
        y = 0.95 + index // columns * block + 0.2
        ax = drawn.add_axes(
            (x / width, 1 - (y + tall * len(depths)) / height, panel / width, tall * len(depths) / height)
        )
        best = max(r["tflops"] for r in grid.values())
        for row, depth in enumerate(depths):
            for column, stride in enumerate(strides):
                record = grid.get((depth, stride))
                share = (record["tflops"] - low) / ((high - low) or 1) if record else 0.0
                shade = style.blend(style.BLUE, share) if record else style.GRID
                ax.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", lw=1.5))
                is_best = record is not None and record["tflops"] == best
                ax.text(
                    column + 0.5,
                    row + 0.5,
                    style.number(record["tflops"]) if record else "–",
                    ha="center",
                    va="center_baseline",
                    fontsize=9.5,
                    fontweight="bold" if is_best else "normal",
                    color="white" if share > 0.55 else style.INK,
                )
        ax.set_xlim(0, len(strides))
        ax.set_ylim(len(depths), 0)
        own = say(language, "own", "自选")
        ax.set_xticks([c + 0.5 for c in range(len(strides))], [str(s) if s else own for s in strides], fontsize=9)
        ax.set_yticks([r + 0.5 for r in range(len(depths))], [str(d) for d in depths])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_title(family, fontsize=10)
        if index % columns == 0:
            ax.set_ylabel(say(language, "stages", "级数"))
        if index // columns == rows - 1 or index + columns >= len(families):
            ax.set_xlabel(say(language, "swizzle stride (rows of C)", "swizzle 步长（C 的行数）"), fontsize=9)
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        say(
            language,
            f"{step.short}: stages × swizzle, {size}³ · {where}",
            f"{step.short}：级数 × swizzle，{size}³ · {where}",
        ),
        say(
            language,
            "TFLOPS; bold: the best of a panel; own: the stride that the step chooses by itself",
            "TFLOPS；粗体：该图中最快；自选：这一步自己选用的步长",
        ),
    )
    return drawn
