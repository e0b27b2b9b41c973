"""Time lines of a block: when it copies, stores, waits and computes, for steps 08 to 11."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, motion
from plots.figures.palette import DARK, EDGE, INK, MUTED, PALE_RED, RED, THREAD, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words, say, title

GLOBAL = "#64788f"  # copies from global memory
STORE = "#4f93d2"  # stores to shared memory
LEFT = 108.0  # where time begins
RIGHT = layout.RIGHT
TRACK = 48.0  # a track's height

# Lengths in arbitrary units: a copy's way from global memory, a store, a slice's FMAs.
COPY, PUT, MULTIPLY = 26.0, 6.0, 30.0
FINDINGS = {  # what the time line of a step shows
    "08": ("while a slice is copied, nothing is multiplied", "拷贝切片时，什么也没有在算"),
    "09": ("the next slice loads while this one is multiplied", "算这一片时，下一片正在加载"),
    "10": ("copies run two slices ahead of the FMAs", "拷贝比 FMA 超前两片"),
    "11": ("the FMAs run on across the barrier", "FMA 跨过屏障也不停"),
}
PIECES = 6  # of a slice, where its fragments are loaded one k ahead


@dataclass(frozen=True)
class Bar:
    """Something that takes time on a track."""

    track: int
    start: float
    end: float
    colour: str
    words: Words


@dataclass(frozen=True)
class Line:
    """A step's time line."""

    name: str
    says: Words
    tracks: tuple[Words, ...]
    bars: tuple[Bar, ...]
    barriers: tuple[float, ...]
    waits: tuple[tuple[float, float], ...]  # when the multipliers idle
    fma_track: int
    length: float
    fills_an_sm: bool = False  # with one block


def _slice(number: int, tail: Words | None = None) -> Words:
    extra = ("", "") if tail is None else (f"\n{tail.english}", f"\n{tail.chinese}")
    return Words(f"slice {number}{extra[0]}", f"切片 {number}{extra[1]}")


LOAD = Words("global →\nregisters", "全局内存 →\n寄存器")
PUT_DOWN = Words("registers →\nshared", "寄存器 →\n共享内存")
FMAS = Words("FMAs", "FMA 计算")
ASYNC = Words("cp.async\nto shared", "cp.async\n写入共享内存")
FRAGMENTS = Words("shared →\nfragments", "共享内存 →\nfragment")


def conflict_free() -> Line:
    """Step 08: copy, store, compute, one after the other, two barriers per slice."""
    bars, barriers, waits = [], [], []
    at = 0.0
    for number in range(3):
        bars.append(Bar(0, at, at + COPY, GLOBAL, _slice(number)))
        barriers.append(at + COPY)
        bars.append(Bar(1, at + COPY, at + COPY + PUT, STORE, Words("", "")))
        barriers.append(at + COPY + PUT)
        waits.append((at, at + COPY + PUT))
        bars.append(Bar(2, at + COPY + PUT, at + COPY + PUT + MULTIPLY, C.strong, _slice(number)))
        at += COPY + PUT + MULTIPLY
    return Line(
        "08_conflict_free",
        Words(
            "one buffer: copy, store, compute in turn, two barriers per slice",
            "单缓冲：拷贝、写入、计算依次进行，每片两次屏障",
        ),
        (LOAD, PUT_DOWN, FMAS),
        tuple(bars),
        tuple(barriers),
        tuple(waits),
        2,
        at,
    )


def double_buffer() -> Line:
    """Step 09: the next slice's loads fly while this one is multiplied; one barrier per slice; fragments one k ahead."""
    bars = [Bar(0, 0, COPY, GLOBAL, _slice(0)), Bar(1, COPY, COPY + PUT, STORE, Words("0", "0"))]
    at = COPY + PUT
    barriers, waits = [at], [(0.0, at + 3)]
    bars.append(Bar(2, at, at + 3, THREAD.strong, Words("", "")))
    at += 3
    width = MULTIPLY / PIECES
    for number in range(3):
        last = number == 2
        if not last:
            bars.append(Bar(0, at, at + COPY - 4, GLOBAL, _slice(number + 1)))
        bars += _fragments(at, PIECES - 1)
        tail = Words(f"buffer {number % 2}", f"缓冲区 {number % 2}")
        turn = at + width * (PIECES - 1)
        bars.append(Bar(3, at, turn, C.strong, _slice(number, tail)))
        if not last:  # the turn to the next slice: the last k's fragments are in registers already
            buffer = (number + 1) % 2
            bars.append(Bar(1, turn, turn + PUT, STORE, Words(f"{buffer}", f"{buffer}")))
            waits.append((turn, turn + PUT))
            turn += PUT
            barriers.append(turn)
            bars.append(Bar(2, turn + 0.5, turn + width - 1.2, THREAD.strong, Words("", "")))
        bars.append(Bar(3, turn, turn + width, C.strong, Words("", "")))
        at = turn + width
    return Line(
        "09_double_buffer",
        Words(
            "two buffers: the next slice loads while this one is multiplied; one barrier per slice",
            "双缓冲：计算本片时加载下一片，每片一次屏障",
        ),
        (LOAD, PUT_DOWN, FRAGMENTS, FMAS),
        tuple(bars),
        tuple(barriers),
        tuple(waits),
        3,
        at,
    )


