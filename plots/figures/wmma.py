"""Pictures of steps 14 to 17: a warp's tile, fragments shared by tiles, one buffer and two, warp tiles to scale."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, parts
from plots.figures.layout import MARGIN
from plots.figures.palette import BOX, DARK, INK, MUTED, RED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

TILE = 16  # rows and columns of one product
LDSM_WAVEFRONTS = 4  # of a 16×16 fragment's load without conflicts
HMMAS = 2  # of a 16×16×16 product


@dataclass(frozen=True)
class WarpTile:
    """A warp's part of C, and what 16 of K cost it."""

    rows: int
    cols: int

    @property
    def loads(self) -> int:
        """Fragments of A and of B."""
        return self.rows // TILE + self.cols // TILE

    @property
    def products(self) -> int:
        """One for each 16×16 tile."""
        return self.rows // TILE * (self.cols // TILE)

    @property
    def wavefronts(self) -> float:
        """Of the fragments' loads, for each HMMA."""
        return self.loads * LDSM_WAVEFRONTS / (self.products * HMMAS)


WARP_TILES = (WarpTile(16, 16), WarpTile(32, 64), WarpTile(64, 64), WarpTile(64, 128))


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "14_wmma_naive", one_tile
    yield "15_wmma_tiled", shared_fragments
    yield "16_wmma_async", two_buffers
    yield "17_wmma_stages", warp_tiles


def one_tile(language: str) -> Canvas:
    """Step 14: what one warp reads for its tile of C."""
    canvas, y = layout.of_step(
        "14_wmma_naive",
        language,
        ("one warp computes one tile of C", "一个 warp 计算 C 的一个分块"),
        ("each small square is 16×16 elements; strong: one product", "每个小方格是 16×16 个元素；突出：一次 mma_sync"),
    )
    unit, count, row, col, k = 20.0, 9, 4, 5, 3
    side, top = unit * 9, y + 28
    across, down = [(row, i) for i in range(count)], [(i, col) for i in range(count)]
    for place, (name, tone, strip, cell) in enumerate(
        (("A", A, across, (row, k)), ("B", B, down, (k, col)), ("C", C, [(row, col)], (row, col)))
    ):
        x = MARGIN + place * (side + 26)
        canvas.text(x, top - 8, name, 16, tone.ink, bold=True)
        parts.grid(canvas, x, top, count, count, unit, unit)
        parts.fill(canvas, x, top, strip, unit, unit, tone.pale)
        parts.fill(canvas, x, top, [cell], unit, unit, tone.strong)
        parts.frame(canvas, x, top, count, count, unit, unit)
        canvas.text(x + side + 13, top + side / 2 + 6, ("×", "=", "")[place], 20, INK, "middle", bold=True)
    words = (
        "512 + 512 bytes in, 8192 FLOP out: 8 FLOP per byte",
        "读入 512 + 512 字节，算出 8192 FLOP：每字节 8 FLOP",
    )
    y = layout.paragraph(canvas, top + side + 30, language, words, bold=True)
    words = (
        "faint: what the warp walks along K. Every warp of the same row of tiles reads the same strip of A again.",
        "淡色：这个 warp 沿 K 走过的部分。同一行分块的每个 warp 都要把 A 的这一条重读一遍。",
    )
    canvas.height = layout.paragraph(canvas, y + 4, language, words, fill=MUTED)
    return canvas


