"""What the charts share: panels per GPU, lines of reference with their names, figures on bars, ends of lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes

from records import (
    BASELINES,
    BEST_LIBRARY,
    CUBLAS,
    CUBLAS_F16_SUMS,
    CUBLAS_F32_SUMS,
    CUBLASLT,
    CUTLASS,
    Record,
    Records,
)

from . import style
from .course import Course, Step
from .layout import Panel
from .style import say

DASHED, DASH_DOT, DOTTED, SHORT = (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.5)), (0, (2.5, 1.2))
LOOKS = {  # of the baselines that have a line: the best call would lie on another's
    CUBLAS: (style.AMBER, DASHED),
    CUBLAS_F32_SUMS: (style.AMBER_INK, DOTTED),
    CUBLAS_F16_SUMS: (style.AMBER_INK, DOTTED),
    CUBLASLT: (style.PLUM, DASH_DOT),
    CUTLASS: (style.BROWN, SHORT),
}
_SHAPE = re.compile(r"[ .]m?\d+[xn]\d+\S*$")  # of a limit's name: tile of a thread, or of an mma
_BEYOND = 1.6  # a baseline this many times above all else is named at the edge and not drawn


def conditions(records: Records, gpu: str, language: str) -> str:
    """How the timings were taken, for the foot of a chart."""
    rows = records.timings.get(gpu, [])
    cuda = next((r["cuda"] for r in rows if r.get("cuda")), "?")
    return say(
        language,
        f"CUDA {cuda}, random normal data, kernel and baseline in turn, median of rounds",
        f"CUDA {cuda}，正态随机数据，kernel 与基线轮流计时，取各轮中位数",
    )


def on_gpus(records: Records, gpus: Sequence[str], language: str) -> str:
    """The GPU's name for a title, or how many GPUs there are."""
    return records.gpu_name(gpus[0]) if len(gpus) == 1 else say(language, f"{len(gpus)} GPUs", f"{len(gpus)} 种 GPU")


def of_gpus(records: Records, gpus: Sequence[str], panels: Sequence[Panel]) -> list[Panel]:
    """A panel per GPU, with the GPU's name over it where there are several."""
    if len(gpus) < 2:
        return list(panels)
    return [replace(panel, title=records.gpu_name(gpu)) for gpu, panel in zip(gpus, panels, strict=True)]


@dataclass(frozen=True)
class Reference:
    """A speed to compare with: a baseline, the instruction's limit, the peak."""

    name: str
    tflops: float
    colour: str
    dashes: tuple[float, tuple[float, ...]]
    peak: bool = False

    @property
    def text(self) -> str:
        """Name and figure."""
        return f"{self.name} {style.number(self.tflops)}"


def baselines(records: Records, gpu: str, steps: Sequence[Step], size: int, language: str) -> list[Reference]:
    """The baselines at one size, beside the default variants of these steps."""
    names = [s.name for s in steps]
    found = {b: records.baseline_at(gpu, names, size, baseline=b) for b in LOOKS}
    return [Reference(BASELINES[b](language), value, *LOOKS[b]) for b, value in found.items() if value]


def instruction(limit: str) -> str:
    """A measured limit's name without the tile: `half2 FMA` for `half2 FMA 8x8`, `mma.sync` for `mma.sync.m16n8k16`."""
    return _SHAPE.sub("", limit)


def roofs(course: Course, records: Records, gpu: str, steps: Sequence[Step], language: str) -> list[Reference]:
    """The measured limit of the instruction that the last step's default uses, and the peak."""
    found = []
    step = steps[-1]
    default = next((r for s in reversed(steps) for r in records.of_step(gpu, s.name) if r.get("default")), {})
    limit = records.limit(gpu, default.get("a", step.element), default.get("acc", step.element), step.instruction)
    if limit:
        name = instruction(limit["limit"])
        found.append(Reference(say(language, f"{name} limit", f"{name} 上限"), limit["tflops"], style.RED, (0, (3, 1))))
    if peak := course.peak(gpu, step):
        found.append(Reference(say(language, "peak", "峰值"), peak, style.INK, DOTTED, peak=True))
    return found


