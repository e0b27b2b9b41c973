"""The way of a box in step 22: global memory, the box, the swizzled box, and the mbarrier that counts its bytes."""

from collections.abc import Iterable

from plots.figures import layout, parts, rings
from plots.figures.layout import INNER, MARGIN
from plots.figures.palette import BOX, DARK, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.swizzle import CHUNK, place
from plots.figures.text import say

BM, BN, BK = 128, 256, 64  # step 22's block tile
ELEMENT = 2  # bytes
ROW = 64  # elements in a row of a box
CHUNKS = ROW * ELEMENT // CHUNK
KIB = 1024
A_BYTES, B_BYTES = BM * BK * ELEMENT, BK * ROW * ELEMENT  # of A's box, and of each of B's
STAGE_BYTES = A_BYTES + BN // ROW * B_BYTES
CHOSEN = 1  # the chunk that is followed through the swizzle
UNIT = 25.0  # side of a chunk
MIDDLE, HALF = layout.MARGIN + layout.INNER / 2, 264.0  # of the picture; width of a card of chunks


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "22_tma-box", box


def box(language: str) -> Canvas:
    """Step 22: a box on its way into shared memory, and what its mbarrier counts meanwhile."""
    canvas, y = layout.of_step(
        "22_tma",
        language,
        ("one instruction copies a box, an mbarrier counts its bytes", "一条指令拷贝一个 box，mbarrier 按字节计数"),
        (
            f"BM = {BM}, BN = {BN}, BK = {BK}, 16-bit elements; sizes and times are not to scale",
            f"BM = {BM}，BN = {BN}，BK = {BK}，元素 16 位；大小与时间均未按比例",
        ),
    )
    y = _matrix(canvas, y + 6, language)
    canvas.arrow(MARGIN + HALF / 2, y + 2, MARGIN + HALF / 2, y + 24, INK, 2.4)
    y += 28
    _chunks(
        canvas,
        MARGIN,
        y,
        say(language, "the box: rows of 128 bytes", "box：每行 128 字节"),
        say(language, "8 of its 128 rows, as in A", "128 行中的 8 行，与 A 中次序相同"),
        False,
    )
    swizzled = say(language, "in shared memory: swizzled", "在共享内存里：经过 swizzle")
    _chunks(canvas, layout.RIGHT - HALF, y, swizzled, "chunk ^ (row % 8)", True)
    canvas.arrow(MIDDLE - 24, y + 164, MIDDLE + 24, y + 164, INK, 2.4)
    canvas.text(MIDDLE, y + 150, say(language, "engine", "引擎"), layout.SMALL, INK, "middle", bold=True)
    canvas.height = _barrier(canvas, y + 64 + 8 * UNIT + 28, language) + 18
    return canvas


def _matrix(canvas: Canvas, y: float, language: str) -> float:
    """A in global memory, one box of it marked, and what the tensor map says; returns the y under it."""
    high = 212.0
    parts.card(canvas, MARGIN, y, INNER, high, say(language, "A in global memory", "全局内存里的 A"), A.ink)
    x, top, cell = MARGIN + 106, y + 58, 21.0
    parts.grid(canvas, x, top, 6, 8, cell, cell)
    parts.fill(canvas, x, top, [(2, 4), (3, 4)], cell, cell, A.strong)
    parts.frame(canvas, x, top, 6, 8, cell, cell)
    canvas.text(x + 4.5 * cell, top - 7, "k", layout.SMALL, A.ink, "middle", bold=True, mono=True)
    canvas.text(x - 8, top + 2.75 * cell, "block_row", layout.SMALL, A.ink, "end", bold=True, mono=True)
    left = x + 8 * cell + 20
    under = top - 8
    for words in (
        ("tensor map, made once before the launch:", "tensor map，启动前生成一次："),
        (
            f"address, M × K, box {BM}×{ROW}, leading dimension, swizzle",
            f"地址、M × K、box {BM}×{ROW}、leading dimension、swizzle",
        ),
        ("one thread per box:", "每个 box 由一个线程发出："),
    ):
        under = layout.paragraph(canvas, under, language, words, layout.SMALL, left, layout.RIGHT - left - 8)
    canvas.lines(left, under, ["tma_load(to, map, k,", "block_row, barrier)"], mono=True)
    return y + high


