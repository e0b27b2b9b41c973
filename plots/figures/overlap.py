"""Step 25: one SM over two tiles, with a block for each (step 24) and with a block that stays."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, motion
from plots.figures.palette import DARK, INK, MUTED, PALE_RED, RED, THREAD, A, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words, say, title

BM, BN, BK, PIECES = 128, 256, 64, 4
LEFT, RIGHT, TRACK = 112.0, layout.RIGHT, 46.0

# Lengths in arbitrary units: until the first slice lands, a tile's products, the lead of the copies over them, a store
# from registers, the start of a block; a piece of C written to shared memory, and read and stored by the engine.
FILL, PRODUCTS, LEAD, STORE, START = 6.0, 26.0, 4.0, 9.0, 2.0
STAGED, STORED = 1.1, 2.4


@dataclass(frozen=True)
class Bar:
    """Something that takes time on a track."""

    track: int
    start: float
    end: float
    tone: Tone
    words: Words


@dataclass(frozen=True)
class Line:
    """A step's time line: its tracks, what happens on them, when the tensor cores have nothing to do, block ends."""

    step: str
    says: Words
    tracks: tuple[Words, ...]
    bars: tuple[Bar, ...]
    idle: tuple[tuple[float, float], ...]
    block_ends: tuple[float, ...]
    length: float


COPIES = Words("TMA loads\nof A and B", "TMA 加载\nA 和 B")
MULTIPLY = Words("tensor cores", "Tensor Core")
NOTHING = Words("", "")


def _tile(number: int) -> Words:
    return Words(f"tile {number}", f"分块 {number}")


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "25_overlapped_store-timeline", timeline


def block_per_tile() -> Line:
    """Step 24: fill, multiply, store, and the same again in the next block."""
    bars, idle, ends, at = [], [], [], 0.0
    for tile in range(2):
        first = at + FILL
        done = first + PRODUCTS
        bars += [
            Bar(0, at, done - LEAD, A, _tile(tile)),
            Bar(1, first, done, C, _tile(tile)),
            Bar(2, done, done + STORE, B, _tile(tile)),
        ]
        idle += [(at, first), (done, done + STORE)]
        at = done + STORE
        ends.append(at)
        if tile == 0:
            idle.append((at, at + START))
            at += START
    return Line(
        "24_warp_specialised",
        Words("a block per tile: nothing runs during the store", "每个分块一个线程块：写回时没有别的工作"),
        (COPIES, MULTIPLY, Words("registers\n→ C", "寄存器\n→ C")),
        tuple(bars),
        tuple(idle),
        tuple(ends),
        at,
    )


def block_that_stays() -> Line:
    """Step 25: the next tile's products begin when the sums lie in shared memory."""
    bars, idle = [], [(0.0, FILL)]
    first, loads = FILL, 0.0
    for tile in range(2):
        done = first + PRODUCTS
        staged = done + PIECES * STAGED
        bars.append(Bar(0, loads, done - LEAD, A, _tile(tile)))
        bars.append(Bar(1, first, done, C, _tile(tile)))
        for piece in range(PIECES):
            written = done + (piece + 1) * STAGED
            stored = done + STAGED + piece * STORED
            bars.append(Bar(2, written - STAGED, written, THREAD, NOTHING))
            bars.append(Bar(3, stored, stored + STORED, B, NOTHING))
        idle.append((done, staged))
        loads, first = done - LEAD, staged
    end = done + STAGED + PIECES * STORED
    return Line(
        "25_overlapped_store",
        Words(
            "a block that stays: TMA stores during the next products",
            "persistent 线程块：TMA 写回时，下一个分块已在计算",
        ),
        (
            COPIES,
            MULTIPLY,
            Words("stmatrix\nto shared", "stmatrix\n写入共享内存"),
            Words("TMA store:\nshared → C", "TMA 写回：\n共享内存 → C"),
        ),
        tuple(bars),
        (*idle, (staged, end)),
        (end,),
        end,
    )


def timeline(language: str) -> Canvas:
    """Both steps on one scale."""
    lines = (block_per_tile(), block_that_stays())
    canvas, y = layout.of_step(
        "25_overlapped_store",
        language,
        (
            "the copy to C is hidden, and a gap remains between two tiles",
            "到 C 的拷贝藏住了，两个分块之间还有空档",
        ),
        (
            f"BM = {BM}, BN = {BN}, BK = {BK}; one SM computes two tiles; the same lengths of loads, products "
            "and stores",
            f"一个 SM 上的两个分块，BM = {BM}，BN = {BN}，BK = {BK}；两步的加载、计算、写回画成一样长",
        ),
    )
    scale = (RIGHT - LEFT) / max(line.length for line in lines)
    bands = []
    for line in lines:
        canvas.text(layout.MARGIN, y + 24, title(line.step), bold=True)
        canvas.text(layout.MARGIN, y + 43, line.says(language), layout.SMALL, MUTED)
        y += 54
        _tracks(canvas, line, y, scale, language)
        bands.append((y - 3, y + len(line.tracks) * TRACK + 4))
        y += len(line.tracks) * TRACK + 6
    motion.sweep(canvas, LEFT, RIGHT, bands)
    entries = (
        (PALE_RED, ("the tensor cores have no work", "Tensor Core 没有工作")),
        (THREAD.middle, ("a piece of C, 64×64 per consumer", "C 的小块，每个消费者 64×64")),
        (B.middle, ("C on its way to memory", "C 正在写回")),
        (f"line:{DARK}", ("the block ends", "线程块结束")),
    )
    y = layout.legend(canvas, y + 24, language, entries)
    words = (
        "schematic: lengths are not to scale; a tile at 4096³ has 64 slices, so the gaps are far shorter than drawn",
        "示意图：长度不按比例；4096³ 时一个分块有 64 片，实际的空隙比图中短得多",
    )
    canvas.height = layout.paragraph(canvas, y + 2, language, words, fill=MUTED)
    return canvas


def _tracks(canvas: Canvas, line: Line, top: float, scale: float, language: str) -> None:
    for index, track in enumerate(line.tracks):
        y = top + index * TRACK
        canvas.rect(LEFT, y + 3, line.length * scale, TRACK - 6, "#f1f4f8", radius=3)
        names = track(language).split("\n")
        first = y + TRACK / 2 + 5 - 9 * (len(names) - 1)
        canvas.lines(LEFT - 8, first, names, 1.2, fill=INK, anchor="end")
    for start, stop in line.idle:
        canvas.rect(LEFT + start * scale, top + TRACK + 3, (stop - start) * scale, TRACK - 6, PALE_RED)
    for bar in line.bars:
        y = top + bar.track * TRACK
        x, width = LEFT + bar.start * scale, (bar.end - bar.start) * scale
        canvas.rect(x + 0.5, y + 4, width - 1, TRACK - 8, bar.tone.middle, bar.tone.strong, radius=2)
        if bar.words(language):
            middle, base = x + width / 2, y + TRACK / 2 + 5
            canvas.text(middle, base, bar.words(language), layout.SMALL, bar.tone.ink, "middle", bold=True)
    for at in line.block_ends:
        x = LEFT + at * scale
        canvas.line(x, top - 3, x, top + len(line.tracks) * TRACK + 3, DARK, 2.5)
    if len(line.block_ends) == 1:
        x = LEFT + line.length * scale
        canvas.text(x + 6, top + 1.5 * TRACK + 4, say(language, "saved", "省下"), layout.SMALL, RED, bold=True)
