"""docs/profiling: the main loop of step 07, instruction by instruction, and what a reader looks for in it; from the SASS."""

from collections.abc import Iterable
from typing import Any

from plots.figures import layout, loop_order
from plots.figures.layout import Pair
from plots.figures.palette import DARK, INK, MUTED, THREAD, C
from plots.figures.svg import Canvas, Draw, text_width
from plots.figures.timelines import GLOBAL, STORE

STEP = "07_thread_tile_8x8"
BRANCH = "branch"  # the last instruction of a loop
COLOURS = {
    "load_global": GLOBAL,
    "barrier": DARK,
    "store_shared": STORE,
    "load_shared": THREAD.strong,
    "fma": C.strong,
    BRANCH: INK,
}  # in the order in which a reader meets them
ACROSS, HIGH = 40, 18.0  # instructions in a row of the picture, and a row's height
WIDE = layout.INNER / ACROSS


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "profiling-loop", loop


def recorded() -> dict[str, Any]:
    """The record of the default's machine code."""
    return loop_order.recorded(STEP)


def issued() -> tuple[str, ...]:
    """The kinds of the loop's instructions from its first to the branch back."""
    return (*loop_order.in_order(STEP), BRANCH)


def _notes() -> dict[str, tuple[str, Pair]]:
    """By kind: its name in SASS, and what to ask of it."""
    count = recorded()["loop"]
    per_load = count["fma"] // count["load_shared"]
    return {
        "load_global": (
            "LDG.E.128",
            (
                "16 bytes each, one of A and one of B? How far from it is the first instruction that needs them?",
                "每条是否 16 字节，A、B 各一条？离第一条用到数据的指令有多远？",
            ),
        ),
        "barrier": (
            "BAR.SYNC",
            (
                "How many per slice? Here two, for one buffer, and between them nothing multiplies.",
                "每片几次？这里只有一个缓冲区，要两次，两次之间没有乘法。",
            ),
        ),
        "store_shared": (
            "STS",
            (
                "These need what LDG has loaded: here every warp waits for global memory.",
                "要用 LDG 取来的数据：每个 warp 都在这里等全局内存。",
            ),
        ),
        "load_shared": (
            "LDS.128",
            (
                f"Is it .128, and how many FFMA does one feed? Here {per_load}. Does each stand well ahead of them?",
                f"是不是 .128？一条供几条 FFMA？这里是 {per_load} 条。是不是提前发出的？",
            ),
        ),
        "fma": (
            "FFMA",
            (
                f"{count['fma']} of {count['instructions']}: at most {recorded()['fma_share']:.1%} of the peak.",
                f"{count['instructions']} 条里有 {count['fma']} 条：最多达到峰值的 {recorded()['fma_share']:.1%}。",
            ),
        ),
        BRANCH: (
            "BRA",
            (
                "back to the first LDG: between its target and itself lies the loop.",
                "跳回第一条 LDG：从它的目标到它自己就是循环。",
            ),
        ),
    }


def loop(language: str) -> Canvas:
    """The loop from left to right, row by row; under it each kind with its question."""
    count, kinds = recorded()["loop"], issued()
    left_out = count["instructions"] - len(kinds)
    canvas, y = layout.page(
        language,
        (
            "Step 07's loop waits at its head, then multiplies almost without a break",
            "步骤 07 的循环在开头等待，之后几乎全是乘加",
        ),
        (
            f"one slice of {recorded()['by_hand']['depth']} k, as one warp issues it, row by row; {left_out} "
            "instructions for addresses and the loop's end are left out",
            f"一片（{recorded()['by_hand']['depth']} 个 k），一个 warp 的发射次序，逐行阅读；"
            f"地址计算和循环条件共 {left_out} 条，没有画出",
        ),
    )
    numbers = {kind: number for number, kind in enumerate(COLOURS, 1)}
    y += 12
    seen: set[str] = set()
    for at, kind in enumerate(kinds):
        row, column = divmod(at, ACROSS)
        x, top = layout.MARGIN + column * WIDE, y + row * (HIGH + 2)
        canvas.rect(x, top, WIDE - 1, HIGH, COLOURS[kind])
        if kind not in seen:
            number = str(numbers[kind])
            canvas.text(x + WIDE / 2 - 0.5, top + 14.3, number, layout.SMALL, "#ffffff", "middle", bold=True)
        seen.add(kind)
    y += -(-len(kinds) // ACROSS) * (HIGH + 2) + 24
    notes = _notes()
    left = layout.MARGIN + 166
    for kind, colour in COLOURS.items():
        name, words = notes[kind]
        canvas.rect(layout.MARGIN, y - 14, 18, HIGH, colour)
        canvas.text(layout.MARGIN + 9, y, str(numbers[kind]), layout.SMALL, "#ffffff", "middle", bold=True)
        canvas.text(layout.MARGIN + 26, y, name, mono=True, bold=True)
        beside = layout.MARGIN + 26 + text_width(name, mono=True) + 8
        canvas.text(beside, y, f"×{count[kind]}", layout.SMALL, MUTED)
        y = layout.paragraph(canvas, y, language, words, x=left, width=layout.RIGHT - left, step=1.35) + 8
    canvas.height = y
    return canvas
