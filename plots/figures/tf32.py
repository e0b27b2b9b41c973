"""The picture of step 30: which lane takes which part of a row of B, and which part of a row of C it has then."""

from collections.abc import Iterable

from plots.figures import layout, parts, traces
from plots.figures.layout import MARGIN
from plots.figures.palette import INK, MUTED, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "30_tf32"
LOADS = ("load_shared_x2(b_frag[i], ", "load_shared_x2(b_frag[i] + 2, ")
ROW_BYTES, PAIR_BYTES, PAIRS, ROWS = 128, 8, 16, 8
WIDE, HIGH = 36.0, 27.0
LANES_AT_ONCE = 16

Lanes = dict[tuple[int, int], int]  # by row and pair


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-lanes", lanes


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


def stored() -> Lanes:
    """Which lane stores which pair of the first eight rows of C."""
    found: Lanes = {}
    for _, by_lane in traces.requests(STEP, traces.C)[:2]:
        for lane, elements in enumerate(by_lane):
            found |= {(row, col // 2): lane for row, col in elements}
    return found


def lanes(language: str) -> Canvas:
    """Eight rows of a box of B, and of the same columns of C."""
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "sixteen lanes take a pair each from four rows of B without a conflict",
            "16 个 lane 从 B 的四行各取一对数，没有冲突",
        ),
        (
            "a number is a lane, a cell two banks; dark: lanes 0 to 15, which are served together",
            "数字是 lane，一格是两个 bank；深色：lane 0 到 15，一次读完",
        ),
    )
    first, rows_of_c = loaded(), stored()
    canvas.text(MARGIN, y + 26, say(language, "a box of B in shared memory, 8 of k by 32 columns", "共享内存中 B 的一个 box：8 个 k × 32 列"), 15, B.ink, bold=True)  # fmt: skip
    y = layout.paragraph(
        canvas,
        y + 46,
        language,
        (
            "The upper four rows are one load, the lower four another. With a number: for the first instruction; empty: for the second.",
            "上面四行是一次读，下面四行是另一次。有数字的给第一条指令，空白的给第二条。",
        ),
        13.5,
        fill=MUTED,
    )
    _rows(canvas, y, first, B)
    y += ROWS * HIGH
    canvas.text(MARGIN, y + 34, say(language, "the same columns of C, 8 rows, as lanes store them", "同样这些列的 C，8 行，按 lane 写回的样子"), 15, C.ink, bold=True)  # fmt: skip
    y = layout.paragraph(
        canvas,
        y + 54,
        language,
        (
            "Each lane has both pairs of a quad, one from each instruction, and stores them at once: 16 bytes.",
            "每个 lane 有一组四个数的两对，分别来自两条指令，一次写回 16 字节。",
        ),
        13.5,
        fill=MUTED,
    )
    _rows(canvas, y, rows_of_c, C, quads=True)
    canvas.height = y + ROWS * HIGH + 16
    return canvas


def _rows(canvas: Canvas, y: float, of_lanes: Lanes, tone: Tone, quads: bool = False) -> None:
    x = MARGIN + (layout.INNER - PAIRS * WIDE) / 2
    parts.grid(canvas, x, y, ROWS, PAIRS, HIGH, WIDE)
    for first in (True, False):
        cells = [cell for cell, lane in of_lanes.items() if (lane < LANES_AT_ONCE) == first]
        parts.fill(canvas, x, y, cells, HIGH, WIDE, tone.middle if first else tone.pale)
    for quad in range(0, PAIRS + 1, 2):
        canvas.line(x + quad * WIDE, y, x + quad * WIDE, y + ROWS * HIGH, INK, 1)
    for (row, pair), lane in of_lanes.items():
        if quads and pair % 2:
            continue
        left = x + (pair + (1.0 if quads else 0.5)) * WIDE
        canvas.text(left, y + row * HIGH + HIGH / 2 + 5, str(lane), 13.5, INK, "middle")
    parts.frame(canvas, x, y, ROWS, PAIRS, HIGH, WIDE)
