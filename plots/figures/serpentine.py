"""Step 11: the order in which a thread walks its results, and which operand each FMA shares with the one before."""

import itertools
from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.geometry import warp_tiling
from plots.figures.palette import INK, MUTED, RED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say
from plots.figures.traces import Cell

UNIT = 18.0


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "11_warp_tiling-serpentine", serpentine


def walk(rows: int, cols: int, back: bool) -> list[Cell]:
    """The results in the order of their FMAs. `back`: along one row and back along the next, as the kernel does."""
    return [(i, cols - 1 - step if back and i % 2 else step) for i in range(rows) for step in range(cols)]


def kept(order: list[Cell]) -> tuple[int, int, int]:
    """How many FMAs share a, b and neither with the one before."""
    a = sum(one[0] == two[0] for one, two in itertools.pairwise(order))
    b = sum(one[1] == two[1] for one, two in itertools.pairwise(order))
    return a, b, len(order) - 1 - a - b


def serpentine(language: str) -> Canvas:
    """Two orders of the same FMAs side by side, and the turn between two rows magnified."""
    kernel = warp_tiling()
    thread = kernel.computes[0]
    rows, cols = (len({cell[i] for cell in thread}) for i in (0, 1))
    canvas, top = layout.of_step(
        "11_warp_tiling",
        language,
        ("in a serpentine every FMA keeps an operand", "蛇形次序：每条 FMA 都留住一个操作数"),
        (
            f"one k of a thread: {rows}×{cols} results; BM = {kernel.bm}, BN = {kernel.bn}, BK = {kernel.bk}",
            f"一个线程的一个 k：{rows}×{cols} 个结果；BM = {kernel.bm}，BN = {kernel.bn}，BK = {kernel.bk}",
        ),
    )
    y = top + 58
    for x, back in ((90.0, False), (386.0, True)):
        order = walk(rows, cols, back)
        plain = say(language, "row by row (no_serpentine)", "逐行（变体 no_serpentine）")
        name = say(language, "the serpentine", "蛇形") if back else plain
        canvas.text(x - UNIT - 6, top + 20, name, layout.SMALL, C.ink if back else RED, bold=True)
        _walk(canvas, x, y, order, rows, cols)
        a, b, neither = kept(order)
        under = y + rows * UNIT + 24
        for line, (words, ink) in enumerate(
            (
                (say(language, f"{a} moves keep a", f"{a} 步留住 a"), A.ink),
                (say(language, f"{b} keep b", f"{b} 步留住 b"), B.ink),
                (say(language, f"{neither} keep nothing", f"{neither} 步什么都没留住"), RED if neither else C.ink),
            )
        ):
            canvas.text(x, under + 20 * line, words, layout.SMALL, ink, bold=True)
    canvas.height = _turn(canvas, y + rows * UNIT + 106, cols, language)
    return canvas


def _walk(canvas: Canvas, x: float, top: float, order: list[Cell], rows: int, cols: int) -> None:
    """The thread tile with its operands beside it, and the way through it; moves that keep nothing are red."""
    for row in range(rows):
        canvas.rect(x - UNIT - 6, top + row * UNIT, UNIT - 1, UNIT - 1, A.middle)
        canvas.text(x - 6 - UNIT / 2 - 0.5, top + (row + 0.5) * UNIT + 4.5, str(row), layout.SMALL, A.ink, "middle")
    for col in range(cols):
        canvas.rect(x + col * UNIT, top - UNIT - 6, UNIT - 1, UNIT - 1, B.middle)
        canvas.text(x + (col + 0.5) * UNIT - 0.5, top - 6 - UNIT / 2 + 4, str(col), layout.SMALL, B.ink, "middle")
    canvas.text(x - UNIT - 12, top + UNIT * rows / 2 + 4, "a", layout.SMALL, A.ink, "end", bold=True)
    canvas.text(x + UNIT * cols + 8, top - UNIT / 2 - 2, "b", layout.SMALL, B.ink, bold=True)
    parts.grid(canvas, x, top, rows, cols, UNIT, UNIT)
    parts.fill(canvas, x, top, order, UNIT, UNIT, C.pale)
    places = [(x + (col + 0.5) * UNIT, top + (row + 0.5) * UNIT) for row, col in order]
    for (one, two), (start, end) in zip(itertools.pairwise(order), itertools.pairwise(places), strict=True):
        lost = one[0] != two[0] and one[1] != two[1]
        turns = one[1] == two[1]
        canvas.line(
            *start, *end, RED if lost else B.strong if turns else A.strong, 1.2 if lost else 2.6 if turns else 2
        )
    canvas.circle(*places[0], 3.6, INK)
    canvas.arrow(*places[-2], *places[-1], A.strong, 2)
    parts.frame(canvas, x, top, rows, cols, UNIT, UNIT)


def _turn(canvas: Canvas, y: float, cols: int, language: str) -> float:
    """Four FMAs around the first turn, with the operand that each keeps; returns the y under them."""
    x = layout.MARGIN
    canvas.text(x, y, say(language, "the first turn", "第一次折返"), layout.SMALL, C.ink, bold=True)
    last = cols - 1
    around = [(0, last - 1), (0, last), (1, last), (1, last - 1)]
    for line, (row, col) in enumerate(around):
        top = y + 16 + line * 50
        canvas.text(x, top + 17, f"acc[{row}][{col}] +=", layout.SMALL, INK, mono=True)
        before = around[line - 1] if line else None
        for left, name, tone, same in (
            (x + 124, f"a[{row}]", A, before is not None and before[0] == row),
            (x + 202, f"b[{col}]", B, before is not None and before[1] == col),
        ):
            canvas.rect(left, top, 58, 24, tone.strong if same else tone.pale, tone.strong)
            canvas.text(
                left + 29, top + 17, name, layout.SMALL, "#ffffff" if same else tone.ink, "middle", same, mono=True
            )
            if same:
                canvas.arrow(left + 29, top - 25, left + 29, top - 3, tone.strong, 2)
        canvas.text(x + 192, top + 17, "·", layout.SMALL, INK, "middle", bold=True)
    right = x + 292
    dark = "strong: kept in the reuse cache", "突出：留在 reuse 缓存里"
    under = layout.paragraph(canvas, y + 32, language, dark, layout.SMALL, right, layout.RIGHT - right, bold=True)
    why = (
        "An FMA reads three registers. The register file has two register banks and gives one register of each per cycle. "
        "With a or b kept, the other two take one cycle if they lie in different banks.",
        "一条 FMA 读三个寄存器，而寄存器堆分成两个寄存器 bank，每周期各给出一个。"
        "留住 a 或 b 之后，另外两个只要分属两个 bank，一个周期就读得完。",
    )
    layout.paragraph(canvas, under + 8, language, why, layout.SMALL, right, layout.RIGHT - right, 1.5, MUTED)
    return y + 16 + 4 * 50
