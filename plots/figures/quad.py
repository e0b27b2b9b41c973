"""Step 20's store: how the four lanes of a quad transpose their pairs of sums in two rounds."""

from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.layout import MARGIN, RIGHT
from plots.figures.palette import INK, MUTED, WARPS
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "20_mma_warp_swizzle"
LANES = 4  # of a quad; also the instructions, and the registers of a lane
COLOURS = (WARPS[0], WARPS[1], WARPS[2], WARPS[4])  # by instruction
CELL, HIGH = 34.0, 30.0

Pairs = list[list[int]]  # [register][lane]: which pair of the row of C it is
Swaps = list[tuple[tuple[int, int], tuple[int, int]]]  # places (register, lane) that change their pairs


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-quad", transposition


def rounds() -> list[tuple[Pairs, Swaps]]:
    """The pairs before each round and what the round exchanges; at last the pairs behind both.

    As transpose_in_quad does: exchange(v[low], v[high], lane, bit), where the lane without the bit gives its v[high].
    """
    pairs = [[LANES * register + lane for lane in range(LANES)] for register in range(LANES)]
    found: list[tuple[Pairs, Swaps]] = []
    for bit in (1, 2):
        swaps = [((low | bit, lane), (low, lane | bit)) for low in range(LANES) if not low & bit
                 for lane in range(LANES) if not lane & bit]  # fmt: skip
        found.append(([list(row) for row in pairs], swaps))
        for (r, s), (u, v) in swaps:
            pairs[r][s], pairs[u][v] = pairs[u][v], pairs[r][s]
    assert all(pairs[r][lane] == LANES * lane + r for r in range(LANES) for lane in range(LANES))
    return [*found, (pairs, [])]


def transposition(language: str) -> Canvas:
    """The pairs of a quad before, between and behind the two rounds, and what a lane stores of the row of C."""
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "two rounds of exchange give each lane 16 neighbouring bytes of C",
            "互换两轮，每个 lane 就有 C 的 16 个相邻字节",
        ),
        (
            "a cell is a register of a lane, a pair of sums; its number is the pair's place in the row of C; a colour is an instruction; circles: exchanged",
            "一格是一个 lane 的一个寄存器，放一对累加结果；数字是这一对在 C 的一行里的位置；一种颜色是一条指令；圆圈：要互换的",
        ),
    )
    steps = rounds()
    headings = (("as computed", "算出来时"), ("after round 1", "第 1 轮之后"), ("after round 2", "第 2 轮之后"))
    partners = (
        ("swap 0 with 1, 2 with 3", "互换 0 与 1，2 与 3"),
        ("swap 0 with 2, 1 with 3", "互换 0 与 2，1 与 3"),
    )
    gap = (layout.INNER - 30 - 3 * LANES * CELL) / 2
    y += 62
    for number, ((pairs, swaps), heading) in enumerate(zip(steps, headings, strict=True)):
        x = MARGIN + 30 + number * (LANES * CELL + gap)
        canvas.text(x, y - 30, say(language, *heading), bold=True)
        if number == 0:
            canvas.text(MARGIN - 8, y - 8, "lane", layout.SMALL, MUTED)
        for lane in range(LANES):
            canvas.text(x + (lane + 0.5) * CELL, y - 8, str(lane), layout.SMALL, MUTED, "middle")
        for register in range(LANES):
            for lane in range(LANES):
                colour = COLOURS[pairs[register][lane] // LANES]
                parts.fill(canvas, x, y, [(register, lane)], HIGH, CELL, colour)
        _swaps(canvas, x, y, swaps)
        for register in range(LANES):
            if number == 0:
                canvas.text(MARGIN, y + (register + 0.5) * HIGH + 5, f"v{register}", layout.SMALL, MUTED)
            for lane in range(LANES):
                left, top = x + (lane + 0.5) * CELL, y + (register + 0.5) * HIGH + 5
                canvas.text(left, top, str(pairs[register][lane]), layout.SMALL, INK, "middle", bold=lane == 0)
        parts.frame(canvas, x, y, LANES, LANES, HIGH, CELL)
        parts.outline(canvas, x, y, [(r, 0) for r in range(LANES)], HIGH, CELL, INK, 2.2)
        if swaps:
            canvas.text(x, y + LANES * HIGH + 22, say(language, *partners[number]), layout.SMALL, MUTED)
            canvas.arrow(x + LANES * CELL + 10, y + 2 * HIGH, x + LANES * CELL + gap - 10, y + 2 * HIGH, MUTED)
    y += LANES * HIGH + 62
    for words, stores in (
        (("lane 0 without it: four stores of 4 bytes", "不转置：lane 0 写四次，每次 4 字节"), steps[0][0]),
        (("lane 0 after it: one store of 16 bytes", "转置后：lane 0 写一次，16 字节"), steps[-1][0]),
    ):
        canvas.text(MARGIN, y, say(language, *words), bold=True)
        wide = layout.INNER / LANES**2
        mine = [(0, stores[r][0]) for r in range(LANES)]
        for pair in range(LANES**2):
            parts.fill(canvas, MARGIN, y + 10, [(0, pair)], HIGH, wide, COLOURS[pair // LANES])
            canvas.text(MARGIN + (pair + 0.5) * wide, y + 10 + HIGH / 2 + 5, str(pair), layout.SMALL, INK, "middle")
        parts.frame(canvas, MARGIN, y + 10, 1, LANES**2, HIGH, wide)
        parts.outline(canvas, MARGIN, y + 10, mine, HIGH, wide, INK, 2.2)
        y += 10 + HIGH + 32
    canvas.text(RIGHT, y - 12, say(language, "a row of C, 32 columns", "C 的一行，32 列"), layout.SMALL, MUTED, "end")
    canvas.height = y + 4
    return canvas


def _swaps(canvas: Canvas, x: float, y: float, swaps: Swaps) -> None:
    """The places whose pairs change: neighbours with a line between them, blocks with a frame."""
    if not swaps:
        return
    for places in swaps:
        for register, lane in places:
            canvas.circle(x + (lane + 0.5) * CELL, y + (register + 0.5) * HIGH, 11, "#ffffff")
    one, other = swaps[0]
    if other[1] - one[1] > 1:  # whole blocks change places
        half = LANES // 2
        for col, row in ((0, half), (half, 0)):
            left, top = x + col * CELL + 3, y + row * HIGH + 3
            canvas.rect(left, top, half * CELL - 6, half * HIGH - 6, "none", INK, 1.6, radius=8)
        swaps = []
    for (row, _), (_, col) in swaps:
        at_x, at_y = x + col * CELL, y + row * HIGH
        canvas.line(at_x - 8, at_y + 7, at_x + 8, at_y - 7, INK, 2)
