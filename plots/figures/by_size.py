"""Step 27: the same C in tiles of three sizes and what the launcher's model makes of each; two blocks that share K."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from base.paths import STEPS
from plots.figures import layout
from plots.figures.palette import BOX, EDGE, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "27_by_size"
KERNEL = STEPS / STEP / "kernel.cu"
MULTIPROCESSORS = 132
SHOWN, SIZE = ("Large", "Square", "Small"), (1024, 2048, 1024)  # the tiles of the picture; M, N and K
PIECE, SUM_BYTES, KB = 64, 4, 1024  # columns of a piece of C; bytes of an FP32 sum
ACROSS, CELL = 22, 6.0  # multiprocessors in a row, pixels of each


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "27_by_size-tiles", tiles
    yield "27_by_size-split", split


@dataclass(frozen=True)
class Choice:
    """A way to compute C, as kernel.cu has it; times in those that Large needs per slice of K."""

    name: str
    bm: int
    bn: int
    bk: int
    split: int
    per_slice: float
    per_tile: float

    def count(self, m: int, n: int) -> int:
        """Tiles of C."""
        return -(-m // self.bm) * -(-n // self.bn)

    def waves(self, m: int, n: int, multiprocessors: int = MULTIPROCESSORS) -> int:
        """Rounds of blocks, one block per multiprocessor."""
        return -(-self.count(m, n) * self.split // multiprocessors)

    def slices(self, k: int) -> int:
        """Of K, for one block."""
        slices = -(-k // self.bk)
        return -(-slices // self.split)

    def cost(self, m: int, n: int, k: int) -> float:
        """What the launcher's model says of a size."""
        return self.waves(m, n) * (self.slices(k) * self.per_slice + self.per_tile)


@cache
def of_the_kernel() -> tuple[Choice, ...]:
    """The launcher's choices, in its order, with the constants of kernel.cu."""
    source = KERNEL.read_text(encoding="utf-8")
    bk = int(re.search(r"\bBK = (\d+);", source)[1])
    shapes = {
        name: (int(bm), int(bn), int(split or 1))
        for name, bm, bn, split in re.findall(
            r"using (\w+) = Tile<(\d+), (\d+), \d+, \d+(?:, (\d+))?(?:, \d+)?>;",
            source,
        )
    }
    costs = re.findall(r"choice<AB, B_MAJOR, (\w+), EARLY>\(([\d.]+), ([\d.]+)\)", source)
    return tuple(
        Choice(name, bm, bn, bk, split, float(per_slice), float(per_tile))
        for name, per_slice, per_tile in costs
        for bm, bn, split in [shapes[name]]
    )


def chosen(m: int, n: int, k: int) -> Choice:
    """The first of the cheapest, which the launcher takes."""
    return min(of_the_kernel(), key=lambda choice: choice.cost(m, n, k))


def tiles(language: str) -> Canvas:
    """C in three sizes of tiles, the waves that they take, and the model's time for each."""
    m, n, k = SIZE
    shown = [choice for choice in of_the_kernel() if choice.name in SHOWN]
    best = chosen(*SIZE)
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            f"{best.count(m, n)} tiles of {best.bm}×{best.bn} fit in one wave, and take the least time",
            f"{best.count(m, n)} 个 {best.bm}×{best.bn} 的分块一个 wave 就能跑完，用时最短",
        ),
        (
            f"C of {m}×{n}, K = {k}: {k // best.bk} slices of BK = {best.bk}; {MULTIPROCESSORS} SMs, "
            "one block on each; times by the launcher's model",
            f"C 为 {m}×{n}，K = {k}，即 {k // best.bk} 片（BK = {best.bk}）；{MULTIPROCESSORS} 个 SM，"
            "各放一个线程块；时间由启动函数的模型给出",
        ),
    )
    longest = max(choice.cost(*SIZE) for choice in shown)
    right = layout.RIGHT - 2 * ACROSS * CELL - 8
    for choice in shown:
        _cut(canvas, layout.MARGIN, y + 40, choice, language)
        _waves(canvas, right, y + 40, choice, language)
        _time(canvas, right, y + 144, choice, (layout.RIGHT - right) / longest, language, choice is best)
        y += 196
    entries = (
        (C.strong, ("slices of K", "K 的各片")),
        (B.strong, ("once per tile", "每个分块一次")),
    )
    y = layout.legend(canvas, y + 20, language, entries, 13.5)
    unit_of = "times in those of one 128×256×64 slice", "时间以 128×256×64 一片所用的为单位"
    canvas.height = layout.paragraph(canvas, y + 2, language, unit_of, 13.5, fill=MUTED)
    return canvas


