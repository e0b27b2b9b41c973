"""Each step's speed beside its bounds: the load/store unit's, that of the issue slots, and the instruction's limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from records import Record, Records

from . import layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

SIZE = 4096
# FLOP of what a ladder's wavefronts are counted for: a warp-wide FMA, one of two halves, an HMMA (mma.m16n8k16), and of
# wgmma as much as an HMMA.
FLOP = {"fp32": 64, "fp16": 128, "wmma": 4096, "mma": 4096, "hopper": 4096}
TENSOR = ("wmma", "mma")  # in one chart, beside the limit of mma.sync
HOPPER = "hopper"
LOAD_STORE, ISSUE = style.PLUM, style.INK
PIPES = style.GREEN  # of a kernel whose FMAs use a part of them
INSTRUCTION = style.RED  # of Hopper, whose issue slots are far from full
PER_CYCLE = "FLOP per cycle and SM", "每个 SM 每周期的 FLOP"  # where clocks differ
_TICK = 0.46  # half the height of a bound's mark, in rows
_SPEEDS = 57  # points: the column of speeds between the names and the axis
_WORDS = {
    LOAD_STORE: ("the load/store unit's bound", "LSU 的上界"),
    ISSUE: ("the issue slots' bound", "发射槽的上界"),
    PIPES: ("the bound of one pipe", "单条 pipe 的上界"),
}
_WORDS_OF_HOPPER = {  # wgmma and TMA reach shared memory without the load/store unit
    LOAD_STORE: ("shared memory's bound", "共享内存的上界"),
    INSTRUCTION: ("the instruction's limit, measured", "指令的实测上限"),
}


@dataclass(frozen=True)
class Row:
    """A step, its timing, and its bounds in TFLOPS by the colour of their marks."""

    step: Step
    record: Record
    bounds: dict[str, float]


def load_store_bound(course: Course, gpu: str, step: Step) -> float | None:
    """TFLOPS if the load/store unit did one wavefront or look-up per cycle and SM, as many as its chapter counts."""
    facts, per_instruction = course.gpu(gpu), course.load_store_per_instruction(step)
    if not facts or not per_instruction or step.ladder not in FLOP:
        return None
    return facts["sms"] * facts["clock_mhz"] * 1e6 * FLOP[step.ladder] / per_instruction / 1e12


def issue_bound(course: Course, records: Records, gpu: str, step: Step) -> float | None:
    """TFLOPS if every issue slot were used, by the share of FMAs in the machine code of the default's main loop."""
    loop = next((r["loop"] for r in records.mixes_of(step.name, "sass")), None)
    peak = course.peak(gpu, step)
    return peak * loop["fma"] / loop["instructions"] if peak and loop and loop.get("fma") else None


def pipes_bound(course: Course, gpu: str, step: Step) -> float | None:
    """TFLOPS of the pipes that its FMAs can use, as the step's chapter finds them; None where they use all."""
    peak, share = course.peak(gpu, step), step.by_hand.get("share_of_pipes")
    return peak * share if peak and share else None


def per_cycle(course: Course, gpu: str, tflops: float, mhz: float) -> float:
    """FLOP per cycle and SM at a speed and a clock."""
    return tflops * 1e6 / (course.gpu(gpu)["sms"] * mhz)


def _in_cycles(course: Course, gpu: str, record: Record) -> Record:
    """A timing whose speed is FLOP per cycle and SM, at the clock that it was read at."""
    return {**record, "tflops": per_cycle(course, gpu, record["tflops"], record["sm_mhz"])}


