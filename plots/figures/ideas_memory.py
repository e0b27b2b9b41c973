"""The ideas of steps 01 to 05: how a warp reads memory, how often, and in pieces of which size."""

from collections.abc import Iterable

from plots.figures import banks, layout, motion, parts
from plots.figures.geometry import WARP, Cell, Kernel, sectors, smem_padding, traced
from plots.figures.layout import INNER, MARGIN, RIGHT, Pair
from plots.figures.palette import BOX, EDGE, INK, MUTED, PANEL, RED, THREAD, A, B, C, Tone
from plots.figures.svg import SMALL, Canvas, Draw
from plots.figures.text import say


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "01_naive", naive
    yield "02_coalesced", coalesced
    yield "03_smem_tiling", smem_tiling
    yield "04_smem_padding", padding
    yield "05_vector_load", vector_load


def naive(language: str) -> Canvas:
    """Step 01: every lane of a warp reads another row of A."""
    canvas, top = layout.of_step(
        "01_naive", language, ("one thread computes one element of C", "一个线程计算 C 的一个元素")
    )
    x, y, rows, unit = MARGIN, top + 30, 13, 20.0
    cols, c_cols = 15, 7
    parts.grid(canvas, x, y, rows, cols, unit, unit)
    parts.fill(canvas, x, y, [(r, c) for r in range(rows) for c in range(5)], unit, unit, A.pale)
    parts.fill(canvas, x, y, [(r, 5) for r in range(rows)], unit, unit, A.strong)
    parts.frame(canvas, x, y, rows, cols, unit, unit)
    read = say(language, "A, read at one k", "A，某个 k 时的读取")
    canvas.text(x + cols * unit / 2, y - 9, read, SMALL, A.ink, "middle", bold=True)
    c_x = RIGHT - c_cols * unit
    parts.grid(canvas, c_x, y, rows, c_cols, unit, unit)
    parts.fill(canvas, c_x, y, [(r, 2) for r in range(rows)], unit, unit, C.strong)
    parts.frame(canvas, c_x, y, rows, c_cols, unit, unit)
    canvas.text(c_x + c_cols * unit / 2, y - 9, "C", SMALL, C.ink, "middle", bold=True)
    between = (x + cols * unit + c_x) / 2
    for row in (0, 1, 2, 3, rows - 1):
        middle = y + (row + 0.5) * unit
        canvas.arrow(x + 6 * unit + 4, middle, c_x + 2 * unit - 3, middle, THREAD.strong, 1.1)
        lane = f"lane {row if row < rows - 1 else WARP - 1}"
        canvas.text(between, middle - 4, lane, layout.SMALL, THREAD.ink, "middle")
    canvas.text(between, y + 8 * unit, "⋮", 18, THREAD.ink, "middle")
    apart = (
        "neighbouring threads, neighbouring rows: 4·lda bytes apart in memory",
        "相邻线程读相邻的行，在内存中相隔 4·lda 字节",
    )
    y = layout.paragraph(canvas, y + rows * unit + 22, language, apart, fill=MUTED)
    heading = "A warp's read of A", "一个 warp 对 A 的读取"
    y = layout.paragraph(canvas, y + 14, language, heading, fill=A.ink, bold=True)
    kernel = traced("01_naive")
    found = sectors(kernel.reads_a[0], kernel.leading)
    bottom = parts.sector_strip(canvas, x, y - 6, [found[k] for k in sorted(found)], A, per_row=8, cell=8.4)
    canvas.text(x, bottom + 38, "1/8", 32, RED, bold=True)
    canvas.text(
        x + 70,
        bottom + 22,
        say(language, "32 sectors of 32 bytes move: 1024 bytes", "搬运 32 个 32 字节的扇区：1024 字节"),
    )
    canvas.text(x + 70, bottom + 42, say(language, "4 bytes of each are used: 128 bytes", "每个只用 4 字节：128 字节"))
    canvas.height = bottom + 62
    return canvas


