"""Charts of the sweeps over sizes: heat maps of the ratio to a baseline, all in one scale of colours."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from . import findings, style
from .course import Course, Step
from .records import BASELINES, BEST_LIBRARY, CUBLAS, Record, Records
from .style import Missing, say

Size = tuple[int, int, int]
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
            title = findings.beside(last, mean, len(rows), library, language)
            return _heat_maps(swept, SGEMM27, title, records.gpu_name(gpu), language)
    raise Missing(f"no sweep of a step of the {name} ladder over the 27 sizes")


def hgemm125(course: Course, records: Records, step: Step, language: str) -> Figure:
    """The 125 sizes: a panel per baseline, or that of the best library call alone."""
    for gpu in records.gpus([step.name]):
        swept = {b: rows for b in BASELINES if (rows := sweep_rows(records, gpu, step.name, HGEMM125, b))}
        if BEST_LIBRARY in swept:
            swept = {BEST_LIBRARY: swept[BEST_LIBRARY]}
        if swept:
            last, rows = list(swept.items())[-1]
            mean, library = geometric_mean(rows.values()), BASELINES[last](language)
            title = findings.beside(step.short, mean, len(rows), library, language)
            named = {f"÷ {BASELINES[b](language)}": rows for b, rows in swept.items()}
            return _heat_maps(named, HGEMM125, title, records.gpu_name(gpu), language)
    raise Missing(f"no sweep of {step.name} over the 125 sizes")


def _heat_maps(swept: Mapping[str, dict[Size, Record]], sweep: Sweep, title: str, where: str, language: str) -> Figure:
    """The ratio to a baseline, a row per M × N, a column per K; a panel per entry of `swept`."""
    pairs = [(m, n) for m in sweep.m_n for n in sweep.m_n]
    cell, row_height, gap, left = 0.84, 0.27, 0.3, 1.25
    panel = cell * len(sweep.k)
    width = max(left + len(swept) * (panel + gap), 7.2)
    height = 1.62 + row_height * len(pairs)
    drawn, axes = style.figure(width, height, columns=len(swept), sharey=True)
    drawn.subplots_adjust(
        left=left / width,
        right=(left + len(swept) * (panel + gap) - gap) / width,
        top=1 - 1.22 / height,
        bottom=0.4 / height,
        wspace=gap / panel,
    )
    for ax, (name, rows) in zip(axes, swept.items(), strict=True):
        cells = {
            (y, x): (r["ratio"], f"{r['ratio']:.3f}", style.number(r["tflops"]))
            for y, (m, n) in enumerate(pairs)
            for x, k in enumerate(sweep.k)
            if (r := rows.get((m, n, k)))
        }
        style.cells(ax, len(pairs), len(sweep.k), cells, style.ratio_colour)
        for edge in range(len(sweep.m_n), len(pairs), len(sweep.m_n)):
            ax.axhline(edge, color=style.INK, lw=1.1, zorder=4)
        ax.set_xticks([x + 0.5 for x in range(len(sweep.k))], [f"K = {k}" for k in sweep.k])
        ax.xaxis.tick_top()
        ax.set_yticks([y + 0.5 for y in range(len(pairs))], [f"{m} × {n}" for m, n in pairs])
        mean = f"{geometric_mean(rows.values()):.3f}"
        ax.set_title(say(language, f"{name}: mean {mean}", f"{name}：平均 {mean}"), fontsize=10, pad=20)
    axes[0].annotate("M × N", (0, 1), (-8, 6), xycoords="axes fraction", textcoords="offset points", ha="right",
                     fontsize=9, color=style.INK)  # fmt: skip
    style.heading(
        drawn,
        title,
        say(
            language,
            f"{where}; in each cell: speed relative to the library, and TFLOPS; above: the geometric mean",
            f"{where}；每格：相对库函数的速度，以及 TFLOPS；上方为几何平均",
        ),
    )
    low, high = (f"{math.exp(sign * style.RATIO_REACH):.1f}" for sign in (-1, 1))
    style.footnote(
        drawn,
        say(
            language,
            f"blue: faster than the library; orange: slower; white at 1, full colour at {low} and {high}",
            f"蓝色：快于库函数；橙色：慢于库函数；1 处为白色，{low} 与 {high} 处颜色最深",
        ),
    )
    return drawn
