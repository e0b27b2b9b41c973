"""The ideas of steps 06, 07, 08 and 11: what a tile of results saves in reads, for a thread and for a warp."""

from collections.abc import Iterable, Sequence

from plots.figures import banks, layout, parts, traces
from plots.figures.geometry import WARP, Kernel, traced, warp_tiling
from plots.figures.layout import INNER, MARGIN, RIGHT, Pair
from plots.figures.palette import INK, MUTED, RED, A, B, C
from plots.figures.svg import SMALL, Canvas, Draw
from plots.figures.text import say


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "06_thread_tile_4x4", thread_tile_4x4
    yield "07_thread_tile_8x8", thread_tile_8x8
    yield "08_conflict_free", conflict_free
    yield "11_warp_tiling", warp_squares


def outer(canvas: Canvas, x: float, y: float, rows: int, cols: int, unit: float) -> None:
    """An outer product: a column of A, a row of B, the results between them; (x, y) is the results' corner."""
    for r in range(rows):
        canvas.rect(x - unit - 7, y + r * unit, unit - 1, unit - 1, A.strong)
    for c in range(cols):
        canvas.rect(x + c * unit, y - unit - 7, unit - 1, unit - 1, B.strong)
    for r in range(rows):
        for c in range(cols):
            canvas.rect(x + c * unit, y + r * unit, unit - 1, unit - 1, C.middle if rows * cols > 1 else C.strong)


def _figure(canvas: Canvas, x: float, y: float, value: str, words: str, colour: str = INK) -> None:
    width = canvas.text(x, y, value, 24, colour, bold=True)
    canvas.text(x + width * 1.14 + 9, y - 1, words)


def thread_tile_4x4(language: str) -> Canvas:
    """Step 06: the outer product of two float4."""
    canvas, top = layout.of_step(
        "06_thread_tile_4x4", language, ("two float4 give 16 FMAs", "两个 float4 的外积给出 16 次 FMA")
    )
    y, unit, left = top + 6, 34.0, 320.0
    parts.card(canvas, MARGIN, y, INNER, 136, say(language, "step 05: 1×4 per thread", "步骤 05：每线程 1×4"))
    outer(canvas, 100, y + 78, 1, 4, unit)
    _figure(canvas, left, y + 46, "2", say(language, "loads per k (float, float4)", "次读（每 k：float、float4）"))
    _figure(canvas, left, y + 81, "4", "FMA")
    _figure(canvas, left, y + 116, "2", say(language, "FMAs per load", "次 FMA（每次读）"), RED)
    canvas.arrow(MARGIN + INNER / 2, y + 140, MARGIN + INNER / 2, y + 160, INK, 2.4)
    y += 164
    parts.card(canvas, MARGIN, y, INNER, 242, say(language, "step 06: 4×4 per thread", "步骤 06：每线程 4×4"))
    outer(canvas, 100, y + 78, 4, 4, unit)
    canvas.text(100 + 2 * unit, y + 232, "acc[4][4]", SMALL, C.ink, "middle", mono=True)
    _figure(canvas, left, y + 98, "2", say(language, "loads per k (two float4)", "次读（每 k：两个 float4）"))
    _figure(canvas, left, y + 138, "16", "FMA")
    _figure(canvas, left, y + 178, "8", say(language, "FMAs per load", "次 FMA（每次读）"), C.ink)
    canvas.height = y + 260
    return canvas


