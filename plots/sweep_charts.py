"""Charts of the sweeps over sizes: heat maps of the ratio to a baseline, all in one scale of colours."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from records import BASELINES, BEST_LIBRARY, CUBLAS, Record, Records

from . import findings, layout, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

Size = tuple[int, int, int]
_ROOMY = 0.75  # inches of a cell that holds two figures
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


def sweep_rows(records: Records, gpu: str, step: str, sweep: Sweep, baseline: str = CUBLAS) -> dict[Size, Record]:
    """The default variant's records of a sweep beside a baseline; none where most of its sizes were not run."""
    rows = {size: records.default_at(gpu, step, *size, baseline=baseline) for size in sweep.sizes}
    found = {size: r for size, r in rows.items() if r and r.get("ratio")}
    return found if len(found) >= _ENOUGH * len(rows) else {}


def geometric_mean(rows: Iterable[Record]) -> float:
    """Geometric mean of the ratios."""
    return statistics.geometric_mean(r["ratio"] for r in rows)


def sgemm27(course: Course, records: Records, name: str, language: str) -> Figure:
    """The 27 sizes: a panel per step of a ladder that was swept."""
    steps = course.ladder(name)
    for gpu in records.gpus([s.name for s in steps]):
        swept = {s.short: r for s in steps if (r := sweep_rows(records, gpu, s.name, SGEMM27))}
        if swept:
            last, rows = list(swept.items())[-1]
            mean, library = geometric_mean(rows.values()), BASELINES[CUBLAS](language)
            title = findings.beside(last, [r["ratio"] for r in rows.values()], mean, library, language)
            return _heat_maps(swept, SGEMM27, title, records.gpu_name(gpu), language)
    raise Missing(f"no sweep of a step of the {name} ladder over the 27 sizes")


def hgemm125(course: Course, records: Records, step: Step, language: str) -> Figure:
    """The 125 sizes: a panel per baseline, or a dot per size beside the best library call."""
    for gpu in records.gpus([step.name]):
        swept = {b: rows for b in BASELINES if (rows := sweep_rows(records, gpu, step.name, HGEMM125, b))}
        if BEST_LIBRARY in swept:
            return _sorted_dots(step, swept[BEST_LIBRARY], records.gpu_name(gpu), language)
        if swept:
            last, rows = list(swept.items())[-1]
            mean, library = geometric_mean(rows.values()), BASELINES[last](language)
            title = findings.beside(step.short, [r["ratio"] for r in rows.values()], mean, library, language)
            named = {f"÷ {BASELINES[b](language)}": rows for b, rows in swept.items()}
            return _heat_maps(named, HGEMM125, title, records.gpu_name(gpu), language)
    raise Missing(f"no sweep of {step.name} over the 125 sizes")


def _sorted_dots(step: Step, rows: Mapping[Size, Record], where: str, language: str) -> Figure:
    """The ratio to the best library call: a dot per size, from the least to the most, a group per K."""
    ratios, library = [r["ratio"] for r in rows.values()], BASELINES[BEST_LIBRARY](language)
    texts = Texts(
        findings.beside(step.short, ratios, geometric_mean(rows.values()), library, language),
        say(
            language,
            f"{where}; a dot per M × N, both from {HGEMM125.m_n[0]} to {HGEMM125.m_n[-1]}, sorted within each K; whiskers: "
            "the middle 60 % of the rounds",
            f"{where}；每点是一个 M × N，两者都从 {HGEMM125.m_n[0]} 到 {HGEMM125.m_n[-1]}，在每个 K 之内排序；误差线：各轮中间的 60%",
        ),
    )
    drawn, (ax,) = layout.page(texts, [Panel(2.9, above=0.2)], layout.SPEEDS, 0.15)
    wide = len(HGEMM125.m_n) ** 2 + 4
    for group, k in enumerate(HGEMM125.k):
        found = sorted(((size, r) for size, r in rows.items() if size[2] == k), key=lambda one: one[1]["ratio"])
        for place, (_, r) in enumerate(found):
            x, colour = group * wide + place, style.BLUE if r["ratio"] >= 1 else style.AMBER
            ax.plot(
                [x, x], [r.get("ratio_p20", r["ratio"]), r.get("ratio_p80", r["ratio"])], color=colour, lw=1, zorder=2
            )
            ax.plot(x, r["ratio"], "o", color=colour, ms=3.2, zorder=3)
        low = min(r.get("ratio_p20", r["ratio"]) for _, r in found)
        high = max(r.get("ratio_p80", r["ratio"]) for _, r in found)
        for (size, _), x, y, up, side in (
            (found[0], group * wide, low, -13, "left"),
            (found[-1], group * wide + len(found) - 1, high, 5, "right"),
        ):
            words = f"{size[0]}×{size[1]}"
            ax.annotate(
                words, (x, y), (0, up), textcoords="offset points", ha=side, fontsize=style.SMALL, color=style.MUTED
            )
    ax.axhline(1, color=style.INK, lw=1.1, zorder=1)
    middles = [group * wide + (wide - 4) / 2 for group in range(len(HGEMM125.k))]
    ax.set_xticks(middles, [f"K = {k}" for k in HGEMM125.k])
    ax.tick_params(axis="x", length=0)
    ax.margins(x=0.02, y=0.1)
    ax.grid(axis="y")
    ax.set_ylabel(say(language, "speed ÷ library", "速度 ÷ 库"))
    return drawn


