"""What the matrix descriptors of step 23 say of A and of B, and which warp holds which rows of D."""

from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.layout import INNER, MARGIN
from plots.figures.palette import INK, MUTED, A, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

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


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "23_wgmma-descriptors", descriptors


EIGHT = 27.0  # height of eight rows on the picture
GROUPS = MMA_M // 8  # of eight rows
CARD = 388.0  # height of a card
ABOVE = 66.0  # from a card's upper edge to its tiles


def descriptors(language: str) -> Canvas:
    """Step 23: the fields of a descriptor over the tiles of A and B, and the rows of D."""
    canvas, y = layout.of_step(
        "23_wgmma",
        language,
        ("64 bits tell the tensor core where a tile lies", "64 位告诉 Tensor Core 分块在哪里"),
        (
            f"BK = {BK}, NN; one wgmma adds 64×{BN}×{MMA_K} products to D; strong: what it reads for k = 16 … 31",
            f"BK = {BK}，NN；一条 wgmma 把 64×{BN}×{MMA_K} 个乘积加到 D；突出：k = 16 … 31 时读取的部分",
        ),
    )
    y = _fields(canvas, y + 24, language) + 16
    _a(canvas, y, language)
    _d(canvas, y, language)
    y += CARD + 12
    _b(canvas, y, language)
    canvas.height = y + CARD + 14
    return canvas


def _fields(canvas: Canvas, y: float, language: str) -> float:
    """The 64 bits, high ones at the left, with the values of both operands; returns the y under them."""
    left, high = MARGIN + 70, 92.0
    width = layout.RIGHT - left
    bit = width / 64
    canvas.rect(left, y, width, high, "#ffffff", "#9aa6b5")
    for row, (name, tone) in enumerate((("A", A), ("B", B))):
        canvas.text(
            left - 10,
            y + 50 + row * 30,
            say(language, f"{name}'s value", f"{name} 的值"),
            layout.SMALL,
            tone.ink,
            "end",
        )
    canvas.text(left - 10, y + 20, say(language, "field", "字段"), layout.SMALL, INK, "end")
    for low, top, name, a, b in FIELDS:
        narrow = name == "swizzle"
        x, wide = left + (63 - top) * bit, (top - low + 1) * bit
        canvas.rect(x, y, wide, high, C.pale, C.ink)
        middle = x + wide / 2
        if narrow:
            canvas.text(x + wide + 6, y + 20, name, layout.SMALL, C.ink, bold=True)
            canvas.text(x + wide + 6, y + 50, say(language, "(128 bytes)", "（128 字节）"), layout.SMALL, MUTED)
        else:
            canvas.text(middle, y + 20, f"{name} / 16", layout.SMALL, C.ink, "middle", bold=True)
        canvas.text(middle, y + 50, a, layout.SMALL, A.ink, "middle", bold=True, mono=True)
        canvas.text(middle, y + 80, b, layout.SMALL, B.ink, "middle", bold=True, mono=True)
        canvas.text(middle, y - 6, f"{low}–{top}", layout.SMALL, MUTED, "middle")
    return y + high


def _tile(canvas: Canvas, x: float, y: float, width: float, rows: int, tone: Tone) -> None:
    """A box of rows of 128 bytes, a line where eight rows, 1024 bytes, end."""
    canvas.rect(x, y, width, rows * EIGHT, tone.pale)
    for eight in range(1, rows):
        canvas.line(x, y + eight * EIGHT, x + width, y + eight * EIGHT, tone.middle, 1)
    canvas.rect(x, y, width, rows * EIGHT, "none", tone.strong, 1.4)


