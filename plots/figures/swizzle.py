"""Pictures of docs/swizzle: rows of 64 and 128 bytes, plain, padded and with XOR; every lane's banks."""

from collections.abc import Iterable

from plots.figures import bank_maps, layout, parts, traces
from plots.figures.bank_maps import pattern
from plots.figures.geometry import SharedAccess
from plots.figures.palette import INK, RED, A, C
from plots.figures.svg import SMALL, Canvas, Draw
from plots.figures.text import Words, say

CHUNK = 16  # bytes: what one lane copies, and one row of an 8×8 matrix
NOTE = (
    "a column is a group of four banks; a number is the chunk of the row; strong: chunk 1 of each row",
    "一列是四个 bank；数字是该行的第几个 chunk；突出：每一行的 chunk 1",
)


def place(row: int, chunk: int, row_bytes: int) -> int:
    """Where a chunk of a row is stored, as a chunk of the same row: eight consecutive rows end up in eight bank groups.

    128 bytes fill the banks once. Rows of 128 bytes or more: chunk ^ (row % 8). Shorter rows share those 128 bytes, so
    the row that decides is the row of 128 bytes: chunk ^ (row / rows per 128 bytes), within the chunks that there are.
    """
    chunks = row_bytes // CHUNK
    if chunks >= 8:
        return chunk ^ row % 8
    return chunk ^ row // (8 // chunks) % chunks


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "swizzle-chunks", chunks
    yield "20_mma_warp_swizzle-chunks", chunks_of_step_20
    yield "swizzle-banks", matrix_banks
    yield "swizzle-copies", copy_banks


def chunks(language: str) -> Canvas:
    """Where the chunks of eight rows lie before and after, for both lengths of row."""
    heading = "chunk ^ row sends eight rows to eight groups of banks", "chunk ^ row 把八行分到八组 bank"
    canvas, y = layout.page(language, heading, NOTE)
    return _before_and_after(canvas, y, (128, 64), language)


def chunks_of_step_20(language: str) -> Canvas:
    """The same for A's rows of step 20."""
    heading = "the XOR sends eight rows to eight groups of banks", "XOR 把八行分到八组 bank"
    canvas, y = layout.of_step("20_mma_warp_swizzle", language, heading, NOTE)
    return _before_and_after(canvas, y, (128,), language)


def _before_and_after(canvas: Canvas, y: float, lengths: Iterable[int], language: str) -> Canvas:
    unit = 32.0
    right = layout.RIGHT - 8 * unit
    for row_bytes in lengths:
        many = row_bytes // CHUNK
        for x, swizzled in ((layout.MARGIN, False), (right, True)):
            name = say(language, f"rows of {row_bytes} bytes", f"每行 {row_bytes} 字节")
            canvas.text(x, y + 26, name, SMALL, A.ink, bold=True)
            formula = ("chunk ^ (row % 8)" if many == 8 else "chunk ^ (row / 2 % 4)") if swizzled else "chunk"
            canvas.text(x, y + 46, formula, mono=True)
            _rows(canvas, x, y + 56, row_bytes, swizzled, unit)
            places = {(place(r, 1, row_bytes) if swizzled else 1) + r * many for r in range(8)}
            groups = len({p % 8 for p in places})
            ways = 8 // groups
            words = (
                f"8 rows in {groups} group{'s' * (groups > 1)}: {ways} wavefront{'s' * (ways > 1)}",
                f"8 行落在 {groups} 组：{ways} 个 wavefront",
            )
            under = y + 56 + many * unit + 24
            canvas.text(x, under, say(language, *words), SMALL, RED if ways > 1 else C.ink, bold=True)
        y = under + 8
    canvas.height = y + 10
    return canvas


def _rows(canvas: Canvas, x: float, y: float, row_bytes: int, swizzled: bool, unit: float) -> None:
    """Eight rows as they lie in lines of 128 bytes, chunk by chunk; chunk 1 of each is dark."""
    many = row_bytes // CHUNK
    parts.grid(canvas, x, y, many, 8, unit, unit)
    for row in range(8):
        for chunk in range(many):
            line, column = divmod((place(row, chunk, row_bytes) if swizzled else chunk) + row * many, 8)
            chosen = chunk == 1
            parts.fill(canvas, x, y, [(line, column)], unit, unit, A.strong if chosen else A.pale)
            ink = "#ffffff" if chosen else INK
            left, top = x + (column + 0.5) * unit, y + (line + 0.5) * unit + 5
            canvas.text(left, top, str(chunk), SMALL, ink, "middle", bold=chosen)
    parts.frame(canvas, x, y, many, 8, unit, unit)


