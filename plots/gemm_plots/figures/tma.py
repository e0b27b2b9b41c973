"""The way of a box in step 22: global memory, the box, the swizzled box, and the barrier that counts its bytes."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.palette import BOX, DARK, INK, MUTED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.swizzle import CHUNK, place
from gemm_plots.figures.text import say

BM, BN, BK = 128, 256, 64  # step 22's block tile
ELEMENT = 2  # bytes
ROW = 64  # elements in a row of a box
CHUNKS = ROW * ELEMENT // CHUNK
KIB = 1024
A_BYTES, B_BYTES = BM * BK * ELEMENT, BK * ROW * ELEMENT  # of A's box, and of each of B's
STAGE_BYTES = A_BYTES + BN // ROW * B_BYTES
CHOSEN = 1  # the chunk that is followed through the swizzle
CARD_TOP, CARD_HEIGHT = 72.0, 286.0
UNIT = 23.0  # side of a chunk


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
    """File name and drawing function of each picture."""
    yield "22_tma-box", box


def box(language: str) -> Canvas:
    """Step 22: a box on its way into shared memory, and what its barrier counts meanwhile."""
    canvas = parts.of_step(
        "22_tma",
        664,
        language,
        ("one instruction copies a box, a barrier counts its bytes", "一条指令拷贝一个 box，屏障按字节计数"),
        (
            f"BM = {BM}, BN = {BN}, BK = {BK}, 16-bit elements; sizes and times are not to scale",
            f"BM = {BM}，BN = {BN}，BK = {BK}，元素 16 位；大小与时间均未按比例",
        ),
    )
    _matrix(canvas, language)
    _chunks(
        canvas,
        372,
        say(language, "the box: rows of 128 bytes", "box：每行 128 字节"),
        say(language, "8 of its 128 rows, as they lie in A", "128 行中的 8 行，与 A 中次序相同"),
        False,
    )
    _chunks(
        canvas,
        690,
        say(language, "in shared memory: swizzled", "在共享内存里：经过 swizzle"),
        "chunk ^ (row % 8)",
        True,
    )
    middle = CARD_TOP + 66 + 4 * UNIT
    canvas.arrow(320, middle, 366, middle, INK, 2.4)
    canvas.arrow(608, middle, 684, middle, INK, 2.4)
    canvas.text(646, middle - 12, say(language, "engine", "引擎"), 13, INK, "middle", bold=True)
    _barrier(canvas, language)
    return canvas


def _matrix(canvas: Canvas, language: str) -> None:
    """A in global memory, one box of it marked, and what the tensor map says."""
    parts.card(canvas, 24, CARD_TOP, 292, CARD_HEIGHT, say(language, "A in global memory", "全局内存里的 A"), A.ink)
    x, y, cell = 96.0, CARD_TOP + 54, 22.0
    parts.grid(canvas, x, y, 6, 9, cell, cell)
    parts.fill(canvas, x, y, [(2, 4), (3, 4)], cell, cell, A.strong)
    parts.frame(canvas, x, y, 6, 9, cell, cell)
    canvas.text(x + 4.5 * cell, y - 6, "k", 13, A.ink, "middle", bold=True, mono=True)
    canvas.text(x - 8, y + 2.5 * cell, "block_row", 11, A.ink, "end", bold=True, mono=True)
    canvas.lines(
        36,
        y + 6 * cell + 22,
        [
            say(language, "tensor map, made once before the launch:", "张量映射，启动前生成一次："),
            say(
                language,
                f"address, M × K, ld, box {BM}×{ROW}, swizzle",
                f"地址、M × K、ld、box {BM}×{ROW}、swizzle",
            ),
            say(language, "one thread per box: tma_load(to, map,", "每个 box 由一个线程发出：tma_load(to,"),
            say(language, "k, block_row, barrier)", "map, k, block_row, barrier)"),
        ],
        12.5,
    )


def _chunks(canvas: Canvas, x: float, name: str, order: str, swizzled: bool) -> None:
    """Eight rows of the box, chunk by chunk; one chunk of each row is dark."""
    parts.card(canvas, x, CARD_TOP, 236 if not swizzled else 246, CARD_HEIGHT, name, A.ink)
    left, top = x + 38, CARD_TOP + 66
    parts.grid(canvas, left, top, 8, CHUNKS, UNIT, UNIT)
    for row in range(8):
        canvas.text(left - 8, top + (row + 0.5) * UNIT + 4, str(row), 11, MUTED, "end")
        for chunk in range(CHUNKS):
            column = place(row, chunk, ROW * ELEMENT) if swizzled else chunk
            chosen = chunk == CHOSEN
            parts.fill(canvas, left, top, [(row, column)], UNIT, UNIT, A.strong if chosen else A.pale)
            canvas.text(
                left + (column + 0.5) * UNIT,
                top + (row + 0.5) * UNIT + 4,
                str(chunk),
                11.5,
                "#ffffff" if chosen else INK,
                "middle",
                bold=chosen,
            )
    parts.frame(canvas, left, top, 8, CHUNKS, UNIT, UNIT)
    canvas.text(x + 12, CARD_TOP + 44, order, 12, MUTED, mono=swizzled)


def _barrier(canvas: Canvas, language: str) -> None:
    """The two counts of a barrier during one phase, and the warps that wait for its end."""
    top = CARD_TOP + CARD_HEIGHT + 14
    parts.card(
        canvas,
        24,
        top,
        912,
        278,
        say(
            language,
            "full[stage] during one phase: one arrival and 49,152 bytes end it",
            "full[stage] 的一个 phase：一次到达加 49,152 字节，phase 才结束",
        ),
    )
    first, expect, last, end = 226.0, 300.0, 752.0, 912.0
    lands = [(432.0, A_BYTES, "A", A), *((512.0 + 80 * i, B_BYTES, "B", B) for i in range(BN // ROW))]
    y = top + 40
    canvas.text(first - 12, y + 15, say(language, "arrivals missing", "还差的到达"), 12.5, INK, "end")
    for left, right, value in ((first, expect, 1), (expect, last, 0), (last, end, 1)):
        canvas.rect(left + 1, y, right - left - 2, 22, DARK if value else "#ffffff", DARK, radius=3)
        canvas.text((left + right) / 2, y + 15.5, str(value), 12.5, "#ffffff" if value else INK, "middle", bold=True)
    plot, bottom = y + 58, y + 150
    canvas.text(first - 12, (plot + bottom) / 2 - 2, say(language, "bytes missing", "还差的字节"), 12.5, INK, "end")
    left, missing = expect, STAGE_BYTES
    for at, brought, name, tone in lands:
        height = missing / STAGE_BYTES * (bottom - plot)
        canvas.rect(left, bottom - height, at - left, height, C.pale, C.middle)
        canvas.text((left + at) / 2, bottom - height - 5, f"{missing // KIB} KB", 12, C.ink, "middle", bold=True)
        missing -= brought
        canvas.arrow(at, bottom + 26, at, bottom + 3, tone.strong, 2.2)
        words = say(language, f"{name}: {brought // KIB} KB", f"{name}：{brought // KIB} KB")
        canvas.text(at, bottom + 40, words, 12, tone.ink, "middle", bold=True)
        left = at
    canvas.line(first, bottom, end, bottom, DARK, 1.2)
    canvas.text(expect, bottom + 16, "expect_tx", 11.5, INK, "middle", bold=True, mono=True)
    canvas.text(expect, bottom + 31, say(language, "by warp 0", "warp 0 发出"), 11.5, INK, "middle")
    canvas.line(last, y - 4, last, bottom, DARK, 2.5)
    canvas.line(last, bottom + 48, last, bottom + 86, DARK, 2.5)  # between them stands what has landed last
    canvas.text(last + 10, plot + 30, say(language, "the phase ends,", "本 phase 结束，"), 12.5, DARK, bold=True)
    canvas.text(last + 10, plot + 48, say(language, "the next begins", "下一个 phase 开始"), 12.5, DARK, bold=True)
    y = bottom + 52
    canvas.text(first - 12, y + 16, say(language, "the eight warps", "八个 warp"), 12.5, INK, "end")
    for left, right, colour, ink, words in (
        (first, 650.0, C.strong, "#ffffff", say(language, "products of the slices before", "计算前面的切片")),
        (650.0, last, BOX, INK, "barrier_wait"),
        (last, end, C.strong, "#ffffff", say(language, "this slice", "本切片")),
    ):
        canvas.rect(left + 1, y, right - left - 2, 24, colour, C.ink, radius=3)
        canvas.text((left + right) / 2, y + 16.5, words, 12.5, ink, "middle", bold=True)
