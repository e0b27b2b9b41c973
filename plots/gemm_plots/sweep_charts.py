"""Charts of the sweeps over sizes: heat maps of the ratio to each baseline, and TFLOPS over the 27 sizes as lines."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style
from .course import Course, Step
from .records import BASELINES, CUBLAS, Record, Records
from .style import Missing, say

Size = tuple[int, int, int]
_COLOURS = LinearSegmentedColormap.from_list("ratio", ["#d1383d", "#f3c6bd", "#fbfbf7", "#bfe3cf", "#2e9e6b"])
_ENOUGH = 0.7  # of a sweep's sizes have to be recorded; another sweep may hold some of them


@dataclass(frozen=True)
class Sweep:
    """M and N each from one list, K from another: as `--sweep` runs them."""

    name: str
    m_n: tuple[int, ...]
    k: tuple[int, ...]

    @property
    def sizes(self) -> list[Size]:
        """Every size, by K, then M, then N."""
        return [(m, n, k) for k in self.k for m in self.m_n for n in self.m_n]


SGEMM27 = Sweep("sweep27", (4096, 8192, 16384), (2048, 4096, 8192))
HGEMM125 = Sweep("hgemm125", (1024, 2048, 4096, 8192, 16384), (512, 1024, 2048, 4096, 8192))
HGEMM27 = Sweep("hgemm27", (1024, 2048, 4096), (256, 512, 1024))
SWEEPS = (SGEMM27, HGEMM125, HGEMM27)


def sweep_rows(
    records: Records, gpu: str, step: str, sweep: Sweep = SGEMM27, baseline: str = CUBLAS
) -> dict[Size, Record]:
    """The default variant's record at each size of a sweep that was run beside the baseline."""
    rows = {size: records.default_at(gpu, step, *size, baseline=baseline) for size in sweep.sizes}
    return {size: r for size, r in rows.items() if r and r.get("ratio")}


def geometric_mean(rows: Iterable[Record]) -> float:
    """Geometric mean of the ratios."""
    return statistics.geometric_mean(r["ratio"] for r in rows)


def swept(records: Records, gpu: str, step: str, sweep: Sweep = SGEMM27) -> bool:
    """Whether most sizes of a sweep were run, not only those that other sweeps share with it."""
    return len(sweep_rows(records, gpu, step, sweep)) >= _ENOUGH * len(sweep.sizes)


def gpu_of(records: Records, step: Step, sweep: Sweep) -> str | None:
    """The GPU with most records among those that the sweep was run on."""
    return next((g for g in records.gpus([step.name]) if swept(records, g, step.name, sweep)), None)


def heat_map(course: Course, records: Records, step: Step, sweep: Sweep, language: str) -> Figure:
    """Ratio to each baseline, a row per M×N, a column per K."""
    gpu = gpu_of(records, step, sweep)
    if gpu is None:
        raise Missing(f"no sweep of {step.name} over the {len(sweep.sizes)} sizes")
    found = {b: rows for b in BASELINES if (rows := sweep_rows(records, gpu, step.name, sweep, b))}
    pairs = [(m, n) for m in sweep.m_n for n in sweep.m_n]
    reach = max(0.05, *(abs(math.log(r["ratio"])) for rows in found.values() for r in rows.values()))
    cell, row_height = 0.84, 0.27
    panel, left = cell * len(sweep.k), 1.25
    width = max(left + len(found) * (panel + 0.3), 6.0)
    height = 1.62 + row_height * len(pairs)
    drawn, axes = style.figure(width, height, columns=len(found), sharey=True)
    drawn.subplots_adjust(
        left=left / width,
        right=(left + len(found) * panel + (len(found) - 1) * 0.3) / width,
        top=1 - 1.22 / height,
        bottom=0.4 / height,
        wspace=0.3 / panel,
    )
    for ax, (baseline, rows) in zip(axes, found.items(), strict=True):
        for y, (m, n) in enumerate(pairs):
            for x, k in enumerate(sweep.k):
                _cell(ax, x, y, rows.get((m, n, k)), reach)
        for edge in range(len(sweep.m_n), len(pairs), len(sweep.m_n)):
            ax.axhline(edge, color=style.INK, lw=1.1, zorder=4)
        ax.set_xlim(0, len(sweep.k))
        ax.set_ylim(len(pairs), 0)
        ax.set_xticks([x + 0.5 for x in range(len(sweep.k))], [f"K = {k}" for k in sweep.k])
        ax.xaxis.tick_top()
        ax.set_yticks([y + 0.5 for y in range(len(pairs))], [f"{m} × {n}" for m, n in pairs])
        ax.tick_params(length=0, labelsize=9)
        for spine in ax.spines.values():
            spine.set_visible(False)
        mean = geometric_mean(rows.values())
        text = say(
            language,
            f"÷ {BASELINES[baseline]}: geometric mean {mean:.3f}",
            f"÷ {BASELINES[baseline]}：几何平均 {mean:.3f}",
        )
        ax.set_title(text, fontsize=10, pad=20)
    axes[0].annotate("M × N", (0, 1), (-8, 6), xycoords="axes fraction", textcoords="offset points", ha="right",
                     fontsize=9, color=style.INK)  # fmt: skip
    count = max(map(len, found.values()))
    where, spans = records.gpu_name(gpu), f"M, N {sweep.m_n[0]}–{sweep.m_n[-1]}, K {sweep.k[0]}–{sweep.k[-1]}"
    style.heading(
        drawn,
        say(language, f"{step.short}, {count} sizes · {where}", f"{step.short}，{count} 种尺寸 · {where}"),
        say(
            language,
            f"{spans}; in each cell: speed relative to the baseline, and TFLOPS",
            f"{spans}；每格：相对基准的速度，以及 TFLOPS",
        ),
    )
    ends = [f"{math.exp(sign * reach):.2f}" for sign in (-1, 1)]
    style.footnote(
        drawn,
        say(
            language,
            f"green: faster than the baseline; red: slower; full colour at {ends[0]} and {ends[1]}",
            f"绿色：快于基准；红色：慢于基准；{ends[0]} 与 {ends[1]} 处颜色最深",
        ),
    )
    return drawn