def _mini(canvas: Canvas, x: float, y: float, side: float, cells: list[Cell], tone: Tone, name: str) -> None:
    """A 32×32 tile with some of its cells."""
    unit = side / 32
    parts.grid(canvas, x, y, 32, 32, unit, unit, 4)
    parts.fill(canvas, x, y, cells, unit, unit, tone.strong)
    parts.frame(canvas, x, y, 32, 32, unit, unit)
    canvas.text(x + side / 2, y + side + 18, name, SMALL, tone.ink, "middle", bold=True)


def _turn_card(canvas: Canvas, y: float, kernel: Kernel, heading: Pair, language: str) -> None:
    parts.card(canvas, MARGIN, y, INNER, 208, say(language, *heading))
    cells = [cell for t in range(WARP) for cell in kernel.computes[t]]
    _mini(canvas, MARGIN + 18, y + 34, 144, cells, C, say(language, "a warp's part of C", "一个 warp 负责的 C"))
    left, at = MARGIN + 196, y + 46
    total = 0
    for name, tone, reads in (("A", A, kernel.reads_a), ("B", B, kernel.reads_b)):
        found = sectors(reads[0], kernel.leading)
        count = len(found)
        total += count
        words = f"{name}: {count} sector{'s' if count > 1 else ''}", f"{name}：{count} 个扇区"
        canvas.text(left, at, say(language, *words), SMALL, tone.ink, bold=True)
        at = parts.sector_strip(canvas, left, at + 9, [found[k] for k in sorted(found)], tone, 8, 5.2) + 22
    wide = canvas.text(left, y + 190, str(total), 28, RED if total > 10 else C.ink, bold=True)
    canvas.text(left + 12 + wide, y + 189, say(language, "sectors per warp and k", "个扇区（每 warp 每 k）"))


def coalesced(language: str) -> Canvas:
    """Step 02: the warp turned from a column of C to a row."""
    canvas, top = layout.of_step(
        "02_coalesced",
        language,
        ("a warp along a row takes 5 sectors per k, not 33", "warp 沿行排列，扇区从 33 个减到 5 个"),
    )
    _turn_card(canvas, top + 6, traced("01_naive"), ("01: lanes down a column", "01：lane 沿列向下"), language)
    canvas.arrow(MARGIN + INNER / 2, top + 217, MARGIN + INNER / 2, top + 238, INK, 2.4)
    _turn_card(canvas, top + 242, traced("02_coalesced"), ("02: lanes along a row", "02：lane 沿行排开"), language)
    canvas.height = top + 468
    return canvas