def _cut(canvas: Canvas, x: float, y: float, choice: Choice, language: str) -> None:
    """C with the borders of its tiles."""
    m, n, _ = SIZE
    unit = 272 / n
    words = (
        f"{choice.bm}×{choice.bn}: {choice.count(m, n)} tiles",
        f"{choice.bm}×{choice.bn}：{choice.count(m, n)} 个分块",
    )
    canvas.text(x, y - 12, say(language, *words), 16, bold=True)
    canvas.rect(x, y, n * unit, m * unit, C.pale)
    down = "".join(f"M{x + col * unit:g} {y:g}v{m * unit:g}" for col in range(choice.bn, n, choice.bn))
    across = "".join(f"M{x:g} {y + row * unit:g}h{n * unit:g}" for row in range(choice.bm, m, choice.bm))
    canvas.path(down + across, C.strong, line=0.8)
    canvas.rect(x, y, n * unit, m * unit, "none", C.ink, 1.4)


def _waves(canvas: Canvas, x: float, y: float, choice: Choice, language: str) -> None:
    """The multiprocessors in each wave, those with a block coloured."""
    left = choice.count(*SIZE[:2]) * choice.split
    for wave in range(choice.waves(*SIZE[:2])):
        busy = min(left, MULTIPROCESSORS)
        left -= busy
        at = x + wave * (ACROSS * CELL + 8)
        for place in range(MULTIPROCESSORS):
            row, col = divmod(place, ACROSS)
            colour = A.strong if place < busy else BOX
            canvas.rect(at + col * CELL, y + row * CELL, CELL - 1, CELL - 1, colour, "" if place < busy else EDGE, 0.7)
        words = f"wave {wave + 1}: {busy} busy", f"wave {wave + 1}：{busy} 个在忙"
        canvas.text(at, y + 6 * CELL + 18, say(language, *words), 14, A.ink)


def _time(canvas: Canvas, x: float, y: float, choice: Choice, unit: float, language: str, is_best: bool) -> None:
    """The model's time as a bar: per wave the slices, then what a tile costs once."""
    at, products = x, choice.slices(SIZE[2]) * choice.per_slice
    waves = choice.waves(*SIZE[:2])
    for _ in range(waves):
        canvas.rect(at, y, products * unit, 22, C.strong, "#ffffff", 1)
        canvas.rect(at + products * unit, y, choice.per_tile * unit, 22, B.strong, "#ffffff", 1)
        at += (products + choice.per_tile) * unit
    times = (
        f"{waves} · ({choice.slices(SIZE[2])} · {choice.per_slice:g} + {choice.per_tile:g}) = {choice.cost(*SIZE):.1f}"
    )
    canvas.text(x, y - 9, times, 14, INK, bold=is_best)
    if is_best:
        canvas.text(at + 10, y + 16, say(language, "← taken", "← 选它"), 14, INK, bold=True)


def split(language: str) -> Canvas:
    """Two blocks with one tile: a half of K for each, and of the sums the halves that they exchange."""
    of = next(choice for choice in of_the_kernel() if choice.split > 1)
    kilobytes = of.bm * of.bn * SUM_BYTES // of.split // KB
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            f"two blocks share K, and each hands {kilobytes} KB of sums to the other",
            f"两个线程块分担 K，各把 {kilobytes} KB 的累加结果交给对方",
        ),
        (
            f"BM = {of.bm}, BN = {of.bn}, BK = {of.bk}; one tile, a cluster of {of.split} blocks",
            f"BM = {of.bm}，BN = {of.bn}，BK = {of.bk}；一个分块，{of.split} 个线程块组成的 cluster",
        ),
    )
    canvas.height = _exchange(canvas, _halves_of_k(canvas, y + 28, of, language) + 24, of, kilobytes, language) + 20
    return canvas


