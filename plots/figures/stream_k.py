"""Stream-K beside whole tiles: five tiles on four SMs, in whole tiles and in equal shares of their slices."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout
from plots.figures.palette import BOX, DARK, INK, MUTED, PALE_RED, RED, WARPS, A, B
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words, say

STEP = "29_split_k"
BLOCKS, TILES, SLICES = 4, 5, 8  # one block per SM; slices of a tile
LEAVE, ADD = 0.9, 0.9  # in slices: to leave the sums of a tile in global memory, to fetch and add them
LEFT, RIGHT, TRACK = 92.0, layout.RIGHT, 36.0
OF_TILE = (*WARPS[:4], WARPS[5])  # without the one that is close to PALE_RED


@dataclass(frozen=True)
class Part:
    """Slices of one tile that one block computes, beginning at a time that is counted in slices."""

    block: int
    tile: int
    first: int  # slice of the tile
    end: int
    start: float

    @property
    def stop(self) -> float:
        """When its products are done."""
        return self.start + self.end - self.first

    @property
    def leaves(self) -> bool:
        """Whether another block finishes the tile."""
        return self.first > 0

    @property
    def adds(self) -> bool:
        """Whether sums of another block are missing."""
        return self.first == 0 and self.end < SLICES


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "29_split_k-stream_k", shares


def whole_tiles() -> list[Part]:
    """A tile at a time, wave after wave."""
    return [Part(tile % BLOCKS, tile, 0, SLICES, tile // BLOCKS * SLICES) for tile in range(TILES)]


def equal_shares() -> list[Part]:
    """The row of all slices, cut into as many equal shares as there are blocks; what a block leaves comes first."""
    found = []
    for block in range(BLOCKS):
        at, end = (TILES * SLICES * share // BLOCKS for share in (block, block + 1))
        time = 0.0
        while at < end:
            tile, first = divmod(at, SLICES)
            part = Part(block, tile, first, min(SLICES, first + end - at), time)
            found.append(part)
            time = part.stop + (LEAVE if part.leaves else 0)
            at += part.end - part.first
    return found


def shares(language: str) -> Canvas:
    """Both ways on one scale."""
    ways = (
        (
            Words("whole tiles: two waves, the second for one tile", "整个分块：两个 wave，第二个 wave 只有一个分块"),
            whole_tiles(),
        ),
        (Words("stream-K: ten slices for each block", "stream-K：每个线程块 10 片"), equal_shares()),
    )
    ends = [max(part.stop + (ADD if part.adds else 0) for part in way) for _, way in ways]
    canvas, y = layout.of_step(
        STEP,
        language,
        ("equal shares of all slices leave no block idle", "按片平均分，没有线程块闲着"),
        (
            f"{TILES} tiles of {SLICES} slices on {BLOCKS} SMs; each rectangle is a slice, the number that of its tile",
            f"{TILES} 个分块，每个 {SLICES} 片，{BLOCKS} 个 SM；一个小格是一片，数字是分块的编号",
        ),
    )
    scale = (RIGHT - LEFT) / max(ends)
    names = Words("block", "线程块"), Words("share", "份额")
    for (words, way), name, end in zip(ways, names, ends, strict=True):
        canvas.text(layout.MARGIN, y + 24, words(language), bold=True)
        top = y + 32
        for block in range(BLOCKS):
            at = top + block * TRACK
            canvas.rect(LEFT, at + 3, end * scale, TRACK - 6, PALE_RED if way is ways[0][1] else BOX)
            canvas.text(LEFT - 8, at + TRACK / 2 + 4.5, f"{name(language)} {block}", layout.SMALL, INK, "end")
        for part in way:
            _slices(canvas, part, top, scale)
        y = top + BLOCKS * TRACK + 6
    for part in ways[1][1]:
        _hand_over(canvas, part, ways[1][1], top, scale)
    x = LEFT + ends[1] * scale
    canvas.line(x, top - 3, x, top + BLOCKS * TRACK + 3, DARK, 2)
    canvas.text(x + 10, top + 2 * TRACK + 4, say(language, "saved", "省下的"), layout.SMALL, RED, bold=True)
    entries = (
        (PALE_RED, ("no work", "没有工作")),
        (B.strong, ("leaves its sums, raises the flag", "把累加结果留在全局内存，置位标志")),
        (A.strong, ("adds another block's sums", "加上另一个线程块的累加结果")),
    )
    y = layout.legend(canvas, y + 22, language, entries)
    words = (
        "schematic: a tile really has 8 to 256 slices, and leaving or adding sums takes the time of several",
        "示意图：实际的分块有 8 到 256 片，留下或加上一次累加结果，相当于算几片的时间",
    )
    canvas.height = layout.paragraph(canvas, y + 2, language, words, fill=MUTED)
    return canvas


def _slices(canvas: Canvas, part: Part, top: float, scale: float) -> None:
    """The slices of a part, and its tile's number."""
    x, y = LEFT + part.start * scale, top + part.block * TRACK + 4
    for index in range(part.end - part.first):
        canvas.rect(x + index * scale, y, scale, TRACK - 8, OF_TILE[part.tile], "#ffffff", 1.2)
    middle = x + (part.stop - part.start) * scale / 2
    canvas.text(middle, y + TRACK / 2 + 0.5, str(part.tile), layout.SMALL, INK, "middle", bold=True)


def _hand_over(canvas: Canvas, part: Part, way: list[Part], top: float, scale: float) -> None:
    """What a part leaves for another block or fetches from it, and the arrow between the two."""
    x, y = LEFT + part.stop * scale, top + part.block * TRACK + 4
    if part.leaves:
        canvas.rect(x, y, LEAVE * scale, TRACK - 8, B.strong)
    if part.adds:
        canvas.rect(x, y, ADD * scale, TRACK - 8, A.strong)
        other = next(one for one in way if one.tile == part.tile and one.leaves)
        from_x = LEFT + (other.stop + LEAVE) * scale
        canvas.arrow(from_x, y + TRACK + 4, x + 2, y + TRACK - 6, DARK, 1.6)