def _cell(ax: Axes, x: int, y: int, record: Record | None, reach: float) -> None:
    shade = _COLOURS(0.5 + math.log(record["ratio"]) / reach / 2) if record else style.GRID
    ax.add_patch(Rectangle((x, y), 1, 1, facecolor=shade, edgecolor="white", lw=1.5))
    middle = {"va": "center_baseline", "zorder": 5}
    dark = record is not None and math.log(record["ratio"]) < -0.9 * reach
    if record is None:
        ax.text(x + 0.5, y + 0.5, "–", ha="center", fontsize=9, color=style.MUTED, **middle)
        return
    inks = ("white", "white") if dark else (style.INK, "#36414f")
    ax.text(x + 0.54, y + 0.5, f"{record['ratio']:.3f}", ha="right", fontsize=9.5, fontweight="bold", color=inks[0],
            **middle)  # fmt: skip
    ax.text(x + 0.62, y + 0.5, style.number(record["tflops"]), ha="left", fontsize=8, color=inks[1], **middle)


def lines(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS over the 27 sizes: a line per step that was swept, and cuBLAS."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    sizes = SGEMM27.sizes
    gpu = next((g for g in records.gpus(names) if any(swept(records, g, s) for s in names)), None)
    if gpu is None:
        raise Missing(f"no sweep of a step of the {name} ladder over the 27 sizes")
    height = 4.7
    drawn, (ax,) = style.figure(10.0, height)
    drawn.subplots_adjust(left=0.062, right=0.985, top=1 - 0.95 / height, bottom=1.0 / height)
    entries: list[tuple[str, str, str]] = []
    colours = (style.GREY, style.VIOLET, style.GREEN, style.BLUE)
    shown = [s for s in steps if swept(records, gpu, s.name)]
    for index, step in enumerate(shown):
        rows = sweep_rows(records, gpu, step.name)
        colour = colours[(index + len(colours) - len(shown)) % len(colours)]
        xs = [sizes.index(size) for size in rows]
        ax.plot(xs, [r["tflops"] for r in rows.values()], color=colour, lw=1.8, marker="o", ms=4, zorder=3)
        entries.append(("line", colour, f"{step.short} ({geometric_mean(rows.values()):.3f})"))
    middle = [(x, records.baseline_at(gpu, [s.name for s in shown], *size)) for x, size in enumerate(sizes)]
    _cublas(ax, [(x, value) for x, value in middle if value])
    entries.append(("dash", style.AMBER, "cuBLAS"))
    ax.set_xlim(-0.6, 26.6)
    low, high = ax.get_ylim()
    ax.set_ylim(max(0.0, low - (high - low) * 0.15), high)
    ax.set_xticks(range(27), [f"{m // 1024}\n{n // 1024}" for m, n, _ in sizes], fontsize=8.5)
    ax.annotate(
        "M\nN",
        (-0.012, 0),
        (0, -7),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8.5,
    )
    ax.set_ylabel("TFLOPS")
    ax.grid(axis="y")
    for index, k in enumerate(SGEMM27.k):
        if index:
            ax.axvline(9 * index - 0.5, color="#b8c2ce", lw=1)
        ax.annotate(
            f"K = {k}",
            (9 * index + 4, 0),
            (0, -44),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=10,
        )
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        say(language, f"The 27-size sweep, {name.upper()} · {where}", f"27 种尺寸的扫描，{name.upper()} · {where}"),
    )
    style.legend(drawn, entries, 0.60)
    style.footnote(
        drawn,
        say(
            language,
            "Below the axis: M and N in units of 1024. In brackets: geometric mean of the ratio to cuBLAS. "
            "The axis does not start at 0.",
            "横轴下方为 M 与 N（单位 1024）。括号内为相对 cuBLAS 的几何平均。纵轴不从 0 开始。",
        ),
    )
    return drawn


def _cublas(ax: Axes, points: Sequence[tuple[int, float]]) -> None:
    xs, ys = zip(*points, strict=True)
    ax.plot(xs, ys, color=style.AMBER, lw=2, ls=(0, (5, 2)), marker="s", ms=3.5, zorder=2)