def thread_tile_8x8(language: str) -> Canvas:
    """Step 07: a larger thread tile, its gain and its price."""
    canvas, y = layout.of_step(
        "07_thread_tile_8x8", language, ("twice the loads feed four times the FMAs", "加载多一倍，FMA 多三倍")
    )
    y += 6
    unit = 23.0
    for side, heading, threads, share, grade in (
        (4, ("step 06: 4×4", "步骤 06：4×4"), 1024, 8, MUTED),
        (8, ("step 07: 8×8", "步骤 07：8×8"), 512, 16, C.ink),
    ):
        height = 86 + side * unit
        parts.card(canvas, MARGIN, y, INNER, height, say(language, *heading))
        outer(canvas, 76, y + 70, side, side, unit)
        loads = side * 2 // 4
        first, second = 284.0, 424.0
        at = y + height / 2 - 14
        _figure(canvas, first, at, f"{loads}", say(language, "loads", "次读"))
        _figure(canvas, first, at + 36, f"{side * side}", "FMA")
        _figure(canvas, first, at + 72, f"{share}", say(language, "FMAs/load", "FMA/次读"), grade)
        _figure(canvas, second, at, f"{side * side}", say(language, "accumulators", "个累加器"))
        words = say(language, "threads per SM", "线程（每 SM）")
        _figure(canvas, second, at + 36, f"{threads}", words, INK if side == 4 else RED)
        if side == 4:
            canvas.arrow(MARGIN + INNER / 2, y + height + 4, MARGIN + INNER / 2, y + height + 24, INK, 2.4)
        y += height + 28
    canvas.height = y - 10
    return canvas


def _bank_row(
    canvas: Canvas, x: float, y: float, starts: Sequence[int], lanes: Iterable[int], unit: float, colour: str
) -> None:
    """Lanes' float4 on a row of banks."""
    canvas.rect(x, y, 32 * unit, 30, "#ffffff", "#9aa6b5")
    for lane in lanes:
        bank = starts[lane] % 32
        canvas.rect(x + bank * unit + 0.7, y + 2, 4 * unit - 1.4, 26, colour, radius=3)
        canvas.text(x + (bank + 2) * unit, y + 20, f"lane {lane}", SMALL, "#ffffff", "middle", bold=True)


