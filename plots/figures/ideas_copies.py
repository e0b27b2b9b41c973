"""The ideas of steps 09 and 10: copies that overlap with the products, and copies that use no registers."""

from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.layout import INNER, MARGIN, RIGHT
from plots.figures.palette import DARK, EDGE, INK, MUTED, RED, THREAD, A, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

GLOBAL = "#64788f"


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "09_double_buffer", double_buffer
    yield "10_cp_async", cp_async


def _node(
    canvas: Canvas, x: float, y: float, width: float, height: float, text: str, colour: str, ink: str = "#ffffff"
) -> None:
    canvas.rect(x, y, width, height, colour, EDGE, radius=6)
    lines = text.split("\n")
    first = y + height / 2 + 5 - (len(lines) - 1) * 9
    canvas.lines(x + width / 2, first, lines, 18 / 14, fill=ink, anchor="middle", bold=True)


def double_buffer(language: str) -> Canvas:
    """Step 09: two buffers change roles with every slice."""
    canvas, top = layout.of_step(
        "09_double_buffer", language, ("one buffer fills while the other is read", "读一个缓冲区，同时填另一个")
    )
    for number, y in enumerate((top + 6, top + 176)):
        which, ahead = ("s", "s + 1") if number == 0 else ("s + 1", "s + 2")
        parts.card(
            canvas, MARGIN, y, INNER, 140, say(language, f"while slice {which} is multiplied", f"计算切片 {which} 期间")
        )
        fill, read = (1, 0) if number == 0 else (0, 1)
        source = say(language, f"global\nmemory\nslice {ahead}", f"全局内存\n切片 {ahead}")
        _node(canvas, 36, y + 44, 104, 80, source, GLOBAL)
        _node(canvas, 176, y + 52, 100, 64, say(language, "registers", "寄存器"), THREAD.strong)
        filled, from_here = y + 86, y + 32
        words = say(language, f"buffer {fill}: filled", f"缓冲区 {fill}：正在写入")
        _node(canvas, 318, filled, 150, 42, words, A.middle, A.ink)
        words = say(language, f"buffer {read}: read", f"缓冲区 {read}：正在读取")
        _node(canvas, 318, from_here, 150, 42, words, A.strong)
        _node(canvas, 508, from_here, 96, 42, say(language, "FMAs", "FMA 计算"), C.strong)
        canvas.arrow(143, y + 84, 173, y + 84, INK, 2)
        canvas.arrow(279, y + 90, 315, filled + 20, INK, 2)
        canvas.arrow(471, from_here + 21, 505, from_here + 21, INK, 2)
        canvas.text(543, filled + 26, say(language, "at the same time", "同时进行"), layout.SMALL, MUTED, "middle")
    canvas.line(MARGIN, top + 161, RIGHT, top + 161, DARK, 3)
    middle = MARGIN + INNER / 2
    canvas.rect(middle - 112, top + 148, 224, 26, "#ffffff", DARK, radius=13)
    words = say(language, "one barrier, roles change", "一次屏障，角色互换")
    canvas.text(middle, top + 166, words, layout.SMALL, DARK, "middle", bold=True)
    words = (
        "one buffer needs two barriers: before it is filled and before it is read",
        "单缓冲需要两次屏障：写入之前与读取之前各一次",
    )
    canvas.height = layout.paragraph(canvas, top + 340, language, words, fill=MUTED)
    return canvas


def cp_async(language: str) -> Canvas:
    """Step 10: the way of a float into shared memory, before and now."""
    canvas, top = layout.of_step(
        "10_cp_async", language, ("a copy goes straight into shared memory", "拷贝直达共享内存，不经过寄存器")
    )
    for y, now in ((top + 6, False), (top + 152, True)):
        parts.card(
            canvas, MARGIN, y, INNER, 134, say(language, *(("step 10", "步骤 10") if now else ("step 09", "步骤 09")))
        )
        _node(canvas, 40, y + 34, 104, 60, say(language, "global\nmemory", "全局内存"), GLOBAL)
        _node(canvas, RIGHT - 120, y + 34, 104, 60, say(language, "shared\nmemory", "共享内存"), A.strong)
        middle = y + 64
        if now:
            canvas.arrow(148, middle, RIGHT - 124, middle, C.strong, 4)
            canvas.text(322, middle - 12, "cp.async", 16, C.ink, "middle", bold=True, mono=True)
        else:
            _node(canvas, 270, y + 34, 104, 60, say(language, "registers", "寄存器"), THREAD.strong)
            canvas.arrow(148, middle, 266, middle, INK, 2.4)
            canvas.arrow(378, middle, RIGHT - 124, middle, INK, 2.4)
            canvas.text(205, middle - 11, "ld.global", layout.SMALL, INK, "middle", mono=True)
            canvas.text(434, middle - 11, "st.shared", layout.SMALL, INK, "middle", mono=True)
        before = (
            "2 instructions; 16 registers per thread hold data in flight",
            "2 条指令；每线程 16 个寄存器存放在途的数据",
        )
        after = (
            "1 instruction; no register holds data in flight",
            "1 条指令；在途的数据不占寄存器",
        )
        words = say(language, *(after if now else before))
        canvas.text(MARGIN + INNER / 2, y + 119, words, layout.SMALL, C.ink if now else RED, "middle")
    canvas.height = top + 304
    return canvas