def _fragments(at: float, pieces: int) -> list[Bar]:
    """Loads of the fragments of the next k, one for each of a slice's pieces."""
    width = MULTIPLY / PIECES
    lefts = (at + k * width for k in range(pieces))
    return [Bar(2, left + 0.5, left + width - 1.2, THREAD.strong, Words("", "")) for left in lefts]


def cp_async() -> Line:
    """Step 10: copies go straight to shared memory, two slices ahead."""
    bars = [Bar(0, 0, COPY, GLOBAL, Words("slices\n0, 1", "切片\n0、1"))]
    barriers, waits = [], [(0.0, COPY)]
    at = COPY
    for number in range(3):
        barriers.append(at)
        if number < 1:
            bars.append(Bar(0, at + 1.5, at + MULTIPLY + COPY - 6, GLOBAL, _slice(number + 2)))
        bars.append(Bar(1, at, at + MULTIPLY, C.strong, _slice(number)))
        at += MULTIPLY
    return Line(
        "10_cp_async",
        Words(
            "asynchronous copies, two slices ahead: no registers in between, no store instruction",
            "异步拷贝，超前两片：不经寄存器，也不用写指令",
        ),
        (ASYNC, FMAS),
        tuple(bars),
        tuple(barriers),
        tuple(waits),
        1,
        at,
        fills_an_sm=True,
    )


def warp_tiling(steady: bool = False) -> Line:
    """Step 11: slices on their way two ahead, fragments one k ahead, A stored late in the slice. `steady`: from a slice in
    the middle on, as the step's own page shows it; otherwise from the first."""
    width = MULTIPLY / PIECES
    bars: list[Bar] = []
    barriers, waits, at = [], [], 0.0
    if not steady:
        bars.append(Bar(0, 0, COPY - 4, GLOBAL, Words("slices\n0, 1", "切片\n0、1")))
        bars.append(Bar(1, COPY - 4, COPY, STORE, Words("", "")))
        bars.append(Bar(2, COPY, COPY + 3, THREAD.strong, Words("", "")))
        barriers, waits, at = [COPY], [(0.0, COPY + 3)], COPY + 3
    for number in range(3):
        last = number == 2 and not steady
        if steady or number < 1:
            copied = _later(number + 2) if steady else _slice(number + 2)
            put = Words("", "") if steady else Words(f"{number + 2}", f"{number + 2}")
            bars.append(Bar(0, at, at + MULTIPLY - 2 * width - 0.5, GLOBAL, copied))
            bars.append(Bar(1, at + MULTIPLY - 2 * width, at + MULTIPLY - width - 0.5, STORE, put))
        bars += _fragments(at, PIECES - 1 if last else PIECES)
        bars.append(Bar(3, at, at + MULTIPLY, C.strong, _later(number) if steady else _slice(number)))
        if not last:
            barriers.append(at + MULTIPLY - width)
        at += MULTIPLY
    return Line(
        "11_warp_tiling",
        Words(
            "three slices in the steady state: copies two slices ahead, fragments one k ahead, A stored late"
            if steady
            else "three stages: slices two ahead, A stored as late as possible; the FMAs run on across the barrier",
            "稳态下的三片：拷贝超前两片，fragment 超前一个 k，A 尽量晚写入"
            if steady
            else "三个 stage：拷贝超前两片，A 尽可能晚写入；FMA 跨过屏障不停",
        ),
        (
            Words("from global\nmemory", "从全局\n内存拷贝"),
            Words("A: registers\n→ shared", "A：寄存器\n→ 共享"),
            FRAGMENTS,
            FMAS,
        ),
        tuple(bars),
        tuple(barriers),
        tuple(waits),
        3,
        at,
        fills_an_sm=True,
    )


def _later(number: int) -> Words:
    """A slice's name by its distance from the first one drawn, s."""
    name = f"s + {number}" if number else "s"
    return Words(f"slice {name}", f"切片 {name}")


def all_lines() -> list[Line]:
    """The time lines in the order of the ladder."""
    return [conflict_free(), double_buffer(), cp_async(), warp_tiling()]


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    for line in (conflict_free(), double_buffer(), cp_async(), warp_tiling(steady=True)):
        yield f"{line.name}-timeline", lambda language, line=line: draw([line], f"{title(line.name)}", language)
    yield "double-buffering", lambda language: draw(all_lines(), "", language)