def bounds(course: Course, records: Records, name: str, language: str) -> Figure:
    """A ladder on CUDA cores: bars of speed, a mark for either bound, the limit of the FMA and the peak as lines."""
    steps = course.ladder(name)
    gpu = next(iter(records.gpus([s.name for s in steps])), None)
    rows = _between_bounds(course, records, gpu, steps) if gpu else []
    if gpu is None or not rows:
        raise Missing(f"no step of the {name} ladder has a timing at {SIZE}, a count by hand and an instruction mix")
    lines = panels.roofs(course, records, gpu, steps, language)
    last = max((row.step.number for row in rows if row.bounds[LOAD_STORE] < row.bounds[ISSUE]), default=0)
    title = say(
        language,
        f"The load/store unit is the lower bound up to step {last:02d}, instruction issue after it",
        f"到步骤 {last:02d} 为止，较低的上界是 LSU，之后是指令发射",
    )
    limit = min((line.tflops for line in lines if not line.peak), default=None)
    held = [row for row in rows if PIPES in row.bounds and limit and row.bounds[PIPES] < limit]
    others = [row for row in rows if row not in held]
    if limit and all(limit < row.bounds[mark] for row in rows for mark in (LOAD_STORE, ISSUE)):
        title = say(
            language,
            f"The instruction's own limit, {style.number(limit)} TFLOPS, is below both bounds",
            f"指令自身的上限 {style.number(limit)} TFLOPS 低于两个上界",
        )
        if len(held) == len(others) == 1:
            (one, other), bound = (held[0].step.number, others[0].step.number), style.number(held[0].bounds[PIPES])
            title = say(
                language,
                f"The lowest bound: one pipe in step {one:02d}, {bound} TFLOPS; the instruction in step "
                f"{other:02d}, {style.number(limit)}",
                f"最低的上界：步骤 {one:02d} 是单条 pipe，{bound} TFLOPS；步骤 {other:02d} 是指令自身，"
                f"{style.number(limit)}",
            )
    note = say(language, f"{name.upper()}, {SIZE}³ · {records.gpu_name(gpu)}; in brackets: share of the lowest bound",
               f"{name.upper()}，{SIZE}³ · {records.gpu_name(gpu)}；括号内：相对最低上界的比例")  # fmt: skip
    foot = say(
        language,
        "the load/store unit: wavefronts and look-ups as each chapter counts them by hand; issue: FMAs in the SASS loop",
        "LSU：各章手算的 wavefront 与查缓存行次数；发射槽：SASS 循环中 FMA 的比例",
    )
    return _drawn(rows, lines, (title, note, foot), language)


def _between_bounds(course: Course, records: Records, gpu: str, steps: Sequence[Step]) -> list[Row]:
    """The steps that have a timing, a count by hand and an instruction mix, each with its two bounds."""
    rows = []
    for step in steps:
        record = records.default_at(gpu, step.name, SIZE)
        of = {LOAD_STORE: load_store_bound(course, gpu, step), ISSUE: issue_bound(course, records, gpu, step)}
        if record and all(of.values()):
            of[PIPES] = pipes_bound(course, gpu, step)
            rows.append(Row(step, record, {colour: bound for colour, bound in of.items() if bound}))
    return rows


def up_to(course: Course, records: Records, step: Step, language: str) -> Figure:
    """A step on CUDA cores and those before it: bars of speed, a mark for either bound."""
    steps = [each for each in course.ladder(step.ladder) if each.number <= step.number]
    gpu = next(iter(records.gpus([step.name])), None)
    rows = _between_bounds(course, records, gpu, steps) if gpu else []
    if gpu is None or not rows or rows[-1].step is not step:
        raise Missing(f"{step.name} has no timing at {SIZE}, count by hand and instruction mix")
    last = rows[-1]
    unit = last.bounds[LOAD_STORE] <= last.bounds[ISSUE]
    share = f"{last.record['tflops'] / min(last.bounds.values()):.0%}"
    title = say(
        language,
        f"{step.short} reaches {share.replace('%', ' %')} of what {'the load/store unit' if unit else 'its issue slots'} "
        "can do",
        f"{step.short}：达到{' LSU ' if unit else '发射槽'}上界的 {share}",
    )
    note = say(language, f"{SIZE}³ · {records.gpu_name(gpu)}; in brackets: share of the lower bound",
               f"{SIZE}³ · {records.gpu_name(gpu)}；括号内：相对较低上界的比例")  # fmt: skip
    return _drawn(rows, [], (title, note, ""), language, only=last)


