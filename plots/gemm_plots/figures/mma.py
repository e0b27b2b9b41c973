"""Pictures of steps 18 to 21: fragments of mma.m16n8k16, banks of ldmatrix's rows, stages, bands, persistent blocks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gemm_plots.figures import motion, parts, traces
from gemm_plots.figures.palette import INK, MUTED, PALE_RED, RED, THREAD, A, B, C, Tone
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say
from gemm_plots.figures.traces import Cell

Draw = Callable[[str], Canvas]

LANE = 5  # the lane whose registers are shown
ROW_BYTES = 16  # of an 8×8 matrix
GROUPS = 8  # columns of 16 bytes that the 32 banks make

# Step 19's default: the side of its square tile, its stages, and its band of 2048 rows; one block per SM of an H200.
TILE, STAGES, BAND, SMS = 256, 3, 8, 132

# Step 21's time line, in slices: a short K, and what a tile takes beyond its slices.
SLICES, AHEAD = 8, 2
FILL, STORE = 1.5, 1.5


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "18_mma_naive", fragments
    yield "18_mma_naive-banks", matrix_banks
    yield "19_mma_stages", stages
    yield "19_mma_stages-copies", copies
    yield "21_mma_persistent-blocks", persistent_blocks


def held(operand: str, lane: int) -> list[tuple[Cell, Cell]]:
    """The two elements of each register of a lane: `a`, `b` (row k, column n) or `c` of mma.m16n8k16, FP16."""
    places = traces.fragment("18_mma_naive", f"mma.m16n8k16.{operand}.16")
    cells = sorted((place, cell) for cell, place in places.items() if place[0] == lane)
    return [(low, high) for (_, low), (_, high) in zip(cells[::2], cells[1::2], strict=True)]


def in_bands(index: int, tile_rows: int, tile_cols: int, band: int) -> tuple[int, int]:
    """The tile that a block computes: common/device/tiles.h."""
    number, inside = divmod(index, band * tile_cols)
    here = min(band, tile_rows - number * band)
    return number * band + inside % here, inside // here


def _operand(
    canvas: Canvas, x: float, y: float, rows: int, cols: int, tone: Tone, operand: str, cut: Sequence[str]
) -> None:
    """A tile cut into 8×8 matrices, with what the shown lane holds of it."""
    unit = 14.0
    parts.grid(canvas, x, y, rows, cols, unit, unit)
    for index, colour in enumerate(cut):
        top, left = index % 2 * 8, index // 2 * 8
        parts.fill(canvas, x, y, [(top + r, left + c) for r in range(8) for c in range(8)], unit, unit, colour)
    for register, cells in enumerate(held(operand, LANE)):
        parts.fill(canvas, x, y, cells, unit, unit, tone.strong)
        row, col = cells[0]
        down, across = (2, 1) if operand == "b" else (1, 2)
        canvas.text(
            x + (col + across / 2) * unit, y + (row + down / 2) * unit + 4, str(register), 11, "#ffffff", "middle", True
        )
    for line in range(8, rows, 8):
        canvas.line(x, y + line * unit, x + cols * unit, y + line * unit, "#8793a3", 1)
    for line in range(8, cols, 8):
        canvas.line(x + line * unit, y, x + line * unit, y + rows * unit, "#8793a3", 1)
    parts.frame(canvas, x, y, rows, cols, unit, unit)


def fragments(language: str) -> Canvas:
    """Step 18: what ldmatrix hands to one lane, and the way B's elements turn."""
    canvas = parts.of_step(
        "18_mma_naive",
        470,
        language,
        ("8×8 matrices, dealt to the lanes of a warp", "8×8 矩阵，分发给 warp 的各个 lane"),
        (
            f"what lane {LANE} holds of one mma.m16n8k16: a number is a register with two 16-bit elements",
            f"一条 mma.m16n8k16 中 lane {LANE} 持有的元素：数字是寄存器编号，每个寄存器放两个 16 位元素",
        ),
    )
    y = 122.0
    canvas.text(40, 90, say(language, "A  16×16, row-major", "A  16×16，行主序"), 14, A.ink, bold=True)
    canvas.text(40, 110, "ldmatrix.x4", 12, MUTED, mono=True)
    _operand(canvas, 40, y, 16, 16, A, "a", (A.pale, "#cfe0f4", "#cfe0f4", A.pale))
    canvas.rect(40, y + 14, 8 * 14, 14, "none", A.ink, 1.6)
    canvas.text(330, 90, say(language, "B  16×8, row-major", "B  16×8，行主序"), 14, B.ink, bold=True)
    canvas.text(330, 110, "ldmatrix.x2.trans", 12, MUTED, mono=True)
    _operand(canvas, 330, y, 16, 8, B, "b", (B.pale, "#f9dfbc"))
    canvas.rect(330, y + 2 * 14, 8 * 14, 14, "none", B.ink, 1.6)
    canvas.text(510, 90, say(language, "sums  16×8", "累加器  16×8"), 14, C.ink, bold=True)
    canvas.text(510, 110, "mma.sync.m16n8k16", 12, MUTED, mono=True)
    _operand(canvas, 510, y, 16, 8, C, "c", (C.pale, C.pale))
    left = 668.0
    for top, tone, name, registers in ((122.0, A, "a", 4), (224.0, B, "b", 2), (286.0, C, "d", 2)):
        letter = {"a": "A", "b": "B", "d": "D"}[name]
        for register, cells in enumerate(held("c" if name == "d" else name, LANE)[:registers]):
            line = top + register * 25
            canvas.text(left, line + 15, f"{name}[{register}]", 12, tone.ink, mono=True)
            for half, (row, col) in enumerate(cells):
                canvas.rect(left + 44 + half * 92, line, 92, 20, tone.pale, tone.strong)
                canvas.text(left + 90 + half * 92, line + 14.5, f"{letter}[{row}][{col}]", 12, INK, "middle", mono=True)
    canvas.text(left + 44, 112, say(language, "low half", "低半"), 11.5, MUTED)
    canvas.text(left + 136, 112, say(language, "high half", "高半"), 11.5, MUTED)
    canvas.lines(
        40,
        376,
        [
            say(
                language,
                "framed in A: row 1 of a matrix, 16 bytes; the address comes from one lane, the elements go to four.",
                "A 中的方框：矩阵的第 1 行，16 字节；地址由一个 lane 给出，元素分给四个 lane。",
            ),
            say(
                language,
                "framed in B: one k of eight columns, as it lies in memory. The instruction wants two "
                "neighbouring k of one column",
                "B 中的方框：内存中连续的是同一个 k 的八列。指令要的却是同一列上相邻的两个 k，放在一个寄存器里：",
            ),
            say(
                language,
                "in a register: .trans hands out each 8×8 matrix transposed, in the same instruction and the "
                "same wavefronts.",
                ".trans 把每个 8×8 矩阵转置后再分发，指令数与波前数都不变。",
            ),
        ],
        13,
    )
    canvas.text(
        40,
        452,
        say(
            language,
            "256 + 128 elements in, 128 sums, 4096 FLOP: one instruction of 32 lanes",
            "输入 256 + 128 个元素，128 个累加器，4096 FLOP：32 个 lane 的一条指令",
        ),
        12.5,
        MUTED,
    )
    return canvas


