"""Where each part of the course works: the levels of tiles side by side, those of the part in strong colours."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from plots.figures import layout
from plots.figures.layout import Pair
from plots.figures.palette import EDGE, INK, MUTED, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

SIDE, GAP, CELLS = 100.0, 23.0, 4  # of a level's square; between two of them; cells along a side
CELL = SIDE / CELLS

MATRIX = (("the matrix C", "矩阵 C"), ("A and B in DRAM, read through L2", "A、B 在显存，经 L2 读取"))
BLOCK = (("block tile", "block tile"), ("its A and B in shared memory", "它的 A、B 在共享内存"))
WARP = (("warp tile", "warp tile"), ("its A and B in registers", "它的 A、B 在寄存器"))
WARPGROUP = (("warpgroup's tile", "warpgroup 的分块"), ("only its sums in registers", "只有累加结果在寄存器"))
THREAD = (("thread tile", "thread tile"), ("one FMA per element and k", "每个元素每个 k 一条 FMA"))
MMA = (("one mma", "一条 mma"), ("16×8, spread over 32 lanes", "16×8，分布在 32 个 lane 上"))
WGMMA = (("one wgmma", "一条 wgmma"), ("64 rows, by four warps", "64 行，四个 warp 合做"))
ELEMENT = (("one element", "一个元素"), ("how many bits, and what is lost", "用几位，损失什么"))


@dataclass(frozen=True)
class Part:
    """A part of the course: what the picture says, its levels, and the ones that the part works on."""

    heading: Pair
    levels: tuple[tuple[Pair, Pair], ...]
    here: tuple[int, ...]


ON_CUDA_CORES = (MATRIX, BLOCK, WARP, THREAD, ELEMENT)
ON_TENSOR_CORES = (MATRIX, BLOCK, WARP, MMA, ELEMENT)
ON_HOPPER = (MATRIX, BLOCK, WARPGROUP, WGMMA, ELEMENT)
PARTS = (
    Part(
        ("Part 1: a block shares what it takes from DRAM", "第一部分：从显存取来的，整个线程块共用"),
        ON_CUDA_CORES,
        (0, 1),
    ),
    Part(("Part 2: a thread keeps a tile in registers", "第二部分：线程把一个分块留在寄存器里"), ON_CUDA_CORES, (3,)),
    Part(("Part 3: a warp multiplies whole fragments", "第三部分：warp 以 fragment 为单位相乘"), ON_TENSOR_CORES, (2,)),
    Part(("Part 4: lanes share one instruction", "第四部分：各 lane 分担一条指令"), ON_TENSOR_CORES, (3,)),
    Part(("Part 5: engines copy and multiply block tiles", "第五部分：block tile 由引擎拷贝和相乘"), ON_HOPPER, (0, 1)),
    Part(("Part 6: elements change their width", "第六部分：改变元素的位宽"), ON_HOPPER, (4,)),
)


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    for number, part in enumerate(PARTS, 1):
        yield f"you-are-here-{number}", partial(_here, part)


def _here(part: Part, language: str) -> Canvas:
    canvas, y = layout.page(
        language,
        part.heading,
        ("each square is one cell of the square to its left", "每个方块都是左边那个方块里的一格"),
    )
    top = y + 34
    first, last = min(part.here), max(part.here)
    middle = (_left(first) + _left(last) + SIDE) / 2
    canvas.text(middle, top - 18, say(language, "you are here", "你在这里"), layout.SMALL, C.ink, "middle", bold=True)
    canvas.rect(_left(first), top - 10, _left(last) + SIDE - _left(first), 3, C.strong)
    bottom = top
    for index, (name, note) in enumerate(part.levels):
        active = index in part.here
        _square(canvas, _left(index), top, active, zoom=index + 1 < len(part.levels))
        centre, ink = _left(index) + SIDE / 2, INK if active else MUTED
        lines = layout.paragraph(
            canvas, top + SIDE + 22, language, name, layout.SMALL, centre, SIDE + 14, 1.25, ink, "middle", True
        )
        under = layout.paragraph(canvas, lines + 2, language, note, layout.SMALL, centre, SIDE + 12, 1.3, ink, "middle")
        bottom = max(bottom, under)
    canvas.height = bottom + 6
    return canvas


def _left(index: int) -> float:
    return layout.MARGIN + index * (SIDE + GAP)


def _square(canvas: Canvas, x: float, y: float, active: bool, zoom: bool) -> None:
    """A level with one cell that the next square magnifies."""
    canvas.rect(
        x,
        y,
        SIDE,
        SIDE,
        (C.pale if zoom else C.strong) if active else "none",
        C.strong if active else EDGE,
        2 if active else 1,
    )
    if not zoom:  # an element has no cells
        return
    grid = "".join(f"M{x + i * CELL:g} {y:g}v{SIDE:g}M{x:g} {y + i * CELL:g}h{SIDE:g}" for i in range(1, CELLS))
    canvas.path(grid, C.middle if active else EDGE, line=0.8)
    left, top = x + 2 * CELL, y + CELL
    canvas.rect(left, top, CELL, CELL, C.strong if active else C.pale, C.ink if active else EDGE, 1.2)
    for start, end in ((top, y), (top + CELL, y + SIDE)):
        canvas.line(left + CELL, start, x + SIDE + GAP, end, MUTED, 0.9, "4 3")