def hopper_bounds(course: Course, records: Records, language: str) -> Figure:
    """The ladder of TMA and wgmma: bars of speed, marks for shared memory's bound and the instruction's limit."""
    steps = course.ladder(HOPPER)
    gpu = next(iter(records.gpus([s.name for s in steps])), None)
    rows = []
    for step in steps if gpu else ():
        record, bound = records.default_at(gpu, step.name, SIZE), load_store_bound(course, gpu, step)
        limit = records.limit(gpu, record["a"], record["acc"], step.instruction) if record else None
        if record and bound and limit:
            of = {LOAD_STORE: per_cycle(course, gpu, bound, course.gpu(gpu)["clock_mhz"])}
            of[INSTRUCTION] = per_cycle(course, gpu, limit["tflops"], limit["sm_mhz"])
            rows.append(Row(step, _in_cycles(course, gpu, record), of))
    if gpu is None or not rows:
        raise Missing(f"no step of the {HOPPER} ladder has a timing at {SIZE}, a count by hand and a measured limit")
    lower = [f"{row.step.number:02d}" for row in rows if row.bounds[LOAD_STORE] < row.bounds[INSTRUCTION]]
    title = say(language, "The instruction's limit is lower than shared memory's bound in every step",
                "每一步里，指令的上限都低于共享内存的上界")  # fmt: skip
    if lower:
        title = say(language, f"Steps {', '.join(lower)}: shared memory is the lower bound; elsewhere the instruction",
                    f"步骤 {'、'.join(lower)} 的较低上界是共享内存，其余各步是指令")  # fmt: skip
    note = say(language, f"{SIZE}³ · {records.gpu_name(gpu)}; each speed by its own clock; in brackets: share of the lower one",
               f"{SIZE}³ · {records.gpu_name(gpu)}；各速度除以各自的频率；括号内：相对较低者的比例")  # fmt: skip
    foot = say(
        language,
        "shared memory: the wavefronts that products read and TMA writes; the limit: random data; clocks as NVML read them",
        "共享内存：乘法读取和 TMA 写入的 wavefront；指令的上限：随机数据；频率为 NVML 的读数",
    )
    return _drawn(rows, [], (title, note, foot), language, _WORDS_OF_HOPPER, PER_CYCLE)


def tensor_bounds(course: Course, records: Records, language: str) -> Figure:
    """The ladders of WMMA and mma.sync: bars of speed, a mark for the load/store unit's bound, the limit of mma.sync."""
    steps = [step for name in TENSOR for step in course.ladder(name)]
    gpu = next(iter(records.gpus([s.name for s in steps])), None)
    rows: list[Row] = []
    limit: list[panels.Reference] = []
    for step in steps if gpu else ():
        record, bound = records.default_at(gpu, step.name, SIZE), load_store_bound(course, gpu, step)
        if record and bound:
            found = records.limit(gpu, record["a"], record["acc"], step.instruction)
            if found:
                of = {LOAD_STORE: per_cycle(course, gpu, bound, course.gpu(gpu)["clock_mhz"])}
                rows.append(Row(step, _in_cycles(course, gpu, record), of))
                limit = [panels.Reference(say(language, "mma.sync limit", "mma.sync 上限"),
                                          per_cycle(course, gpu, found["tflops"], found["sm_mhz"]),
                                          style.RED, panels.DASHED)]  # fmt: skip
    if gpu is None or not limit:
        raise Missing(f"no step on tensor cores has a timing at {SIZE} and a count by hand, or mma.sync no limit")
    tight = [f"{row.step.number:02d}" for row in rows if row.bounds[LOAD_STORE] < limit[0].tflops]
    title = say(
        language,
        f"Steps {', '.join(tight)}: the load/store unit is the lower bound; elsewhere mma.sync",
        f"步骤 {'、'.join(tight)} 的较低上界是 LSU，其余各步是 mma.sync",
    )
    note = say(language, f"{SIZE}³ · {records.gpu_name(gpu)}; each speed by its own clock; in brackets: share of the lower bound",
               f"{SIZE}³ · {records.gpu_name(gpu)}；各速度除以各自的频率；括号内：相对较低上界的比例")  # fmt: skip
    foot = say(
        language,
        "the load/store unit: wavefronts and look-ups as each chapter counts them by hand; mma.sync: measured; clocks as "
        "NVML read them",
        "LSU：各章手算的 wavefront 与查缓存行次数；mma.sync 为实测；频率为 NVML 的读数",
    )
    return _drawn(rows, limit, (title, note, foot), language, unit=PER_CYCLE)