def draw(lines: list[Line], name: str, language: str) -> Canvas:
    """One time line, or several one above the other on the same scale."""
    alone = len(lines) == 1
    if alone:
        english, chinese = FINDINGS[lines[0].name[:2]]
        heading = f"{name}: {english}", f"{name}：{chinese}"
        note = f"one block over time: {lines[0].says.english}", f"一个线程块的时间线：{lines[0].says.chinese}"
    else:
        heading = (
            "From one buffer to a pipeline, the FMAs wait less",
            "从单缓冲到流水线，FMA 等得少了",
        )
        note = (
            "one block over time; the same work in each step",
            "一个线程块的时间线；各步做同样的工作",
        )
    canvas, y = layout.page(language, heading, note)
    scale = (RIGHT - LEFT) / max(line.length for line in lines)
    bands = []
    for line in lines:
        if not alone:
            canvas.text(layout.MARGIN, y + 20, title(line.name), bold=True)
            words = line.says.english, line.says.chinese
            y = layout.paragraph(canvas, y + 39, language, words, fill=MUTED) - 10
        y += 6
        _tracks(canvas, line, y, scale, language)
        bands.append((y - 3, y + len(line.tracks) * TRACK + 3.5))
        y += len(line.tracks) * TRACK + 14
    motion.sweep(canvas, LEFT, RIGHT, bands)
    entries = ((f"line:{DARK}", ("__syncthreads()", "__syncthreads()")),)
    if any(line.waits for line in lines):
        entries = ((PALE_RED, ("the multipliers wait", "乘法单元在等")), *entries)
    if any(line.name.startswith("09") for line in lines):
        entries += ((STORE, ("stores, with the number of the buffer", "写入，数字是缓冲区的编号")),)
    y = layout.legend(canvas, y + 16, language, entries)
    others = "other blocks of the SM left out", "未画同一 SM 上的其他线程块"
    if all(line.fills_an_sm for line in lines):
        others = "the block has its SM to itself", "一个线程块独占一个 SM"
    words = f"schematic; lengths are not to scale, {others[0]}", f"示意图：长度不按比例，{others[1]}"
    canvas.height = layout.paragraph(canvas, y, language, words, fill=MUTED)
    return canvas


def _tracks(canvas: Canvas, line: Line, top: float, scale: float, language: str) -> None:
    end = LEFT + line.length * scale
    for index, track in enumerate(line.tracks):
        y = top + index * TRACK
        canvas.rect(LEFT, y + 3, end - LEFT, TRACK - 6, "#f1f4f8", radius=3)
        _centred(canvas, LEFT - 8, y, track(language), INK, "end")
    y = top + line.fma_track * TRACK
    for start, stop in line.waits:
        canvas.rect(LEFT + start * scale, y + 3, (stop - start) * scale, TRACK - 6, PALE_RED)
    for bar in line.bars:
        y = top + bar.track * TRACK
        x, width = LEFT + bar.start * scale, (bar.end - bar.start) * scale
        canvas.rect(x + 0.5, y + 4, max(width - 1, 1), TRACK - 8, bar.colour, radius=3)
        edges = [bar.start, *(at for at in line.barriers if bar.start < at < bar.end), bar.end]
        start, end_of_text = max(itertools.pairwise(edges), key=lambda two: two[1] - two[0])
        middle = LEFT + (start + end_of_text) / 2 * scale  # beside the barriers, not under them
        _centred(canvas, middle, y, bar.words(language), "#ffffff", bold=True)
    for at in line.barriers:
        x = LEFT + at * scale
        canvas.line(x, top - 3, x, top + len(line.tracks) * TRACK + 3, DARK, 2.5)
    if line.waits and (line.waits[0][1] - line.waits[0][0]) * scale > 40:
        start, stop = line.waits[0]
        middle = LEFT + (start + stop) / 2 * scale
        _centred(canvas, middle, top + line.fma_track * TRACK, say(language, "wait", "等待"), RED)
    canvas.line(LEFT, top + len(line.tracks) * TRACK + 4, end, top + len(line.tracks) * TRACK + 4, EDGE)


def _centred(
    canvas: Canvas, x: float, y: float, text: str, colour: str, anchor: str = "middle", bold: bool = False
) -> None:
    """One line of text or two in the middle of a track whose upper edge is y."""
    lines = text.split("\n") if text else []
    first = y + TRACK / 2 + 5 - 9 * (len(lines) - 1)
    canvas.lines(x, first, lines, 1.2, fill=colour, anchor=anchor, bold=bold)
