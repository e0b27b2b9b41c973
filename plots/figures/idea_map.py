"""docs/ladder: which step brings which technique, which kernels after it have it too, and what bounds each step lowest."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import records
from base.paths import DATA, ROOT
from plots import bounds_charts, glossary
from plots.bounds_charts import INSTRUCTION, ISSUE, LOAD_STORE, PIPES
from plots.course import Course
from plots.figures import here, layout, parts
from plots.figures.palette import EDGE, A
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

# What the code of a kernel has, without its comments, where it uses a technique; in the order in which these enter.
CODE = {
    "coalesced": r"\A(?!.*columns_on_y)",  # no launch has neighbours down a column
    "shared-memory": r"__shared__",
    "pad": r"\bPAD\b",
    "float4": r"float4|uint4",
    "thread tile": r"acc\[TM\]\[",
    "double-buffer": r"\[2\]\[|buffer",
    "cp-async": r"ptx/cp_async\.h",
    "stage": r"\bSTAGES\b",
    "warp tile": r"\bWM\b",
    "half2": r"half2",
    "wmma": r"device/wmma\.h",
    "mma-sync": r"ptx/mma\.h",
    "swizzle": r"chunk \^|device/tensor_map\.h",  # every box of TMA is swizzled
    "persistent": r"gridDim",
    "tma": r"ptx/tma\.h",
    "wgmma": r"ptx/wgmma",
    "producer": r"ptx/warpgroup\.h",
    "cluster": r"ptx/cluster\.h",
    "early-launch": r"ptx/dependent_launch\.h",
    "split-k": r"SPLIT",
    "digit": r"[dD]igit",
}
TILES = {"thread tile": here.THREAD[0], "warp tile": here.WARP[0]}  # not in the glossary by themselves
NAMES, BOUND, FIRST, PITCH, ROW = layout.MARGIN + 10, 214.0, 244.0, 14.0, 22.0


@dataclass(frozen=True)
class Row:
    """A step, and which techniques its kernel has."""

    number: int
    name: str
    has: frozenset[str]
    bound: str  # the colour of its lowest bound, "" where none is known


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "ladder-ideas", ideas


@cache
def rows() -> dict[str, list[Row]]:
    """The steps by ladder."""
    course, recorded = Course(ROOT, DATA), records.load(DATA, ROOT)
    found: dict[str, list[Row]] = {name: [] for name in course.ladders}
    for step in course.steps:
        code = re.sub(r"//[^\n]*", "", step.kernel.read_text(encoding="utf-8"))
        has = frozenset(name for name, pattern in CODE.items() if re.search(pattern, code, re.DOTALL))
        found[step.ladder].append(Row(step.number, step.short, has, _lowest(course, recorded, step)))
    return found


def _lowest(course: Course, recorded: records.Records, step: bounds_charts.Step) -> str:
    """The colour of a step's lowest bound, per cycle: a unit's, or the measured limit of the instruction that multiplies."""
    gpu = records.REFERENCE_GPU
    timed = recorded.default_at(gpu, step.name, bounds_charts.SIZE)
    load_store = bounds_charts.load_store_bound(course, gpu, step)
    if timed is None or load_store is None:
        return ""
    limit = recorded.limit(gpu, timed["a"], timed["acc"], step.instruction)
    clock = course.gpu(gpu)["clock_mhz"]
    of = {LOAD_STORE: load_store / clock}
    if limit:
        of[INSTRUCTION] = limit["tflops"] / (limit["sm_mhz"] if step.on_tensor_cores else clock)
    if not step.on_tensor_cores and (issue := bounds_charts.issue_bound(course, recorded, gpu, step)):
        of[ISSUE] = issue / clock
    if pipe := bounds_charts.pipes_bound(course, gpu, step):
        of[PIPES] = pipe / clock
    return min(of, key=of.__getitem__)


def entry(name: str) -> int:
    """The first step whose kernel has a technique."""
    return min(row.number for ladder in rows().values() for row in ladder if name in row.has)


@cache
def _name(technique: str, language: str) -> str:
    if technique in TILES:
        return say(language, *TILES[technique])
    term = next(term for term in glossary.load(ROOT) if term.id == technique)
    return re.sub(r"（.*?）", " ", say(language, term.en.split(", ")[0], term.zh.split("、")[0]))


def ideas(language: str) -> Canvas:
    """A card per ladder, a row per step, a column per technique."""
    canvas, y = layout.page(
        language,
        (
            "Each technique enters in one step, and later kernels build on it",
            "每种手法在某一步引入，后面的 kernel 以它为基础",
        ),
        (
            "a ring with a name: the first kernel that has it; a dot: a later one; from the kernels' sources",
            "带名字的圆圈：第一个用它的 kernel；圆点：之后也用它的；取自各 kernel 的源码",
        ),
    )
    entries = (
        (LOAD_STORE, ("lowest bound: the load/store unit", "最低的上界：LSU")),
        (ISSUE, ("issue slots", "发射槽")),
        (PIPES, ("one pipe", "单条 pipe")),
        (INSTRUCTION, ("the instruction", "指令自身")),
    )
    y = layout.legend(canvas, y + 18, language, entries) - 4
    columns = {name: FIRST + index * PITCH for index, name in enumerate(CODE)}
    course = Course(ROOT, DATA)
    for ladder, steps in rows().items():
        high = 34 + len(steps) * ROW + 6
        parts.card(canvas, layout.MARGIN, y, layout.INNER, high, course.ladder_name(ladder, language))
        _lines(canvas, y + 34, steps, columns)
        for index, row in enumerate(steps):
            _row(canvas, y + 34 + (index + 0.5) * ROW, row, columns, language)
        y += high + 10
    canvas.height = y + 6
    return canvas


def _lines(canvas: Canvas, top: float, steps: list[Row], columns: dict[str, float]) -> None:
    """From the first to the last kernel of a card that has a technique; pale, where it only passes through the card."""
    every = [row for ladder in rows().values() for row in ladder]
    for name, x in columns.items():
        users = [row.number for row in every if name in row.has]
        alive = [index for index, row in enumerate(steps) if users[0] <= row.number <= users[-1]]
        here_too = [index for index, row in enumerate(steps) if name in row.has]
        for indices, colour in ((alive, EDGE), (here_too, A.middle)):
            if len(indices) > 1:
                first, last = (top + (index + 0.5) * ROW for index in (indices[0], indices[-1]))
                canvas.line(x, first, x, last, colour, 2)


def _row(canvas: Canvas, y: float, row: Row, columns: dict[str, float], language: str) -> None:
    canvas.text(NAMES, y + 5, row.name)
    if row.bound:
        canvas.rect(BOUND, y - 6, 12, 12, row.bound)
    new = [name for name in columns if name in row.has and entry(name) == row.number]
    for name in (name for name in columns if name in row.has and name not in new):
        canvas.circle(columns[name], y, 3.6, A.strong)
    for name in new:
        canvas.circle(columns[name], y, 5.5, "#ffffff", A.ink)
        canvas.circle(columns[name], y, 2.5, A.ink)
    if new:
        after = max(columns[name] for name in new) + 12
        canvas.text(
            after, y + 5, say(language, ", ", "、").join(_name(name, language) for name in new), fill=A.ink, bold=True
        )