def conflict_free(language: str) -> Canvas:
    """Step 08: a quarter-warp's float4 at stride 8 and at stride 4."""
    canvas, y = layout.of_step(
        "08_conflict_free",
        language,
        ("split 4 + 4, eight lanes read from all banks", "拆成 4 + 4，八个 lane 用满所有 bank"),
    )
    unit, x = INNER / 32, MARGIN
    stride8, stride4 = (
        [address // banks.WORD for address in traces.shared(name, "= float4_at(&Bs[k][tile_col])").addresses[:8]]
        for name in ("07_thread_tile_8x8", "08_conflict_free")
    )
    words = (
        "step 07: eight neighbouring floats per thread; the first float4 of 8 lanes",
        "步骤 07：每线程相邻 8 个数；8 个 lane 的第一个 float4",
    )
    y = layout.paragraph(canvas, y + 22, language, words, bold=True)
    for lanes, colour, ink, note in (
        (range(4), B.strong, INK, ("pass 1", "第 1 趟")),
        (range(4, 8), RED, RED, ("pass 2: half of the banks idle in either pass", "第 2 趟：每趟都有一半 bank 空闲")),
    ):
        canvas.text(x, y + 4, say(language, *note), SMALL, ink)
        _bank_row(canvas, x, y + 11, stride8, lanes, unit, colour)
        y += 62
    words = (
        "step 08: four floats here, four half a tile away",
        "步骤 08：四个数在此，另四个在半个 block tile 之外",
    )
    y = layout.paragraph(canvas, y + 12, language, words, bold=True)
    canvas.text(x, y + 4, say(language, "pass 1: all 32 banks", "第 1 趟：用满 32 个 bank"), SMALL, C.ink)
    _bank_row(canvas, x, y + 11, stride4, range(8), unit, B.strong)
    y += 56
    for bank in range(0, 32, 4):
        canvas.text(x + (bank + 0.5) * unit, y, str(bank), layout.SMALL, MUTED, "middle")
    canvas.text(RIGHT, y, "bank", SMALL, MUTED, "end")
    y += 22
    side = 112.0
    cell = side / 32
    for left, split, name, what in (
        (MARGIN, False, ("thread tile of step 07", "步骤 07 的 thread tile"), ("8×8 in one piece", "完整的 8×8")),
        (
            MARGIN + 300,
            True,
            ("thread tile of step 08", "步骤 08 的 thread tile"),
            ("four 4×4, half a tile apart", "四个 4×4，相隔半个 block tile"),
        ),
    ):
        parts.grid(canvas, left, y, 32, 32, cell, cell, 4)
        rows = [4 + i // 4 * (16 if split else 4) + i % 4 for i in range(8)]
        parts.fill(canvas, left, y, [(r, c) for r in rows for c in rows], cell, cell, C.strong)
        parts.frame(canvas, left, y, 32, 32, cell, cell)
        under = layout.paragraph(canvas, y + 30, language, name, SMALL, left + side + 14, 166)
        layout.paragraph(canvas, under + 6, language, what, SMALL, left + side + 14, 166)
    words = "the thread tiles are drawn smaller than they are", "thread tile 画得比实际小"
    canvas.height = layout.paragraph(canvas, y + side + 22, language, words, fill=MUTED)
    return canvas


def warp_squares(language: str) -> Canvas:
    """Step 11: the shape of a warp's part of C decides what it reads."""
    canvas, top = layout.of_step(
        "11_warp_tiling",
        language,
        ("a square part of C needs fewer floats per FMA", "warp 负责的部分是正方形，每次 FMA 要的 float 更少"),
    )
    half = (INNER - 24) / 2
    for x, kernel, heading in (
        (MARGIN, traced("10_cp_async"), ("step 10: a warp's part of C", "步骤 10：一个 warp 负责的 C")),
        (MARGIN + half + 24, warp_tiling(), ("step 11: one square", "步骤 11：一个正方形")),
    ):
        _warp_card(canvas, x, top + 6, half, kernel, heading, language)
    canvas.arrow(MARGIN + half + 2, top + 110, MARGIN + half + 22, top + 110, INK, 2.4)
    words = (
        "one block tile; faint: warp 0, strong: one thread; blue and orange: what the warp reads",
        "一个 block tile；淡色为 warp 0，突出的是一个线程；蓝色与橙色为这个 warp 读取的部分",
    )
    canvas.height = layout.paragraph(canvas, top + 376, language, words, fill=MUTED)
    return canvas


def _warp_card(canvas: Canvas, x: float, y: float, width: float, kernel: Kernel, heading: Pair, language: str) -> None:
    """A warp's cells in the block tile with their operands, and what these cost and give."""
    parts.card(canvas, x, y, width, 346, say(language, *heading))
    cells = [cell for t in range(WARP) for cell in kernel.computes[t]]
    rows, cols = sorted({r for r, _ in cells}), sorted({c for _, c in cells})
    unit = 224 / max(kernel.bm, kernel.bn)
    left, top = x + 42, y + 60
    parts.grid(canvas, left, top, kernel.bm, kernel.bn, unit, unit, 16)
    parts.fill(canvas, left, top, cells, unit, unit, C.middle)
    parts.fill(canvas, left, top, kernel.computes[0], unit, unit, C.strong)
    parts.frame(canvas, left, top, kernel.bm, kernel.bn, unit, unit)
    parts.fill(canvas, left - 22, top, [(r, 0) for r in rows], unit, 14, A.strong)
    parts.frame(canvas, left - 22, top, kernel.bm, 1, unit, 14)
    parts.fill(canvas, left, top - 22, [(0, c) for c in cols], 14, unit, B.strong)
    parts.frame(canvas, left, top - 22, 1, kernel.bn, 14, unit)
    reads, fmas = len(rows) + len(cols), len(cells)
    at = top + kernel.bm * unit + 24
    left = x + 16
    canvas.text(left, at, say(language, "per warp and k:", "一个 warp，每个 k："), SMALL, MUTED)
    _figure(canvas, left, at + 30, f"{len(rows)} + {len(cols)}", say(language, "floats", "个 float"))
    _figure(canvas, left, at + 62, f"{fmas}", "FMA")
    square = kernel.name.startswith("11")
    words = say(language, "FMAs per float", "FMA（每 float）")
    _figure(canvas, left, at + 94, f"{fmas / reads:.1f}", words, C.ink if square else MUTED)
    thread = kernel.computes[0]
    tall, wide = (len({cell[i] for cell in thread}) for i in (0, 1))
    words = f"{tall}×{wide} per thread: {tall * wide} accumulators", f"每线程 {tall}×{wide}：{tall * wide} 个累加器"
    canvas.text(left, at + 126, say(language, *words))
