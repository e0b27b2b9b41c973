"""Step 29: two blocks share K, and each hands a half of its sums to the other."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.by_size import Tile, tiles_of
from plots.figures.palette import INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "29_split_k"
PIECE, SUM_BYTES, KB = 64, 4, 1024  # rows of a piece of C; bytes of an FP32 sum


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
    canvas.height = _exchange(canvas, _halves_of_k(canvas, y + 28, of, language) + 24, of, kilobytes, language) + 20
    return canvas


def _halves_of_k(canvas: Canvas, y: float, of: Tile, language: str) -> float:
    """A and B cut along K, and the tile that both halves contribute to; returns the y under them."""
    x, deep, tall, side = layout.MARGIN, 180.0, 84.0, 136.0
    across = side * of.bn / of.bm
    c_x, c_y = x + deep + 12, y + tall + 12
    for block in range(of.split):
        ink = ("#ffffff", INK)[block]
        name = say(language, f"block {block}", f"线程块 {block}")
        wide, high = deep / of.split, tall / of.split
        canvas.rect(x + block * wide, c_y, wide, side, (A.strong, A.middle)[block], "#ffffff", 1.5)
        canvas.text(x + (block + 0.5) * wide, c_y + side / 2 + 4, name, 14, ink, "middle", bold=True)
        canvas.rect(c_x, y + block * high, across, high, (B.strong, B.middle)[block], "#ffffff", 1.5)
        canvas.text(c_x + across / 2, y + (block + 0.5) * high + 5, name, 14, INK, "middle", bold=True)
    canvas.rect(c_x, c_y, across, side, C.pale, C.strong, 1.5)
    for line, words in enumerate(("C:", f"{of.bm}×{of.bn}")):
        canvas.text(c_x + across / 2, c_y + side / 2 - 4 + 20 * line, words, 14, C.ink, "middle", bold=True)
    canvas.text(x + deep / 2, c_y - 9, f"A: {of.bm}×K", 14, A.ink, "middle", bold=True)
    canvas.text(c_x + across / 2, y - 9, f"B: K×{of.bn}", 14, B.ink, "middle", bold=True)
    words = "each block multiplies its half of K", "每个线程块乘自己的一半 K"
    left = c_x + across + 28
    layout.paragraph(canvas, c_y + side / 2, language, words, 15, left, layout.RIGHT - left)
    return c_y + side


def _exchange(canvas: Canvas, y: float, of: Tile, kilobytes: int, language: str) -> float:
    """The sums of both blocks for the whole tile, and where each half goes; returns the y under them."""
    x, side = layout.MARGIN + 64, 136.0
    across, half = side * of.bn / of.bm + 40, side / of.split
    tops = y, y + side + 72
    for block, top in enumerate(tops):
        for part in range(of.split):
            own = part == block
            canvas.rect(x, top + part * half, across, half, C.middle if own else C.pale, C.ink, 1.2)
            words = ("keeps", "自留") if own else ("gives", "交出")
            at = top + (part + 0.5) * half + 4
            canvas.text(x + across / 2, at, say(language, *words), 15, INK, "middle", bold=own)
        first = block * PIECE
        lines = [
            say(language, f"block {block}: {of.bm}×{of.bn} sums", f"线程块 {block}：{of.bm}×{of.bn} 个累加结果"),
            say(language, "over its half of K", "由自己的一半 K 得出"),
            say(language, f"adds block {1 - block}'s sums to its own,", f"加上线程块 {1 - block} 的那部分，"),
            say(language, f"stores rows {first}–{first + PIECE - 1}", f"写回第 {first}–{first + PIECE - 1} 行"),
        ]
        canvas.lines(x + across + 30, top + 40, lines, 15)
    upper, lower = tops[0] + side, tops[1]
    middle, left, right = (upper + lower) / 2, x + across / 4, x + across * 3 / 4
    canvas.arrow(left, lower - 4, left, upper + 4, C.strong, 2.4)
    canvas.arrow(right, upper + 4, right, lower - 4, C.strong, 2.4)
    canvas.text(left - 12, middle + 5, f"{kilobytes} KB", 14, C.ink, "end", bold=True)
    canvas.text(right + 12, middle - 5, f"{kilobytes} KB", 14, C.ink, bold=True)
    words = "through distributed shared memory", "经由分布式共享内存"
    canvas.text(right + 12, middle + 15, say(language, *words), 14, MUTED)
    return lower + side
