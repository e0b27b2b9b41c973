"""Pictures of step 30: four neighbours of a row of B on their way to four of C, and the banks that its loads meet."""

from collections.abc import Iterable

from plots.figures import layout, parts, traces
from plots.figures.layout import MARGIN, RIGHT
from plots.figures.palette import INK, MUTED, THREAD, B
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "30_tf32"
LOADS = ("load_shared_x2(b_frag[i], ", "load_shared_x2(b_frag[i] + 2, ")
ROW_BYTES, PAIR_BYTES, PAIRS, ROWS = 128, 8, 16, 8
CHUNK_PAIRS = 2
LANES_AT_ONCE = 16
LANE = 0  # whose way is framed
COLS = 8  # of B and C that are shown
OPERAND_ROWS = 16  # of an instruction's first operand, of one warp
FIRST, SECOND = B, THREAD  # the tones of the two instructions

Lanes = dict[tuple[int, int], int]  # by row and pair


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-lanes", lanes
    yield f"{STEP}-banks", banks


def loaded() -> Lanes:
    """Where in eight rows of B, as they lie in shared memory, the lanes of a warp find the first instruction's pairs."""
    found: Lanes = {}
    for source in LOADS:
        access = traces.shared(STEP, source)
        assert access.wavefronts == 2, "the title says so"
        box = min(access.addresses) // (ROWS * ROW_BYTES) * ROWS * ROW_BYTES
        for lane, address in enumerate(access.addresses):
            found[divmod((address - box) // PAIR_BYTES, PAIRS)] = lane
    return found


def columns() -> Lanes:
    """The same pairs by the columns of B that they hold: TMA stores chunk c of row r at c ^ r."""
    found: Lanes = {}
    for (row, at), lane in loaded().items():
        chunk, half = divmod(at, CHUNK_PAIRS)
        found[row, (chunk ^ row) * CHUNK_PAIRS + half] = lane
    return found


def stored() -> Lanes:
    """Which lane stores which pair of the first eight rows of C."""
    found: Lanes = {}
    for _, by_lane in traces.requests(STEP, traces.C)[:2]:
        for lane, elements in enumerate(by_lane):
            found |= {(row, col // 2): lane for row, col in elements}
    return found


def lanes(language: str) -> Canvas:
    """Eight columns of B, where they lie in the first operands of both instructions, and the same columns of C."""
    first = columns()
    owner = {(row, pair // CHUNK_PAIRS): lane for (row, pair), lane in first.items()}  # of a quad of a row
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "four neighbours of B go through two instructions and come back as four neighbours of C",
            "B 的四个相邻元素经过两条指令，又成为 C 的四个相邻元素",
        ),
        (
            f"8 of a warp's 32 columns; a number in a cell is a lane; framed: lane {LANE}",
            f"一个 warp 的 32 列中的 8 列；格里的数字是 lane；加框的是 lane {LANE}",
        ),
    )
    y = layout.legend(
        canvas,
        y + 20,
        language,
        [(FIRST.middle, ("in the first instruction", "给第一条指令")), (SECOND.middle, ("in the second", "给第二条"))],
    )
    high, wide = 24.0, 30.0
    b_x, b_y = MARGIN + 16, y + 62
    canvas.text(b_x, b_y - 28, say(language, "B: 8 of k (down), columns 0 to 7", "B：8 个 k（向下），第 0 到 7 列"), bold=True)  # fmt: skip
    _numbers(canvas, b_x, b_y, wide)
    _pairs(canvas, b_x, b_y, high, wide, owner, first)
    parts.outline(canvas, b_x, b_y, [(row, col) for row in (LANE, LANE + 4) for col in range(4)], high, wide, INK, 2.5)

    op_high, op_wide = 15.0, 12.0
    heading = ("first operands, 16 rows of 8 of k", "第一个操作数，16 行，每行 8 个 k")
    canvas.text(342, b_y - 48, say(language, *heading), bold=True)
    for number, tone in enumerate((FIRST, SECOND)):
        x = 342.0 + number * 148
        words = (f"instruction {number + 1}", f"第 {number + 1} 条指令")
        canvas.text(x, b_y - 24, say(language, *words), layout.SMALL, tone.ink, bold=True)
        parts.grid(canvas, x, b_y - 12, OPERAND_ROWS, 8, op_high, op_wide)
        for quad in range(COLS // 4):
            in_row = owner[0, quad] // 4
            pair = next(p for p in (0, 1) if ((0, quad * 2 + p) in first) == (number == 0))
            for half in (0, 1):  # a lane's pair: rows l / 4 and l / 4 + 8 (PTX ISA, wgmma.m64nNk8, A in registers)
                row = in_row + 8 * half
                parts.fill(canvas, x, b_y - 12, [(row, k) for k in range(8)], op_high, op_wide, tone.middle)
                name = say(language, f"col {quad * 4 + pair * 2 + half}", f"列 {quad * 4 + pair * 2 + half}")
                canvas.text(x + 8 * op_wide + 5, b_y - 12 + (row + 1) * op_high - 3, name, layout.SMALL, MUTED)
                if quad == 0:
                    frame = [(row, LANE % 4), (row, LANE % 4 + 4)]
                    parts.outline(canvas, x, b_y - 12, frame, op_high, op_wide, INK, 2.5)
        parts.frame(canvas, x, b_y - 12, OPERAND_ROWS, 8, op_high, op_wide)
    y = b_y - 12 + OPERAND_ROWS * op_high

    c_y = y + 64
    canvas.text(b_x, c_y - 28, say(language, "C: 8 rows, columns 0 to 7", "C：8 行，第 0 到 7 列"), bold=True)
    _numbers(canvas, b_x, c_y, wide)
    of_c = {(row, pair // CHUNK_PAIRS): lane for (row, pair), lane in stored().items()}
    _pairs(canvas, b_x, c_y, high, wide, of_c, first)
    parts.outline(canvas, b_x, c_y, [(LANE, col) for col in range(4)], high, wide, INK, 2.5)
    parts.outline(canvas, b_x, c_y, [(LANE + 1, col) for col in range(4)], high, wide, INK, 2.5)
    layout.paragraph(
        canvas,
        c_y + 16,
        language,
        (
            f"Lane {LANE} gives columns 0 and 1 to the first instruction, 2 and 3 to the second. "
            "Of each it gets back the sums of just these columns, in two rows of C. "
            "So it stores four neighbours at once, 16 bytes. "
            "Lanes 8 to 11 give their pairs the other way round.",
            f"lane {LANE} 把 0、1 两列给第一条指令，把 2、3 两列给第二条；两条指令还给它的，正是这几列在 C 的两行里的累加结果。"
            "所以它一次写回四个相邻元素，16 字节。lane 8 到 11 的两对次序相反。",
        ),
        x=328,
        width=RIGHT - 328,
    )
    canvas.height = c_y + ROWS * high + 18
    return canvas


def _numbers(canvas: Canvas, x: float, y: float, wide: float) -> None:
    for col in range(COLS):
        canvas.text(x + (col + 0.5) * wide, y - 6, str(col), layout.SMALL, MUTED, "middle")


def _pairs(canvas: Canvas, x: float, y: float, high: float, wide: float, of_quads: Lanes, first: Lanes) -> None:
    """Eight rows of pairs of columns, each in its instruction's colour, and the lane of every pair."""
    parts.grid(canvas, x, y, ROWS, COLS, high, wide)
    for row in range(ROWS):
        for pair in range(COLS // 2):
            tone = FIRST if (row, pair) in first else SECOND
            parts.fill(canvas, x, y, [(row, pair * 2), (row, pair * 2 + 1)], high, wide, tone.middle)
            number = str(of_quads[row, pair // CHUNK_PAIRS])
            canvas.text(x + (pair * 2 + 1) * wide, y + row * high + high / 2 + 5, number, layout.SMALL, INK, "middle")
    canvas.line(x + 4 * wide, y, x + 4 * wide, y + ROWS * high, INK, 1)
    parts.frame(canvas, x, y, ROWS, COLS, high, wide)


def banks(language: str) -> Canvas:
    """Where in shared memory the lanes find the first instruction's pairs."""
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "sixteen lanes read a pair each from four rows of B without a conflict",
            "16 个 lane 从 B 的四行各读一对数，没有冲突",
        ),
        (
            "8 rows of a box in shared memory; a cell is two banks, a number a lane; strong: lanes 0 to 15, read together; "
            "empty: the pairs for the second instruction",
            "共享内存里一个 box 的 8 行；一格是两个 bank，数字是 lane；突出：lane 0 到 15，一起读；空白：给第二条指令的各对",
        ),
    )
    of_lanes, high, wide = loaded(), 27.0, 36.0
    x, y = MARGIN + (layout.INNER - PAIRS * wide) / 2, y + 16
    parts.grid(canvas, x, y, ROWS, PAIRS, high, wide)
    for together in (True, False):
        cells = [cell for cell, lane in of_lanes.items() if (lane < LANES_AT_ONCE) == together]
        parts.fill(canvas, x, y, cells, high, wide, B.middle if together else B.pale)
    for chunk in range(0, PAIRS + 1, CHUNK_PAIRS):
        canvas.line(x + chunk * wide, y, x + chunk * wide, y + ROWS * high, INK, 1)
    for (row, pair), lane in of_lanes.items():
        canvas.text(x + (pair + 0.5) * wide, y + row * high + high / 2 + 5, str(lane), layout.SMALL, INK, "middle")
    parts.frame(canvas, x, y, ROWS, PAIRS, high, wide)
    canvas.height = y + ROWS * high + 16
    return canvas