def shared_fragments(language: str) -> Canvas:
    """Step 15: a block tile of eight warps, and one warp's fragments."""
    canvas, y = layout.of_step(
        "15_wmma_tiled",
        language,
        ("one fragment serves a row or a column of tiles", "一个 fragment 供一行或一列的分块"),
        (
            "left: a block tile of 128×128 and its eight warps; right: one warp, 16 of K",
            "左：128×128 的 block tile 与它的八个 warp；右：一个 warp，K 方向 16",
        ),
    )
    unit, x, y = 28.0, MARGIN, y + 12
    parts.grid(canvas, x, y, 8, 8, unit, unit)
    for warp in range(8):
        cells = [(warp // 2 * 2 + r, warp % 2 * 4 + c) for r in range(2) for c in range(4)]
        shade = C.middle if warp == 3 else C.pale if (warp // 2 + warp) % 2 else BOX
        parts.fill(canvas, x, y, cells, unit, unit, shade)
        canvas.text(
            x + (warp % 2 * 4 + 2) * unit, y + (warp // 2 * 2 + 1) * unit + 5, str(warp), layout.SMALL, INK, "middle"
        )
    parts.outline(canvas, x, y, [(r, c) for r in range(2, 4) for c in range(4, 8)], unit, unit, C.ink, 2.5)
    parts.frame(canvas, x, y, 8, 8, unit, unit)
    wide = 56.0
    left, top = layout.RIGHT - 4 * wide + 4, y + 92
    for i in range(2):
        canvas.rect(left - 76, top + i * wide, 60, wide - 4, A.middle, A.strong)
        canvas.text(left - 46, top + i * wide + 31, f"a[{i}]", layout.SMALL, A.ink, "middle", mono=True)
        for j in range(4):
            canvas.rect(left + j * wide, top + i * wide, wide - 4, wide - 4, C.middle, C.strong)
            canvas.text(left + j * wide + 26, top + i * wide + 31, f"{i},{j}", layout.SMALL, C.ink, "middle", mono=True)
    for j in range(4):
        canvas.rect(left + j * wide, top - 76, wide - 4, 60, B.middle, B.strong)
        canvas.text(left + j * wide + 26, top - 41, f"b[{j}]", layout.SMALL, B.ink, "middle", mono=True)
    y += 8 * unit + 28
    for words in (
        ("6 loads: LDSM, 4 wavefronts each", "6 次读：LDSM，每次 4 个 wavefront"),
        ("8 products of two HMMAs", "8 次 mma_sync，每次两条 HMMA"),
        ("24 / 16 = 1.5 wavefronts per HMMA", "24 / 16 = 每条 HMMA 1.5 个 wavefront"),
    ):
        y = layout.paragraph(canvas, y, language, words)
    words = (
        "The slices that feed them, 128×64 of A and 64×128 of B, are read from global memory once for all eight.",
        "供给它们的切片，A 的 128×64 与 B 的 64×128，只为这八个 warp 从全局内存读一次。",
    )
    canvas.height = layout.paragraph(canvas, y + 6, language, words, fill=MUTED)
    return canvas


def _span(canvas: Canvas, x: float, y: float, wide: float, fill: str, ink: str, text: str) -> None:
    canvas.rect(x, y, wide - 2, 28, fill, ink)
    canvas.text(x + wide / 2 - 1, y + 19, text, layout.SMALL, ink, "middle", bold=True)


def two_buffers(language: str) -> Canvas:
    """Step 16: a block's time with one buffer and with two."""
    canvas, y = layout.of_step(
        "16_wmma_async",
        language,
        ("the next slice is already under way", "下一片已经上路"),
        ("one block over time; numbers are slices", "一个线程块的时间；数字是切片"),
    )
    copy, work = 60.0, 78.0
    canvas.text(MARGIN, y + 20, say(language, "one buffer", "一块缓冲"), layout.SMALL, RED, bold=True)
    at = MARGIN
    for number in range(4):
        _span(canvas, at, y + 34, copy, A.middle, A.ink, str(number))
        canvas.rect(at + copy - 2, y + 30, 4, 36, DARK)
        _span(canvas, at + copy + 3, y + 34, work, C.middle, C.ink, str(number))
        canvas.rect(at + copy + work + 2, y + 30, 4, 36, DARK)
        at += copy + work + 9
    y += 80
    canvas.text(MARGIN, y + 20, say(language, "two buffers", "两块缓冲"), layout.SMALL, C.ink, bold=True)
    _span(canvas, MARGIN, y + 34, copy, A.middle, A.ink, "0")
    at = MARGIN + copy
    for number in range(4):
        canvas.rect(at, y + 30, 4, 72, DARK)
        if number < 3:
            _span(canvas, at + 6, y + 34, copy, A.middle, A.ink, str(number + 1))
        _span(canvas, at + 6, y + 70, work, C.middle, C.ink, str(number))
        at += work + 9
    entries = (
        (A.middle, ("global to shared memory", "全局内存到共享内存")),
        (C.middle, ("fragments and products", "fragment 与计算")),
        (f"line:{DARK}", ("barrier", "屏障")),
    )
    y = layout.legend(canvas, y + 132, language, entries)
    words = (
        "A slice may take as long as the products of one slice; only what takes longer is waited for.",
        "一片的拷贝有一片的计算时间可用，超出的部分仍要等待。",
    )
    canvas.height = layout.paragraph(canvas, y + 4, language, words, fill=MUTED)
    return canvas


def warp_tiles(language: str) -> Canvas:
    """Step 17: warp tiles to scale, with their fragments and what those cost."""
    canvas, y = layout.of_step(
        "17_wmma_stages",
        language,
        ("a larger warp tile loads fewer fragments per product", "warp tile 越大，每次乘法读的 fragment 越少"),
        (
            "green: a warp's part of C; blue and orange: its fragments of A and B for 16 of K, all to one scale",
            "绿：一个 warp 的 C；蓝、橙：K 方向 16 所需的 A、B fragment；同一比例",
        ),
    )
    scale = 1.7
    strip = TILE * scale
    for row in (WARP_TILES[:2], WARP_TILES[2:]):
        tallest = max(tile.rows for tile in row) * scale
        for tile, left in zip(row, (MARGIN, MARGIN + 300), strict=True):
            high, wide, top = tile.rows * scale, tile.cols * scale, y + 34
            canvas.rect(left + strip + 4, top + strip + 4, wide, high, C.middle, C.strong)
            canvas.rect(left, top + strip + 4, strip, high, A.middle, A.strong)
            canvas.rect(left + strip + 4, top, wide, strip, B.middle, B.strong)
            canvas.text(left, top - 10, f"{tile.rows}×{tile.cols}", 16, INK, bold=True)
            words = (
                f"{tile.loads} loads, {tile.products} product{'s' * (tile.products > 1)}",
                f"{tile.loads} 次读，{tile.products} 次 mma_sync",
            )
            under = top + strip + 4 + tallest + 22
            canvas.text(left, under, say(language, *words))
            unit = "wavefront" if tile.wavefronts == 1 else "wavefronts"
            words = f"{tile.wavefronts:g} {unit} per HMMA", f"每条 HMMA {tile.wavefronts:g} 个 wavefront"
            canvas.text(left, under + 20, say(language, *words), bold=True)
        y = under + 32
    words = (
        "An SM finishes an HMMA every 1.63 cycles at the limit, and shared memory serves one wavefront per cycle.",
        "极限时一个 SM 每 1.63 周期完成一条 HMMA，共享内存每周期交付一个 wavefront。",
    )
    canvas.height = layout.paragraph(canvas, y + 22, language, words, fill=MUTED)
    return canvas
