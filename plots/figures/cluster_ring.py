"""The rings of step 26's two blocks over time: what lands in a stage, who reads it, and whom its producers wait for."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, motion, rings, specialised
from plots.figures.clusters import STEP, Pair, of_the_kernel, tones
from plots.figures.palette import DARK, A, B, C
from plots.figures.specialised import LEFT, RIGHT, ROW
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

SLICES = 6  # shown
# In the time of a slice's products: until a copy has landed; how much later block 1 starts; how far behind consumer 0
# consumer 1 is, and behind block 0's consumers those of block 1.
LATENCY, LATE, LAG, BEHIND = 1.2, 0.4, 0.35, 0.35
HEADING = 30.0

Span = tuple[float, float]


@dataclass(frozen=True)
class Slice:
    """One slice of K: when each block asks, when all of it has landed, each block's products by consumer, the end."""

    asked: tuple[float, ...]
    landed: float
    products: tuple[tuple[Span, ...], ...]
    empty: float

    def read(self, block: int) -> float:
        """When a block's own consumers have read it."""
        return max(end for _, end in self.products[block])


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-ring", ring


def turns(of: Pair) -> list[Slice]:
    """The slices as the recorded waits order them, the same ring in both blocks.

    A block asks when its "empty" barrier has the arrivals of both blocks. Both halves of A land in both blocks, so that
    a stage is full when the later of the two has asked and its half has come.
    """
    found: list[Slice] = []
    for number, filled in enumerate(rings.filled(STEP)[:SLICES]):
        first = tuple(0.06 * number + LATE * block for block in range(of.cluster))
        asked = first if filled.freed_by is None else (found[filled.freed_by].empty,) * of.cluster
        landed = max(asked) + LATENCY
        products = []
        for block in range(of.cluster):
            spans = []
            for consumer in range(of.consumers):
                free = found[-1].products[block][consumer][1] if found else landed + LAG * consumer + BEHIND * block
                start = max(landed, free)
                spans.append((start, start + 1))
            products.append(tuple(spans))
        found.append(Slice(asked, landed, tuple(products), max(end for spans in products for _, end in spans)))
    return found


def ring(language: str) -> Canvas:
    """Both blocks' stages on one time axis."""
    of = of_the_kernel()
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "a stage is empty when both blocks have read it",
            "两个线程块都读完，一个 stage 才算空",
        ),
        (
            f"BM = {of.bm}, BN = {of.bn}, BK = {of.bk}; schematic: block 1 is a little late; the number at a mark is the parity of "
            "the phase that ends there",
            f"BM = {of.bm}，BN = {of.bn}，BK = {of.bk}；示意图：线程块 1 稍慢一些；标记旁的数字是在此结束的 phase 的奇偶",
        ),
    )
    found = turns(of)
    scale = (RIGHT - LEFT - 6) / found[-1].empty
    bands = []
    for block in range(of.cluster):
        name = say(language, f"block {block}", f"线程块 {block}")
        canvas.text(layout.MARGIN, y + 22, name, bold=True)
        y += HEADING
        specialised.empty_stages(canvas, y, of.stages)
        for number, each in enumerate(found):
            filled = rings.filled(STEP, block)[number]
            _slice(canvas, number, each, block, filled.parity, y + filled.stage * ROW, scale)
        bands.append((y, y + of.stages * ROW - 8))
        y += of.stages * ROW
    motion.sweep(canvas, LEFT, RIGHT, bands)
    specialised.time_axis(canvas, y + 2, language)
    entries = (
        (A.strong, ("half of A that block 0 loads for both", "线程块 0 为两边加载的一半 A")),
        (A.middle, ("half that block 1 loads", "线程块 1 加载的一半")),
        (B.strong, ("B of block 0", "线程块 0 的 B")),
        (B.middle, ("of block 1", "线程块 1 的")),
        (C.strong, ("consumer 0 multiplies", "消费者 0 在计算")),
        (C.middle, ("consumer 1", "消费者 1")),
        (B.pale, ("read here, not yet in the other block", "这边已读完，另一边还没有")),
        (f"line:{DARK}", ("full: all of it has landed", "full：全部到达")),
        (
            f"dash:{B.strong}",
            (f"empty: {of.arrivals} arrivals, from both blocks", f"empty：两个线程块共 {of.arrivals} 次到达"),
        ),
    )
    canvas.height = layout.legend(canvas, y + 34, language, entries)
    return canvas


def _slice(canvas: Canvas, number: int, each: Slice, block: int, parity: int, y: float, scale: float) -> None:
    """One slice in its stage of one block: what lands there, its products, the two barriers' phases."""

    def at(time: float) -> float:
        return LEFT + 3 + time * scale

    empty = at(each.empty)
    loads = (*((asked, tones(A)[by]) for by, asked in enumerate(each.asked)), (each.asked[block], tones(B)[block]))
    for line, (asked, colour) in enumerate(loads):
        canvas.rect(at(asked), y + 20 + line * 11, (LATENCY * scale) - 3, 10, colour, radius=2)
    specialised.consumers(canvas, y, number, [(at(start), at(end)) for start, end in each.products[block]])
    if each.read(block) < each.empty:
        canvas.rect(at(each.read(block)), y + 20, empty - at(each.read(block)) - 1, 32, B.pale)
    specialised.phases(canvas, y, at(each.landed), empty, parity)
