"""The hierarchy of tiles: the matrix, a block's tile, a warp's, a thread's, each a magnified cell of the one before."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, parts
from plots.figures.geometry import WARP, Cell, Kernel, warp_tiling
from plots.figures.palette import BOX, INK, MUTED, C
from plots.figures.svg import Canvas, Draw, text_width
from plots.figures.text import say

SIDE, GAP = 200.0, 46.0  # of the largest panel; from one panel to the next
NOTES = 256.0  # where the words begin


@dataclass(frozen=True)
class Level:
    """One panel: a square of rows × cols cells, some coloured, one region magnified in the next panel."""

    name: str
    size: str
    rows: int
    cols: int
    every: int
    colours: tuple[tuple[str, tuple[Cell, ...]], ...]
    zoom: tuple[int, int, int, int] | None  # row, column, height, width
    notes: tuple[str, ...]


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "tiling-hierarchy", hierarchy


def hierarchy(language: str) -> Canvas:
    """C, the tile of a block, of a warp, of a thread, with the place of each tile's operands."""
    canvas, y = layout.page(
        language,
        ("Smaller tiles in larger ones, each nearer to the FMAs", "大分块里套小分块，一层比一层靠近 FMA"),
        (
            "the larger a tile, the more often each float is used before it must be read again",
            "分块越大，A、B 的每个数读一次能用的次数越多",
        ),
    )
    _panels(canvas, y + 8, levels(warp_tiling(), language))
    return canvas


def levels(kernel: Kernel, language: str) -> list[Level]:
    """C, the block's tile, the warp's, the thread's."""
    blocks = 6
    across = blocks * kernel.bm // kernel.bn
    middle = (across - 1) // 2
    thread = sorted(kernel.computes[0])
    rows, cols = len({r for r, _ in thread}), len({c for _, c in thread})
    warps = kernel.threads // WARP
    warp_cells = [[cell for t in range(w * WARP, w * WARP + WARP) for cell in kernel.computes[t]] for w in range(warps)]
    first = warp_cells[0]
    height, width = max(r for r, _ in first) + 1, max(c for _, c in first) + 1
    per_k, per_warp = kernel.bm + kernel.bn, height + width
    uses, warp_uses = f"{kernel.bm * kernel.bn / per_k:.1f}", f"{height * width / per_warp:g}"
    return [
        Level(
            "C",
            say(language, "a grid of blocks", "由线程块铺满"),
            blocks,
            across,
            1,
            ((C.middle, ((1, middle),)),),
            (1, middle, 1, 1),
            (
                say(language, "one block computes one tile", "一个线程块算一个分块"),
                say(language, "operands in global memory", "操作数在全局内存"),
            ),
        ),
        Level(
            say(language, "block tile", "block tile"),
            f"{kernel.bm}×{kernel.bn}",
            kernel.bm,
            kernel.bn,
            16,
            tuple((_shade(cells, height, width), tuple(cells)) for cells in warp_cells),
            (0, 0, height, width),
            (
                say(language, f"{warps} warps", f"{warps} 个 warp"),
                say(
                    language, f"per k: {kernel.bm} + {kernel.bn} floats", f"每个 k：{kernel.bm} + {kernel.bn} 个 float"
                ),
                say(language, f"{uses} FMAs per float of A and B", f"每个全局 float 用于 {uses} 次 FMA"),
                say(language, "operands in shared memory", "操作数在共享内存"),
            ),
        ),
        Level(
            say(language, "warp tile", "warp tile"),
            f"{height}×{width}",
            height,
            width,
            4,
            ((C.pale, tuple(first)), (C.strong, tuple(thread))),
            None,
            (
                say(language, "32 lanes; strong: lane 0", "32 个 lane；突出的是 lane 0"),
                say(language, f"per k: {height} + {width} floats", f"每个 k：{height} + {width} 个 float"),
                say(language, f"{warp_uses} FMAs per float", f"每个 float 用于 {warp_uses} 次 FMA"),
                say(language, "operands read from shared memory", "操作数从共享内存读取"),
            ),
        ),
        Level(
            say(language, "thread tile", "thread tile"),
            f"{rows}×{cols}",
            rows,
            cols,
            4,
            ((C.middle, tuple((r, c) for r in range(rows) for c in range(cols))),),
            None,
            (
                say(language, f"{rows * cols} accumulators in registers", f"{rows * cols} 个累加器在寄存器中"),
                say(
                    language,
                    f"per k: {(rows + cols) // 4} float4 reads, {rows * cols} FMAs",
                    f"每个 k：{(rows + cols) // 4} 次 float4 读，{rows * cols} 次 FMA",
                ),
                say(language, "operands and results in registers", "操作数与结果在寄存器"),
            ),
        ),
    ]


def _shade(cells: list[Cell], height: int, width: int) -> str:
    """A warp's colour in its block's tile: the first stands out, neighbours among the others differ."""
    row, col = min(cells)
    place = row // height + col // width
    return C.middle if (row, col) == (0, 0) else C.pale if place % 2 else BOX


def _panels(canvas: Canvas, y: float, found: list[Level]) -> None:
    """The panels one below the other, the words beside them; dashed lines lead from a cell to its magnification."""
    x = layout.MARGIN
    for index, level in enumerate(found):
        # Only the matrix has cells that are not square: they are blocks.
        height = SIDE / (max(level.rows, level.cols) if index else level.rows)
        width = height if index else SIDE / level.cols
        bottom, right = y + height * level.rows, x + width * level.cols
        canvas.text(NOTES, y + 16, level.name, layout.SMALL, INK, bold=True)
        canvas.text(NOTES + text_width(level.name, bold=True) * 1.1 + 10, y + 16, level.size, layout.SMALL, MUTED)
        canvas.lines(NOTES, y + 40, level.notes, 1.5, fill=INK)
        parts.grid(canvas, x, y, level.rows, level.cols, height, width, level.every)
        for colour, cells in level.colours:
            parts.fill(canvas, x, y, cells, height, width, colour)
        _lines(canvas, x, y, level, height, width, "#ffffff" if index else "#c3ccd7")
        parts.frame(canvas, x, y, level.rows, level.cols, height, width)
        if level.zoom:
            row, col, high, wide = level.zoom
            left, top = x + col * width, y + row * height
            canvas.rect(left, top, wide * width, high * height, "none", INK, 2)
            for start, end in ((left, x), (left + wide * width, x + SIDE)):
                canvas.line(start, top + high * height, end, bottom + GAP, INK, 0.9, "4 3")
        elif index + 1 < len(found):
            canvas.arrow((x + right) / 2, bottom + 8, (x + right) / 2, bottom + GAP - 8, INK, 1.6)
        y = bottom + GAP
    canvas.height = y - GAP + 24


def _lines(canvas: Canvas, x: float, y: float, level: Level, height: float, width: float, colour: str) -> None:
    """Every few rows and columns of a panel."""
    tall, wide, every = level.rows * height, level.cols * width, level.every
    data = "".join(f"M{x + i * width:g} {y:g}v{tall:g}" for i in range(every, level.cols, every))
    data += "".join(f"M{x:g} {y + i * height:g}h{wide:g}" for i in range(every, level.rows, every))
    canvas.path(data, colour, line=0.8)
