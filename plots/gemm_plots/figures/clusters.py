"""The pair of blocks of step 26: who loads what, who gets it, and who tells whom that a stage has been read."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gemm_plots.figures import parts
from gemm_plots.figures.palette import BOX, DARK, EDGE, INK, MUTED, A, B, C, Tone
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

STEP = "26_clusters"
KERNEL = Path(__file__).resolve().parents[3] / "steps" / STEP / "kernel.cu"
ELEMENT_BYTES, KB, WARPS = 2, 1024, 4  # of a 16-bit element; warps of a consumer, which is a warpgroup
UNIT = 0.62  # pixels per element of C on the left
CARD, BETWEEN = 196.0, 150.0  # widths on the right: a block's shared memory, and what lies in between


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
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
    bm, bn, bk, cluster, rows = (int(found[name]) for name in ("BM", "BN", "BK", "CLUSTER", "WM"))
    return Pair(bm, bn, bk, cluster, bm // rows)


def _kb(size: int) -> str:
    return f"{size // KB} KB"


def pair(language: str) -> Canvas:
    """Step 26: two blocks side by side in C, a half of A by each, delivered to both."""
    of = of_the_kernel()
    canvas = parts.of_step(
        STEP,
        452,
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
    _matrices(canvas, of, language)
    left, top = 394.0, 84.0
    for block in range(of.cluster):
        _block(canvas, left + block * (CARD + BETWEEN), top, block, of, language)
    _between(canvas, left + CARD, top, of, language)
    return canvas


def _tones(tone: Tone) -> tuple[str, str]:
    """Block 0's colour and block 1's."""
    return tone.strong, tone.middle


def _matrices(canvas: Canvas, of: Pair, language: str) -> None:
    """On the left: the two tiles of C, and the parts of A and B that they need."""
    deep, wide, high = of.bk * UNIT, of.bn * UNIT, of.bm * UNIT
    x, y = 40.0, 118.0
    c_x, c_y = x + deep + 14, y + deep + 14
    half = high / of.cluster
    for block in range(of.cluster):
        canvas.rect(x, c_y + block * half, deep, half, _tones(A)[block], "#ffffff", 1.5)
        canvas.rect(c_x + block * wide, y, wide, deep, _tones(B)[block], "#ffffff", 1.5)
        canvas.rect(c_x + block * wide, c_y, wide, high, (C.pale, BOX)[block], C.strong, 1.5)
        middle = c_x + (block + 0.5) * wide
        name = say(language, f"block {block}", f"线程块 {block}")
        canvas.text(middle, y + deep / 2 + 4.5, name, 12.5, INK, "middle", bold=True)
        canvas.text(middle, c_y + high / 2, name, 14, C.ink, "middle", bold=True)
        canvas.text(middle, c_y + high / 2 + 18, f"{of.bm}×{of.bn}", 12.5, C.ink, "middle")
        canvas.text(x + deep / 2, c_y + (block + 0.5) * half + 5, str(block), 14, ("#ffffff", INK)[block], "middle")
    canvas.text(x + deep / 2, c_y - 8, "A", 14, A.ink, "middle", bold=True)
    canvas.text(c_x, y - 8, say(language, "B: each block its own", "B：各读各的"), 13, B.ink, bold=True)
    canvas.lines(
        x,
        c_y + high + 24,
        [
            say(language, "A: both tiles need the same rows;", "A：两个分块要的是同样的行，"),
            say(language, "each block loads half of them", "每个线程块加载其中一半"),
        ],
        13,
        fill=A.ink,
    )


def _between(canvas: Canvas, x: float, y: float, of: Pair, language: str) -> None:
    """Between the blocks: the halves of A, each delivered to both sides."""
    middle = x + BETWEEN / 2
    canvas.text(middle, y + 20, say(language, "A, multicast", "A，多播"), 13, A.ink, "middle", bold=True)
    for half in range(of.cluster):
        top = y + 36 + half * 62
        colour = _tones(A)[half]
        canvas.rect(middle - 40, top, 80, 50, colour, EDGE, radius=4)
        ink = ("#ffffff", INK)[half]
        canvas.text(middle, top + 22, _kb(of.half_bytes), 13, ink, "middle", bold=True)
        canvas.text(middle, top + 39, say(language, f"block {half} asks", f"线程块 {half} 读"), 11, ink, "middle")
        for way in (-1, 1):
            canvas.arrow(middle + way * 44, top + 25, middle + way * (BETWEEN / 2 + 16), top + 25, A.strong, 2)
    canvas.lines(
        middle,
        y + 270,
        [
            f"{WARPS} × {of.consumers} × {of.cluster} = {of.arrivals}",
            say(language, "each warp arrives", "每个 warp 都要"),
            say(language, "at both barriers", "到达两个屏障"),
        ],
        12.5,
        fill=DARK,
        anchor="middle",
    )


def _block(canvas: Canvas, x: float, y: float, block: int, of: Pair, language: str) -> None:
    """A block's shared memory: a stage with both halves of A and its own B, and the stage's "empty" barrier."""
    parts.card(
        canvas,
        x,
        y,
        CARD,
        336,
        say(language, f"block {block}: a stage", f"线程块 {block}：一个 stage"),
    )
    left, wide = x + 16, CARD - 32
    for half in range(of.cluster):
        top = y + 36 + half * 62
        canvas.rect(left, top, wide, 50, _tones(A)[half], EDGE, radius=4)
        first = half * of.bm // of.cluster
        rows = f"A {first}–{first + of.bm // of.cluster - 1}"
        canvas.text(left + wide / 2, top + 30, rows, 13, ("#ffffff", INK)[half], "middle", bold=True)
    top = y + 160
    canvas.rect(left, top, wide, 62, _tones(B)[block], EDGE, radius=4)
    canvas.text(left + wide / 2, top + 28, say(language, "its own B", "自己的 B"), 13, INK, "middle", bold=True)
    canvas.text(left + wide / 2, top + 46, _kb(of.b_bytes), 12, INK, "middle")
    top = y + 252
    canvas.text(
        left, top, say(language, f'"empty": {of.arrivals} arrivals', f"“empty”：{of.arrivals} 次到达"), 13, DARK
    )
    group = wide / (of.cluster * of.consumers)  # the arrivals of one consumer
    for arrival in range(of.arrivals):
        consumer, warp = divmod(arrival, WARPS)
        own = consumer // of.consumers == block
        canvas.circle(left + 4 + consumer * group + warp * 9, top + 20, 3.8, C.strong if own else C.pale, C.strong)
    canvas.lines(
        left,
        top + 46,
        [
            say(language, "dark: its own consumers", "深色：自己的消费者"),
            say(language, "pale: the other block's", "浅色：另一个线程块的"),
        ],
        12,
        fill=MUTED,
    )
