"""One step over size as its ratio to the library in turn: for steps so near to it that a scale from zero shows nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from records import BASELINES, BEST_LIBRARY, Record, Records

from . import findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import say

LOW, HIGH = 0.9, 1.1  # of the axis
LEAST = 3  # so many sizes within it make such a chart

AtSizes = Mapping[int, Record]


def near(course: Course, records: Records, gpu: str, step: Step) -> bool:
    """Whether the step and the one before it stay near the best library call at most sizes, at the power limit like it."""
    if course.yardstick(step.ladder) != BEST_LIBRARY:
        return False
    steps = [each for each in (course.before(step), step) if each]
    return all(
        sum(LOW <= r["ratio"] <= HIGH for r in _shares(course, records, gpu, s).values()) >= LEAST for s in steps
    )


def over_size(course: Course, records: Records, gpus: Sequence[str], step: Step, language: str) -> Figure:
    """The step and the one before it at each size, each divided by the library that was timed in turn with it."""
    library = BASELINES[course.yardstick(step.ladder)](language)
    each, both = ("each step ", "两步各") if course.before(step) else ("", "")
    texts = Texts(
        findings.over_size(course, records, gpus[0], step, language, by_ratios=True),
        say(
            language,
            f"Speed ÷ {library}, {each}in turn with it, {panels.on_gpus(records, gpus, language)}; whiskers: "
            "the middle 60 % of the ratios; above: TFLOPS of the step",
            f"{panels.on_gpus(records, gpus, language)}；速度 ÷ {library}，{both}与库轮流计时；"
            "误差线：各轮比值中间的 60%；上方：这一步的 TFLOPS",
        ),
        foot=panels.conditions(records, gpus[0], language),
    )
    panel = Panel(2.5, above=0.28)
    drawn, axes = layout.page(texts, panels.of_gpus(records, gpus, [panel] * len(gpus)), layout.SPEEDS, layout.ENDS)
    for ax, gpu in zip(axes, gpus, strict=True):
        _draw(ax, course, records, gpu, step, library, panel.height, language)
    return drawn


def _shares(course: Course, records: Records, gpu: str, step: Step) -> AtSizes:
    beside = course.yardstick(step.ladder)
    at = {s: records.default_beside(gpu, step.name, s, beside) for s in records.square_sizes(gpu, [step.name])}
    return {size: r for size, r in at.items() if r and r.get("baseline") == beside and r.get("ratio")}


def _draw(
    ax: Axes, course: Course, records: Records, gpu: str, step: Step, library: str, height: float, language: str
) -> None:
    lines = panels.Lines(ax)
    before = course.before(step)
    sizes = records.square_sizes(gpu, [step.name])
    looks = [(before, style.GREY, 1.8, 0.97)] if before else []
    low_at: dict[int, int] = {}
    for one, colour, width, apart in [*looks, (step, style.BLUE, 2.6, 1.03)]:
        found = {size: r for size, r in _shares(course, records, gpu, one).items() if size in sizes}
        lines.add([(size * apart, r["ratio"]) for size, r in found.items()], one.short, colour, width, zorder=4)
        for size, r in found.items():
            ax.plot([size * apart] * 2, [r["ratio_p20"], r["ratio_p80"]], color=colour, lw=1.2, zorder=3)
            if r["ratio"] < LOW:
                low_at[size] = low_at.get(size, 0) + 1
                _below(ax, size, r["ratio"], low_at[size], colour)
    lines.labels.append((sizes[-1] * 1.12, 1.0, library, style.INK))
    ax.axhline(1, color=style.INK, lw=1.2, zorder=2)
    panels.size_axis(ax, sizes)
    lines.top = HIGH
    lines.finish(height, 1.0, LOW)
    ax.set_yticks([0.9, 0.95, 1.0, 1.05, 1.1])
    for size, r in _shares(course, records, gpu, step).items():
        ax.annotate(style.number(r["tflops"]), (size, 1), (0, 4), xycoords=("data", "axes fraction"),
                    textcoords="offset points", ha="center", fontsize=style.SMALL, fontweight="bold",
                    color=style.BLUE)  # fmt: skip
    ax.set_ylabel(say(language, "speed ÷ library", "速度 ÷ 库"))


def _below(ax: Axes, size: int, ratio: float, line: int, colour: str) -> None:
    """What lies under the axis, in words over its foot."""
    ax.annotate(f"↓ {ratio:.2f}", (size, 0), (2, 4 + 12 * (line - 1)), xycoords=("data", "axes fraction"),
                textcoords="offset points", fontsize=style.SMALL, color=style.ink(colour), zorder=6)  # fmt: skip
