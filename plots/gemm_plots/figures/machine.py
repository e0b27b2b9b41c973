"""The machine that every chapter speaks of: an H200, and one of its multiprocessors enlarged."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.palette import BOX, EDGE, INK, MUTED, THREAD, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

SMS = 132
COLUMNS = 12  # of the squares that stand for SMs
QUARTERS = 4


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
    """File name and drawing function of each picture."""
    yield "machine", machine


def machine(language: str) -> Canvas:
    """The chip with its SMs, L2 and DRAM at the left; at the right one SM with its four quarters and its memory."""
    heading = say(language, "132 SMs, each with four schedulers and one shared memory",
                  "132 个 SM，每个 SM 有四个调度器和一块共享内存")  # fmt: skip
    canvas = Canvas(960, 574, heading)
    parts.heading(
        canvas,
        say(
            language,
            "NVIDIA H200; at the left the chip, at the right one SM; the further down, the larger and the slower",
            "NVIDIA H200；左边是整块芯片，右边是一个 SM；越往下容量越大、速度越慢",
        ),
    )
    _chip(canvas, language)
    _sm(canvas, language)
    return canvas


def _chip(canvas: Canvas, language: str) -> None:
    """The SMs as squares, over the L2 cache and DRAM."""
    x, y, width = 24.0, 76.0, 300.0
    parts.card(canvas, x, y, width, 470, say(language, "the GPU", "整块 GPU"))
    pitch, side = 22.6, 18.0
    left, top = x + 16, y + 34
    for index in range(SMS):
        row, col = divmod(index, COLUMNS)
        fill, line = (C.middle, C.ink) if index == COLUMNS - 1 else ("#ffffff", EDGE)
        canvas.rect(left + col * pitch, top + row * pitch, side, side, fill, line, radius=3)
    below = top + SMS // COLUMNS * pitch
    canvas.text(left, below + 16, say(language, f"{SMS} SMs at 1.98 GHz", f"{SMS} 个 SM，1.98 GHz"), 13, bold=True)
    # The enlarged one.
    edge = left + (COLUMNS - 1) * pitch + side
    canvas.line(edge, top, 356, 76, C.ink, 1, "4 3")
    canvas.line(edge, top + side, 356, 546, C.ink, 1, "4 3")
    for at, height, tone, words in (
        (below + 34, 60, B, ("L2 cache: 50 MB, for all SMs", "L2 缓存：50 MB，所有 SM 共用")),
        (below + 104, 72, A, ("DRAM: 141 GB, 4.8 TB/s", "显存（DRAM）：141 GB，4.8 TB/s")),
    ):
        canvas.rect(x + 12, at, width - 24, height, tone.pale, tone.strong, radius=5)
        canvas.text(x + width / 2, at + height / 2 + 5, say(language, *words), 13.5, tone.ink, "middle", bold=True)


def _sm(canvas: Canvas, language: str) -> None:
    """Four quarters side by side; under them the load/store unit and the memory that they share."""
    x, y, width = 356.0, 76.0, 580.0
    parts.card(canvas, x, y, width, 470, say(language, "one SM: up to 64 warps of 32 threads at a time",
                                             "一个 SM：同时最多驻留 64 个 warp，每个 32 个线程"), fill_colour=BOX)  # fmt: skip
    gap, wide = 10.0, (width - 24 - 3 * 10) / QUARTERS
    rows = (
        (48, THREAD, ("scheduler", "调度器"), (("1 instruction per cycle", "每周期发射一条指令"),)),
        (64, C, ("register file", "寄存器堆"), (("16,384 registers", "16,384 个寄存器"), ("of 32 bits: 64 KB", "各 32 位：64 KB"))),
        (64, A, ("32 FP32 lanes", "32 条 FP32 通道"), (("one FMA per lane", "每条通道"), ("and cycle", "每周期一次 FMA"))),
        (48, B, ("Tensor Core", "Tensor Core"), (("small matrix products", "小矩阵乘加"),)),
    )  # fmt: skip
    for quarter in range(QUARTERS):
        left, at = x + 12 + quarter * (wide + gap), y + 34
        canvas.rect(left, at, wide, 254, "#ffffff", EDGE, radius=6)
        at += 6
        for height, tone, name, notes in rows:
            canvas.rect(left + 8, at, wide - 16, height, tone.pale, tone.strong, radius=4)
            canvas.text(left + wide / 2, at + 20, say(language, *name), 13, tone.ink, "middle", bold=True)
            lines = [say(language, *note) for note in notes]
            canvas.lines(left + wide / 2, at + 37, lines, 10.5, fill=INK, anchor="middle")
            at += height + 6
    under = y + 34 + 254
    words = say(language, "load/store unit: one wavefront or one line looked up per cycle (the course's model)",
                "访存单元：每周期一个波前，或查一次缓存行（本课程的模型）")  # fmt: skip
    canvas.arrow(x + width / 2, under + 2, x + width / 2, under + 20, MUTED)
    canvas.rect(x + 12, under + 22, width - 24, 34, "#ffffff", MUTED, radius=5)
    canvas.text(x + width / 2, under + 44, words, 12.5, INK, "middle")
    canvas.arrow(x + width / 2, under + 58, x + width / 2, under + 76, MUTED)
    at, share = under + 78, (width - 24) * 228 / 256
    canvas.rect(x + 12, at, share, 58, C.pale, C.strong, radius=5)
    canvas.text(x + 12 + share / 2, at + 25, say(language, "shared memory: as much as the blocks ask for, up to 228 KB",
                                                 "共享内存：线程块要多少给多少，最多 228 KB"), 13, C.ink, "middle", bold=True)  # fmt: skip
    canvas.text(x + 12 + share / 2, at + 44, say(language, "32 banks of 4 bytes: 128 bytes per cycle",
                                                 "32 个 bank，各 4 字节宽：每周期 128 字节"), 12, INK, "middle")  # fmt: skip
    canvas.rect(x + 12 + share + 4, at, width - 24 - share - 4, 58, B.pale, B.strong, radius=5)
    canvas.text(x + 12 + share + 4 + (width - 28 - share) / 2, at + 34, "L1", 13, B.ink, "middle", bold=True)
    canvas.text(x + width / 2, at + 78, say(language, "256 KB in all; what shared memory leaves is L1 cache",
                                            "合计 256 KB；共享内存用剩的部分是 L1 缓存"), 12, MUTED, "middle")  # fmt: skip