def _a(canvas: Canvas, y: float, language: str) -> None:
    """A, K-major: rows of 64 k; the next 16 of k are 32 bytes further in every row."""
    heading = "A: K-major, rows run along k", "A：K-major，一行沿 k 方向"
    parts.card(canvas, MARGIN, y, 308, CARD, say(language, *heading), A.ink)
    x, top, width = MARGIN + 92, y + ABOVE, 160.0
    step = width * MMA_K * 2 / ROW_BYTES
    _tile(canvas, x, top, width, GROUPS, A)
    canvas.rect(x + step, top, step, GROUPS * EIGHT, A.strong)
    words = say(language, "128 bytes: k = 0 … 63", "128 字节：k = 0 … 63")
    canvas.text(x + width / 2, top - 8, words, layout.SMALL, INK, "middle")
    canvas.arrow(x - 12, top + 1, x - 12, top + EIGHT, INK, 1.6)
    canvas.text(x - 20, top + 11, "stride", layout.SMALL, INK, "end", bold=True)
    canvas.text(x - 20, top + 27, "1024 B", layout.SMALL, INK, "end")
    canvas.text(x - 12, top + 5 * EIGHT, say(language, "64 rows", "64 行"), layout.SMALL, MUTED, "end")
    lines = [
        say(language, "next 16 of k: start + 32 bytes", "下 16 个 k：start + 32 字节"),
        say(language, "leading (here 1) is not used:", "leading（这里是 1）硬件不用："),
        say(language, "K-major with a swizzle", "K-major，有 swizzle"),
        say(language, "warpgroup 1: start + 8192 bytes", "warpgroup 1：start + 8192 字节"),
    ]
    canvas.lines(MARGIN + 12, top + GROUPS * EIGHT + 24, lines, 1.4)


def _b(canvas: Canvas, y: float, language: str) -> None:
    """B, MN-major: four boxes of 64 columns; the next 16 of k are 16 rows further down in each."""
    heading = "B: MN-major, rows run along n", "B：MN-major，一行沿 n 方向"
    parts.card(canvas, MARGIN, y, INNER, CARD, say(language, *heading), B.ink)
    left, top, width, gap = MARGIN + 64, y + ABOVE, 120.0, 12.0
    for number in range(BN // ROW):
        x = left + number * (width + gap)
        _tile(canvas, x, top, width, BK // 8, B)
        canvas.rect(x, top + 2 * EIGHT, width, 2 * EIGHT, B.strong)
        first = number * ROW
        canvas.text(x + width / 2, top - 8, f"{first} … {first + ROW - 1}", layout.SMALL, INK, "middle")
    canvas.text(left - 8, top - 8, "n =", layout.SMALL, INK, "end")
    for k, words in ((0, "k = 0"), (2, "16"), (4, "32")):
        canvas.text(left - 8, top + k * EIGHT + 12, words, layout.SMALL, MUTED, "end")
    under = top + GROUPS * EIGHT + 16
    canvas.arrow(left + 1, under - 5, left + width + gap, under - 5, INK, 1.6)
    words = say(language, "leading: 8192 bytes", "leading：8192 字节")
    canvas.text(left + width + gap + 8, under, words, layout.SMALL, INK, bold=True)
    lines = [
        say(
            language,
            "stride: 1024 bytes, from eight rows (k) to the next eight",
            "stride：1024 字节，从八行（k）到下八行",
        ),
        say(language, "next 16 of k: start + 2048 bytes", "下 16 个 k：start + 2048 字节"),
        say(language, "both warpgroups read the same B", "两个 warpgroup 读同一份 B"),
    ]
    canvas.lines(MARGIN + 12, under + 26, lines, 1.4)


def _d(canvas: Canvas, y: float, language: str) -> None:
    """D in registers: sixteen rows for each of the four warps."""
    card = MARGIN + 320
    heading = say(language, f"D: 64×{BN} in registers", f"D：64×{BN}，在寄存器里")
    parts.card(canvas, card, y, layout.RIGHT - card, CARD, heading, C.ink)
    x, top, width, high = card + 72, y + ABOVE, 184.0, 2 * EIGHT
    for warp in range(4):
        at = top + warp * high
        canvas.rect(x, at, width, high, C.middle if warp % 2 else C.pale, C.strong)
        canvas.text(x + width / 2, at + high / 2 + 5, f"warp {warp}", layout.SMALL, INK, "middle", bold=True)
        canvas.text(x - 8, at + high / 2 + 4, f"{16 * warp} … {16 * warp + 15}", layout.SMALL, MUTED, "end")
    canvas.text(x + width / 2, top - 8, f"n = 0 … {BN - 1}", layout.SMALL, INK, "middle")
    lines = [
        say(language, "16 rows per warp,", "每个 warp 16 行，"),
        say(language, "128 sums per thread", "每线程 128 个累加结果"),
    ]
    canvas.lines(card + 12, top + 4 * high + 24, lines, 1.4)
