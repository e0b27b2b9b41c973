"""Pictures of docs/tensor-cores: which lane holds which element, drawn from what the simulator traced."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.palette import INK, MUTED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say
from gemm_plots.figures.traces import Cell, Place, fragment

MMA, WMMA = "18_mma_naive", "15_wmma_tiled"  # the steps whose traces have these instructions
TINTS = ("#dfebf8", "#fcecd6", "#def2e8", "#ece6f8", "#f9dcda", "#d9f0f2", "#f3efcf", "#e8e3dc")  # by register


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
    """File name and drawing function of each picture."""
    yield "tensor-fragments", mma_fragments
    yield "ldmatrix", ldmatrix
    yield "wmma-fragments", wmma_fragments


def _matrix(canvas: Canvas, x: float, y: float, layout: dict[Cell, Place], unit: float, shown: int | None) -> None:
    """A tile with the lane's number on each register, a tint per register; `shown`: the lane drawn darker."""
    rows, cols = (1 + max(cell[i] for cell in layout) for i in (0, 1))
    parts.grid(canvas, x, y, rows, cols, unit, unit)
    for register in sorted({place[1] for place in layout.values()}):
        cells = [cell for cell, place in layout.items() if place[1] == register]
        parts.fill(canvas, x, y, cells, unit, unit, TINTS[register % len(TINTS)])
    if shown is not None:
        parts.fill(canvas, x, y, [c for c, place in layout.items() if place[0] == shown], unit, unit, "#3d4858")
    held: dict[tuple[int, int], list[Cell]] = {}
    for cell, (lane, register, _) in layout.items():
        held.setdefault((lane, register), []).append(cell)
    for (lane, _), cells in held.items():
        row, col = (sum(cell[i] for cell in cells) / len(cells) + 0.5 for i in (0, 1))
        ink = "#ffffff" if lane == shown else INK
        canvas.text(x + col * unit, y + row * unit + 3.5, str(lane), 9.5, ink, "middle")
        top, left, high, wide = parts.boxes(cells)[0]
        canvas.rect(x + left * unit, y + top * unit, wide * unit, high * unit, "none", "#ffffff", 0.8)
    for line in range(8, rows, 8):
        canvas.line(x, y + line * unit, x + cols * unit, y + line * unit, "#5b6675", 1.2)
    for line in range(8, cols, 8):
        canvas.line(x + line * unit, y, x + line * unit, y + rows * unit, "#5b6675", 1.2)
    parts.frame(canvas, x, y, rows, cols, unit, unit)


def _registers(canvas: Canvas, x: float, y: float, count: int, letter: str) -> None:
    parts.key(canvas, x, y, [(TINTS[i], f"{letter}{i}") for i in range(count)])


def mma_fragments(language: str) -> Canvas:
    """Who holds what of A, B and C in mma.m16n8k16."""
    canvas = Canvas(960, 520, say(language, "mma.m16n8k16: who holds what", "mma.m16n8k16：谁持有什么"))
    parts.heading(
        canvas,
        say(
            language,
            "each box is one register of two 16-bit elements: its lane's number, its colour the register; dark: lane 5",
            "每个小框是一个寄存器（两个 16 位元素）：数字为 lane，颜色为寄存器；深色为 lane 5",
        ),
    )
    unit, y = 24.0, 104.0
    for x, operand, name, tone, letter, count in (
        (30.0, "a", say(language, "A  16×16 (row, k)", "A  16×16（行，k）"), A, "a", 4),
        (456.0, "b", say(language, "B  16×8 (k, column)", "B  16×8（k，列）"), B, "b", 2),
        (704.0, "c", say(language, "C, D  16×8 (row, column), FP16", "C、D  16×8（行，列），FP16"), C, "c", 2),
    ):
        canvas.text(x, y - 12, name, 13.5, tone.ink, bold=True)
        _matrix(canvas, x, y, fragment(MMA, f"mma.m16n8k16.{operand}.16"), unit, 5)
        _registers(canvas, x, y + 16 * unit + 24, count, letter)
    return canvas


def ldmatrix(language: str) -> Canvas:
    """One 8×8 matrix of ldmatrix: the rows' addresses, and what the lanes hold without and with .trans."""
    canvas = Canvas(
        960, 400, say(language, "ldmatrix deals an 8×8 matrix to a warp", "ldmatrix 把 8×8 矩阵分发给 warp")
    )
    parts.heading(
        canvas,
        say(
            language,
            "lane r gives the address of row r, 16 bytes; then every lane holds two elements; numbers: "
            "lanes, dark: lane 5",
            "lane r 给出第 r 行（16 字节）的地址；之后每个 lane 持有两个元素；数字为 lane，深色为 lane 5",
        ),
    )
    unit, y = 30.0, 112.0
    canvas.text(60, y - 16, say(language, "in shared memory", "在共享内存中"), 13.5, bold=True)
    parts.grid(canvas, 60, y, 8, 8, unit, unit)
    for row in range(8):
        parts.fill(canvas, 60, y, [(row, c) for c in range(8)], unit, unit, A.pale if row % 2 else "#cfe0f4")
        canvas.text(60 - 8, y + (row + 0.5) * unit + 4, str(row), 11, MUTED, "end")
        text = say(language, f"row {row}: 16 bytes", f"第 {row} 行：16 字节")
        canvas.text(60 + 4 * unit, y + (row + 0.5) * unit + 4, text, 12, A.ink, "middle")
    parts.frame(canvas, 60, y, 8, 8, unit, unit)
    for x, name in ((364.0, "ldmatrix"), (664.0, "ldmatrix.trans")):
        canvas.text(x, y - 16, name, 13.5, bold=True, mono=True)
        _matrix(canvas, x, y, fragment(MMA, name), unit, 5)
    canvas.text(
        936,
        384,
        say(
            language,
            ".x4: four such matrices; lane 8i + r gives row r of matrix i, register i holds matrix i",
            ".x4：四个这样的矩阵；lane 8i + r 给出矩阵 i 的第 r 行，寄存器 i 存放矩阵 i",
        ),
        12.5,
        MUTED,
        "end",
    )
    return canvas


def wmma_fragments(language: str) -> Canvas:
    """The same for the WMMA interface, where the layout is the hardware's business."""
    canvas = Canvas(960, 452, say(language, "WMMA fragments are opaque", "WMMA 的 fragment 不透明"))
    parts.heading(
        canvas,
        say(
            language,
            "m16n16k16 as this compiler lays it out for sm_80 and later; no program may rely on it; dark: lane 5",
            "m16n16k16 在 sm_80 及以后由本编译器采用的布局；程序不得依赖它；深色为 lane 5",
        ),
    )
    unit, y = 18.0, 106.0
    for x, operand, name, tone in (
        (24.0, "a", "matrix_a", A),
        (336.0, "b", "matrix_b", B),
        (648.0, "c", say(language, "accumulator, FP16", "accumulator，FP16"), C),
    ):
        canvas.text(x, y - 12, name, 13.5, tone.ink, bold=True, mono=operand != "c")
        layout = fragment(WMMA, f"wmma.m16n16k16.{operand}.16")
        _matrix(canvas, x, y, layout, unit, 5)
        _registers(canvas, x, y + 16 * unit + 24, 1 + max(p[1] for p in layout.values()), "")
    return canvas