def axis_top(references: Sequence[Reference], values: Sequence[float]) -> float:
    """The end of a TFLOPS axis: all values, the roofs, and the baselines that are not far beyond both."""
    top = max([*values, *(r.tflops for r in references if r.peak)], default=0.0)
    return max([top, *(r.tflops for r in references if not top or r.tflops <= _BEYOND * top)])


def label_rows(references: Sequence[Reference], top: float, inches: float) -> list[tuple[Reference, int, str]]:
    """Where the names of vertical lines go: the row above the axes and the side of the line, none over another."""
    taken: list[list[tuple[float, float]]] = []
    placed = []
    for reference in sorted(references, key=lambda r: r.tflops):
        beyond = reference.tflops > top
        x = inches if beyond else reference.tflops / top * inches
        width = (style.em(reference.text) + (1.4 if beyond else 0)) * style.SMALL / 72 + 0.1
        spots = {"right": (x - width, x), "left": (x, x + width)}
        sides = ("right",) if beyond or reference.peak else ("right", "left")
        row = 0
        while True:
            if row == len(taken):
                taken.append([])
            free = [s for s in sides if spots[s][0] > -1.5 and spots[s][1] < inches + 0.25]
            free = [s for s in free if all(spots[s][1] <= a or spots[s][0] >= b for a, b in taken[row])]
            if free:
                taken[row].append(spots[free[0]])
                placed.append((reference, row, free[0]))
                break
            row += 1
    return placed


def vertical_references(ax: Axes, references: Sequence[Reference], top: float, inches: float, low: float = 0.0) -> None:
    """Lines across horizontal bars, from the top to `low` of the axes' height, with their names above the axes."""
    for reference, row, side in label_rows(references, top, inches):
        beyond = reference.tflops > top
        if not beyond:
            ax.axvline(reference.tflops, low, color=reference.colour, ls=reference.dashes, lw=1.8, zorder=1.5)
        ax.annotate(
            f"{reference.text} →" if beyond else reference.text,
            (1 if beyond else reference.tflops, 1),
            (-3 if side == "right" else 3, 4 + 12 * row),
            xycoords=("axes fraction" if beyond else "data", "axes fraction"),
            textcoords="offset points",
            ha=side,
            fontsize=style.SMALL,
            color=style.ink(reference.colour),
        )


def bar_text(ax: Axes, value: float, row: float, text: str, inside: bool = False, ink: str = "white") -> None:
    """The figure of a horizontal bar, before its end or after it."""
    ax.annotate(
        text,
        (value, row),
        (-5 if inside else 5, 0),
        textcoords="offset points",
        va="center",
        ha="right" if inside else "left",
        fontsize=style.SMALL,
        color=ink if inside else style.INK,
        bbox=None if inside else {"facecolor": style.PANEL, "edgecolor": "none", "pad": 0.5},  # over reference lines
        zorder=4,
    )


def spread(record: Record) -> tuple[float, float]:
    """TFLOPS at the slow and at the fast end of the middle 60 % of the rounds; the median twice where they are unknown."""
    if "tflops_p20" in record:  # a main loop's record gives speeds, a step's gives times
        return record["tflops_p20"], record["tflops_p80"]
    times = (record.get(key) or record.get("ms", 1.0) for key in ("ms_p80", "ms_p20"))
    slow, fast = (record["tflops"] * record.get("ms", 1.0) / time for time in times)
    return slow, fast


def of_variant(records: Records, gpu: str, step: Step, variant: str) -> dict[int, Record]:
    """The timings of a variant at square sizes without options, by size; against cuBLAS where there is one."""
    rows = [r for r in records.of_step(gpu, step.name) if r["variant"] == variant and r["m"] == r["n"] == r["k"]]
    rows = [r for r in rows if not r.get("options")]
    return {r["m"]: r for r in sorted(rows, key=lambda r: r.get("baseline") == CUBLAS)}


