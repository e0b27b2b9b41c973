"""Step 29: two blocks share K, and each hands a half of its sums to the other."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.by_size import Tile, tiles_of
from plots.figures.palette import INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "29_split_k"
PIECE, SUM_BYTES, KB = 64, 4, 1024  # rows of a piece of C; bytes of an FP32 sum
DEEP, TALL, SIDE = 112.0, 66.0, 136.0  # K of both blocks in A and in B, and the rows of the tile
SUMS = 92.0  # across a block's sums


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "29_split_k-split", split


def split(language: str) -> Canvas:
    """Two blocks with one tile: a half of K for each, and of the sums the halves that they exchange."""
    of = tiles_of(STEP)["Two"]
    kilobytes = of.bm * of.bn * SUM_BYTES // of.split // KB
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            f"two blocks share K, and each hands {kilobytes} KB of sums to the other",
            f"两个线程块切分 K，各把 {kilobytes} KB 的累加结果交给对方",
        ),
        (
            f"BM = {of.bm}, BN = {of.bn}, BK = {of.bk}; one tile, a cluster of {of.split} blocks",
            f"BM = {of.bm}，BN = {of.bn}，BK = {of.bk}；一个分块，{of.split} 个线程块组成的 cluster",
        ),
    )
    top = y + 28
    across = SIDE * of.bn / of.bm
    _halves_of_k(canvas, layout.MARGIN, top, across, of, language)
    left = layout.MARGIN + DEEP + 12 + across + 62
    canvas.height = _exchange(canvas, left, top + TALL + 12, of, kilobytes, language) + 8
    return canvas


def _halves_of_k(canvas: Canvas, x: float, y: float, across: float, of: Tile, language: str) -> None:
    """A and B cut along K, and the tile that both halves contribute to."""
    c_x, c_y = x + DEEP + 12, y + TALL + 12
    for block in range(of.split):
        wide, high = DEEP / of.split, TALL / of.split
        canvas.rect(x + block * wide, c_y, wide, SIDE, (A.strong, A.middle)[block], "#ffffff", 1.5)
        canvas.text(
            x + (block + 0.5) * wide, c_y + SIDE / 2 + 5, str(block), 16, ("#ffffff", INK)[block], "middle", True
        )
        canvas.rect(c_x, y + block * high, across, high, (B.strong, B.middle)[block], "#ffffff", 1.5)
        canvas.text(c_x + across / 2, y + (block + 0.5) * high + 5, str(block), 16, INK, "middle", True)
    canvas.rect(c_x, c_y, across, SIDE, C.pale, C.strong, 1.5)
    for line, words in enumerate(("C:", f"{of.bm}×{of.bn}")):
        canvas.text(c_x + across / 2, c_y + SIDE / 2 - 4 + 20 * line, words, layout.SMALL, C.ink, "middle", bold=True)
    canvas.text(x, c_y - 9, f"A: {of.bm}×K", layout.SMALL, A.ink, bold=True)
    canvas.text(c_x + across / 2, y - 9, f"B: K×{of.bn}", layout.SMALL, B.ink, "middle", bold=True)
    words = "each block multiplies its half of K", "每个线程块乘自己的一半 K"
    layout.paragraph(canvas, c_y + SIDE + 24, language, words, layout.SMALL, x, DEEP + 12 + across + 24)


def _exchange(canvas: Canvas, x: float, y: float, of: Tile, kilobytes: int, language: str) -> float:
    """The sums of both blocks for the whole tile, row beside row, and where each half goes; returns the y under them."""
    half = SIDE / of.split
    lefts = x, layout.RIGHT - SUMS
    canvas.text(
        (x + layout.RIGHT) / 2,
        y - 56,
        say(language, "then: a half of every sum in each", "然后：每个累加结果两边各有一半"),
        layout.SMALL,
        INK,
        "middle",
        bold=True,
    )
    for block, left in enumerate(lefts):
        middle = left + SUMS / 2
        canvas.text(
            middle, y - 9, say(language, f"block {block}", f"线程块 {block}"), layout.SMALL, C.ink, "middle", bold=True
        )
        for part in range(of.split):
            own = part == block
            canvas.rect(left, y + part * half, SUMS, half, C.middle if own else C.pale, C.ink, 1.2)
            words = ("adds", "相加") if own else ("hands over", "交给对方")
            at = y + (part + 0.5) * half
            canvas.text(middle, at + (-2 if own else 5), say(language, *words), layout.SMALL, INK, "middle", bold=own)
            if own:
                canvas.text(
                    middle, at + 17, say(language, "and stores", "并写回"), layout.SMALL, INK, "middle", bold=True
                )
    start, end = lefts[0] + SUMS, lefts[1]
    for part in range(of.split):
        at = y + (part + 0.5) * half
        tail, head = (end - 5, start + 5) if part == 0 else (start + 5, end - 5)
        canvas.arrow(tail, at, head, at, C.strong, 2.4)
        rows = f"{part * PIECE}–{part * PIECE + PIECE - 1}"
        canvas.text((start + end) / 2, at - 9, f"{kilobytes} KB", layout.SMALL, C.ink, "middle", bold=True)
        canvas.text(
            (start + end) / 2, at + 19, say(language, f"rows {rows}", f"第 {rows} 行"), layout.SMALL, MUTED, "middle"
        )
    words = "through distributed shared memory", "经由分布式共享内存"
    canvas.text((x + layout.RIGHT) / 2, y + SIDE + 24, say(language, *words), layout.SMALL, MUTED, "middle")
    return y + SIDE + 52