def smem_tiling(language: str) -> Canvas:
    """Step 03: a tile is copied once and read 32 times."""
    canvas, top = layout.of_step(
        "03_smem_tiling", language, ("a tile is copied once and read 32 times", "分块只拷贝一次，读取 32 次")
    )
    y = top + 6
    parts.card(canvas, MARGIN, y, INNER, 238, say(language, "global memory", "全局内存"))
    unit, slices, shown = 25.0, 5, 2
    a_x, b_x = 74.0, 74 + slices * unit + 8
    b_y = y + 26
    a_y = b_y + slices * unit + 8
    for index in range(slices):
        canvas.rect(a_x + index * unit, a_y, unit - 2, 60, A.pale, EDGE)
        canvas.rect(b_x, b_y + index * unit, 60, unit - 2, B.pale, EDGE)
    canvas.rect(a_x + shown * unit, a_y, unit - 2, 60, A.strong, EDGE, moves="slice-a")
    canvas.rect(b_x, b_y + shown * unit, 60, unit - 2, B.strong, EDGE, moves="slice-b")
    motion.walk(canvas, (("slice-a", "X", unit), ("slice-b", "Y", unit)), slices, shown)
    canvas.rect(b_x, a_y, 60, 60, C.strong, EDGE)
    canvas.text(b_x + 30, a_y + 35, "32×32", SMALL, "#ffffff", "middle", bold=True)
    canvas.text(a_x, a_y - 9, "A", SMALL, A.ink, bold=True)
    canvas.text(b_x + 68, b_y + 14, "B", SMALL, B.ink, bold=True)
    canvas.text(b_x + 68, a_y + 35, "C", SMALL, C.ink, bold=True)
    words = "K is cut into slices of 32; each block reads each slice once", "K 切成每片 32，每个线程块每片只读一次"
    layout.paragraph(canvas, b_y + 88, language, words, x=b_x + 110, width=210)
    y += 238
    middle = MARGIN + INNER / 2
    copy_way, read_way = y, y + 60 + 136
    for way, often, what in ((copy_way, "×1", ("copied", "拷贝")), (read_way, "×32", ("read", "读取"))):
        canvas.arrow(middle, way + 6, middle, way + 54, INK, 2.4)
        canvas.text(middle - 14, way + 36, often, 19, C.ink, "end", bold=True)
        canvas.text(middle + 14, way + 35, say(language, *what), SMALL, MUTED)
    y = copy_way + 60
    parts.card(canvas, MARGIN, y, INNER, 136, say(language, "shared memory of a block", "线程块的共享内存"))
    for x, tone, name in ((middle - 130, A, "As"), (middle + 30, B, "Bs")):
        canvas.rect(x, y + 28, 100, 100, tone.middle, tone.strong, 1.2)
        canvas.text(x + 50, y + 76, name, SMALL, tone.ink, "middle", bold=True)
        canvas.text(x + 50, y + 96, "32×32", SMALL, tone.ink, "middle")
    canvas.text(RIGHT - 16, y + 84, "2 × 4 KB", SMALL, MUTED, "end")
    y = read_way + 60
    parts.card(canvas, MARGIN, y, INNER, 118, say(language, "1024 threads, a dot for 8", "1024 个线程，一点代表 8 个"))
    for row in range(4):
        for col in range(WARP):
            canvas.circle(MARGIN + 20 + col * 17.8, y + 40 + row * 17.8, 5.6, THREAD.middle)
    fma = say(language, "each: 32 FMAs per slice", "每个线程每片 32 次乘加")
    canvas.text(RIGHT - 12, y + 21, fma, SMALL, INK, "end")
    reads = [(middle - 80, read_way + 2, 160, 56, PANEL), (RIGHT - 220, y + 3, 216, 24, BOX)]
    motion.alternate(canvas, [(middle - 80, copy_way + 2, 160, 56, PANEL)], reads, slices)
    canvas.height = y + 136
    return canvas