def apart(one: Record, other: Record, of: Callable[[Record], tuple[float, float]] = spread) -> bool:
    """Do the spreads of two timings not overlap?"""
    (slow, fast), (others_slow, others_fast) = of(one), of(other)
    return slow > others_fast or others_slow > fast


def shares_apart(one: Record, other: Record) -> bool:
    """Do the spreads of two shares of the library not overlap?"""
    return one["ratio_p20"] > other["ratio_p80"] or one["ratio_p80"] < other["ratio_p20"]


def spread_in_turn(record: Record) -> tuple[float, float]:
    """TFLOPS between which the middle 60 % of the rounds lie, by their ratios to the library in turn: without the drift
    of the clock that both share."""
    by = record["tflops"] / record["ratio"]
    return record["ratio_p20"] * by, record["ratio_p80"] * by


def timed_bar(ax: Axes, row: float, record: Record, colour: str, top: float, ink: str = "white") -> None:
    """A timing as a bar with its speed and share of the baseline; a whisker spans the middle 60 % of its rounds."""
    value, (slow, fast) = record["tflops"], spread(record)
    inside = value > 0.4 * top
    ax.barh(row, value, 0.66, color=colour, zorder=2)
    if fast - slow > 0.004 * top:
        ax.plot([slow, fast], [row, row], color=style.INK, lw=1.2, marker="|", ms=4, zorder=3)
    bar_text(ax, slow if inside else fast, row, with_share(record), inside, ink)


def room_above(references: Sequence[Reference], top: float, inches: float) -> float:
    """The inches that the names of vertical lines take above the axes."""
    return 0.1 + 0.17 * (1 + max((row for _, row, _ in label_rows(references, top, inches)), default=-1))


def stacked_bar(ax: Axes, row: float, parts: Iterable[tuple[float, str]]) -> float:
    """Values end to end as one horizontal bar, each in its colour; returns their sum."""
    at = 0.0
    for value, colour in parts:
        ax.barh(row, value, 0.66, left=at, color=colour, zorder=2)
        at += value
    return at