def _drawn(
    rows: Sequence[Row],
    lines: Sequence[panels.Reference],
    texts: tuple[str, str, str],
    language: str,
    words: Mapping[str, tuple[str, str]] = _WORDS,
    unit: tuple[str, str] = ("TFLOPS", "TFLOPS"),
    only: Row | None = None,
) -> Figure:
    """The bars with their marks, under a title and a note, over a foot; `only` this one in the colour of a chapter's step."""
    right = 0.56  # for the bounds beyond the axis
    left = layout.NAMES + _SPEEDS / 72
    inches = layout.WIDTH - left - right
    shown = [*(row.record["tflops"] for row in rows), *(line.tflops for line in lines)]
    shown += [min(row.bounds.values()) for row in rows if only]
    top = 1.12 * panels.axis_top(lines, shown)
    title, note, foot = texts
    marks = [
        ("tick", colour, say(language, *words[colour])) for colour in words if any(colour in row.bounds for row in rows)
    ]
    legend = [("box", style.BLUE, say(language, "measured", "实测")), *marks]
    panel = Panel(0.28 * len(rows), panels.room_above(lines, top, inches))
    drawn, (ax,) = layout.page(Texts(title, note, legend, foot), [panel], left, right)
    for place, row in enumerate(rows):
        speed = row.record["tflops"]
        ax.barh(place, speed, 0.66, color=style.BLUE if only in (None, row) else style.GREY, zorder=2)
        slow, fast = panels.spread(row.record)
        if fast - slow > 0.004 * top:
            ax.plot([slow, fast], [place, place], color=style.INK, lw=1.2, marker="|", ms=4, zorder=3)
        lowest = min([*row.bounds.values(), *(line.tflops for line in lines if not line.peak)])
        # Left of the axis: after a mark it would be read as that mark's value.
        ax.annotate(f"{style.number(speed)} ({speed / lowest:.0%})", (0, place), (-5, 0), textcoords="offset points",
                    va="center_baseline", ha="right", fontsize=style.SMALL, color=style.INK)  # fmt: skip
        for colour, bound in row.bounds.items():
            _mark(ax, place, bound, colour, top)
    panels.vertical_references(ax, lines, top, inches)
    ax.set_xlim(0, top)
    panels.named_rows(ax, [row.step.short for row in rows])
    ax.tick_params(axis="y", pad=5 + _SPEEDS)
    ax.set_xlabel(say(language, *unit))
    return drawn


def _mark(ax: Axes, place: float, bound: float, colour: str, top: float) -> None:
    """A bound as an upright mark; beside the axes, with its figure, where it lies beyond the axis."""
    if bound <= top:
        ax.plot([bound, bound], [place - _TICK, place + _TICK], color=colour, lw=3, solid_capstyle="butt", zorder=3.5)
    else:
        ax.annotate(f"{style.number(bound)} →", (top, place), (2, 0), textcoords="offset points",
                    va="center_baseline", fontsize=style.SMALL, color=colour)  # fmt: skip
