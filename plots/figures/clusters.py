"""The pair of blocks of step 26: who loads what, who gets it, and who tells whom that a stage has been read."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from base.paths import STEPS
from plots.figures import layout, parts
from plots.figures.palette import BOX, DARK, EDGE, INK, MUTED, A, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "26_clusters"
KERNEL = STEPS / STEP / "kernel.cu"
ELEMENT_BYTES, KB, WARPS = 2, 1024, 4  # of a 16-bit element; warps of a consumer, which is a warpgroup
UNIT = 0.6  # pixels per element of C
CARD, BETWEEN = 214.0, 164.0  # widths: a block's shared memory, and what lies in between


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "26_clusters-pair", pair


@dataclass(frozen=True)
class Pair:
    """The kernel's constants, and the bytes of a slice that follow from them."""

    bm: int
    bn: int
    bk: int
    cluster: int
    consumers: int
    stages: int

    @property
    def half_bytes(self) -> int:
        """Of A: what one block loads for all."""
        return self.bm // self.cluster * self.bk * ELEMENT_BYTES

    @property
    def b_bytes(self) -> int:
        """Of B: what each block loads for itself."""
        return self.bk * self.bn * ELEMENT_BYTES

    @property
    def read_bytes(self) -> int:
        """What one block asks L2 for."""
        return self.half_bytes + self.b_bytes

    @property
    def received_bytes(self) -> int:
        """What arrives in one block's shared memory."""
        return self.cluster * self.half_bytes + self.b_bytes

    @property
    def arrivals(self) -> int:
        """That end a phase of an "empty" barrier."""
        return self.cluster * self.consumers * WARPS


def of_the_kernel() -> Pair:
    """The constants as kernel.cu has them. Raises KeyError where one of them is not written as a number there."""
    found = dict(re.findall(r"\b([A-Z]+) = (\d+)[,;]", KERNEL.read_text(encoding="utf-8")))
    names = ("BM", "BN", "BK", "CLUSTER", "WM", "STAGES")
    bm, bn, bk, cluster, rows, stages = (int(found[name]) for name in names)
    return Pair(bm, bn, bk, cluster, bm // rows, stages)


def _kb(size: int) -> str:
    return f"{size // KB} KB"


def pair(language: str) -> Canvas:
    """Step 26: two blocks side by side in C, a half of A by each, delivered to both."""
    of = of_the_kernel()
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            f"a pair of blocks reads {_kb(of.read_bytes)} per block and receives {_kb(of.received_bytes)}",
            f"成对的线程块，每个只读 {_kb(of.read_bytes)}，却收到 {_kb(of.received_bytes)}",
        ),
        (
            f"BM = {of.bm}, BN = {of.bn}, BK = {of.bk}; one slice of K of a cluster of {of.cluster} blocks",
            f"BM = {of.bm}，BN = {of.bn}，BK = {of.bk}；{of.cluster} 个线程块组成的 cluster，K 的一片",
        ),
    )
    top = _matrices(canvas, y + 26, of, language) + 22
    for block in range(of.cluster):
        _block(canvas, layout.MARGIN + block * (CARD + BETWEEN), top, block, of, language)
    _between(canvas, layout.MARGIN + CARD, top, of, language)
    canvas.height = top + 368
    return canvas


def tones(tone: Tone) -> tuple[str, str]:
    """Block 0's colour and block 1's."""
    return tone.strong, tone.middle