def named_rows(ax: Axes, names: Sequence[str], places: Sequence[float] = (), edge: float = 0.55) -> None:
    """The vertical axis of rows with their names, the first on top; `places`: of rows in groups, with room between
    them; `edge`: from the top to row 0, and from the last row to the bottom."""
    places = places or range(len(names))
    ax.set_ylim(places[-1] + edge, -edge)
    ax.set_yticks(places, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def log_axis(ax: Axes, low: float, high: float) -> None:
    """A logarithmic horizontal axis with marks at 1 and 3 of each decade, between two positive values."""
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = [t for decade in decades for t in (10.0**decade, 3 * 10.0**decade) if low <= t <= high]
    ax.set_xticks(marks, [f"{t:g}" for t in marks])
    ax.set_xticks([], minor=True)


def with_share(record: Record) -> str:
    """`48.1  (92.3%)`: speed, and the share of the baseline; in whole per cent where the power limit makes it vary."""
    ratio = record.get("ratio")
    share = "" if ratio is None else f"  ({ratio:.1%})" if record.get("a") == "f32" else f"  ({ratio:.0%})"
    return style.number(record["tflops"]) + share


def size_axis(ax: Axes, sizes: Sequence[int], label: str = "M = N = K") -> None:
    """A logarithmic axis of sizes."""
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_xticks([], minor=True)
    ax.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
    ax.set_xlabel(label)
    ax.grid(True)


class Lines:
    """Lines over size whose names stand at their right ends, moved apart."""

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        self.labels: list[tuple[float, float, str, str]] = []
        self.top = 0.0

    def add(
        self,
        points: Sequence[tuple[float, float]],
        name: str,
        colour: str,
        width: float = 1.8,
        dashes: object = "-",
        marker: str = "o",
        zorder: float = 3,
    ) -> None:
        """A line through points (none is no line)."""
        if points:
            xs, ys = zip(*points, strict=True)
            self.ax.plot(xs, ys, color=colour, lw=width, ls=dashes, marker=marker, ms=4.2, zorder=zorder)
            self.labels.append((*points[-1], name, colour))
            self.top = max(self.top, *ys)

    def level(self, reference: Reference, at: float) -> None:
        """A horizontal line, named at `at`."""
        self.ax.axhline(reference.tflops, color=reference.colour, ls=reference.dashes, lw=1.5, zorder=2)
        self.labels.append((at, reference.tflops, reference.text, reference.colour))
        self.top = max(self.top, reference.tflops)

    def finish(self, inches: float, head_room: float = 1.05, low: float = 0.0) -> None:
        """Sets the vertical axis and writes the names; `inches`: the panel's height."""
        high = low + (self.top - low) * head_room
        self.ax.set_ylim(low, high)
        gap = (high - low) * 0.165 / inches
        for (x, y, text, colour), place in zip(
            self.labels, style.spread([y for _, y, _, _ in self.labels], gap), strict=True
        ):
            style.name_beside(self.ax, (x, y), text, (place - low) / (high - low), colour)


def over_size(
    lines: Lines,
    course: Course,
    records: Records,
    gpu: str,
    steps: Sequence[Step],
    at: Sequence[int],
    language: str,
    only: str = "",
) -> None:
    """The baselines as lines over size, but for those too far beyond; the limit and the peak as levels. `only`: this
    baseline alone, where it has a line."""
    levels = roofs(course, records, gpu, steps, language)
    for name, points in _over_size(records, gpu, steps, at).items():
        if not _far(points, levels) and (name == only or only not in LOOKS):
            colour, dashes = LOOKS[name]
            lines.add(points, BASELINES[name](language), colour, 2.1, dashes, "s", 4)
    for reference in levels:
        lines.level(reference, at[-1] * 1.12)


def beyond(course: Course, records: Records, gpu: str, steps: Sequence[Step], at: Sequence[int], language: str) -> str:
    """What is too far beyond an axis over size, in words; empty where nothing is."""
    levels, found = roofs(course, records, gpu, steps, language), []
    for name, points in _over_size(records, gpu, steps, at).items():
        if _far(points, levels):
            low, high = (style.number(pick(v for _, v in points)) for pick in (min, max))
            found.append(f"{BASELINES[name](language)} {low}–{high}")
    words = ", ".join(found)
    return say(language, f"off this axis: {words} (tensor cores)", f"超出纵轴：{words}（Tensor Core）") if words else ""


def above_the_limit(
    course: Course, records: Records, gpu: str, step: Step, at: Sequence[int], baseline: str, language: str
) -> str:
    """Why a baseline is faster than a limit of mma.sync, in words; empty where it is not."""
    limit = next((r for r in roofs(course, records, gpu, [step], language) if not r.peak), None)
    drawn = _over_size(records, gpu, [step], at)
    fastest = max((v for name in drawn if baseline in (name, BEST_LIBRARY) for _, v in drawn[name]), default=0.0)
    if limit is None or "mma.sync" not in limit.name or fastest < limit.tflops:
        return ""
    name = BASELINES[baseline](language)
    return say(language, f"{name} passes the limit of mma.sync: here it uses wgmma",
               f"{style.spaced(name).lstrip()}越过了 mma.sync 的上限：它在这里用的是 wgmma")  # fmt: skip


def _over_size(
    records: Records, gpu: str, steps: Sequence[Step], at: Sequence[int]
) -> dict[str, list[tuple[int, float]]]:
    """By baseline its speeds at the sizes that it has."""
    names = [step.name for step in steps]
    speeds = {b: [(s, records.baseline_at(gpu, names, s, baseline=b)) for s in at] for b in LOOKS}
    return {b: points for b, found in speeds.items() if (points := [(s, v) for s, v in found if v])}


def _far(points: Sequence[tuple[int, float]], levels: Sequence[Reference]) -> bool:
    """Whether a baseline ends far above the limit and the peak."""
    return points[-1][1] > _BEYOND * max((r.tflops for r in levels), default=float("inf"))
