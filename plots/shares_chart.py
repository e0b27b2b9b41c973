"""The front page's chart: every step's share of the library that its ladder is measured against, on a linear axis."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from records import Record, Records

from . import layout, style
from .course import Course, Step
from .ladder_charts import COLOURS, SIZE
from .layout import Panel, Texts
from .style import Missing, say

NOISE = 0.03  # a difference that runs of one kernel show
_GAP = 0.9  # between ladders, in bars
_HIGHEST = 1.2  # of the axis: a step beyond it computes otherwise than the library, and is no bar among the others
_APART, _LINE = 3.0, 0.08  # bars that a share is wide, and how high its line is
_SHORT = {
    "fp32": "FP32",
    "fp16": "FP16",
    "wmma": "WMMA",
    "mma": "mma.sync",
    "hopper": "TMA + wgmma",
    "precision": "bits",
}


def headline(course: Course, records: Records, gpu: str, step: Step) -> Record | None:
    """What the front page shows of a step: its default at 4096³ beside its ladder's library, or its headline variant."""
    beside = course.yardstick(step.ladder)
    if not step.headline:
        return records.default_beside(gpu, step.name, SIZE, beside)
    rows = [r for r in records.of_step(gpu, step.name) if r["variant"] == step.headline and r["baseline"] == beside]
    return next((r for r in rows if r["m"] == r["n"] == r["k"] == SIZE and not r.get("options")), None)


Group = tuple[str, list[tuple[Step, Record]]]  # a ladder's name, and its steps with what is shown of each


def beyond(course: Course, records: Records, gpu: str, language: str) -> str:
    """Which steps have no bar because they are far faster than their library, and why; empty where there is none."""
    found = [(s, r["ratio"]) for s in course.steps if (r := headline(course, records, gpu, s)) and r.get("ratio")]
    found = [(step, ratio) for step, ratio in found if ratio >= _HIGHEST]
    if not found:
        return ""
    low, high = (f"{pick(ratio for _, ratio in found):.1f}" for pick in (min, max))
    times = low if low == high else f"{low}–{high}"
    numbers = [f"{step.number:02d}" for step, _ in found]
    return say(
        language,
        f" No bars for {' and '.join(numbers)}, ×{times}: they compute FP32 on tensor cores, the library on CUDA cores.",
        f"步骤 {'、'.join(numbers)} 不在图中：FP32 乘积由 Tensor Core 计算，库用的是 CUDA core，速度是库的 {times} 倍。",
    )


def by_ladder(course: Course, records: Records) -> tuple[str, list[Group]]:
    """The GPU, and what is shown of each step beside a library, ladder by ladder. Raises Missing where nothing is."""
    gpu = next(iter(records.gpus([s.name for s in course.steps])), "")
    groups: list[Group] = []
    for name in course.ladders if gpu else ():
        rows = [
            (s, r)
            for s in course.ladder(name)
            if (r := headline(course, records, gpu, s)) and r.get("ratio") and r["ratio"] < _HIGHEST
        ]
        groups += [(name, rows)] if rows else []
    if not groups:
        raise Missing(f"no step was timed beside a library at {SIZE}")
    return gpu, groups


def name_of(ladder: str, language: str = "en") -> str:
    """A ladder's name as it stands over its bars."""
    short = _SHORT.get(ladder, ladder.upper())
    return say(language, short, "位宽" if short == "bits" else short)


def shares(course: Course, records: Records, language: str) -> Figure:
    """A bar per step, ladder by ladder: its share of the library in the same run."""
    gpu, groups = by_ladder(course, records)
    best = {name: max(r["ratio"] for _, r in rows) for name, rows in groups}
    first, last = groups[0][0], "hopper" if "hopper" in best else groups[-1][0]
    start, level = groups[0][1][0][1]["ratio"], abs(best[last] - 1) < NOISE
    name = _SHORT.get(last, last)
    ends = f"level with it through {name}" if level else f"to {best[last]:.0%} with {name}"
    ends_zh = f"{name} 与库持平" if level else f"{name} 到 {best[last]:.0%}"
    title = say(
        language,
        f"From {start:.0%} to {best[first]:.0%} of the library in FP32, and {ends}",
        f"FP32 从库的 {start:.0%} 到 {best[first]:.0%}，{ends_zh}",
    )
    where = records.gpu_name(gpu)
    note = say(
        language,
        f"Each step's speed as a share of the library in the same run, {SIZE}³, {where}; "
        f"{course.the_library(language)}. Differences under {NOISE:.0%} are noise.",
        f"每一步的速度相对同一次运行里的库，{SIZE}³，{where}；{course.the_library(language)}。不到 {NOISE:.0%} 的差别是噪声。",
    )
    note += beyond(course, records, gpu, language)
    drawn, (ax,) = layout.page(Texts(title, note), [Panel(2.3, above=0.42, below=0.5)], 0.52, 0.1)
    x, places, names = 0.0, [], []
    told = (-math.inf, 0.0)  # where the last share was written
    for index, (ladder, rows) in enumerate(groups):
        colour, begin = COLOURS[index % len(COLOURS)], x
        for step, record in rows:
            ax.bar(x, record["ratio"], 0.78, color=colour, zorder=2)
            if (len(rows) - 1 - rows.index((step, record))) % 2 == 0:  # every second number has room
                places.append(x)
                names.append(f"{step.number:02d}")
            x += 1
        peak = max(rows, key=lambda row: row[1]["ratio"])
        at = begin + rows.index(peak)
        height = peak[1]["ratio"] + 0.02
        if at - told[0] < _APART and abs(height - told[1]) < _LINE:  # two ladders' best steps are neighbours
            height = told[1] + _LINE
        told = (at, height)
        ax.text(at, height, f"{peak[1]['ratio']:.0%}", ha="center", fontsize=style.SMALL, zorder=4)
        middle, words = (begin + x - 1) / 2, name_of(ladder, language)
        ax.text(middle, 1.24, words, ha="center", fontsize=style.SMALL, fontweight="bold", color=style.ink(colour))
        x += _GAP
    ax.axhline(1, color=style.INK, lw=1.2, zorder=3)
    ax.set_ylim(0, _HIGHEST)
    ax.set_xlim(-0.8, x - _GAP - 0.2)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.set_xticks(places, names)
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y")
    ax.set_xlabel(say(language, "step", "步骤"))
    return drawn