def _matrices(canvas: Canvas, y: float, of: Pair, language: str) -> float:
    """The two tiles of C, and the parts of A and B that they need; returns the y under them."""
    deep, wide, high = of.bk * UNIT, of.bn * UNIT, of.bm * UNIT
    x = layout.MARGIN
    c_x, c_y = x + deep + 10, y + deep + 10
    half = high / of.cluster
    for block in range(of.cluster):
        canvas.rect(x, c_y + block * half, deep, half, tones(A)[block], "#ffffff", 1.5)
        canvas.rect(c_x + block * wide, y, wide, deep, tones(B)[block], "#ffffff", 1.5)
        canvas.rect(c_x + block * wide, c_y, wide, high, (C.pale, BOX)[block], C.strong, 1.5)
        middle = c_x + (block + 0.5) * wide
        name = say(language, f"block {block}", f"线程块 {block}")
        canvas.text(middle, y + deep / 2 + 5, name, layout.SMALL, INK, "middle", bold=True)
        canvas.text(middle, c_y + high / 2, name, layout.SMALL, C.ink, "middle", bold=True)
        canvas.text(middle, c_y + high / 2 + 20, f"{of.bm}×{of.bn}", layout.SMALL, C.ink, "middle")
        canvas.text(
            x + deep / 2, c_y + (block + 0.5) * half + 5, str(block), layout.SMALL, ("#ffffff", INK)[block], "middle"
        )
    canvas.text(x + deep / 2, c_y - 8, "A", layout.SMALL, A.ink, "middle", bold=True)
    canvas.text(c_x, y - 8, say(language, "B: each block its own", "B：各自加载"), layout.SMALL, B.ink, bold=True)
    words = (
        "A: both tiles need the same rows; each block loads half of them",
        "A：两个分块需要同样的行，每个线程块加载其中一半",
    )
    left = c_x + of.cluster * wide + 20
    under = layout.paragraph(canvas, c_y + 24, language, words, layout.SMALL, left, layout.RIGHT - left, fill=A.ink)
    half_kb, b_kb = of.half_bytes // KB, of.b_bytes // KB
    sums = [
        say(language, "a block per slice:", "一个线程块，每片："),
        say(
            language,
            f"reads {half_kb} + {b_kb} = {_kb(of.read_bytes)}",
            f"读 {half_kb} + {b_kb} = {_kb(of.read_bytes)}",
        ),
        say(
            language,
            f"receives {half_kb} + {half_kb} + {b_kb} = {_kb(of.received_bytes)}",
            f"收到 {half_kb} + {half_kb} + {b_kb} = {_kb(of.received_bytes)}",
        ),
    ]
    canvas.lines(left, under + 18, sums)
    return c_y + high


def _between(canvas: Canvas, x: float, y: float, of: Pair, language: str) -> None:
    """Between the blocks: the halves of A, each delivered to both sides."""
    middle = x + BETWEEN / 2
    canvas.text(middle, y + 21, say(language, "A, multicast", "A，多播"), layout.SMALL, A.ink, "middle", bold=True)
    for half in range(of.cluster):
        top = y + 36 + half * 62
        canvas.rect(middle - 48, top, 96, 50, tones(A)[half], EDGE, radius=4)
        ink = ("#ffffff", INK)[half]
        canvas.text(middle, top + 22, _kb(of.half_bytes), layout.SMALL, ink, "middle", bold=True)
        canvas.text(
            middle, top + 40, say(language, f"block {half} asks", f"线程块 {half} 读"), layout.SMALL, ink, "middle"
        )
        for way in (-1, 1):
            canvas.arrow(middle + way * 52, top + 25, middle + way * (BETWEEN / 2 + 13), top + 25, A.strong, 2)
    lines = [
        f"{WARPS} × {of.consumers} × {of.cluster} = {of.arrivals}",
        say(language, "each warp arrives", "每个 warp 都要"),
        say(language, "at both barriers", "在两个屏障上到达"),
    ]
    canvas.lines(middle, y + 276, lines, fill=DARK, anchor="middle")


def _block(canvas: Canvas, x: float, y: float, block: int, of: Pair, language: str) -> None:
    """A block's shared memory: a stage with both halves of A and its own B, and the stage's "empty" barrier."""
    name = say(language, f"block {block}: a stage", f"线程块 {block}：一个 stage")
    parts.card(canvas, x, y, CARD, 350, name)
    left, wide = x + 14, CARD - 28
    for half in range(of.cluster):
        top = y + 36 + half * 62
        canvas.rect(left, top, wide, 50, tones(A)[half], EDGE, radius=4)
        first = half * of.bm // of.cluster
        rows = f"A {first}–{first + of.bm // of.cluster - 1}"
        canvas.text(left + wide / 2, top + 31, rows, layout.SMALL, ("#ffffff", INK)[half], "middle", bold=True)
    top = y + 160
    canvas.rect(left, top, wide, 62, tones(B)[block], EDGE, radius=4)
    canvas.text(
        left + wide / 2, top + 27, say(language, "its own B", "自己的 B"), layout.SMALL, INK, "middle", bold=True
    )
    canvas.text(left + wide / 2, top + 47, _kb(of.b_bytes), layout.SMALL, INK, "middle")
    top = y + 258
    words = f'"empty": {of.arrivals} arrivals', f"empty：{of.arrivals} 次到达"
    canvas.text(left, top, say(language, *words), layout.SMALL, DARK)
    group = wide / (of.cluster * of.consumers)  # the arrivals of one consumer
    for arrival in range(of.arrivals):
        consumer, warp = divmod(arrival, WARPS)
        own = consumer // of.consumers == block
        canvas.circle(left + 5 + consumer * group + warp * 10.5, top + 20, 4.4, C.strong if own else C.pale, C.strong)
    lines = [
        say(language, "filled: its own consumers", "实心：自己的消费者"),
        say(language, "hollow: the other block's", "空心：另一个线程块的"),
    ]
    canvas.lines(left, top + 50, lines, fill=MUTED)