def _columns(canvas: Canvas, x: float, y: float, rows: Sequence[Sequence[int]], tone: Tone) -> None:
    """Accesses of 16 bytes in the eight columns that the banks make; a column taken before is red."""
    wide, high = 24.0, 17.0
    parts.grid(canvas, x, y, len(rows), GROUPS, high, wide)
    taken = [0] * GROUPS
    for line, addresses in enumerate(rows):
        for address in addresses:
            column = address // ROW_BYTES % GROUPS
            parts.fill(canvas, x, y, [(line, column)], high, wide, RED if taken[column] else tone.strong)
            taken[column] += 1
    parts.frame(canvas, x, y, len(rows), GROUPS, high, wide)
    for column in range(GROUPS):
        canvas.text(x + (column + 0.5) * wide, y + len(rows) * high + 13, str(column), 10, MUTED, "middle")


def matrix_banks(language: str) -> Canvas:
    """Step 18: the eight rows of a matrix, with and without the pad."""
    canvas = parts.of_step(
        "18_mma_naive-banks".replace("-banks", ""),
        330,
        language,
        ("the eight rows of an ldmatrix", "一次 ldmatrix 的八行"),
        (
            "32 banks are eight columns of 16 bytes; a row of a matrix takes one of them. Down: rows 0–7. "
            "Red: one more pass",
            "32 个 bank 合成八列，每列 16 字节；矩阵的一行占一列。纵向：第 0–7 行。红色：多一趟",
        ),
    )
    shown = (
        ("As", "18_mma_naive-unpadded", "ldmatrix_x4(a_frag", A, "16 + 0"),
        ("As", "18_mma_naive", "ldmatrix_x4(a_frag", A, "16 + 8"),
        ("Bs", "18_mma_naive-unpadded", "ldmatrix_x2_trans(b_frag", B, "128 + 0"),
        ("Bs", "18_mma_naive", "ldmatrix_x2_trans(b_frag", B, "128 + 8"),
    )
    for index, (name, variant, source, tone, elements) in enumerate(shown):
        access = traces.shared(variant, source)
        rows = [access.addresses[lane] for lane in access.groups[0].lanes]
        pitch, passes = rows[1] - rows[0], access.groups[0].wavefronts
        x = 36 + index * 232.0
        canvas.text(x, 86, f"{name}: {elements}", 14, tone.ink, bold=True)
        canvas.text(
            x,
            104,
            say(language, f"pitch {pitch} bytes = 16·{pitch // 16}", f"行距 {pitch} 字节 = 16·{pitch // 16}"),
            12,
            MUTED,
        )
        _columns(canvas, x, 114, [[address] for address in rows], tone)
        canvas.text(x, 302, str(passes), 28, RED if passes > 1 else C.ink, bold=True)
        words = "wavefront per matrix" if passes == 1 else "wavefronts per matrix"
        canvas.text(x + 26, 300, say(language, words, "个波前（每矩阵）"), 13)
    return canvas


