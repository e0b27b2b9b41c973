"""docs/hopper: where TMA puts a slice of A and B in shared memory, and which of it each wgmma reads, as traced."""

from collections.abc import Iterable

from plots.figures import layout, parts, swizzle, traces
from plots.figures.layout import MARGIN
from plots.figures.palette import EDGE, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

TRACE = "23_wgmma"
ROW_BYTES = 128  # of a box
CHUNKS = ROW_BYTES // swizzle.CHUNK
ROWS_OF_A = 16  # of a warp: what the trace of one warp has
STEPS = (A.middle, B.middle, C.middle, EDGE)  # the colour of each wgmma of a slice: 16 of k each

Place = tuple[int, int]  # row of 128 bytes from the start of the box, and chunk within it


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "hopper-operands", operands


def chunk_at(row: int, place: int) -> int:
    """The chunk of a row that TMA puts at a place of it: the swizzle of 128-byte rows, which undoes itself."""
    return swizzle.place(row, place, ROW_BYTES)


def places(spans: list[list[int]], start: int) -> set[Place]:
    """The places of 16 bytes that spans of [address, bytes] cover, for a box that starts at an address."""
    firsts = (at - start for address, size in spans for at in range(address, address + size, swizzle.CHUNK))
    return {(at // ROW_BYTES, at % ROW_BYTES // swizzle.CHUNK) for at in firsts}


def read_of_a() -> list[set[Place]]:
    """By wgmma of a slice: the places of A's box that warp 0 reads."""
    copies, products = traces.engines(TRACE)
    return [places(one["a"]["spans"], copies[0]["shared"]["address"]) for one in products]


def read_of_b() -> list[list[set[int]]]:
    """By wgmma of a slice, and by box of B: the rows that are read. Raises ValueError where a row is read in part."""
    copies, products = traces.engines(TRACE)
    found = []
    for one in products:
        rows = []
        for copy in copies[1:]:
            start, size = copy["shared"]["address"], copy["shared"]["bytes"]
            read = places([span for span in one["b"]["spans"] if start <= span[0] < start + size], start)
            rows.append({row for row, _ in read})
            if len(read) != CHUNKS * len(rows[-1]):
                raise ValueError("a row of B's box is read in part")
        found.append(rows)
    return found


def operands(language: str) -> Canvas:
    """A, chunk by chunk; under it the four boxes of B, row by row."""
    canvas, y = layout.page(
        language,
        ("Each wgmma reads the chunks where TMA has put them", "TMA 把 chunk 放在哪里，wgmma 就到哪里去读"),
        (
            "step 23, one slice of 64 k in shared memory, as the simulator traced it; a colour is a wgmma, 16 of k",
            "步骤 23，共享内存里的一片（64 个 k），由模拟器跟踪得到；一种颜色是一条 wgmma，即 16 个 k",
        ),
    )
    y = _b(canvas, _a(canvas, y + 22, language) + 34, language)
    names = (f"k = {16 * step} … {16 * step + 15}" for step in range(len(STEPS)))
    entries = [(colour, (name, name)) for colour, name in zip(STEPS, names, strict=True)]
    canvas.height = layout.legend(canvas, y + 28, language, entries)
    return canvas


def _a(canvas: Canvas, y: float, language: str) -> float:
    """The 16 rows of A that warp 0 multiplies: the number is the chunk that TMA put there. Returns the last baseline."""
    x, top, high = MARGIN + 34, y + 32, 20.0
    wide = (layout.RIGHT - x) / CHUNKS
    canvas.text(
        MARGIN,
        y,
        say(language, "A, K-major: a row of 64 k", "A，K-major：一行 64 个 k"),
        layout.SMALL,
        A.ink,
        bold=True,
    )
    words = "in each place: which chunk of the row TMA put there", "每处的数字：TMA 放在这里的是该行第几个 chunk"
    canvas.text(x, y + 22, say(language, *words), layout.SMALL, MUTED)
    canvas.text(x - 8, top - 10, say(language, "row", "行"), layout.SMALL, MUTED, "end")
    parts.grid(canvas, x, top, ROWS_OF_A, CHUNKS, high, wide)
    for colour, read in zip(STEPS, read_of_a(), strict=True):
        parts.fill(canvas, x, top, read, high, wide, colour)
    for row in range(ROWS_OF_A):
        base = top + (row + 0.5) * high + 4.5
        canvas.text(x - 8, base, str(row), layout.SMALL, MUTED, "end")
        for place in range(CHUNKS):
            canvas.text(x + (place + 0.5) * wide, base, str(chunk_at(row, place)), layout.SMALL, INK, "middle")
    parts.frame(canvas, x, top, ROWS_OF_A, CHUNKS, high, wide)
    below = top + ROWS_OF_A * high + 22
    canvas.text(
        x, below, say(language, "each step: two chunks of every row", "每一步：每行的两个 chunk"), layout.SMALL, INK
    )
    return below


def _b(canvas: Canvas, y: float, language: str) -> float:
    """The four boxes of B, 64 columns each: a wgmma takes whole rows of all of them. Returns the last baseline."""
    x, top, gap, high = MARGIN + 34, y + 34, 14.0, 3.6
    canvas.text(
        MARGIN, y, say(language, "B, MN-major: a row per k", "B，MN-major：一行一个 k"), layout.SMALL, B.ink, bold=True
    )
    canvas.text(x - 8, top - 12, "k", layout.SMALL, MUTED, "end")
    boxes = list(zip(*read_of_b(), strict=True))
    wide = (layout.RIGHT - x + gap) / len(boxes) - gap
    rows = max(max(read) for read in boxes[0]) + 1
    for box, steps in enumerate(boxes):
        left = x + box * (wide + gap)
        canvas.text(left + wide / 2, top - 12, f"n = {64 * box} …", layout.SMALL, INK, "middle")
        for colour, read in zip(STEPS, steps, strict=True):
            parts.fill(canvas, left, top, [(row, 0) for row in read], high, wide, colour)
        parts.frame(canvas, left, top, rows, 1, high, wide)
    for k in range(0, rows + 1, 16):
        canvas.text(x - 8, top + k * high + 5, str(k), layout.SMALL, MUTED, "end")
    below = top + rows * high + 22
    words = "each step: 16 rows of every box, 2048 bytes", "每一步：每个 box 的 16 行，2048 字节"
    canvas.text(x, below, say(language, *words), layout.SMALL, INK)
    return below
