"""One picture for the one idea of each step."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import banks, motion, parts, traces
from gemm_plots.figures.geometry import WARP, Cell, Kernel, sectors, smem_padding, traced, warp_tiling
from gemm_plots.figures.palette import BOX, DARK, EDGE, INK, MUTED, PANEL, RED, THREAD, A, B, C, Tone
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

Draw = Callable[[str], Canvas]


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "01_naive", naive_idea
    yield "02_coalesced", coalesced_idea
    yield "03_smem_tiling", smem_tiling_idea
    yield "04_smem_padding", smem_padding_idea
    yield "05_vector_load", vector_load_idea
    yield "06_thread_tile_4x4", thread_tile_4x4_idea
    yield "07_thread_tile_8x8", thread_tile_8x8_idea
    yield "08_conflict_free", conflict_free_idea
    yield "09_double_buffer", double_buffer_idea
    yield "10_cp_async", cp_async_idea
    yield "11_warp_tiling", warp_tiling_idea


def _mini(canvas: Canvas, x: float, y: float, side: float, cells: list[Cell], tone: Tone, name: str) -> None:
    """A 32×32 tile with some of its cells."""
    unit = side / 32
    parts.grid(canvas, x, y, 32, 32, unit, unit, 4)
    parts.fill(canvas, x, y, cells, unit, unit, tone.strong)
    parts.frame(canvas, x, y, 32, 32, unit, unit)
    canvas.text(x + side / 2, y + side + 17, name, 13, tone.ink, "middle", bold=True)


def naive_idea(language: str) -> Canvas:
    """Step 01: every lane of a warp reads another row of A."""
    canvas = parts.of_step("01_naive", 384, language, ("one thread, one element of C", "一个线程计算 C 的一个元素"))
    x, y, rows, height, width = 40.0, 84.0, 16, 15.0, 14.0
    cols = 18
    parts.grid(canvas, x, y, rows, cols, height, width)
    parts.fill(canvas, x, y, [(r, c) for r in range(rows) for c in range(5)], height, width, A.pale)
    parts.fill(canvas, x, y, [(r, 5) for r in range(rows)], height, width, A.strong)
    parts.frame(canvas, x, y, rows, cols, height, width)
    canvas.text(
        x + cols * width / 2,
        y - 9,
        say(language, "A, read at one k", "A，某个 k 时的读取"),
        13,
        A.ink,
        "middle",
        bold=True,
    )
    c_x = 400.0
    parts.grid(canvas, c_x, y, rows, 9, height, width)
    parts.fill(canvas, c_x, y, [(r, 2) for r in range(rows)], height, width, C.strong)
    parts.frame(canvas, c_x, y, rows, 9, height, width)
    canvas.text(c_x + 4.5 * width, y - 9, "C", 13, C.ink, "middle", bold=True)
    for row in (0, 1, 2, 3, rows - 1):
        middle = y + (row + 0.5) * height
        canvas.arrow(x + 6 * width + 4, middle, c_x + 2 * width - 3, middle, THREAD.strong, 1.1)
        canvas.text(
            x + cols * width + 34, middle - 2.5, f"lane {row if row < rows - 1 else 31}", 10.5, THREAD.ink, "middle"
        )
    canvas.text(x + cols * width + 34, y + 9 * height, "⋮", 16, THREAD.ink, "middle")
    canvas.lines(
        x,
        y + rows * height + 24,
        [
            say(language, "neighbouring threads: neighbouring rows", "相邻线程：相邻的行"),
            say(language, "in memory one row is 4·lda bytes from the next", "在内存中，相邻两行相隔 4·lda 字节"),
        ],
        12.5,
        fill=MUTED,
    )
    right = 584.0
    canvas.text(right, y + 8, say(language, "A warp's read of A", "一个 warp 对 A 的读取"), 15, A.ink, bold=True)
    kernel = traced("01_naive")
    found = sectors(kernel.reads_a[0], kernel.leading)
    bottom = parts.sector_strip(canvas, right, y + 24, [found[k] for k in sorted(found)], A, cell=9)
    canvas.lines(
        right,
        bottom + 22,
        [
            say(language, "32 sectors of 32 bytes move: 1024 bytes", "搬运 32 个 32 字节的扇区：1024 字节"),
            say(language, "4 bytes of each are used: 128 bytes", "每个只用 4 字节：128 字节"),
        ],
        13.5,
    )
    canvas.text(right, bottom + 80, "1/8", 30, RED, bold=True)
    canvas.text(right + 60, bottom + 79, say(language, "of what is moved is used", "的数据真正用到"), 14, RED)
    return canvas


def _turn_card(canvas: Canvas, x: float, kernel: Kernel, heading: str, language: str) -> None:
    parts.card(canvas, x, 62, 440, 300, heading)
    lanes = range(WARP)
    _mini(
        canvas,
        x + 18,
        100,
        150,
        [cell for t in lanes for cell in kernel.computes[t]],
        C,
        say(language, "a warp's part of C", "一个 warp 负责的 C"),
    )
    left, y = x + 190, 110.0
    total = 0
    for name, tone, reads in (("A", A, kernel.reads_a), ("B", B, kernel.reads_b)):
        found = sectors(reads[0], kernel.leading)
        total += len(found)
        count = len(found)
        canvas.text(
            left,
            y,
            say(language, f"{name}: {count} sector{'s' if count > 1 else ''}", f"{name}：{count} 个扇区"),
            13,
            tone.ink,
            bold=True,
        )
        y = parts.sector_strip(canvas, left, y + 10, [found[k] for k in sorted(found)], tone, cell=6.6) + 24
    wide = canvas.text(x + 18, 340, str(total), 28, RED if total > 10 else C.ink, bold=True)
    canvas.text(x + 28 + wide, 339, say(language, "sectors per warp and k", "个扇区（每 warp 每 k）"), 14)


def coalesced_idea(language: str) -> Canvas:
    """Step 02: the warp turned from a column of C to a row."""
    canvas = parts.of_step(
        "02_coalesced", 384, language, ("turn the warp from a column to a row", "把 warp 从列转到行")
    )
    _turn_card(canvas, 24, traced("01_naive"), say(language, "01: lanes down a column", "01：lane 沿列向下"), language)
    _turn_card(
        canvas, 496, traced("02_coalesced"), say(language, "02: lanes along a row", "02：lane 沿行排开"), language
    )
    canvas.arrow(468, 212, 492, 212, INK, 2.4)
    return canvas


def smem_tiling_idea(language: str) -> Canvas:
    """Step 03: a tile is copied once and read 32 times."""
    canvas = parts.of_step(
        "03_smem_tiling", 400, language, ("copy a tile once, read it 32 times", "分块只拷贝一次，读取 32 次")
    )
    parts.card(canvas, 24, 62, 316, 314, say(language, "global memory", "全局内存"))
    unit, slices, shown = 26.0, 5, 2
    a_x, a_y, b_x, b_y = 44.0, 226.0, 226.0, 92.0
    for index in range(slices):
        canvas.rect(a_x + index * unit, a_y, unit - 2, 60, A.pale, EDGE)
        canvas.rect(b_x, b_y + index * unit, 60, unit - 2, B.pale, EDGE)
    canvas.rect(a_x + shown * unit, a_y, unit - 2, 60, A.strong, EDGE, moves="slice-a")
    canvas.rect(b_x, b_y + shown * unit, 60, unit - 2, B.strong, EDGE, moves="slice-b")
    motion.walk(canvas, (("slice-a", "X", unit), ("slice-b", "Y", unit)), slices, shown)
    canvas.rect(b_x, a_y, 60, 60, C.strong, EDGE)
    canvas.text(b_x + 30, a_y + 36, "32×32", 13, "#ffffff", "middle", bold=True)
    canvas.text(a_x, a_y - 8, "A", 14, A.ink, bold=True)
    canvas.text(b_x + 68, b_y + 14, "B", 14, B.ink, bold=True)
    canvas.text(b_x + 68, a_y + 34, "C", 14, C.ink, bold=True)
    canvas.lines(
        44,
        320,
        [
            say(language, "K is cut into slices of 32;", "K 切成每片 32；"),
            say(language, "each block reads each slice once", "每个线程块每片只读一次"),
        ],
        13,
    )
    parts.card(canvas, 420, 62, 236, 314, say(language, "shared memory of a block", "线程块的共享内存"))
    for y, tone, name in ((96.0, A, "As"), (226.0, B, "Bs")):
        parts.grid(canvas, 466, y, 16, 16, 7, 7)
        canvas.rect(466, y, 112, 112, tone.middle, tone.strong, 1.2)
        canvas.text(522, y + 62, f"{name}  32×32", 14, tone.ink, "middle", bold=True)
    canvas.text(538, 362, "2 × 4 KB", 13, MUTED, "middle")
    parts.card(canvas, 736, 62, 200, 314, say(language, "1024 threads", "1024 个线程"))
    for row in range(10):
        for col in range(10):
            canvas.circle(757 + col * 17.5, 106 + row * 17.5, 5.4, THREAD.middle)
    canvas.lines(
        752, 310, [say(language, "each: 32 FMAs", "每个线程每片"), say(language, "per slice", "32 次乘加")], 13
    )
    canvas.arrow(344, 200, 416, 200, INK, 2.4)
    canvas.text(380, 188, "×1", 17, C.ink, "middle", bold=True)
    canvas.text(380, 222, say(language, "copied", "拷贝"), 12, MUTED, "middle")
    canvas.arrow(660, 200, 732, 200, INK, 2.4)
    canvas.text(696, 188, "×32", 17, C.ink, "middle", bold=True)
    canvas.text(696, 222, say(language, "read", "读取"), 12, MUTED, "middle")
    reads = [(658, 164, 76, 66, PANEL), (748, 294, 176, 44, BOX)]
    motion.alternate(canvas, [(342, 164, 76, 66, PANEL)], reads, slices)
    return canvas


def smem_padding_idea(language: str) -> Canvas:
    """Step 04: a column of As in memory 32 banks wide, without and with a pad."""
    canvas = parts.of_step("04_smem_padding", 456, language, ("one more column", "多加一列"))
    unpadded, padded = (one.access for one in smem_padding().shared[:2])
    for x, access in ((40.0, unpadded), (508.0, padded)):
        unit = 9.4
        words = [address // banks.WORD for address in access.addresses]
        pitch = words[1] - words[0]
        conflict = access.conflicts > 0
        name = say(language, f"pitch {pitch} floats", f"行距 {pitch} 个 float")
        canvas.text(x, 66, name, 15, RED if conflict else C.ink, bold=True)
        canvas.text(x + 32 * unit, 66, say(language, "bank →", "bank →"), 12, MUTED, "end")
        top = 76.0
        rows = 33
        parts.grid(canvas, x, top, rows, 32, unit, unit)
        stored = [divmod(word, 32) for word in words]
        pads = [divmod(k * pitch + 32, 32) for k in range(32)] if pitch == 33 else []
        parts.fill(
            canvas, x, top, [divmod(k * pitch + c, 32) for k in range(32) for c in range(32)], unit, unit, A.pale
        )
        parts.fill(canvas, x, top, pads, unit, unit, "#b9c3cf")
        parts.fill(canvas, x, top, stored, unit, unit, RED if conflict else A.strong)
        parts.frame(canvas, x, top, rows, 32, unit, unit)
        right = x + 32 * unit + 16
        canvas.text(right, 112, str(access.wavefronts), 30, RED if conflict else C.ink, bold=True)
        passes = say(language, "passes per store" if conflict else "pass per store", "趟（每次写入）")
        canvas.text(right, 132, passes, 13)
        where = say(
            language,
            "all in\nbank 0" if conflict else "one in\neach bank",
            "全部落在\nbank 0" if conflict else "每个 bank\n各一个",
        )
        canvas.lines(right, 162, where.split("\n"), 13, fill=RED if conflict else C.ink)
    parts.key(
        canvas,
        40,
        438,
        [
            (
                RED,
                say(
                    language,
                    "the 32 floats that warp 0 stores: As[k][0], k = 0 … 31",
                    "warp 0 写入的 32 个数：As[k][0]，k = 0 … 31",
                ),
            ),
            (
                "#b9c3cf",
                say(language, "padding, never used: 128 bytes of 4224", "填充，不使用：4224 字节中的 128 字节"),
            ),
        ],
    )
    return canvas


def vector_load_idea(language: str) -> Canvas:
    """Step 05: one 16-byte access instead of four, four results per thread."""
    canvas = parts.of_step("05_vector_load", 372, language, ("one instruction moves 16 bytes", "一条指令搬 16 字节"))
    parts.card(canvas, 24, 62, 440, 140, say(language, "step 04: one float per load", "步骤 04：一次读一个 float"))
    parts.card(canvas, 496, 62, 440, 140, say(language, "step 05: one float4 per load", "步骤 05：一次读一个 float4"))
    for x, wide in ((60.0, False), (532.0, True)):
        for i in range(4):
            canvas.rect(x + i * 44, 152, 40 if not wide else 44, 26, B.strong, "#ffffff" if wide else EDGE)
        canvas.rect(x, 152, 176, 26, "none", B.ink, 1.5) if wide else None
        if wide:
            canvas.arrow(x + 88, 118, x + 88, 148, THREAD.strong, 4)
            canvas.text(x + 104, 134, "ld.v4", 13, THREAD.ink, mono=True)
        else:
            for i in range(4):
                canvas.arrow(x + 20 + i * 44, 118, x + 20 + i * 44, 148, THREAD.strong, 1.8)
        canvas.text(x + 216, 148, "1" if wide else "4", 30, C.ink if wide else RED, bold=True)
        words = say(language, "instruction" if wide else "instructions", "条指令")
        canvas.text(x + 244, 147, words, 14)
        canvas.text(x + 216, 172, say(language, "for 16 bytes", "搬 16 字节"), 13, MUTED)
    parts.card(
        canvas,
        24,
        218,
        912,
        130,
        say(
            language,
            "and four results: a float of A times a float4 of B",
            "四个结果：A 的一个 float 乘 B 的一个 float4",
        ),
    )
    canvas.rect(70, 270, 44, 44, A.strong, EDGE)
    canvas.text(92, 298, "a", 17, "#ffffff", "middle", bold=True)
    canvas.text(138, 298, "×", 18, INK, "middle")
    for i, name in enumerate("xyzw"):
        canvas.rect(162 + i * 44, 270, 44, 44, B.strong, "#ffffff")
        canvas.text(184 + i * 44, 297, f"b.{name}", 14, "#ffffff", "middle", bold=True)
        canvas.rect(420 + i * 62, 270, 62, 44, C.strong, "#ffffff")
        canvas.text(451 + i * 62, 297, f"acc[{i}]", 14, "#ffffff", "middle", bold=True)
    canvas.arrow(350, 292, 408, 292, INK, 2.2)
    canvas.lines(
        700,
        288,
        [
            say(language, "2 loads for 4 FMAs", "2 次读，4 次 FMA"),
            say(language, "(step 04: 3 loads for 2)", "（步骤 04：3 次读，2 次 FMA）"),
        ],
        14,
    )
    return canvas


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
    canvas.text(x + width * 1.14 + 9, y - 1, words, 13.5)


def thread_tile_4x4_idea(language: str) -> Canvas:
    """Step 06: the outer product of two float4."""
    canvas = parts.of_step(
        "06_thread_tile_4x4", 356, language, ("the outer product of two float4", "两个 float4 的外积")
    )
    parts.card(canvas, 24, 62, 360, 270, say(language, "step 05: 1×4 per thread", "步骤 05：每线程 1×4"))
    outer(canvas, 96, 150, 1, 4, 34)
    _figure(canvas, 54, 240, "2", say(language, "loads per k (float, float4)", "次读（每 k：float、float4）"))
    _figure(canvas, 54, 272, "4", "FMA")
    _figure(canvas, 54, 308, "2", say(language, "FMAs per load", "次 FMA（每次读）"), RED)
    parts.card(canvas, 416, 62, 520, 270, say(language, "step 06: 4×4 per thread", "步骤 06：每线程 4×4"))
    outer(canvas, 488, 150, 4, 4, 34)
    canvas.text(556, 314, "acc[4][4]", 13, C.ink, "middle", mono=True)
    _figure(canvas, 676, 164, "2", say(language, "loads per k (two float4)", "次读（每 k：两个 float4）"))
    _figure(canvas, 676, 200, "16", "FMA")
    _figure(canvas, 676, 240, "8", say(language, "FMAs per load", "次 FMA（每次读）"), C.ink)
    canvas.arrow(388, 198, 412, 198, INK, 2.4)
    return canvas


def thread_tile_8x8_idea(language: str) -> Canvas:
    """Step 07: a larger thread tile, its gain and its price."""
    canvas = parts.of_step("07_thread_tile_8x8", 400, language, ("a larger tile per thread", "更大的线程分块"))
    for x, width, side, heading, threads, share, grade in (
        (24.0, 380.0, 4, say(language, "step 06: 4×4", "步骤 06：4×4"), 1024, 8, MUTED),
        (436.0, 500.0, 8, say(language, "step 07: 8×8", "步骤 07：8×8"), 512, 16, C.ink),
    ):
        parts.card(canvas, x, 62, width, 314, heading)
        unit = 24.0
        outer(canvas, x + 60, 142, side, side, unit)
        left = x + 60 + side * unit + 28
        loads = side * 2 // 4
        _figure(canvas, left, 160, f"{loads}", say(language, "loads", "次读"))
        _figure(canvas, left, 194, f"{side * side}", "FMA")
        _figure(canvas, left, 232, f"{share}", say(language, "FMAs per load", "次 FMA（每次读）"), grade)
        canvas.line(left, 250, left + 170, 250)
        _figure(canvas, left, 282, f"{side * side}", say(language, "accumulators", "个累加器"))
        _figure(
            canvas, left, 316, f"{threads}", say(language, "threads per SM", "线程（每 SM）"), INK if side == 4 else RED
        )
    canvas.arrow(408, 219, 432, 219, INK, 2.4)
    return canvas


def _bank_row(
    canvas: Canvas, x: float, y: float, starts: list[int], shown: int, unit: float, colours: Callable[[int], str]
) -> None:
    """The first `shown` lanes' float4 on a row of banks."""
    canvas.rect(x, y, 32 * unit, 30, "#ffffff", "#9aa6b5")
    for lane in range(shown):
        bank = starts[lane] % 32
        canvas.rect(x + bank * unit + 0.7, y + 2, 4 * unit - 1.4, 26, colours(lane), radius=3)
        canvas.text(x + (bank + 2) * unit, y + 20, f"lane {lane}", 11.5, "#ffffff", "middle", bold=True)


