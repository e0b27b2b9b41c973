"""Step 28's consumers in turn: the same piece of C in shared tiles and in tiles of their own, as two time lines."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import by_size, layout
from plots.figures.palette import INK, MUTED, PALE_RED, RED, A, B, C
from plots.figures.svg import SMALL, Canvas, Draw
from plots.figures.text import Words, say

STEP = "28_in_turns"
SLICES = 8  # K = 512
SHARED, OWN = 3, 4  # tiles that cover the same columns of C
PRODUCTS_PER_CYCLE = 2048  # of an SM, dense BF16
END_IN_SLICES = 2.4  # of a shared tile, both consumers at once: by the model of step 27's launcher
STORE_CYCLES = round(END_IN_SLICES * 1024)
LEFT, RIGHT, TRACK = 118.0, layout.RIGHT, 36.0
CONSUMERS = Words("consumer 0", "消费者 0"), Words("consumer 1", "消费者 1")


@dataclass(frozen=True)
class Work:
    """What a consumer does with one tile; times in cycles."""

    consumer: int
    tile: int
    start: float
    stored_from: float
    end: float


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "28_in_turns-turns", turns


def multiply_cycles(tile: by_size.Tile) -> float:
    """What the tensor cores need for a tile."""
    return tile.bm * tile.bn * tile.bk * SLICES / PRODUCTS_PER_CYCLE


def _more(large: by_size.Tile, own: by_size.Tile) -> float:
    """How many times as much of C a consumer stores of its own tile as of a shared one, of which it has half."""
    return own.bm * own.bn / (large.bm * large.bn / 2)


def in_shared_tiles() -> list[Work]:
    """Both consumers multiply and store each tile together."""
    products = multiply_cycles(by_size.tiles_of(by_size.STEP)["Large"])
    found = []
    for tile in range(SHARED):
        start = tile * (products + STORE_CYCLES)
        end = start + products
        found += [Work(consumer, tile, start, end, end + STORE_CYCLES) for consumer in range(2)]
    return found


def in_turn() -> list[Work]:
    """A tile per consumer: one multiplies as soon as the other has done so. A store is as long as its part of C asks."""
    large, own = by_size.tiles_of(by_size.STEP)["Large"], by_size.tiles_of(STEP)["Large"]
    products = multiply_cycles(own)
    store = STORE_CYCLES * _more(large, own)
    starts = [tile * products for tile in range(OWN)]
    return [Work(tile % 2, tile, at, at + products, at + products + store) for tile, at in enumerate(starts)]


def turns(language: str) -> Canvas:
    """Both ways on one scale, with the tensor cores' own line."""
    large, own = by_size.tiles_of(by_size.STEP)["Large"], by_size.tiles_of(STEP)["Large"]
    shared, turned = in_shared_tiles(), in_turn()
    ways = (
        (
            Words(
                f"together: {SHARED} tiles of {large.bm}×{large.bn}, a half for each consumer",
                f"一起算：{SHARED} 个 {large.bm}×{large.bn} 的分块，两个消费者各算一半",
            ),
            shared,
        ),
        (
            Words(
                f"in turn: {OWN} tiles of {own.bm}×{own.bn}, each of one consumer",
                f"轮流：{OWN} 个 {own.bm}×{own.bn} 的分块，各归一个消费者",
            ),
            turned,
        ),
    )
    canvas, y = layout.of_step(
        STEP,
        language,
        ("in turn, one consumer stores while the other multiplies", "轮流时，一个消费者写回，另一个在做乘法"),
        (
            f"the same {large.bm}×{SHARED * large.bn} of C, K = {SLICES * own.bk}; the number is that of the tile",
            f"同样的 {large.bm}×{SHARED * large.bn} 的 C，K = {SLICES * own.bk}；数字是分块的编号",
        ),
    )
    scale = (RIGHT - LEFT) / max(work.end for work in shared)
    for words, way in ways:
        canvas.text(layout.MARGIN, y + 24, words(language), bold=True)
        top = y + 32
        _way(canvas, way, top, scale, language)
        y = top + 3 * TRACK + 8
    end = max(work.end for work in turned)
    canvas.line(LEFT + end * scale, top - 3, LEFT + end * scale, top + 3 + 3 * TRACK, RED, 2)
    saved = 1 - end / max(work.end for work in shared)
    less = say(language, f"{saved * 100:.0f} %\nless", f"少\n{saved:.0%}").split("\n")
    canvas.lines(LEFT + end * scale + 8, top + 1.5 * TRACK - 4, less, 1.25, fill=RED, bold=True)
    entries = (
        (A.middle, ("multiplies", "做乘法")),
        (B.strong, ("stores, with all else at a tile's end", "写回，以及分块末尾的其他工作")),
        (C.strong, ("tensor cores at work", "Tensor Core 在工作")),
        (PALE_RED, ("no work", "没有工作")),
    )
    y = layout.legend(canvas, y + 20, language, entries)
    more = _more(large, own)
    note = (
        f"schematic: together, the end of a tile is drawn as long as the products of {END_IN_SLICES} slices of "
        f"{large.bm}×{large.bn}; in turn a consumer stores a whole tile, {more:g} times as much as half a tile above, so "
        f"its end is drawn {more:g} times as long ({END_IN_SLICES * more:.1f} slices)",
        f"示意图：一起算时，分块的末尾画成 {large.bm}×{large.bn} 的 {END_IN_SLICES} 片乘法那么长；轮流时，一个消费者要写回整个分块，"
        f"是上面半个分块的 {more:g} 倍，所以末尾也画成 {more:g} 倍长，即 {END_IN_SLICES * more:.1f} 片",
    )
    canvas.height = layout.paragraph(canvas, y + 2, language, note, fill=MUTED)
    return canvas


def _way(canvas: Canvas, way: list[Work], top: float, scale: float, language: str) -> None:
    """A line per consumer, and one for the tensor cores."""
    length = max(work.end for work in way) * scale
    for track, name in enumerate((*CONSUMERS, Words("tensor cores", "Tensor Core"))):
        y = top + track * TRACK
        canvas.rect(LEFT, y + 3, length, TRACK - 6, PALE_RED)
        canvas.text(LEFT - 8, y + TRACK / 2 + 4.5, name(language), SMALL, INK, "end")
    for work in way:
        y = top + work.consumer * TRACK + 3
        products = (work.stored_from - work.start) * scale
        canvas.rect(LEFT + work.start * scale, y, products, TRACK - 6, A.middle, "#ffffff", 1.2)
        canvas.rect(LEFT + work.stored_from * scale, y, (work.end - work.stored_from) * scale, TRACK - 6, B.strong)
        middle = LEFT + work.start * scale + products / 2
        canvas.text(middle, y + TRACK / 2 + 1.5, str(work.tile), SMALL, INK, "middle", bold=True)
        canvas.rect(LEFT + work.start * scale, top + 2 * TRACK + 3, products, TRACK - 6, C.strong)
