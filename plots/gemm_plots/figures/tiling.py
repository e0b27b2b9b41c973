"""The hierarchy of tiles: the matrix, a block's tile, a warp's, a thread's, each a magnified cell of the one before."""

from collections.abc import Iterable
from dataclasses import dataclass

from gemm_plots.figures import parts
from gemm_plots.figures.geometry import WARP, Cell, Kernel, warp_tiling
from gemm_plots.figures.palette import INK, MUTED, WARPS, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

TOP = 112.0


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


def pictures() -> Iterable[tuple[str, object]]:
    """File name and drawing function of each picture."""
    yield "tiling-hierarchy", hierarchy


def hierarchy(language: str) -> Canvas:
    """C, the tile of a block, of a warp, of a thread, with the place of each tile's operands."""
    heading = say(language, "Tiles of a matrix product", "矩阵乘法的分块层次")
    note = say(
        language,
        "the larger a tile, the more often each float of A and B is used before it must be read again",
        "分块越大，A、B 的每个数读一次能用的次数越多",
    )
    return _panels(heading, note, levels(warp_tiling(), language))


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
            say(language, "block tile", "线程块分块"),
            f"{kernel.bm}×{kernel.bn}",
            kernel.bm,
            kernel.bn,
            16,
            tuple((WARPS[w % len(WARPS)], tuple(cells)) for w, cells in enumerate(warp_cells)),
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
            say(language, "warp tile", "warp 分块"),
            f"{height}×{width}",
            height,
            width,
            4,
            ((WARPS[0], tuple(first)), (C.strong, tuple(thread))),
            None,
            (
                say(language, "32 lanes; dark: lane 0", "32 个 lane；深色为 lane 0"),
                say(language, f"per k: {height} + {width} floats", f"每个 k：{height} + {width} 个 float"),
                say(language, f"{warp_uses} FMAs per float", f"每个 float 用于 {warp_uses} 次 FMA"),
                say(language, "operands: reads of shared memory", "操作数从共享内存读取"),
            ),
        ),
        Level(
            say(language, "thread tile", "线程分块"),
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


def _panels(heading: str, note: str, found: list[Level]) -> Canvas:
    gap = 36.0
    side = min(240.0, (912 - gap * (len(found) - 1)) / len(found))
    lines = max(len(level.notes) for level in found)
    canvas = Canvas(960, TOP + side + 26 + lines * 19 + 10, heading)
    parts.heading(canvas, note)
    for index, level in enumerate(found):
        x = parts.MARGIN + index * (side + gap)
        height, width = side / level.rows, side / level.cols
        if index > 0 and level.rows > level.cols:
            width = height
        elif index > 0:  # only the matrix is stretched into a square
            height = width
        right = x + width * level.cols
        canvas.text(x, TOP - 12, level.name, 14, INK, bold=True)
        canvas.text(x + side, TOP - 12, level.size, 13, MUTED, "end")
        parts.grid(canvas, x, TOP, level.rows, level.cols, height, width, level.every)
        for colour, cells in level.colours:
            parts.fill(canvas, x, TOP, cells, height, width, colour)
        if index == 0:
            _lines(canvas, x, side, level.rows, level.cols)
        else:
            data = "".join(
                f"M{x + i * width:g} {TOP:g}v{level.rows * height:g}"
                for i in range(level.every, level.cols, level.every)
            )
            data += "".join(
                f"M{x:g} {TOP + i * height:g}h{level.cols * width:g}"
                for i in range(level.every, level.rows, level.every)
            )
            canvas.path(data, "#ffffff", line=0.7)
        parts.frame(canvas, x, TOP, level.rows, level.cols, height, width)
        if level.zoom:
            row, col, high, wide = level.zoom
            left, top = x + col * width, TOP + row * height
            canvas.rect(left, top, wide * width, high * height, "none", INK, 2)
            edge = left + wide * width
            magnified = found[index + 1]
            below = side * min(1.0, magnified.rows / magnified.cols)
            canvas.line(edge, top, x + side + gap, TOP, INK, 0.9, "4 3")
            canvas.line(edge, top + high * height, x + side + gap, TOP + below, INK, 0.9, "4 3")
        elif index + 1 < len(found):
            canvas.arrow(right + 8, TOP + side / 2, x + side + gap - 8, TOP + side / 2, INK, 1.6)
        canvas.lines(x, TOP + side + 24, level.notes, 12.5, fill=INK)
    return canvas


def _lines(canvas: Canvas, x: float, side: float, rows: int, cols: int) -> None:
    """The borders of the blocks in the matrix."""
    data = "".join(f"M{x + i * side / cols:g} {TOP:g}v{side:g}" for i in range(1, cols))
    data += "".join(f"M{x:g} {TOP + i * side / rows:g}h{side:g}" for i in range(1, rows))
    canvas.path(data, "#c3ccd7", line=0.8)
