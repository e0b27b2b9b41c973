"""What the matrix descriptors of step 23 say of A and of B, and which warp holds which rows of D."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.palette import INK, MUTED, WARPS, A, B, C, Tone
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

BN, BK, MMA_M, MMA_K = 256, 64, 64, 16  # step 23's tile; an instruction is 64×256×16
ROW, ROW_BYTES, CHUNK = 64, 128, 16  # of a box: elements and bytes in a row, bytes that stay together
EIGHT_ROWS = 8 * ROW_BYTES
UNIT = 16  # a descriptor counts bytes in these
LEADING = BK * ROW_BYTES  # from one box of B to the next
# Name, first and last bit, and what A's and B's descriptor has there.
FIELDS = (
    (62, 63, "swizzle", "1", "1"),
    (32, 45, "stride", f"{EIGHT_ROWS // UNIT}", f"{EIGHT_ROWS // UNIT}"),
    (16, 29, "leading", "1", f"{LEADING // UNIT}"),
    (0, 13, "start", "As / 16", "Bs / 16"),
)


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
    """File name and drawing function of each picture."""
    yield "23_wgmma-descriptors", descriptors


def descriptors(language: str) -> Canvas:
    """Step 23: the fields of a descriptor over the tiles of A and B, and the rows of D."""
    canvas = parts.of_step(
        "23_wgmma",
        676,
        language,
        ("64 bits tell the tensor core where a tile lies", "64 位告诉 Tensor Core 分块在哪里"),
        (
            f"one warpgroup: D (64×{BN}) += A (64×{MMA_K}) × B ({MMA_K}×{BN}); BK = {BK}, NN; "
            f"dark: what k = 16 … 31 takes",
            f"一个 warpgroup：D（64×{BN}）+= A（64×{MMA_K}）× B（{MMA_K}×{BN}）；BK = {BK}，NN；深色：k = 16 … 31 所取的部分",
        ),
    )
    _fields(canvas, language)
    _a(canvas, language)
    _b(canvas, language)
    _d(canvas, language)
    return canvas


def _fields(canvas: Canvas, language: str) -> None:
    """The 64 bits, high ones at the left, with the values of both operands."""
    left, width, y = 130.0, 800.0, 86.0
    names = {
        "swizzle": "swizzle",
        "stride": say(language, "stride / 16", "stride / 16"),
        "leading": say(language, "leading / 16", "leading / 16"),
        "start": say(language, "start / 16", "start / 16"),
    }
    bit = width / 64
    canvas.rect(left, y, width, 92, "#ffffff", "#9aa6b5")
    for row, (name, tone) in enumerate((("A", A), ("B", B))):
        canvas.text(left - 12, y + 50 + row * 30, say(language, f"{name}'s value", f"{name} 的值"), 13, tone.ink, "end")
    canvas.text(left - 12, y + 20, say(language, "field", "字段"), 13, INK, "end")
    for low, high, name, a, b in FIELDS:
        narrow = name == "swizzle"
        x, wide = left + (63 - high) * bit, (high - low + 1) * bit
        canvas.rect(x, y, wide, 92, C.pale, C.ink)
        middle = x + wide / 2
        if narrow:
            canvas.text(x + wide + 6, y + 20, names[name], 12.5, C.ink, bold=True)
            canvas.text(x + wide + 6, y + 50, say(language, "(128 bytes)", "（128 字节）"), 12, MUTED)
        else:
            canvas.text(middle, y + 20, names[name], 12.5, C.ink, "middle", bold=True)
        canvas.text(middle, y + 50, a, 14, A.ink, "middle", bold=True, mono=True)
        canvas.text(middle, y + 80, b, 14, B.ink, "middle", bold=True, mono=True)
        canvas.text(middle, y - 6, f"{low}–{high}" if narrow else f"{low} … {high}", 11, MUTED, "middle")


def _tile(canvas: Canvas, x: float, y: float, width: float, rows: int, tone: Tone) -> None:
    """A box of rows of 128 bytes, a line where eight rows, 1024 bytes, end."""
    canvas.rect(x, y, width, rows * EIGHT, tone.pale)
    for eight in range(1, rows):
        canvas.line(x, y + eight * EIGHT, x + width, y + eight * EIGHT, tone.middle, 1)
    canvas.rect(x, y, width, rows * EIGHT, "none", tone.strong, 1.4)


EIGHT = 27.0  # height of eight rows
TILE_TOP = 262.0
GROUPS = MMA_M // 8  # of eight rows


def _a(canvas: Canvas, language: str) -> None:
    """A, K-major: rows of 64 k; the next 16 of k are 32 bytes further in every row."""
    parts.card(
        canvas, 24, 200, 270, 380, say(language, "A: K-major, a row per row of A", "A：K-major，A 的一行占一行"), A.ink
    )
    x, width = 108.0, 128.0
    step = width * MMA_K * 2 / ROW_BYTES
    _tile(canvas, x, TILE_TOP, width, GROUPS, A)
    canvas.rect(x + step, TILE_TOP, step, GROUPS * EIGHT, A.strong)
    canvas.text(
        x + width / 2, TILE_TOP - 8, say(language, "128 bytes: k = 0 … 63", "128 字节：k = 0 … 63"), 12, INK, "middle"
    )
    canvas.arrow(x - 12, TILE_TOP + 1, x - 12, TILE_TOP + EIGHT, INK, 1.6)
    canvas.text(x - 20, TILE_TOP + 11, "stride", 12, INK, "end", bold=True)
    canvas.text(x - 20, TILE_TOP + 26, "1024 B", 12, INK, "end")
    canvas.text(x - 12, TILE_TOP + 5 * EIGHT, say(language, "64 rows", "64 行"), 12, MUTED, "end")
    canvas.lines(
        36,
        TILE_TOP + GROUPS * EIGHT + 26,
        [
            say(language, "next 16 of k: start + 32 bytes", "下 16 个 k：start + 32 字节"),
            say(language, "leading (1): ignored, a row is", "leading（1）被忽略："),
            say(language, "as long as the swizzle's pattern", "一行正好是 swizzle 的宽度"),
            say(language, "warpgroup 1: start + 8192 bytes", "warpgroup 1：start + 8192 字节"),
        ],
        12.5,
    )


def _b(canvas: Canvas, language: str) -> None:
    """B, MN-major: four boxes of 64 columns; the next 16 of k are 16 rows further down in each."""
    parts.card(
        canvas, 308, 200, 404, 380, say(language, "B: MN-major, a row per k", "B：MN-major，一个 k 占一行"), B.ink
    )
    left, width, gap = 372.0, 72.0, 10.0
    for number in range(BN // ROW):
        x = left + number * (width + gap)
        _tile(canvas, x, TILE_TOP, width, BK // 8, B)
        canvas.rect(x, TILE_TOP + 2 * EIGHT, width, 2 * EIGHT, B.strong)
        first = number * ROW
        canvas.text(x + width / 2, TILE_TOP - 8, f"{first} … {first + ROW - 1}", 11.5, INK, "middle")
    canvas.text(left - 8, TILE_TOP - 8, "n =", 11.5, INK, "end")
    canvas.text(left - 8, TILE_TOP + 12, "k = 0", 11.5, MUTED, "end")
    canvas.text(left - 8, TILE_TOP + 2 * EIGHT + 12, "16", 11.5, MUTED, "end")
    canvas.text(left - 8, TILE_TOP + 4 * EIGHT + 12, "32", 11.5, MUTED, "end")
    under = TILE_TOP + GROUPS * EIGHT + 14
    canvas.arrow(left + 1, under - 4, left + width + gap, under - 4, INK, 1.6)
    canvas.text(
        left + width + gap + 8, under, say(language, "leading: 8192 bytes", "leading：8192 字节"), 12, INK, bold=True
    )
    canvas.lines(
        320,
        under + 24,
        [
            say(
                language, "stride: 1024 bytes, from eight k to the next eight", "stride：1024 字节，从八个 k 到下八个 k"
            ),
            say(language, "next 16 of k: start + 2048 bytes", "下 16 个 k：start + 2048 字节"),
            say(language, "both warpgroups read the same B", "两个 warpgroup 读同一份 B"),
        ],
        12.5,
    )


def _d(canvas: Canvas, language: str) -> None:
    """D in registers: sixteen rows for each of the four warps."""
    parts.card(canvas, 726, 200, 210, 380, say(language, f"D: 64×{BN} in registers", f"D：64×{BN}，在寄存器里"), C.ink)
    x, width, high = 786.0, 136.0, 2 * EIGHT
    for warp in range(4):
        y = TILE_TOP + warp * high
        canvas.rect(x, y, width, high, WARPS[warp], "#9aa6b5")
        canvas.text(x + width / 2, y + high / 2 + 5, f"warp {warp}", 13.5, INK, "middle", bold=True)
        canvas.text(x - 8, y + high / 2 + 4, f"{16 * warp} … {16 * warp + 15}", 11.5, MUTED, "end")
    canvas.text(x + width / 2, TILE_TOP - 8, f"n = 0 … {BN - 1}", 12, INK, "middle")
    canvas.lines(
        738,
        TILE_TOP + 4 * high + 26,
        [
            say(language, "16 rows per warp,", "每个 warp 16 行，"),
            say(language, "128 sums per thread", "每线程 128 个累加结果"),
        ],
        12.5,
    )
    canvas.lines(
        parts.MARGIN,
        606,
        [
            say(
                language,
                "The chunk of 16 bytes that belongs at address a lies at a with bits 4–6 XOR-ed with bits 7–9:",
                "本应位于地址 a 的 16 字节 chunk，实际放在把 a 的 4–6 位与 7–9 位 XOR 之后的地址：",
            ),
            say(
                language,
                "TMA writes it there and wgmma reads it there. The address alone decides, so a box starts at a multiple of 1024 bytes.",
                "TMA 往那里写，wgmma 从那里读。这只取决于地址，所以每个 box 都从 1024 字节的倍数开始。",
            ),
            say(
                language,
                "Whether an operand is K-major or MN-major is said by the instruction, not by the descriptor.",
                "操作数是 K-major 还是 MN-major，由指令给出，不在描述符里。",
            ),
        ],
        13,
        1.6,
    )
