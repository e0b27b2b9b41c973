"""Pictures of step 18: the fragments of mma.m16n8k16, and the banks of ldmatrix's rows."""

from collections.abc import Iterable, Sequence

from plots.figures import layout, parts, traces
from plots.figures.layout import MARGIN
from plots.figures.palette import INK, MUTED, RED, A, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say
from plots.figures.traces import Cell

LANE = 5  # the lane whose registers are shown
ROW_BYTES = 16  # of an 8×8 matrix
GROUPS = 8  # columns of 16 bytes that the 32 banks make
HIGH = 17.0  # a line of these columns on a picture


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "18_mma_naive", fragments
    yield "18_mma_naive-banks", matrix_banks


def held(operand: str, lane: int) -> list[tuple[Cell, Cell]]:
    """The two elements of each register of a lane: `a`, `b` (row k, column n) or `c` of mma.m16n8k16, FP16."""
    places = traces.fragment("18_mma_naive", f"mma.m16n8k16.{operand}.16")
    cells = sorted((place, cell) for cell, place in places.items() if place[0] == lane)
    return [(low, high) for (_, low), (_, high) in zip(cells[::2], cells[1::2], strict=True)]


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
            x + (col + across / 2) * unit,
            y + (row + down / 2) * unit + 4.5,
            str(register),
            layout.SMALL,
            "#ffffff",
            "middle",
            True,
        )
    for line in range(8, rows, 8):
        canvas.line(x, y + line * unit, x + cols * unit, y + line * unit, "#8793a3", 1)
    for line in range(8, cols, 8):
        canvas.line(x + line * unit, y, x + line * unit, y + rows * unit, "#8793a3", 1)
    parts.frame(canvas, x, y, rows, cols, unit, unit)


def fragments(language: str) -> Canvas:
    """Step 18: what ldmatrix hands to one lane, and the way B's elements turn."""
    canvas, y = layout.of_step(
        "18_mma_naive",
        language,
        ("8×8 matrices, dealt to the lanes of a warp", "8×8 矩阵，分发给 warp 的各个 lane"),
        (
            f"what lane {LANE} holds of one mma.m16n8k16: a number is a register with two 16-bit elements",
            f"一条 mma.m16n8k16 中 lane {LANE} 持有的元素：数字是寄存器编号，每个寄存器放两个 16 位元素",
        ),
    )
    b_x, c_x, top = 292.0, 468.0, y + 54
    for x, rows, cols, name, operand, code, tone, cut in (
        (MARGIN, 16, 16, ("A  16×16, row-major", "A  16×16，按行存放"), "a", "ldmatrix.x4", A,
         (A.pale, "#cfe0f4", "#cfe0f4", A.pale)),
        (b_x, 16, 8, ("B  16×8, row-major", "B  16×8，按行存放"), "b", "ldmatrix.x2.trans", B, (B.pale, "#f9dfbc")),
        (c_x, 16, 8, ("sums  16×8", "累加器  16×8"), "c", "mma.sync.m16n8k16", C, (C.pale, C.pale)),
    ):  # fmt: skip
        canvas.text(x, top - 32, say(language, *name), layout.SMALL, tone.ink, bold=True)
        canvas.text(x, top - 12, code, layout.SMALL, MUTED, mono=True)
        _operand(canvas, x, top, rows, cols, tone, operand, cut)
    canvas.rect(MARGIN, top + 14, 8 * 14, 14, "none", A.ink, 1.6)
    canvas.rect(b_x, top + 2 * 14, 8 * 14, 14, "none", B.ink, 1.6)
    y = top + 16 * 14 + 30
    for left in (MARGIN, b_x + 24):
        canvas.text(left + 48, y, say(language, "low half", "低半"), layout.SMALL, MUTED)
        canvas.text(left + 140, y, say(language, "high half", "高半"), layout.SMALL, MUTED)
    for left, first, tone, name, letter in (
        (MARGIN, 0, A, "a", "A"),
        (b_x + 24, 0, B, "b", "B"),
        (b_x + 24, 2, C, "d", "D"),
    ):
        for register, cells in enumerate(held("c" if name == "d" else name, LANE)):
            line = y + 8 + (first + register) * 28
            canvas.text(left, line + 16, f"{name}[{register}]", layout.SMALL, tone.ink, mono=True)
            for half, (row, col) in enumerate(cells):
                canvas.rect(left + 48 + half * 92, line, 92, 22, tone.pale, tone.strong)
                element = f"{letter}[{row}][{col}]"
                canvas.text(left + 94 + half * 92, line + 16, element, layout.SMALL, INK, "middle", mono=True)
    y += 8 + 4 * 28 + 26
    texts = (
        (
            "Framed in A: row 1 of a matrix, 16 bytes. The address comes from one lane, the elements go to four.",
            "A 中的方框：矩阵的第 1 行，16 字节；地址由一个 lane 给出，元素分给四个 lane。",
        ),
        (
            "Framed in B: one k of eight columns, as it lies in memory. The instruction wants two neighbouring k of one "
            "column in a register: .trans hands out each 8×8 matrix transposed, in the same instruction and the same "
            "wavefronts.",
            "B 中的方框：内存中连续的是同一个 k 的八列。指令要的却是同一列上相邻的两个 k，放在一个寄存器里："
            ".trans 把每个 8×8 矩阵转置后再分发，指令数与 wavefront 数都不变。",
        ),
        (
            "256 + 128 elements in, 128 sums, 4096 FLOP: one instruction of 32 lanes",
            "输入 256 + 128 个元素，128 个累加器，4096 FLOP：32 个 lane 的一条指令",
        ),
    )
    canvas.height = layout.paragraphs(canvas, y, language, texts, 6)
    return canvas


