"""The machine that every chapter speaks of: one multiprocessor of an H200, and under it the chip that has 132 of them."""

from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.palette import EDGE, INK, MUTED, THREAD, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

SMS, ROWS = 132, 4  # squares that stand for SMs
QUARTERS = 4
SHARED_KB, ALL_KB = 228, 256
CARD, INNER = 24.0, 36.0  # left edges: of the SM, and of what lies in it


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "machine", machine


def machine(language: str) -> Canvas:
    """From the top: an SM's four quarters, their memory, all SMs, the L2 cache and DRAM."""
    canvas, _ = layout.page(
        language,
        ("The four schedulers of an SM share one load/store unit", "一个 SM 的四个调度器共用一个 LSU"),
        ("NVIDIA H200; the further down, the larger and the slower", "NVIDIA H200；越往下，容量越大、速度越慢"),
    )
    canvas.height = 828
    _sm(canvas, language)
    _chip(canvas, language)
    return canvas


def _bar(
    canvas: Canvas, y: float, height: float, tone: tuple[str, str, str], texts: list[str], width: float = 568
) -> None:
    """A memory: a wide plate with its name, and a line under it."""
    pale, line, ink = tone
    canvas.rect(INNER, y, width, height, pale, line, radius=5)
    middle = INNER + width / 2
    first = y + height / 2 + (5 if len(texts) == 1 else -4)
    canvas.text(middle, first, texts[0], layout.SMALL, ink, "middle", bold=True)
    canvas.lines(middle, first + 20, texts[1:], fill=INK, anchor="middle")


def _sm(canvas: Canvas, language: str) -> None:
    """Four quarters side by side; under them the load/store unit and the memory that they share."""
    y, width = 76.0, layout.WIDTH - 2 * CARD
    words = ("one SM: up to 64 warps of 32 threads at a time", "一个 SM：同时最多驻留 64 个 warp，每个 32 个线程")
    parts.card(canvas, CARD, y, width, 480)
    canvas.text(INNER, y + 24, say(language, *words), bold=True)
    gap = 8.0
    wide = (width - 24 - 3 * gap) / QUARTERS
    rows = (
        (THREAD, ("scheduler", "调度器"), (("1 instruction", "每周期"), ("per cycle", "一条指令"))),
        (C, ("register file", "寄存器堆"), (("64 KB: 16,384", "64 KB，16,384"), ("registers", "个寄存器"))),
        (A, ("32 FP32 lanes", "32 条 FP32 通道"), (("one FMA each", "各自每周期"), ("per cycle", "一次 FMA"))),
        (B, ("tensor core", "Tensor Core"), (("products of", "小矩阵的"), ("small matrices", "乘加"))),
    )
    high = 68.0
    for quarter in range(QUARTERS):
        left, at = INNER + quarter * (wide + gap), y + 38
        canvas.rect(left, at, wide, len(rows) * (high + 6) + 6, "#ffffff", EDGE, radius=6)
        for number, (tone, name, notes) in enumerate(rows):
            top, middle = at + 6 + number * (high + 6), left + wide / 2
            canvas.rect(left + 5, top, wide - 10, high, tone.pale, tone.strong, radius=4)
            canvas.text(middle, top + 19, say(language, *name), layout.SMALL, tone.ink, "middle", bold=True)
            lines = [say(language, *note) for note in notes]
            canvas.lines(middle, top + 38, lines, 1.3, fill=INK, anchor="middle")
    under = y + 38 + len(rows) * (high + 6) + 6
    unit = ("load/store unit: 1 wavefront or look-up per cycle", "LSU：每周期一个 wavefront，或查一次缓存行")
    _arrow(canvas, under + 2)
    _bar(canvas, under + 20, 32, ("#ffffff", MUTED, INK), [say(language, *unit)])
    _arrow(canvas, under + 54)
    share = 568 * SHARED_KB / ALL_KB
    shared = ("shared memory: as much as the blocks ask for", "共享内存：线程块要多少给多少")
    size = (
        f"up to {SHARED_KB} of {ALL_KB} KB; 32 banks of 4 bytes",
        f"{ALL_KB} KB 中最多 {SHARED_KB} KB；32 个 bank，各宽 4 字节",
    )
    _bar(canvas, under + 72, 54, (C.pale, C.strong, C.ink), [say(language, *shared), say(language, *size)], share)
    left = INNER + share + 4
    canvas.rect(left, under + 72, 568 - share - 4, 54, B.pale, B.strong, radius=5)
    canvas.text(left + (564 - share) / 2, under + 104, "L1", layout.SMALL, B.ink, "middle", bold=True)


def _arrow(canvas: Canvas, y: float) -> None:
    canvas.arrow(layout.WIDTH / 2, y, layout.WIDTH / 2, y + 17, MUTED)


def _chip(canvas: Canvas, language: str) -> None:
    """All SMs as squares, the enlarged one marked; under them what they share."""
    columns = SMS // ROWS
    pitch = 568 / columns
    top, side = 584.0, pitch - 4
    for index in range(SMS):
        row, col = divmod(index, columns)
        fill, line = (C.middle, C.ink) if index == 0 else ("#ffffff", "#9aa6b5")
        canvas.rect(INNER + col * pitch, top + row * pitch, side, side, fill, line, radius=2)
    canvas.line(INNER, top, CARD, 556, C.ink, 1, "4 3")
    canvas.line(INNER + side, top, layout.WIDTH - CARD, 556, C.ink, 1, "4 3")
    below = top + ROWS * pitch
    canvas.text(INNER, below + 16, say(language, f"{SMS} SMs at 1.98 GHz", f"{SMS} 个 SM，1.98 GHz"), bold=True)
    l2 = say(language, "L2 cache: 60 MB, shared by all SMs", "L2 缓存：60 MB，所有 SM 共用")
    dram = say(language, "DRAM: 141 GB, 4.8 TB/s", "显存（DRAM）：141 GB，4.8 TB/s")
    _bar(canvas, below + 28, 48, (B.pale, B.strong, B.ink), [l2])
    _bar(canvas, below + 86, 62, (A.pale, A.strong, A.ink), [dram])