def padding(language: str) -> Canvas:
    """Step 04: a column of As in memory 32 banks wide, without and with a pad."""
    canvas, top = layout.of_step(
        "04_smem_padding",
        language,
        ("one more column spreads a store over all banks", "多加一列，一次写入就分散到所有 bank"),
    )
    unit, rows = 8.5, 33
    y = top + 32
    for x, one in zip((MARGIN, RIGHT - 32 * unit), smem_padding().shared, strict=True):
        access = one.access
        words = [address // banks.WORD for address in access.addresses]
        pitch = words[1] - words[0]
        conflict = access.conflicts > 0
        colour = RED if conflict else C.ink
        name = say(language, f"pitch {pitch} floats", f"行距 {pitch} 个 float")
        canvas.text(x, y - 10, name, SMALL, colour, bold=True)
        canvas.text(x + 32 * unit, y - 10, "bank →", SMALL, MUTED, "end")
        parts.grid(canvas, x, y, rows, 32, unit, unit)
        pads = [divmod(k * pitch + 32, 32) for k in range(32)] if pitch == 33 else []
        floats = [divmod(k * pitch + c, 32) for k in range(32) for c in range(32)]
        parts.fill(canvas, x, y, floats, unit, unit, A.pale)
        parts.fill(canvas, x, y, pads, unit, unit, "#b9c3cf")
        stored = [divmod(word, 32) for word in words]
        parts.fill(canvas, x, y, stored, unit, unit, RED if conflict else A.strong)
        parts.frame(canvas, x, y, rows, 32, unit, unit)
        under = y + rows * unit + 36
        wide = canvas.text(x, under, str(access.wavefronts), 32, colour, bold=True) * 1.14 + 10
        passes = say(
            language, "wavefronts per store" if conflict else "wavefront per store", "个 wavefront（每次写入）"
        )
        canvas.text(x + wide, under - 17, passes)
        english, chinese = (
            ("all in bank 0", "全部落在 bank 0") if conflict else ("one in each bank", "每个 bank 各一个")
        )
        canvas.text(x + wide, under + 1, say(language, english, chinese), SMALL, colour)
    entries = (
        (
            RED,
            ("the 32 floats that warp 0 stores: As[k][0], k = 0 … 31", "warp 0 写入的 32 个数：As[k][0]，k = 0 … 31"),
        ),
        ("#b9c3cf", ("padding, never used: 128 bytes of 4224", "填充，不使用：4224 字节中的 128 字节")),
    )
    canvas.height = layout.legend(canvas, y + rows * unit + 68, language, entries)
    return canvas


def vector_load(language: str) -> Canvas:
    """Step 05: one 16-byte access instead of four, four results per thread."""
    canvas, top = layout.of_step("05_vector_load", language, ("one instruction moves 16 bytes", "一条指令搬 16 字节"))
    y, half = top + 6, (INNER - 16) / 2
    for x, wide in ((MARGIN, False), (MARGIN + half + 16, True)):
        heading = ("step 05: one float4 per load", "步骤 05：一次读一个 float4")
        if not wide:
            heading = ("step 04: one float per load", "步骤 04：一次读一个 float")
        parts.card(canvas, x, y, half, 138, say(language, *heading))
        left, cell = x + 16, 37.0
        for i in range(4):
            canvas.rect(left + i * cell, y + 94, cell if wide else cell - 4, 28, B.strong, "#ffffff" if wide else EDGE)
        if wide:
            canvas.rect(left, y + 94, 4 * cell, 28, "none", B.ink, 1.5)
            canvas.arrow(left + 2 * cell, y + 50, left + 2 * cell, y + 90, THREAD.strong, 4)
            canvas.text(left + 2 * cell + 14, y + 66, "ld.v4", SMALL, THREAD.ink, mono=True)
        else:
            for i in range(4):
                canvas.arrow(left + (i + 0.45) * cell, y + 50, left + (i + 0.45) * cell, y + 90, THREAD.strong, 1.8)
        right = left + 4 * cell + 16
        canvas.text(right, y + 76, "1" if wide else "4", 32, C.ink if wide else RED, bold=True)
        canvas.text(right, y + 98, say(language, "instruction" if wide else "instructions", "条指令"))
        canvas.text(right, y + 118, say(language, "for 16 bytes", "搬 16 字节"), SMALL, MUTED)
    y += 154
    heading = "and four results: a float of A times a float4 of B", "四个结果：A 的一个 float 乘 B 的一个 float4"
    parts.card(canvas, MARGIN, y, INNER, 134, say(language, *heading))
    canvas.rect(40, y + 44, 42, 44, A.strong, EDGE)
    canvas.text(61, y + 72, "a", 17, "#ffffff", "middle", bold=True)
    canvas.text(98, y + 72, "×", 18, INK, "middle")
    for i, name in enumerate("xyzw"):
        canvas.rect(114 + i * 44, y + 44, 44, 44, B.strong, "#ffffff")
        canvas.text(136 + i * 44, y + 71, f"b.{name}", SMALL, "#ffffff", "middle", bold=True)
        canvas.rect(348 + i * 63, y + 44, 63, 44, C.strong, "#ffffff")
        canvas.text(379.5 + i * 63, y + 71, f"acc[{i}]", SMALL, "#ffffff", "middle", bold=True)
    canvas.arrow(298, y + 66, 340, y + 66, INK, 2.2)
    loads = "2 loads for 4 FMAs (step 04: 3 loads for 2)", "2 次读，4 次 FMA（步骤 04：3 次读，2 次 FMA）"
    layout.paragraph(canvas, y + 116, language, loads, x=40, width=INNER - 32)
    canvas.height = y + 152
    return canvas
