"""The hierarchy of tiles: the matrix, a block's tile, a warp's, a thread's, each a magnified cell of the one before."""

from collections.abc import Iterable
from dataclasses import dataclass

from gemm_plots.figures import parts
from gemm_plots.figures.geometry import WARP, Cell, Kernel, thread_tile_4x4, thread_tile_8x8, warp_tiling
from gemm_plots.figures.palette import INK, MUTED, WARPS, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say, title

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
    for kernel in (thread_tile_4x4(), thread_tile_8x8(), warp_tiling()):
        yield f"{kernel.name}-tiling", lambda language, kernel=kernel: draw(kernel, language)
    yield "tiling-hierarchy", hierarchy


def draw(kernel: Kernel, language: str) -> Canvas:
    """The levels of one step."""
    heading = say(language, f"{title(kernel.name)}: tiles within tiles", f"{title(kernel.name)}：层层分块")
    note = say(language, "each panel magnifies the framed part of the one before", "每一格放大前一格中框出的部分")
    return _panels(heading, note, levels(kernel, language), language)


def hierarchy(language: str) -> Canvas:
    """The same four levels with the place of each tile's operands."""
    memories = [
        say(language, "operands in global memory", "操作数在全局内存"),
        say(language, "operands in shared memory", "操作数在共享内存"),
        say(language, "a warp's operands: reads of shared memory", "warp 的操作数：读共享内存"),
        say(language, "operands and results in registers", "操作数与结果在寄存器"),
    ]
    heading = say(language, "Tiles of a matrix product", "矩阵乘法的分块层次")
    note = say(
        language,
        "the larger a tile, the more often each float of A and B is used before it must be read again",
        "块越大，A、B 的每个数在被再次读取之前用得越多",
    )
    found = [
        Level(one.name, one.size, one.rows, one.cols, one.every, one.colours, one.zoom, (*one.notes, memory))
        for one, memory in zip(levels(warp_tiling(), language), memories, strict=True)
    ]
    return _panels(heading, note, found, language)


def levels(kernel: Kernel, language: str) -> list[Level]:
    """C, the block's tile, the warp's where the kernel has warp tiles, the thread's."""
    blocks = 6
    across = blocks * kernel.bm // kernel.bn
    middle = (across - 1) // 2
    thread = sorted(kernel.computes(0))
    rows, cols = len({r for r, _ in thread}), len({c for _, c in thread})
    found = [
        Level(
            say(language, "C", "C"),
            say(language, "a grid of blocks", "由线程块铺满"),
            blocks,
            across,
            1,
            ((C.middle, ((1, middle),)),),
            (1, middle, 1, 1),
            (say(language, "one block computes one tile", "一个线程块算一块"),),
        )
    ]
    per_k = kernel.bm + kernel.bn
    block_notes = (
        say(language, f"per k: {kernel.bm} + {kernel.bn} floats", f"每个 k：{kernel.bm} + {kernel.bn} 个 float"),
        say(
            language,
            f"{round(kernel.bm * kernel.bn / per_k, 1):g} FMAs a float of A and B",
            f"每个全局 float 用于 {round(kernel.bm * kernel.bn / per_k, 1):g} 次 FMA",
        ),
    )
    warps = kernel.threads // WARP
    warp_cells = [[cell for t in range(w * WARP, w * WARP + WARP) for cell in kernel.computes(t)] for w in range(warps)]
    first = warp_cells[0]
    height, width = max(r for r, _ in first) + 1, max(c for _, c in first) + 1
    tiled_by_warps = width < kernel.bn
    if tiled_by_warps:
        colours = tuple((WARPS[w % len(WARPS)], tuple(cells)) for w, cells in enumerate(warp_cells))
        found.append(
            Level(
                say(language, "block tile", "线程块的块"),
                f"{kernel.bm}×{kernel.bn}",
                kernel.bm,
                kernel.bn,
                16,
                colours,
                (0, 0, height, width),
                (say(language, f"{warps} warps", f"{warps} 个 warp"), *block_notes),
            )
        )
        found.append(
            Level(
                say(language, "warp tile", "warp 的块"),
                f"{height}×{width}",
                height,
                width,
                4,
                ((WARPS[0], tuple(first)), (C.strong, tuple(thread))),
                None,
                (
                    say(language, "32 lanes; dark: lane 0", "32 个 lane；深色为 lane 0"),
                    say(language, f"per k: {height} + {width} floats", f"每个 k：{height} + {width} 个 float"),
                    say(
                        language,
                        f"{height * width / (height + width):g} FMAs a float",
                        f"每个 float 用于 {height * width / (height + width):g} 次 FMA",
                    ),
                ),
            )
        )
    else:
        found.append(
            Level(
                say(language, "block tile", "线程块的块"),
                f"{kernel.bm}×{kernel.bn}",
                kernel.bm,
                kernel.bn,
                16,
                ((C.middle, tuple(first)), (C.strong, tuple(thread))),
                (0, 0, rows, cols),
                (say(language, "pale: warp 0, dark: thread 0", "浅色为 warp 0，深色为线程 0"), *block_notes),
            )
        )
    loads = (rows + cols) // 4
    found.append(
        Level(
            say(language, "thread tile", "线程的块"),
            f"{rows}×{cols}",
            rows,
            cols,
            4 if tiled_by_warps else 1,
            ((C.middle, tuple((r, c) for r in range(rows) for c in range(cols))),),
            None,
            (
                say(language, f"{rows * cols} accumulators in registers", f"{rows * cols} 个累加器在寄存器中"),
                say(
                    language,
                    f"per k: {loads} float4 reads, {rows * cols} FMAs",
                    f"每个 k：{loads} 次 float4 读，{rows * cols} 次 FMA",
                ),
            ),
        )
    )
    return found


def _panels(heading: str, note: str, found: list[Level], language: str) -> Canvas:
    gap = 36.0
    side = min(240.0, (912 - gap * (len(found) - 1)) / len(found))
    if len(found) == 3:
        gap = (912 - 3 * side) / 2
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