def _ring(canvas: Canvas, x: float, y: float, language: str) -> None:
    """The stages over slices of time: when each is filled, when it is read."""
    slots, wide, high = 8, 42.0, 26.0
    for stage in range(STAGES):
        canvas.text(x, y + stage * 40 + 17, f"stage {stage}", 12, MUTED)
    left, bottom = x + 62, y + STAGES * 40
    for number in range(1, slots):
        canvas.line(left + number * wide - 0.5, y - 6, left + number * wide - 0.5, bottom, "#8793a3", 1, "3 3")
    for number in range(slots + STAGES - 1):
        start, top = max(0, number - (STAGES - 1)), y + number % STAGES * 40
        end = min(number, slots)
        if end > start:
            canvas.rect(left + start * wide, top + 5, (end - start) * wide - 1, high - 10, A.middle, A.strong)
            canvas.text(left + (start + end) / 2 * wide, top + 17.5, str(number), 11, A.ink, "middle")
        if number < slots:
            canvas.rect(left + number * wide, top, wide - 1, high, C.strong, C.ink)
            canvas.text(left + (number + 0.5) * wide, top + 17.5, str(number), 12, "#ffffff", "middle", bold=True)
    parts.key(
        canvas,
        left,
        bottom + 22,
        [
            (A.middle, say(language, "slice on its way", "切片在途")),
            (C.strong, say(language, "read and multiplied", "读取并计算")),
        ],
    )


def _wave(canvas: Canvas, x: float, y: float, band: int) -> None:
    """The first wave of tiles on a C of 8192×8192, and how many rows of A and columns of B it reads."""
    side = 8192 // TILE
    cell = 110 / side
    tiles = [in_bands(index, side, side, band) for index in range(SMS)]
    rows, cols = (len({tile[i] for tile in tiles}) for i in (0, 1))
    parts.grid(canvas, x, y, side, side, cell, cell, 4)
    parts.fill(canvas, x, y, tiles, cell, cell, C.strong)
    parts.frame(canvas, x, y, side, side, cell, cell)
    canvas.rect(x - 8, y, 5, rows * cell, A.strong)
    canvas.rect(x, y - 8, cols * cell, 5, B.strong)
    read = [f"A {rows * TILE} + B {cols * TILE}", f"= {(rows + cols) * TILE}"]
    canvas.lines(x, y + side * cell + 18, read, 12, fill=RED if band == 1 else C.ink, bold=True)