def _heat_maps(swept: Mapping[str, dict[Size, Record]], sweep: Sweep, title: str, where: str, language: str) -> Figure:
    """The ratio to a baseline, a row per M × N, a column per K; `swept` side by side, with TFLOPS where there is room."""
    pairs = [(m, n) for m in sweep.m_n for n in sweep.m_n]
    left, right, gap = 1.2, 0.12, 0.12
    columns = len(sweep.k)
    cell = (layout.WIDTH - left - right - gap * (len(swept) - 1)) / (columns * len(swept))
    roomy = cell > _ROOMY
    reach = 1 + 0.1 * math.ceil(10 * max(abs(r["ratio"] - 1) for rows in swept.values() for r in rows.values()))
    low, high = f"{1 / reach:.2g}", f"{reach:.2g}"
    what, inside = (
        say(language, "speed relative to the library", "相对库函数的速度"),
        say(language, ", and TFLOPS", "，以及 TFLOPS"),
    )
    texts = Texts(
        title,
        say(
            language,
            f"{where}; in each cell: {what}{inside if roomy else ''}; above: the geometric mean",
            f"{where}；每格：{what}{inside if roomy else ''}；上方为几何平均",
        ),
        foot=say(
            language,
            f"blue: faster than the library; orange: slower; no colour at 1, full colour at {low} and {high}",
            f"蓝色：快于库函数；橙色：慢于库函数；1 处无色，{low} 与 {high} 处颜色最深",
        ),
    )
    drawn, (ax,) = layout.page(texts, [Panel(0.25 * len(pairs), above=0.62, below=0.1)], left, right)
    step = columns + gap / cell  # from one panel to the next, in cells
    for number, (name, rows) in enumerate(swept.items()):
        cells = {
            (y, x): (r["ratio"], f"{r['ratio']:.3f}", style.number(r["tflops"]) if roomy else "")
            for y, (m, n) in enumerate(pairs)
            for x, k in enumerate(sweep.k)
            if (r := rows.get((m, n, k)))
        }
        style.cells(ax, len(pairs), columns, cells, lambda ratio: style.ratio_colour(ratio, reach), start=number * step)
        mean = f"{geometric_mean(rows.values()):.3f}"
        for line, up in ((name, 28), (say(language, f"mean {mean}", f"平均 {mean}"), 17)):
            ax.annotate(line, (number * step, 0), (0, up), textcoords="offset points", fontsize=style.SMALL,
                        fontweight="bold")  # fmt: skip
    ax.set_xlim(0, step * (len(swept) - 1) + columns)
    for edge in range(len(sweep.m_n), len(pairs), len(sweep.m_n)):
        ax.axhline(edge, color=style.INK, lw=1.1, zorder=4)
    ticks = [(number * step + x + 0.5, k) for number in range(len(swept)) for x, k in enumerate(sweep.k)]
    ax.set_xticks([x for x, _ in ticks], [f"K = {k}" if roomy else str(k) for _, k in ticks])
    ax.xaxis.tick_top()
    ax.set_yticks([y + 0.5 for y in range(len(pairs))], [f"{m} × {n}" for m, n in pairs])
    corner = "M × N" if roomy else "M × N, K"
    ax.annotate(corner, (0, 1), (-8, 6), xycoords="axes fraction", textcoords="offset points", ha="right",
                fontsize=style.SMALL, color=style.INK)  # fmt: skip
    return drawn