def conflict_free_idea(language: str) -> Canvas:
    """Step 08: a quarter-warp's float4 at stride 8 and at stride 4."""
    canvas = parts.of_step("08_conflict_free", 420, language, ("split the tile 4 + 4", "把线程分块拆成 4 + 4"))
    unit, x = 19.0, 40.0
    canvas.text(
        x,
        74,
        say(
            language,
            "step 07: eight neighbouring floats per thread; the first float4 of 8 lanes",
            "步骤 07：每线程相邻 8 个数；8 个 lane 的第一个 float4",
        ),
        14,
        bold=True,
    )
    stride8, stride4 = (
        [address // banks.WORD for address in traces.shared(name, "= float4_at(&Bs[k][tile_col])").addresses[:8]]
        for name in ("07_thread_tile_8x8", "08_conflict_free")
    )
    _bank_row(canvas, x, 88, stride8, 4, unit, lambda lane: B.strong)
    canvas.rect(x, 124, 32 * unit, 30, "#ffffff", "#9aa6b5")
    for lane in range(4, 8):
        bank = stride8[lane] % 32
        canvas.rect(x + bank * unit + 0.7, 126, 4 * unit - 1.4, 26, RED, radius=3)
        canvas.text(x + (bank + 2) * unit, 144, f"lane {lane}", 11.5, "#ffffff", "middle", bold=True)
    right = x + 32 * unit + 24
    canvas.text(right, 108, say(language, "pass 1", "第 1 趟"), 13)
    canvas.text(right, 144, say(language, "pass 2: half the banks idle", "第 2 趟：一半 bank 空闲"), 13, RED, bold=True)
    canvas.text(
        x,
        192,
        say(
            language,
            "step 08: four floats here, four half a tile away",
            "步骤 08：四个数在此，另四个在半个线程块分块之外",
        ),
        14,
        bold=True,
    )
    _bank_row(canvas, x, 206, stride4, 8, unit, lambda lane: B.strong)
    canvas.text(right, 226, say(language, "pass 1: all 32 banks", "第 1 趟：用满 32 个 bank"), 13, C.ink, bold=True)
    for bank in range(0, 33, 4):
        canvas.text(x + bank * unit, 252, str(bank) if bank < 32 else "", 10, MUTED, "middle")
    canvas.text(right, 252, "bank", 11, MUTED)
    for left, split, name in (
        (120.0, False, say(language, "thread tile of step 07", "步骤 07 的线程分块")),
        (560.0, True, say(language, "thread tile of step 08", "步骤 08 的线程分块")),
    ):
        side, cell = 104.0, 104.0 / 32
        parts.grid(canvas, left, 276, 32, 32, cell, cell, 4)
        rows = [4 + i // 4 * (16 if split else 4) + i % 4 for i in range(8)]
        parts.fill(canvas, left, 276, [(r, c) for r in rows for c in rows], cell, cell, C.strong)
        parts.frame(canvas, left, 276, 32, 32, cell, cell)
        canvas.lines(
            left + side + 20,
            312,
            [
                name,
                say(
                    language,
                    "four 4×4, half a tile apart" if split else "8×8 in one piece",
                    "四个 4×4，相隔半个线程块分块" if split else "完整的 8×8",
                ),
            ],
            13.5,
        )
    canvas.text(936, 406, say(language, "tiles drawn smaller than they are", "分块的大小未按比例"), 11, MUTED, "end")
    return canvas


def _node(
    canvas: Canvas, x: float, y: float, width: float, height: float, text: str, colour: str, ink: str = "#ffffff"
) -> None:
    canvas.rect(x, y, width, height, colour, EDGE, radius=6)
    lines = text.split("\n")
    for index, line in enumerate(lines):
        canvas.text(
            x + width / 2,
            y + height / 2 + 5 + (index - (len(lines) - 1) / 2) * 18,
            line,
            13.5,
            ink,
            "middle",
            bold=True,
        )


def double_buffer_idea(language: str) -> Canvas:
    """Step 09: two buffers change roles with every slice."""
    canvas = parts.of_step(
        "09_double_buffer", 400, language, ("fill one buffer while reading the other", "读一个缓冲，同时填另一个")
    )
    for y, number in ((62.0, 0), (222.0, 1)):
        which = "s" if number == 0 else "s + 1"
        name = say(language, f"while slice {which} is multiplied", f"计算切片 {which} 期间")
        parts.card(canvas, 24, y, 912, 142, name)
        fill, read = (1, 0) if number == 0 else (0, 1)
        ahead = "s + 1" if number == 0 else "s + 2"
        _node(
            canvas,
            48,
            y + 44,
            150,
            74,
            say(language, f"global memory\nslice {ahead}", f"全局内存\n切片 {ahead}"),
            "#64788f",
        )
        _node(canvas, 268, y + 44, 120, 74, say(language, "registers", "寄存器"), THREAD.strong)
        places = {fill: y + 84, read: y + 24}
        _node(
            canvas,
            488,
            places[fill],
            170,
            44,
            say(language, f"buffer {fill}: filled", f"缓冲 {fill}：正在写入"),
            A.middle,
            A.ink,
        )
        _node(
            canvas,
            488,
            places[read],
            170,
            44,
            say(language, f"buffer {read}: read", f"缓冲 {read}：正在读取"),
            A.strong,
        )
        _node(canvas, 756, y + 24, 150, 44, say(language, "FMAs", "FMA 计算"), C.strong)
        canvas.arrow(202, y + 81, 264, y + 81, INK, 2)
        canvas.arrow(392, y + 90, 484, places[fill] + 22, INK, 2)
        canvas.arrow(662, places[read] + 22, 752, y + 46, INK, 2)
        canvas.text(752 + 79, y + 98, say(language, "at the same time", "同时进行"), 13, MUTED, "middle")
    canvas.line(24, 213, 936, 213, DARK, 3)
    canvas.rect(380, 202, 200, 22, "#ffffff", DARK, radius=11)
    canvas.text(
        480, 217, say(language, "one barrier, roles change", "一次屏障，角色互换"), 12.5, DARK, "middle", bold=True
    )
    canvas.text(
        936,
        388,
        say(
            language,
            "one buffer needs two barriers: before it is filled and before it is read",
            "单缓冲需要两次屏障：写入之前与读取之前各一次",
        ),
        12.5,
        MUTED,
        "end",
    )
    return canvas


def cp_async_idea(language: str) -> Canvas:
    """Step 10: the way of a float into shared memory, before and now."""
    canvas = parts.of_step("10_cp_async", 372, language, ("straight into shared memory", "直达共享内存"))
    for y, now in ((62.0, False), (216.0, True)):
        parts.card(
            canvas, 24, y, 912, 136, say(language, "step 10" if now else "step 09", "步骤 10" if now else "步骤 09")
        )
        _node(canvas, 48, y + 44, 150, 64, say(language, "global memory", "全局内存"), "#64788f")
        _node(canvas, 700, y + 44, 150, 64, say(language, "shared memory", "共享内存"), A.strong)
        middle = y + 76
        if now:
            canvas.arrow(202, middle, 696, middle, C.strong, 4)
            canvas.text(449, middle - 12, "cp.async", 15, C.ink, "middle", bold=True, mono=True)
            canvas.text(
                449,
                middle + 26,
                say(
                    language,
                    "1 instruction; the registers set free hold 8×16 results per thread",
                    "1 条指令；省下的寄存器用来放每线程 8×16 个结果",
                ),
                13,
                C.ink,
                "middle",
            )
        else:
            _node(canvas, 368, y + 44, 160, 64, say(language, "registers", "寄存器"), THREAD.strong)
            canvas.arrow(202, middle, 364, middle, INK, 2.4)
            canvas.arrow(532, middle, 696, middle, INK, 2.4)
            canvas.text(283, middle - 10, "ld.global", 13, INK, "middle", mono=True)
            canvas.text(614, middle - 10, "st.shared", 13, INK, "middle", mono=True)
            canvas.text(
                448,
                y + 127,
                say(
                    language,
                    "2 instructions; 16 registers per thread hold data in flight",
                    "2 条指令；每线程 16 个寄存器存放在途的数据",
                ),
                13,
                RED,
                "middle",
            )
    return canvas


def warp_tiling_idea(language: str) -> Canvas:
    """Step 11: the shape of a warp's part of C decides what it reads."""
    canvas = parts.of_step(
        "11_warp_tiling", 430, language, ("a square for each warp, 16×8 per thread", "每个 warp 一个方块，每线程 16×8")
    )
    for x, kernel, heading in (
        (24.0, traced("10_cp_async"), say(language, "step 10: a warp's part of C", "步骤 10：一个 warp 负责的 C")),
        (496.0, warp_tiling(), say(language, "step 11: one square", "步骤 11：一个方块")),
    ):
        parts.card(canvas, x, 62, 440, 344, heading)
        cells = [cell for t in range(WARP) for cell in kernel.computes[t]]
        rows, cols = sorted({r for r, _ in cells}), sorted({c for _, c in cells})
        unit = 184 / max(kernel.bm, kernel.bn)
        left, top = x + 48, 128.0
        parts.grid(canvas, left, top, kernel.bm, kernel.bn, unit, unit, 16)
        parts.fill(canvas, left, top, cells, unit, unit, C.middle)
        parts.fill(canvas, left, top, kernel.computes[0], unit, unit, C.strong)
        parts.frame(canvas, left, top, kernel.bm, kernel.bn, unit, unit)
        parts.fill(canvas, left - 22, top, [(r, 0) for r in rows], unit, 14, A.strong)
        parts.frame(canvas, left - 22, top, kernel.bm, 1, unit, 14)
        parts.fill(canvas, left, top - 22, [(0, c) for c in cols], 14, unit, B.strong)
        parts.frame(canvas, left, top - 22, 1, kernel.bn, 14, unit)
        reads, fmas = len(rows) + len(cols), len(cells)
        right = left + kernel.bn * unit + 16
        canvas.lines(right, top + 12, [say(language, "per warp and k:", "一个 warp，每个 k：")], 13, fill=MUTED)
        _figure(canvas, right, top + 46, f"{len(rows)} + {len(cols)}", say(language, "floats", "个 float"))
        _figure(canvas, right, top + 82, f"{fmas}", "FMA")
        square = kernel.name.startswith("11")
        _figure(
            canvas,
            right,
            top + 124,
            f"{fmas / reads:.1f}",
            say(language, "FMAs per float", "FMA（每 float）"),
            C.ink if square else MUTED,
        )
        thread = kernel.computes[0]
        thread_rows, thread_cols = len({r for r, _ in thread}), len({c for _, c in thread})
        canvas.lines(
            right,
            top + 160,
            [
                say(language, f"per thread: {thread_rows}×{thread_cols}", f"每线程 {thread_rows}×{thread_cols}"),
                say(language, f"{thread_rows * thread_cols} accumulators", f"{thread_rows * thread_cols} 个累加器"),
            ],
            13,
        )
        canvas.text(
            x + 18,
            388,
            say(
                language,
                f"block tile {kernel.bm}×{kernel.bn}; pale: warp 0, dark: thread 0",
                f"线程块分块 {kernel.bm}×{kernel.bn}；浅色为 warp 0，深色为线程 0",
            ),
            12.5,
            MUTED,
        )
    canvas.arrow(468, 234, 492, 234, INK, 2.4)
    return canvas
