"""Step 20: in which order a warp issues a slice's copies, fragment loads and products, before and after; from the SASS."""

from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Any

from base.paths import DATA
from plots.figures import layout
from plots.figures.palette import DARK, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say, title
from records import read

BEFORE, NOW = "19_mma_stages", "20_mma_warp_swizzle"
COLOURS = {"barrier": DARK, "cp_async": B.strong, "load_shared": A.strong, "tensor": C.middle}
HEAD = 48  # instructions behind the barrier that are shown large


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{NOW}-order", order


@cache
def recorded(step: str) -> dict[str, Any]:
    """The record of the default's machine code."""
    return next(row for row in read(DATA / "instruction_mix" / f"{step}.jsonl") if "order" in row)


def in_order(step: str) -> tuple[str, ...]:
    """The kinds of its loop's instructions, from the first on."""
    return tuple(chain.from_iterable([kind] * count for kind, count in recorded(step)["order"]))


@cache
def issued(step: str) -> tuple[str, ...]:
    """The kinds of a slice's instructions in the order of the machine code, from the barrier on."""
    kinds = in_order(step)
    at = kinds.index("barrier")
    return kinds[at:] + kinds[:at]


def waits(step: str) -> int:
    """Instructions between the barrier and the first product."""
    return issued(step).index("tensor") - 1


def order(language: str) -> Canvas:
    """The slice of both steps as strips, and the head of each, large."""
    canvas, y = layout.of_step(
        NOW,
        language,
        ("behind the barrier come products, not copies", "过了屏障先做乘法，不先拷贝"),
        (
            "the machine code of a slice, as one warp issues it, beginning at the barrier; only what is named below",
            "一个 warp 一片的机器码，按发射次序，从屏障开始；只画下面列出的几类指令",
        ),
    )
    entries = (
        ("line:" + DARK, ("barrier", "屏障")),
        (COLOURS["cp_async"], ("copy (cp.async)", "拷贝（cp.async）")),
        (COLOURS["load_shared"], ("fragment load (ldmatrix)", "读 fragment（ldmatrix）")),
        (COLOURS["tensor"], ("product (mma.sync)", "乘法（mma.sync）")),
    )
    y = layout.legend(canvas, y + 18, language, entries)
    for step in (BEFORE, NOW):
        kinds = issued(step)
        y += 14
        canvas.text(layout.MARGIN, y, title(step), layout.SMALL, INK, bold=True)
        first, copies = waits(step), kinds[1 : waits(step) + 1].count("cp_async")
        words = (
            f"before the first product: {copies} copies, {first - copies} loads",
            f"第一次乘法之前：{copies} 次拷贝，{first - copies} 次读取",
        )
        canvas.text(layout.RIGHT, y, say(language, *words), layout.SMALL, MUTED, "end")
        _strip(canvas, y + 12, 40, kinds[: HEAD + 1], 2.0)
        _strip(canvas, y + 62, 22, kinds, 0.0)
        canvas.line(layout.MARGIN, y + 54, layout.MARGIN, y + 60, MUTED, 1)
        wide = layout.INNER * (HEAD + 1) / len(kinds)
        canvas.line(layout.MARGIN + wide, y + 60, layout.RIGHT, y + 54, MUTED, 1)
        y += 62 + 22 + 21
        products = kinds.count("tensor")
        words = (
            f"above the head of the slice, below all of it: {products} products",
            f"上：开头；下：整片，{products} 条乘法",
        )
        canvas.text(layout.MARGIN, y, say(language, *words), layout.SMALL, MUTED)
        y += 16
    texts = (
        (
            "The products that follow step 20's barrier have their operands in registers already. Those of step 19 wait "
            "for the loads before them.",
            "步骤 20 屏障之后的这些乘法，操作数早已在寄存器里；步骤 19 的要等前面的读取。",
        ),
    )
    canvas.height = layout.paragraphs(canvas, y + 22, language, texts, 6)
    return canvas


def _strip(canvas: Canvas, y: float, high: float, kinds: tuple[str, ...], gap: float) -> None:
    """Instructions from left to right, those of one kind that follow one another as one bar where no gap is asked for."""
    wide = layout.INNER / len(kinds)
    start = 0
    for at in range(1, len(kinds) + 1):
        if at < len(kinds) and gap == 0 and kinds[at] == kinds[start]:
            continue
        x, kind = layout.MARGIN + start * wide, kinds[start]
        if kind == "barrier":
            canvas.rect(x, y - 3, max(wide - gap, 3), high + 6, DARK)
        else:
            canvas.rect(x, y, (at - start) * wide - gap, high, COLOURS[kind])
        start = at
