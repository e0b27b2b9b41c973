"""Pictures of docs/tensor-cores: which lane holds which element, drawn from what the simulator traced."""

from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.palette import DARK, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say
from plots.figures.traces import Cell, Place, fragment

MMA, WMMA = "18_mma_naive", "15_wmma_tiled"  # the steps whose traces have these instructions
SHOWN = 5  # the lane that is dark
TINTS = ("#dfebf8", "#fcecd6", "#def2e8", "#ece6f8", "#f9dcda", "#d9f0f2", "#f3efcf", "#e8e3dc")  # by register


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "tensor-fragments", mma_fragments
    yield "ldmatrix", ldmatrix
    yield "wmma-fragments", wmma_fragments


def _matrix(canvas: Canvas, x: float, y: float, held_by: dict[Cell, Place], height: float, width: float) -> None:
    """A tile with the lane's number on each register, a tint per register; one lane is darker."""
    rows, cols = (1 + max(cell[i] for cell in held_by) for i in (0, 1))
    parts.grid(canvas, x, y, rows, cols, height, width)
    for register in sorted({place[1] for place in held_by.values()}):
        cells = [cell for cell, place in held_by.items() if place[1] == register]
        parts.fill(canvas, x, y, cells, height, width, TINTS[register % len(TINTS)])
    parts.fill(canvas, x, y, [c for c, place in held_by.items() if place[0] == SHOWN], height, width, DARK)
    held: dict[tuple[int, int], list[Cell]] = {}
    for cell, (lane, register, _) in held_by.items():
        held.setdefault((lane, register), []).append(cell)
    for (lane, _), cells in held.items():
        row, col = (sum(cell[i] for cell in cells) / len(cells) + 0.5 for i in (0, 1))
        ink = "#ffffff" if lane == SHOWN else INK
        canvas.text(x + col * width, y + row * height + 5, str(lane), layout.SMALL, ink, "middle")
        parts.outline(canvas, x, y, cells, height, width, "#ffffff", 0.8)
    for line in range(8, rows, 8):
        canvas.line(x, y + line * height, x + cols * width, y + line * height, MUTED, 1.2)
    for line in range(8, cols, 8):
        canvas.line(x + line * width, y, x + line * width, y + rows * height, MUTED, 1.2)
    parts.frame(canvas, x, y, rows, cols, height, width)


def _registers(canvas: Canvas, x: float, y: float, count: int, letter: str) -> None:
    layout.legend(canvas, y, "en", [(TINTS[i], (f"{letter}{i}",) * 2) for i in range(count)], x)


def mma_fragments(language: str) -> Canvas:
    """Who holds what of A, B and C in mma.m16n8k16."""
    canvas, y = layout.page(
        language,
        ("mma.m16n8k16: a register holds two neighbouring elements", "mma.m16n8k16：一个寄存器存两个相邻元素"),
        (
            "each box is one register of two 16-bit elements: its lane's number, its colour the register; strong: lane 5",
            "每个小框是一个寄存器（两个 16 位元素）：数字为 lane，颜色为寄存器；突出的是 lane 5",
        ),
    )
    unit = 25.0
    half = layout.MARGIN + 12 * unit
    for x, top, operand, name, tone, letter, count in (
        (layout.MARGIN, y + 36, "a", ("A  16×16 (row, k)", "A  16×16（行，k）"), A, "a", 4),
        (layout.MARGIN, y + 510, "b", ("B  16×8 (k, column)", "B  16×8（k，列）"), B, "b", 2),
        (half, y + 510, "c", ("C, D  16×8 (row, column), FP16", "C、D  16×8（行，列），FP16"), C, "c", 2),
    ):
        canvas.text(x, top - 11, say(language, *name), layout.SMALL, tone.ink, bold=True)
        _matrix(canvas, x, top, fragment(MMA, f"mma.m16n8k16.{operand}.16"), unit, unit)
        _registers(canvas, x, top + 16 * unit + 24, count, letter)
    canvas.height = y + 510 + 16 * unit + 42
    return canvas


def ldmatrix(language: str) -> Canvas:
    """One 8×8 matrix of ldmatrix: the rows' addresses, and what the lanes hold without and with .trans."""
    canvas, y = layout.page(
        language,
        ("ldmatrix deals an 8×8 matrix to a warp", "ldmatrix 把 8×8 矩阵分发给 warp"),
        (
            "lane r gives the address of row r, 16 bytes; then every lane holds two elements; numbers: lanes, strong: "
            "lane 5",
            "lane r 给出第 r 行（16 字节）的地址；之后每个 lane 持有两个元素；数字为 lane，突出的是 lane 5",
        ),
    )
    unit, left, top = 32.0, layout.MARGIN + 22, y + 38
    canvas.text(left, top - 13, say(language, "in shared memory", "在共享内存中"), bold=True)
    parts.grid(canvas, left, top, 8, 8, unit, unit)
    for row in range(8):
        parts.fill(canvas, left, top, [(row, c) for c in range(8)], unit, unit, A.pale if row % 2 else "#cfe0f4")
        canvas.text(left - 8, top + (row + 0.5) * unit + 5, str(row), layout.SMALL, MUTED, "end")
        text = say(language, f"row {row}: 16 bytes", f"第 {row} 行：16 字节")
        canvas.text(left + 4 * unit, top + (row + 0.5) * unit + 5, text, layout.SMALL, A.ink, "middle")
    parts.frame(canvas, left, top, 8, 8, unit, unit)
    words = (
        ".x4: four such matrices; lane 8i + r gives row r of matrix i, register i holds matrix i",
        ".x4：四个这样的矩阵；lane 8i + r 给出矩阵 i 的第 r 行，寄存器 i 存放矩阵 i",
    )
    right = left + 8 * unit + 36
    layout.paragraph(canvas, top + 90, language, words, layout.SMALL, right, layout.RIGHT - right, 1.5, MUTED)
    top += 8 * unit + 46
    for x, name in ((left, "ldmatrix"), (layout.RIGHT - 8 * unit, "ldmatrix.trans")):
        canvas.text(x, top - 13, name, bold=True, mono=True)
        _matrix(canvas, x, top, fragment(MMA, name), unit, unit)
    canvas.height = top + 8 * unit + 22
    return canvas


def wmma_fragments(language: str) -> Canvas:
    """The same for the WMMA interface, where the layout is the hardware's business."""
    canvas, y = layout.page(
        language,
        ("WMMA fragments are opaque", "WMMA 的 fragment 不透明"),
        (
            "m16n16k16 as this compiler lays it out for sm_80 and later; no program may rely on it; strong: lane 5",
            "m16n16k16 在 sm_80 及以后由本编译器采用的布局；程序不得依赖它；突出的是 lane 5",
        ),
    )
    narrow, wide, high = 18.0, 24.0, 24.0
    right, under = layout.RIGHT - 16 * narrow, y + 16 * high + 96
    for x, top, width, operand, name, tone in (
        (layout.MARGIN, y + 34, narrow, "a", "matrix_a", A),
        (right, y + 34, narrow, "c", say(language, "accumulator, FP16", "accumulator，FP16"), C),
        (layout.MARGIN, under, wide, "b", "matrix_b", B),
    ):
        canvas.text(x, top - 11, name, layout.SMALL, tone.ink, bold=True, mono=operand != "c")
        found = fragment(WMMA, f"wmma.m16n16k16.{operand}.16")
        _matrix(canvas, x, top, found, high, width)
        _registers(canvas, x, top + 16 * high + 22, 1 + max(place[1] for place in found.values()), "")
    canvas.height = under + 16 * high + 40
    return canvas