def _chunks(canvas: Canvas, x: float, y: float, name: str, order: str, swizzled: bool) -> None:
    """Eight rows of the box, chunk by chunk; one chunk of each row is dark."""
    parts.card(canvas, x, y, HALF, 64 + 8 * UNIT + 14, name, A.ink)
    left, top = x + 38, y + 58
    parts.grid(canvas, left, top, 8, CHUNKS, UNIT, UNIT)
    for row in range(8):
        canvas.text(left - 8, top + (row + 0.5) * UNIT + 4.5, str(row), layout.SMALL, MUTED, "end")
        for chunk in range(CHUNKS):
            column = place(row, chunk, ROW * ELEMENT) if swizzled else chunk
            chosen = chunk == CHOSEN
            parts.fill(canvas, left, top, [(row, column)], UNIT, UNIT, A.strong if chosen else A.pale)
            middle, base = left + (column + 0.5) * UNIT, top + (row + 0.5) * UNIT + 5
            canvas.text(middle, base, str(chunk), layout.SMALL, "#ffffff" if chosen else INK, "middle", bold=chosen)
    parts.frame(canvas, left, top, 8, CHUNKS, UNIT, UNIT)
    canvas.text(x + 12, y + 42, order, layout.SMALL, MUTED, mono=swizzled)


def _barrier(canvas: Canvas, top: float, language: str) -> float:
    """The two counts of an mbarrier during one phase, and the warps that wait for its end; returns the y under them."""
    high = 296.0
    heading = (
        f"full[stage] during one phase: one arrival and {STAGE_BYTES:,} bytes end it",
        f"full[stage] 的一个 phase：一次到达加 {STAGE_BYTES:,} 字节，phase 才结束",
    )
    parts.card(canvas, MARGIN, top, INNER, high, say(language, *heading))
    first, expect, wait, last, end = 162.0, 212.0, 404.0, 516.0, 606.0
    a, *b = rings.filled("22_tma")[0].landed
    lands = [(282.0, a, "A", A), *((348.0 + 56 * i, each, "B", B) for i, each in enumerate(b))]
    y = top + 42
    canvas.text(first - 8, y + 16, say(language, "arrivals missing", "还差的到达"), layout.SMALL, INK, "end")
    for left, right, value in ((first, expect, 1), (expect, last, 0), (last, end, 1)):
        canvas.rect(left + 1, y, right - left - 2, 24, DARK if value else "#ffffff", DARK, radius=3)
        canvas.text(
            (left + right) / 2, y + 17, str(value), layout.SMALL, "#ffffff" if value else INK, "middle", bold=True
        )
    plot, bottom = y + 58, y + 150
    canvas.text(
        first - 8, (plot + bottom) / 2 - 2, say(language, "bytes missing", "还差的字节"), layout.SMALL, INK, "end"
    )
    left, missing = expect, STAGE_BYTES
    for at, brought, name, tone in lands:
        height = missing / STAGE_BYTES * (bottom - plot)
        canvas.rect(left, bottom - height, at - left, height, C.pale, C.middle)
        canvas.text(
            (left + at) / 2, bottom - height - 5, f"{missing // KIB} KB", layout.SMALL, C.ink, "middle", bold=True
        )
        missing -= brought
        canvas.arrow(at, bottom + 26, at, bottom + 3, tone.strong, 2.2)
        landed = f"{name} {brought // KIB} KB"
        canvas.text(at, bottom + 41, landed, layout.SMALL, tone.ink, "middle", bold=True)
        left = at
    canvas.line(first, bottom, end, bottom, DARK, 1.2)
    said = expect + 20
    canvas.text(said, bottom + 18, say(language, "warp 0 arrives", "warp 0 到达"), layout.SMALL, INK, "end", bold=True)
    canvas.text(
        said,
        bottom + 36,
        say(language, f"announces {STAGE_BYTES // KIB} KB", f"预告 {STAGE_BYTES // KIB} KB"),
        layout.SMALL,
        INK,
        "end",
    )
    canvas.line(last, y - 4, last, bottom, DARK, 2.5)
    canvas.line(last, bottom + 48, last, bottom + 92, DARK, 2.5)  # between them stands what has landed last
    words = say(language, "the phase|ends, the|next one|begins", "phase|结束，|进入|下一个").split("|")
    for line, text in enumerate(words):
        canvas.text(last + 9, plot + 12 + 19 * line, text, layout.SMALL, DARK, bold=True)
    y = bottom + 60
    canvas.text(first - 8, y + 17, say(language, "eight warps", "八个 warp"), layout.SMALL, INK, "end")
    for left, right, colour, ink, words in (
        (first, wait, C.strong, "#ffffff", say(language, "products of earlier slices", "计算前面的切片")),
        (wait, last, BOX, INK, "barrier_wait"),
        (last, end, C.strong, "#ffffff", say(language, "this slice", "本切片")),
    ):
        canvas.rect(left + 1, y, right - left - 2, 26, colour, C.ink, radius=3)
        canvas.text((left + right) / 2, y + 17.5, words, layout.SMALL, ink, "middle", bold=True)
    return top + high
