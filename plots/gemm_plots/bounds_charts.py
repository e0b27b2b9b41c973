"""Each step's speed beside its bounds: the load/store unit's, that of the issue slots, and the instruction's limit."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import panels, style
from .course import Course, Step
from .records import Record, Records
from .style import Missing, say

SIZE = 4096
FLOP = 64  # of a warp-wide FMA
LOAD_STORE, ISSUE = style.PLUM, style.INK
_TICK = 0.46  # half the height of a bound's mark, in rows
_WORDS = {
    LOAD_STORE: ("the load/store unit's bound", "访存单元的上界"),
    ISSUE: ("the issue slots' bound", "发射槽的上界"),
}


def load_store_bound(course: Course, gpu: str, step: Step) -> float | None:
    """TFLOPS if the load/store unit did one wavefront or look-up per cycle and SM, as many as the chapter counts."""
    facts, per_fma = course.gpu(gpu), course.load_store_per_fma(step)
    if not facts or not per_fma:
        return None
    return facts["sms"] * facts["clock_mhz"] * 1e6 * FLOP / per_fma / 1e12


def issue_bound(course: Course, records: Records, gpu: str, step: Step) -> float | None:
    """TFLOPS if every issue slot were used, by the share of FMAs in the machine code of the default's main loop."""
    loop = next((r["loop"] for r in records.mixes_of(step.name, "sass")), None)
    peak = course.peak(gpu, step)
    return peak * loop["fma"] / loop["instructions"] if peak and loop and loop["fma"] else None


def _rows(course: Course, records: Records, gpu: str, name: str) -> list[tuple[Step, Record, dict[str, float]]]:
    """Every step of a ladder that was timed and has both bounds: the step, its timing, the bounds by their colour."""
    found = []
    for step in course.ladder(name):
        record = records.default_at(gpu, step.name, SIZE)
        of = {LOAD_STORE: load_store_bound(course, gpu, step), ISSUE: issue_bound(course, records, gpu, step)}
        if record and all(of.values()):
            found.append((step, record, {colour: bound for colour, bound in of.items() if bound}))
    return found


def bounds(course: Course, records: Records, name: str, language: str) -> Figure:
    """Bars of measured speed, a mark for each bound, the limit of the instruction and the peak as lines."""
    steps = course.ladder(name)
    gpu = next(iter(records.gpus([s.name for s in steps])), None)
    rows = _rows(course, records, gpu, name) if gpu else []
    if gpu is None or not rows:
        raise Missing(f"no step of the {name} ladder has a timing at {SIZE}, a count by hand and an instruction mix")
    inches, left, right = 6.05, 2.15, 0.75
    references = panels.roofs(course, records, gpu, steps, language)
    top = 1.12 * panels.axis_top(references, [record["tflops"] for _, record, _ in rows])
    height = 1.75 + 0.36 * len(rows)
    drawn, (ax,) = style.figure(left + inches + right, height)
    width = drawn.get_figwidth()
    drawn.subplots_adjust(left=left / width, right=1 - right / width, top=1 - 1.12 / height, bottom=0.63 / height)
    for row, (_, record, of) in enumerate(rows):
        ax.barh(row, record["tflops"], 0.66, color=style.BLUE, zorder=2)
        inside = record["tflops"] > 0.4 * top
        beside = record["tflops"] if inside else max(of.values())  # a short bar's text stands behind the marks
        panels.bar_text(ax, beside, row, _with_share(record, min(of.values())), inside)
        for colour, bound in of.items():
            _mark(ax, row, bound, colour, top)
    panels.vertical_references(ax, references, top, inches)
    ax.set_xlim(0, top)
    panels.bar_rows(ax, [step.short for step, _, _ in rows])
    ax.set_xlabel("TFLOPS")
    style.heading(drawn, _finding(rows, language), _note(records, gpu, name, language))
    marks = [("tick", colour, say(language, *_WORDS[colour])) for colour in (LOAD_STORE, ISSUE)]
    style.legend(drawn, [("box", style.BLUE, say(language, "measured", "实测")), *marks], 0.76)
    foot = ("the load/store unit: wavefronts and look-ups as each chapter counts them by hand; issue: FMAs in the SASS loop",
            "访存单元：各章手算的波前与查缓存行次数；发射槽：SASS 循环中 FMA 的比例")  # fmt: skip
    style.footnote(drawn, say(language, *foot))
    return drawn


def _note(records: Records, gpu: str, name: str, language: str) -> str:
    where = records.gpu_name(gpu)
    return say(
        language,
        f"{name.upper()}, {SIZE}³ · {where}; in brackets: share of the tighter of the two bounds",
        f"{name.upper()}，{SIZE}³ · {where}；括号内：相对两个上界中较低者的比例",
    )


def _finding(rows: list[tuple[Step, Record, dict[str, float]]], language: str) -> str:
    """The title: up to which step the load/store unit is the tighter bound."""
    last = max((step.number for step, _, of in rows if of[LOAD_STORE] < of[ISSUE]), default=0)
    return say(
        language,
        f"The load/store unit is the tighter bound up to step {last:02d}, instruction issue after it",
        f"到步骤 {last:02d} 为止卡在访存单元，之后卡在指令发射",
    )


def _with_share(record: Record, bound: float) -> str:
    return f"{style.number(record['tflops'])}  ({record['tflops'] / bound:.0%})"


def _mark(ax: Axes, row: float, bound: float, colour: str, top: float) -> None:
    """A bound as an upright mark; at the edge, with its figure, where it lies beyond the axis."""
    if bound <= top:
        ax.plot([bound, bound], [row - _TICK, row + _TICK], color=colour, lw=3, solid_capstyle="butt", zorder=3.5)
    else:
        ax.annotate(f"{style.number(bound)} →", (top, row), (-2, 0), textcoords="offset points", ha="right",
                    va="center", fontsize=9, color=colour, zorder=4)  # fmt: skip
