"""Step 27: the same C in tiles of three sizes and what the launcher's model makes of each."""

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
MULTIPROCESSORS = 132
SHOWN, SIZE = ("Large", "Square", "Small"), (1024, 2048, 1024)  # the tiles of the picture; M, N and K
ACROSS, CELL = 22, 6.0  # multiprocessors in a row, pixels of each


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "27_by_size-tiles", tiles


@dataclass(frozen=True)
class Tile:
    """A block tile, as a kernel.cu has it; `split` blocks share its K."""

    name: str
    bm: int
    bn: int
    bk: int
    split: int = 1


@dataclass(frozen=True)
class Choice(Tile):
    """A tile of the launcher's, and what it costs; times in those that Large needs per slice of K."""

    per_slice: float = 0.0
    per_tile: float = 0.0

    def count(self, m: int, n: int) -> int:
        """Tiles of C."""
        return -(-m // self.bm) * -(-n // self.bn)

    def waves(self, m: int, n: int, multiprocessors: int = MULTIPROCESSORS) -> int:
        """Rounds of blocks, one block per multiprocessor."""
        return -(-self.count(m, n) // multiprocessors)

    def slices(self, k: int) -> int:
        """Of K."""
        return -(-k // self.bk)

    def cost(self, m: int, n: int, k: int) -> float:
        """What the launcher's model says of a size."""
        return self.waves(m, n) * (self.slices(k) * self.per_slice + self.per_tile)


def source_of(step: str) -> str:
    """A step's kernel.cu."""
    return (STEPS / step / "kernel.cu").read_text(encoding="utf-8")


def tiles_of(step: str) -> dict[str, Tile]:
    """The tiles that a step's kernel is compiled for, by their names there."""
    source = source_of(step)
    bk = int(re.search(r"\bBK = (\d+);", source)[1])
    splits = "SPLIT_" in source  # the last parameter is the split, where there is one
    shapes = re.findall(r"using (\w+) = Tile<(\d+), (\d+), \d+, \d+(?:, (\d+))?>;", source)
    return {n: Tile(n, int(bm), int(bn), bk, int(last) if splits else 1) for n, bm, bn, last in shapes}


@cache
def of_the_kernel() -> tuple[Choice, ...]:
    """The launcher's choices, in its order, with the constants of kernel.cu."""
    tiles = tiles_of(STEP)
    costs = re.findall(r"\{(\w+)::BM, \w+::BN, ([\d.]+), ([\d.]+), launch<", source_of(STEP))
    return tuple(
        Choice(name, tiles[name].bm, tiles[name].bn, tiles[name].bk, 1, float(per_slice), float(per_tile))
        for name, per_slice, per_tile in costs
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
    y = layout.legend(canvas, y + 20, language, entries)
    unit_of = "unit: the time of a 128×256 tile for one slice", "单位：128×256 的分块算一片的时间"
    canvas.height = layout.paragraph(canvas, y + 2, language, unit_of, fill=MUTED)
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
    left = choice.count(*SIZE[:2])
    for wave in range(choice.waves(*SIZE[:2])):
        busy = min(left, MULTIPROCESSORS)
        left -= busy
        at = x + wave * (ACROSS * CELL + 8)
        for place in range(MULTIPROCESSORS):
            row, col = divmod(place, ACROSS)
            colour = A.strong if place < busy else BOX
            canvas.rect(at + col * CELL, y + row * CELL, CELL - 1, CELL - 1, colour, "" if place < busy else EDGE, 0.7)
        words = f"wave {wave + 1}: {busy} busy", f"wave {wave + 1}：{busy} 个"
        canvas.text(at, y + 6 * CELL + 18, say(language, *words), layout.SMALL, A.ink)


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
    canvas.text(x, y - 9, times, layout.SMALL, INK, bold=is_best)
    if is_best:
        canvas.text(at + 10, y + 16, say(language, "← taken", "← 选它"), layout.SMALL, INK, bold=True)
