"""Pictures of steps 14 to 17: a warp's tile, fragments shared by tiles, one buffer and two, warp tiles to scale."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gemm_plots.figures import parts
from gemm_plots.figures.palette import DARK, INK, MUTED, RED, WARPS, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

Draw = Callable[[str], Canvas]

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
    canvas = parts.of_step(
        "14_wmma_naive",
        330,
        language,
        ("one warp, one tile", "一个 warp，一个分块"),
        ("each small square is 16×16 elements; strong: one product", "每个小方格是 16×16 个元素；深色：一次 mma_sync"),
    )
    unit, count, row, col, k = 20.0, 9, 4, 5, 3
    across, down = [(row, i) for i in range(count)], [(i, col) for i in range(count)]
    for x, name, tone, strip, cell in (
        (60.0, "A", A, across, (row, k)),
        (300.0, "B", B, down, (k, col)),
        (540.0, "C", C, [(row, col)], (row, col)),
    ):
        canvas.text(x, 88, name, 15, tone.ink, bold=True)
        parts.grid(canvas, x, 98, count, count, unit, unit)
        parts.fill(canvas, x, 98, strip, unit, unit, tone.pale)
        parts.fill(canvas, x, 98, [cell], unit, unit, tone.strong)
        parts.frame(canvas, x, 98, count, count, unit, unit)
    canvas.text(266, 194, "×", 20, INK, "middle", bold=True)
    canvas.text(506, 194, "=", 20, INK, "middle", bold=True)
    lines = (
        say(language, "512 + 512 bytes in", "读入 512 + 512 字节"),
        say(language, "8192 FLOP out", "算出 8192 FLOP"),
        say(language, "8 FLOP per byte", "每字节 8 FLOP"),
    )
    canvas.lines(752, 150, lines, 14, 1.8)
    canvas.text(
        60,
        310,
        say(
            language,
            "pale: what the warp walks along K. Every warp of the same row of tiles reads the same strip of A again.",
            "浅色：这个 warp 沿 K 走过的部分。同一行分块的每个 warp 都要把 A 的这一条重读一遍。",
        ),
        13,
        MUTED,
    )
    return canvas


def shared_fragments(language: str) -> Canvas:
    """Step 15: a block tile of eight warps, and one warp's fragments."""
    canvas = parts.of_step(
        "15_wmma_tiled",
        360,
        language,
        ("one fragment serves a row or a column of tiles", "一个 fragment 供一行或一列的分块"),
        (
            "left: a block tile of 128×128 and its eight warps; right: one warp, 16 of K",
            "左：128×128 的线程块分块与它的八个 warp；右：一个 warp，K 方向 16",
        ),
    )
    unit, x, y = 27.0, 60.0, 100.0
    parts.grid(canvas, x, y, 8, 8, unit, unit)
    for warp in range(8):
        cells = [(warp // 2 * 2 + r, warp % 2 * 4 + c) for r in range(2) for c in range(4)]
        parts.fill(canvas, x, y, cells, unit, unit, WARPS[warp])
        canvas.text(x + (warp % 2 * 4 + 2) * unit, y + (warp // 2 * 2 + 1) * unit + 5, str(warp), 15, INK, "middle")
    parts.outline(canvas, x, y, [(r, c) for r in range(2, 4) for c in range(4, 8)], unit, unit, C.ink, 2.5)
    parts.frame(canvas, x, y, 8, 8, unit, unit)
    wide, left, top = 52.0, 470.0, 170.0
    for i in range(2):
        canvas.rect(left - 80, top + i * wide, 60, wide - 4, A.middle, A.strong)
        canvas.text(left - 50, top + i * wide + 29, f"a[{i}]", 13, A.ink, "middle", mono=True)
        for j in range(4):
            canvas.rect(left + j * wide, top + i * wide, wide - 4, wide - 4, C.middle, C.strong)
            canvas.text(left + j * wide + 24, top + i * wide + 29, f"{i},{j}", 13, C.ink, "middle", mono=True)
    for j in range(4):
        canvas.rect(left + j * wide, top - 76, wide - 4, 60, B.middle, B.strong)
        canvas.text(left + j * wide + 24, top - 42, f"b[{j}]", 13, B.ink, "middle", mono=True)
    canvas.lines(
        710,
        150,
        (
            say(language, "6 loads: LDSM, 4 wavefronts each", "6 次读：LDSM，每次 4 个波前"),
            say(language, "8 products of two HMMAs", "8 次 mma_sync，每次两条 HMMA"),
            say(language, "24 / 16 = 1.5 wavefronts per HMMA", "24 / 16 = 每条 HMMA 1.5 个"),
        ),
        13.5,
        1.9,
    )
    canvas.text(
        60,
        342,
        say(
            language,
            "The slices that feed them, 128×64 of A and 64×128 of B, are read from global memory once for all eight.",
            "供给它们的切片，A 的 128×64 与 B 的 64×128，只为这八个 warp 从全局内存读一次。",
        ),
        13,
        MUTED,
    )
    return canvas


def _span(canvas: Canvas, x: float, y: float, wide: float, fill: str, ink: str, text: str) -> None:
    canvas.rect(x, y, wide - 2, 26, fill, ink)
    canvas.text(x + wide / 2 - 1, y + 18, text, 12, ink, "middle", bold=True)


def two_buffers(language: str) -> Canvas:
    """Step 16: a block's time with one buffer and with two."""
    canvas = parts.of_step(
        "16_wmma_async",
        330,
        language,
        ("the next slice is already under way", "下一片已经上路"),
        (
            "one block over time; numbers are slices, dark bars are barriers",
            "一个线程块的时间；数字是切片，深色竖条是屏障",
        ),
    )
    x, copy, work = 150.0, 66.0, 86.0
    canvas.text(24, 106, say(language, "one buffer", "一块缓冲"), 14, RED, bold=True)
    at = x
    for number in range(4):
        _span(canvas, at, 88, copy, A.middle, A.ink, str(number))
        canvas.rect(at + copy - 2, 84, 4, 34, DARK)
        _span(canvas, at + copy + 3, 88, work, C.middle, C.ink, str(number))
        canvas.rect(at + copy + work + 2, 84, 4, 34, DARK)
        at += copy + work + 9
    canvas.text(24, 178, say(language, "two buffers", "两块缓冲"), 14, C.ink, bold=True)
    canvas.text(24, 206, say(language, "copies", "拷贝"), 12, MUTED)
    canvas.text(24, 240, say(language, "products", "计算"), 12, MUTED)
    _span(canvas, x, 188, copy, A.middle, A.ink, "0")
    at = x + copy
    for number in range(4):
        canvas.rect(at, 184, 4, 68, DARK)
        if number < 3:
            _span(canvas, at + 6, 188, copy, A.middle, A.ink, str(number + 1))
        _span(canvas, at + 6, 222, work, C.middle, C.ink, str(number))
        at += work + 9
    parts.key(
        canvas,
        24,
        288,
        [
            (A.middle, say(language, "global to shared memory", "全局内存到共享内存")),
            (C.middle, say(language, "fragments and products", "fragment 与计算")),
            (DARK, say(language, "barrier", "屏障")),
        ],
    )
    canvas.text(
        24,
        314,
        say(
            language,
            "A slice has the products of one slice as its time to arrive; what is longer still shows.",
            "一片的拷贝有一片的计算时间可用，超出的部分仍要等待。",
        ),
        13,
        MUTED,
    )
    return canvas


def warp_tiles(language: str) -> Canvas:
    """Step 17: warp tiles to scale, with their fragments and what those cost."""
    canvas = parts.of_step(
        "17_wmma_stages",
        330,
        language,
        ("larger warp tiles", "更大的 warp 分块"),
        (
            "green: a warp's part of C; blue and orange: its fragments of A and B for 16 of K, all to one scale",
            "绿：一个 warp 的 C；蓝、橙：K 方向 16 所需的 A、B fragment；同一比例",
        ),
    )
    scale, left, top = 1.5, 60.0, 112.0
    for tile in WARP_TILES:
        high, wide, strip = tile.rows * scale, tile.cols * scale, TILE * scale
        canvas.rect(left + strip + 4, top + strip + 4, wide, high, C.middle, C.strong)
        canvas.rect(left, top + strip + 4, strip, high, A.middle, A.strong)
        canvas.rect(left + strip + 4, top, wide, strip, B.middle, B.strong)
        canvas.text(left, top - 12, f"{tile.rows}×{tile.cols}", 15, INK, bold=True)
        canvas.lines(
            left,
            270,
            (
                say(
                    language,
                    f"{tile.loads} loads, {tile.products} product{'s' * (tile.products > 1)}",
                    f"{tile.loads} 次读，{tile.products} 次 mma_sync",
                ),
                say(language, f"{tile.wavefronts:g} wavefronts per HMMA", f"每条 HMMA {tile.wavefronts:g} 个波前"),
            ),
            12.5,
            1.6,
        )
        left += max(wide + strip + 44, 196)
    canvas.text(
        60,
        316,
        say(
            language,
            "An SM finishes an HMMA every 1.63 cycles at the limit, and shared memory serves one wavefront per cycle.",
            "极限时一个 SM 每 1.63 周期完成一条 HMMA，共享内存每周期交付一个波前。",
        ),
        13,
        MUTED,
    )
    return canvas