def _sheet(language: str, english: str, chinese: str, accesses: list[SharedAccess]) -> Canvas:
    note = (
        "a row is a lane, a column a bank; lanes go out eight at a time",
        "一行是一个 lane，一列是一个 bank；每次发出 8 个 lane",
    )
    return bank_maps.sheet((english, chinese), note, accesses, language)


def _plain_and_swizzled() -> list[SharedAccess]:
    """An ldmatrix.x4 of step 20's A without the XOR, and as the kernel executes it."""
    return [
        pattern("128-byte rows, as they lie", "每行 128 字节，原样存放", "A", "128·row + 16·chunk",
                "ldmatrix_x4(matrices, start + 128 * row + 16 * chunk)"),
        SharedAccess(Words("128-byte rows, XOR", "每行 128 字节，XOR"), "A", "128·row + 16·(chunk ^ (row % 8))",
                     traces.shared("20_mma_warp_swizzle", "ldmatrix_x4(a_frag")),
    ]  # fmt: skip


def matrix_banks(language: str) -> Canvas:
    """The rows that an ldmatrix.x4 reads: chunks 0 and 1 of sixteen rows."""
    padded = traces.shared("19_mma_stages", "ldmatrix_x4(a_frag")
    return _sheet(language, "An XOR with the right bits of the row spares ldmatrix.x4 every conflict",
                  "XOR 用对行号位，ldmatrix.x4 就没有冲突", [
        *_plain_and_swizzled(),
        pattern("64-byte rows, as they lie", "每行 64 字节，原样存放", "A", "64·row + 16·chunk",
                "ldmatrix_x4(matrices, start + 64 * row + 16 * chunk)"),
        pattern("64-byte rows, XOR", "每行 64 字节，XOR", "A", "64·row + 16·(chunk ^ (row / 2 % 4))",
                "ldmatrix_x4(matrices, start + 64 * row + 16 * (chunk ^ (row / 2 % 4)))"),
        SharedAccess(Words("128-byte rows, 16 bytes of padding", "每行 128 字节，填充 16 字节"), "A",
                     "144·row + 16·chunk", padded),
        pattern("64-byte rows, XOR of the wrong row bits", "每行 64 字节，用错行号位的 XOR", "A",
                "64·row + 16·(chunk ^ (row % 4))", "ldmatrix_x4(matrices, start + 64 * row + 16 * (chunk ^ (row % 4)))"),
    ])  # fmt: skip


def copy_banks(language: str) -> Canvas:
    """What a warp's 16-byte copies write: whole rows, so that a permutation inside a row costs nothing."""
    swizzled = traces.shared("20_mma_warp_swizzle", "cp_async_16(to")
    padded = traces.shared("19_mma_stages", "cp_async_16(to")
    return _sheet(language, "Copies of 16 bytes write whole rows, so an XOR within a row costs nothing",
                  "16 字节的拷贝写满整行，行内的 XOR 不花代价", [
        SharedAccess(Words("128-byte rows, XOR: 4 rows of 8 chunks", "每行 128 字节，XOR：4 行 × 8 个 chunk"), bank_maps.NEITHER,
                     "row = lane / 8, chunk = lane % 8", swizzled),
        pattern("64-byte rows, XOR: 8 rows of 4 chunks", "每行 64 字节，XOR：8 行 × 4 个 chunk", bank_maps.NEITHER,
                "row = lane / 4, chunk = lane % 4", "store_16_bytes(start + 64 * row"),
        pattern("64-byte rows, 16 bytes of padding", "每行 64 字节，填充 16 字节", bank_maps.NEITHER,
                "80·(lane / 4) + 16·(lane % 4)", "store_16_bytes(start + 80 * row"),
        SharedAccess(Words("128-byte rows, 16 bytes of padding", "每行 128 字节，填充 16 字节"), bank_maps.NEITHER,
                     "144·(lane / 8) + 16·(lane % 8)", padded),
    ])  # fmt: skip