def columns(
    canvas: Canvas, x: float, y: float, rows: Sequence[Sequence[int]], colours: Sequence[str], wide: float
) -> None:
    """Accesses of 16 bytes in the eight columns that the banks make, a line and a colour per entry of `rows`; a column
    taken before is red."""
    parts.grid(canvas, x, y, len(rows), GROUPS, HIGH, wide)
    taken: set[int] = set()
    for line, (addresses, colour) in enumerate(zip(rows, colours, strict=True)):
        for address in addresses:
            column = address // ROW_BYTES % GROUPS
            parts.fill(canvas, x, y, [(line, column)], HIGH, wide, RED if column in taken else colour)
            taken.add(column)
    parts.frame(canvas, x, y, len(rows), GROUPS, HIGH, wide)


def matrix_banks(language: str) -> Canvas:
    """Step 18: the eight rows of a matrix, with and without the pad."""
    canvas, y = layout.of_step(
        "18_mma_naive",
        language,
        (
            "8 halves of padding give each row of an ldmatrix its own banks",
            "填充 8 个 half，ldmatrix 的八行各占不同的 bank",
        ),
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
        x, top = MARGIN + index % 2 * 306, y + 22 + index // 2 * 250
        canvas.text(x, top, f"{name}: {elements}", layout.SMALL, tone.ink, bold=True)
        words = f"pitch {pitch} bytes = 16·{pitch // 16}", f"行距 {pitch} 字节 = 16·{pitch // 16}"
        canvas.text(x, top + 20, say(language, *words), layout.SMALL, MUTED)
        wide, under = 26.0, top + 32 + len(rows) * HIGH + 15
        columns(canvas, x, top + 32, [[address] for address in rows], [tone.strong] * len(rows), wide)
        for column in range(GROUPS):
            canvas.text(x + (column + 0.5) * wide, under, str(column), layout.SMALL, MUTED, "middle")
        canvas.text(x, top + 212, str(passes), 28, RED if passes > 1 else C.ink, bold=True)
        words = "wavefront per matrix" if passes == 1 else "wavefronts per matrix"
        canvas.text(x + 28, top + 210, say(language, words, "个 wavefront（每矩阵）"))
    canvas.height = y + 500
    return canvas