def stages(language: str) -> Canvas:
    """Step 19: three memories, three remedies."""
    canvas = parts.of_step(
        "19_mma_stages",
        344,
        language,
        ("latency, L2 and DRAM: three remedies", "延迟、L2、DRAM：三处对策"),
        (
            f"BM = BN = {TILE}, BK = 64, {STAGES} stages, one block per SM",
            f"BM = BN = {TILE}，BK = 64，{STAGES} 个 stage，每个 SM 一个线程块",
        ),
    )
    parts.card(canvas, 24, 66, 430, 256, say(language, "latency: three stages", "延迟：三个 stage"))
    _ring(canvas, 36, 108, language)
    copied = say(
        language,
        f"dashed: a barrier; a copy has {STAGES - 1} slices' time",
        f"虚线：屏障；每次拷贝有 {STAGES - 1} 片的时间",
    )
    canvas.text(36, 306, copied, 12.5, MUTED)
    parts.card(canvas, 468, 66, 178, 256, say(language, "L2: larger tiles", "L2：更大的分块"))
    for top, side in ((100.0, 128), (196.0, 256)):
        canvas.rect(484, top, side / 3.2, side / 3.2, C.middle, C.strong)
        canvas.text(484 + side / 6.4, top + side / 6.4 + 4, f"{side}²", 11, C.ink, "middle", bold=True)
        flops = say(language, f"{side // 2} FLOP per byte", f"每字节 {side // 2} FLOP")
        canvas.text(484, top + side / 3.2 + 18, flops, 13, INK)
    parts.card(canvas, 660, 66, 276, 256, say(language, "DRAM: bands", "DRAM：条带"))
    _wave(canvas, 684, 122, 1)
    _wave(canvas, 814, 122, BAND)
    at_once = say(language, f"{SMS} tiles at once; rows, columns read", f"同时计算 {SMS} 个分块；读到的行数、列数")
    canvas.text(674, 306, at_once, 11.5, MUTED)
    return canvas


