"""Step 11: the order in which a thread walks its results, and which operand each FMA shares with the one before."""

import itertools
from collections.abc import Callable, Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.geometry import warp_tiling
from gemm_plots.figures.palette import INK, MUTED, RED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say
from gemm_plots.figures.traces import Cell

UNIT = 17.0
TOP = 122.0


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
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
    canvas = parts.of_step(
        "11_warp_tiling",
        470,
        language,
        ("in a serpentine every FMA keeps an operand", "蛇形次序：每条 FMA 都留住一个操作数"),
        (
            f"one k of a thread: TM×TN = {rows}×{cols} results, in a block tile of BM×BN = {kernel.bm}×{kernel.bn}, "
            f"BK = {kernel.bk}",
            f"一个线程的一个 k：TM×TN = {rows}×{cols} 个结果，线程块分块 BM×BN = {kernel.bm}×{kernel.bn}，BK = {kernel.bk}",
        ),
    )
    for x, back in ((66.0, False), (330.0, True)):
        order = walk(rows, cols, back)
        plain = say(language, "row by row (no_serpentine)", "逐行（变体 no_serpentine）")
        name = say(language, "the serpentine", "蛇形") if back else plain
        canvas.text(x, 88, name, 15, C.ink if back else RED, bold=True)
        _walk(canvas, x, order, rows, cols)
        a, b, neither = kept(order)
        y = TOP + rows * UNIT + 24
        canvas.text(x, y, say(language, f"{a} moves keep a", f"{a} 步留住 a"), 13, A.ink, bold=True)
        canvas.text(x + 142, y, say(language, f"{b} keep b", f"{b} 步留住 b"), 13, B.ink, bold=True)
        lost = say(language, f"{neither} keep nothing", f"{neither} 步什么都没留住")
        canvas.text(x, y + 20, lost, 13, RED if neither else C.ink, bold=True)
    _turn(canvas, 596, cols, language)
    return canvas


def _walk(canvas: Canvas, x: float, order: list[Cell], rows: int, cols: int) -> None:
    """The thread tile with its operands beside it, and the way through it; moves that keep nothing are red."""
    for row in range(rows):
        canvas.rect(x - UNIT - 6, TOP + row * UNIT, UNIT - 1, UNIT - 1, A.middle)
        canvas.text(x - 6 - UNIT / 2 - 0.5, TOP + (row + 0.5) * UNIT + 3.5, str(row), 9.5, A.ink, "middle")
    for col in range(cols):
        canvas.rect(x + col * UNIT, TOP - UNIT - 6, UNIT - 1, UNIT - 1, B.middle)
        canvas.text(x + (col + 0.5) * UNIT - 0.5, TOP - 6 - UNIT / 2 + 3, str(col), 9.5, B.ink, "middle")
    canvas.text(x - UNIT - 12, TOP + UNIT * rows / 2 + 4, "a", 13, A.ink, "end", bold=True)
    canvas.text(x + UNIT * cols + 8, TOP - UNIT / 2 - 2, "b", 13, B.ink, bold=True)
    parts.grid(canvas, x, TOP, rows, cols, UNIT, UNIT)
    parts.fill(canvas, x, TOP, order, UNIT, UNIT, C.pale)
    places = [(x + (col + 0.5) * UNIT, TOP + (row + 0.5) * UNIT) for row, col in order]
    for (one, two), (start, end) in zip(itertools.pairwise(order), itertools.pairwise(places), strict=True):
        lost = one[0] != two[0] and one[1] != two[1]
        turns = one[1] == two[1]
        canvas.line(
            *start, *end, RED if lost else B.strong if turns else A.strong, 1.2 if lost else 2.6 if turns else 2
        )
    canvas.circle(*places[0], 3.6, INK)
    canvas.arrow(*places[-2], *places[-1], A.strong, 2)
    parts.frame(canvas, x, TOP, rows, cols, UNIT, UNIT)


def _turn(canvas: Canvas, x: float, cols: int, language: str) -> None:
    """Four FMAs around the first turn, with the operand that each keeps."""
    canvas.text(x, 88, say(language, "the first turn", "第一次折返"), 15, C.ink, bold=True)
    last = cols - 1
    around = [(0, last - 1), (0, last), (1, last), (1, last - 1)]
    for line, (row, col) in enumerate(around):
        y = TOP - 8 + line * 52
        canvas.text(x, y + 15, f"acc[{row}][{col}] +=", 12.5, INK, mono=True)
        before = around[line - 1] if line else None
        for left, name, tone, same in (
            (x + 132, f"a[{row}]", A, before is not None and before[0] == row),
            (x + 212, f"b[{col}]", B, before is not None and before[1] == col),
        ):
            canvas.rect(left, y, 58, 22, tone.strong if same else tone.pale, tone.strong)
            canvas.text(left + 29, y + 15, name, 12.5, "#ffffff" if same else tone.ink, "middle", same, mono=True)
            if same:
                canvas.arrow(left + 29, y - 28, left + 29, y - 3, tone.strong, 2)
        canvas.text(x + 201, y + 15, "·", 15, INK, "middle", bold=True)
    canvas.lines(
        x,
        344,
        (
            say(language, "dark: kept in the reuse cache", "深色：留在 reuse cache 里"),
            say(
                language,
                "An FMA reads three registers. The register file",
                "一条 FMA 读三个寄存器，而寄存器堆有两个 bank，",
            ),
            say(language, "has two banks and gives one register of each", "每周期各给出一个。留住一个操作数之后，"),
            say(language, "per cycle. With one operand kept, the other two", "另外两个只要在不同的 bank 里，"),
            say(language, "take one cycle if they lie in different banks.", "一个周期就读得完。"),
        ),
        12.5,
        1.5,
        fill=MUTED,
    )