def _halves_of_k(canvas: Canvas, y: float, of: Choice, language: str) -> float:
    """A and B cut along K, and the tile that both halves contribute to; returns the y under them."""
    x, deep, tall, side = layout.MARGIN, 180.0, 84.0, 116.0
    c_x, c_y = x + deep + 12, y + tall + 12
    for block in range(of.split):
        ink = ("#ffffff", INK)[block]
        name = say(language, f"block {block}", f"线程块 {block}")
        wide, high = deep / of.split, tall / of.split
        canvas.rect(x + block * wide, c_y, wide, side, (A.strong, A.middle)[block], "#ffffff", 1.5)
        canvas.text(x + (block + 0.5) * wide, c_y + side / 2 + 4, name, 14, ink, "middle", bold=True)
        canvas.rect(c_x, y + block * high, side, high, (B.strong, B.middle)[block], "#ffffff", 1.5)
        canvas.text(c_x + side / 2, y + (block + 0.5) * high + 5, name, 14, INK, "middle", bold=True)
    canvas.rect(c_x, c_y, side, side, C.pale, C.strong, 1.5)
    canvas.text(c_x + side / 2, c_y + side / 2 + 4, f"C: {of.bm}×{of.bn}", 14, C.ink, "middle", bold=True)
    canvas.text(x + deep / 2, c_y - 9, f"A: {of.bm}×K", 14, A.ink, "middle", bold=True)
    canvas.text(c_x + side / 2, y - 9, f"B: K×{of.bn}", 14, B.ink, "middle", bold=True)
    words = "each block multiplies its half of K", "每个线程块乘自己的一半 K"
    left = c_x + side + 28
    layout.paragraph(canvas, c_y + side / 2, language, words, 15, left, layout.RIGHT - left)
    return c_y + side


def _exchange(canvas: Canvas, y: float, of: Choice, kilobytes: int, language: str) -> float:
    """The sums of both blocks for the whole tile, and where each half goes; returns the y under them."""
    x, side = layout.MARGIN + 64, 136.0
    tops = y, y + side + 72
    half = side / of.split
    for block, top in enumerate(tops):
        for part in range(of.split):
            own = part == block
            canvas.rect(x + part * half, top, half, side, C.middle if own else C.pale, C.ink, 1.2)
            words = ("keeps", "自留") if own else ("gives", "交出")
            canvas.text(x + (part + 0.5) * half, top + side / 2 + 4, say(language, *words), 15, INK, "middle", bold=own)
        first = block * PIECE
        lines = [
            say(language, f"block {block}: {of.bm}×{of.bn} sums", f"线程块 {block}：{of.bm}×{of.bn} 个累加结果"),
            say(language, "over its half of K", "由自己的一半 K 得出"),
            say(language, f"adds block {1 - block}'s sums to its own,", f"加上线程块 {1 - block} 的那部分，"),
            say(language, f"stores columns {first}–{first + PIECE - 1}", f"写回第 {first}–{first + PIECE - 1} 列"),
        ]
        canvas.lines(x + side + 30, top + 40, lines, 15)
    upper, lower = tops[0] + side, tops[1]
    middle = (upper + lower) / 2
    canvas.arrow(x + half / 2, lower - 4, x + half / 2, upper + 4, C.strong, 2.4)
    canvas.arrow(x + half * 1.5, upper + 4, x + half * 1.5, lower - 4, C.strong, 2.4)
    canvas.text(x + half / 2 - 12, middle + 5, f"{kilobytes} KB", 14, C.ink, "end", bold=True)
    canvas.text(x + half * 1.5 + 12, middle - 5, f"{kilobytes} KB", 14, C.ink, bold=True)
    words = "through distributed shared memory", "经由分布式共享内存"
    canvas.text(x + half * 1.5 + 12, middle + 15, say(language, *words), 14, MUTED)
    return lower + side