def copies(language: str) -> Canvas:
    """Step 19: which rows eight lanes copy at a time, into rows of five chunks."""
    canvas = parts.of_step(
        "19_mma_stages",
        318,
        language,
        ("who copies which row of A", "谁拷贝 A 的哪一行"),
        (
            "BK = 32: rows of 64 bytes, 80 with the pad; eight lanes write two rows at a time (the default's BK = 64: one)",
            "BK = 32：每行 64 字节，含填充 80 字节；8 个 lane 一次写两行（默认变体 BK = 64，一次一行）",
        ),
    )
    in_turn = traces.shared("bank_patterns", "store_16_bytes(start + 80 * row + 16 * chunk)")
    as_dealt = traces.shared("19_mma_stages-wide_stages3", "cp_async_16(to + i * STEP * PITCH")
    for x, served, dealt in ((40.0, in_turn, False), (508.0, as_dealt, True)):
        addresses = served.addresses
        rows_of_lanes = [address // 80 for address in addresses]
        name = (
            say(language, "rows in turn", "按行号依次") if not dealt else say(language, "rows four apart", "相隔四行")
        )
        canvas.text(x, 88, name, 15, RED if not dealt else C.ink, bold=True)
        for quarter in range(4):
            top = 100 + quarter * 46
            first, second = rows_of_lanes[quarter * 8], rows_of_lanes[quarter * 8 + 4]
            rows = [addresses[quarter * 8 + at : quarter * 8 + at + 4] for at in (0, 4)]
            _columns_flat(canvas, x + 70, top, rows, (first, second), language)
        right = x + 70 + GROUPS * 24 + 20
        canvas.text(right, 150, str(served.wavefronts), 30, RED if served.conflicts else C.ink, bold=True)
        canvas.text(right, 172, say(language, "wavefronts", "个波前"), 13)
        canvas.text(right, 190, say(language, "per copy of a warp", "每个 warp 一次拷贝"), 13)
    canvas.text(
        40,
        304,
        say(
            language,
            "across: the eight 16-byte columns of the banks; red: taken by another lane, one more pass",
            "横向：bank 合成的八列，每列 16 字节；红色：已被另一个 lane 占用，多一趟",
        ),
        12.5,
        MUTED,
    )
    return canvas


def _columns_flat(
    canvas: Canvas, x: float, y: float, rows: Sequence[Sequence[int]], names: tuple[int, int], language: str
) -> None:
    """Two rows of one quarter-warp over the eight columns."""
    wide, high = 24.0, 16.0
    taken: set[int] = set()
    parts.grid(canvas, x, y, 2, GROUPS, high, wide)
    for line, addresses in enumerate(rows):
        canvas.text(
            x - 8, y + line * high + 12.5, say(language, f"row {names[line]}", f"第 {names[line]} 行"), 11, A.ink, "end"
        )
        for address in addresses:
            column = address // ROW_BYTES % GROUPS
            colour = RED if column in taken else A.strong if line == 0 else A.middle
            parts.fill(canvas, x, y, [(line, column)], high, wide, colour)
            taken.add(column)
    parts.frame(canvas, x, y, 2, GROUPS, high, wide)


@dataclass(frozen=True)
class _Span:
    """Something that a multiprocessor does from `start` to `end`, for tile 0 or 1, in lane `lane`."""

    lane: int  # 0 copies, 1 arithmetic, 2 store, 3 arithmetic that waits
    start: float
    end: float
    tile: int
    text: str = ""


def tile_times(persistent: bool) -> list[_Span]:
    """Two tiles on one multiprocessor: by a block each, or by one that stays."""
    found = []
    now = 0.0
    for tile in range(2):
        if tile == 0 or not persistent:
            found += [
                _Span(0, now + i * FILL / AHEAD, now + (i + 1) * FILL / AHEAD, tile, str(i)) for i in range(AHEAD)
            ]
            found.append(_Span(3, now, now + FILL, tile))
            now += FILL
        for at in range(SLICES):
            found.append(_Span(1, now + at, now + at + 1, tile, str(at)))
            copied = at + AHEAD
            if copied < SLICES:
                found.append(_Span(0, now + at, now + at + 1, tile, str(copied)))
            elif persistent and tile == 0:
                found.append(_Span(0, now + at, now + at + 1, 1, str(copied - SLICES)))
        now += SLICES
        found += [_Span(2, now, now + STORE, tile), _Span(3, now, now + STORE, tile)]
        now += STORE
    return found


def persistent_blocks(language: str) -> Canvas:
    """Step 21: a block for each tile, and a block that stays."""
    canvas = parts.of_step(
        "21_mma_persistent",
        352,
        language,
        ("a block for each tile, and a block that stays", "每个分块一个线程块，与常驻的线程块"),
        (
            f"two tiles of C on one SM, K = {SLICES * 64}: {SLICES} slices each; copies run {AHEAD} slices ahead",
            f"一个 SM 上的两个分块，K = {SLICES * 64}，各 {SLICES} 片；拷贝超前 {AHEAD} 片",
        ),
    )
    left, lane_high = 138.0, 28.0
    scale = (936 - left) / max(span.end for span in tile_times(False))
    names = (("copies", "拷贝"), ("arithmetic", "计算"), ("store of C", "写回 C"))
    tones = (A, C, THREAD)
    for top, stays in ((76.0, False), (196.0, True)):
        spans = tile_times(stays)
        end = max(span.end for span in spans)
        says = (
            say(language, "one block per tile", "每个分块一个线程块")
            if not stays
            else say(language, "a persistent block: the pipeline is filled once", "常驻线程块：流水线只预填一次")
        )
        canvas.text(left, top + 6, says, 13.5, C.ink if stays else RED, bold=True)
        for lane, name in enumerate(names):
            y = top + 14 + lane * lane_high
            canvas.rect(left, y + 2, end * scale, lane_high - 4, "#f1f4f8", radius=3)
            canvas.text(left - 12, y + lane_high / 2 + 4.5, say(language, *name), 12, INK, "end")
        for span in spans:
            x, wide = left + span.start * scale, (span.end - span.start) * scale
            if span.lane == 3:
                canvas.rect(x, top + 14 + lane_high + 2, wide, lane_high - 4, PALE_RED)
                continue
            y, tone = top + 14 + span.lane * lane_high, tones[span.lane]
            canvas.rect(x + 0.5, y + 3, wide - 1, lane_high - 6, tone.middle if span.tile else tone.strong, radius=3)
            if span.text:
                ink = tone.ink if span.tile else "#ffffff"
                canvas.text(x + wide / 2, y + lane_high / 2 + 4, span.text, 11, ink, "middle", bold=True)
    motion.sweep(canvas, left, 936, [(top + 15, top + 14 + len(names) * lane_high) for top in (76.0, 196.0)])
    y = 318.0
    parts.key(
        canvas,
        parts.MARGIN,
        y,
        [
            (C.strong, say(language, "first tile", "第一个分块")),
            (C.middle, say(language, "second tile", "第二个分块")),
            (PALE_RED, say(language, "the tensor cores wait", "Tensor Core 在等")),
        ],
    )
    canvas.text(936, y, say(language, "numbers: slices of the tile", "数字：该分块的第几片"), 12, MUTED, "end")
    canvas.text(
        parts.MARGIN,
        y + 21,
        say(
            language,
            "schematic: filling and storing are drawn 1.5 slices long each; "
            "together, about what a tile costs beyond its own slices",
            "示意图：流水线预填与写回各画作 1.5 片，合起来大致是一个分块在自己的切片之外的开销",
        ),
        11.5,
        MUTED,
    )
    return canvas
