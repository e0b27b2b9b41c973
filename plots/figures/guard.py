"""The picture of step 33: regions of C and what the guard has chosen for each, from the data of its rows and columns."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.layout import MARGIN, Pair
from plots.figures.palette import BOX, EDGE, INK, MUTED, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "33_guarded"
# As the guard chose for K = 1024, normal numbers g and uniform numbers u; 0: FP32.
ROWS: tuple[tuple[Pair, tuple[int, ...]], ...] = (
    (("normal", "正态"), (3, 4, 4)),
    (("normal · 2²⁰", "正态 · 2²⁰"), (3, 4, 4)),
    (("(u − ½)·e^g", "(u − ½)·e^g"), (4, 4, 0)),
    (("(u − ½)·e^(4g)", "(u − ½)·e^(4g)"), (4, 0, 0)),
)
COLUMNS: tuple[Pair, ...] = (
    ("normal", "正态"),
    ("(u − ½)·e^g", "(u − ½)·e^g"),
    ("(u − ½)·e^(4g)", "(u − ½)·e^(4g)"),
)
CHOICES: dict[int, tuple[str, str, Pair]] = {
    3: (C.pale, C.ink, ("3 digits", "3 个数位")),
    4: (B.pale, B.ink, ("4 digits", "4 个数位")),
    0: (BOX, MUTED, ("FP32", "FP32")),
}


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-choice", choice


def choice(language: str) -> Canvas:
    """C as regions of 128×384: the data of A's rows to the left, of B's columns above, the choice within."""
    canvas, top = layout.of_step(
        STEP,
        language,
        ("what computes a region depends on its rows and columns alone", "一个区域用什么算，只取决于它的行和列"),
        (
            "a cell: a region of 128×384 of C; g normal, u uniform; K = 1024",
            "一格：C 的一个 128×384 区域；g 正态，u 均匀；K = 1024",
        ),
    )
    wide, high = 146.0, 52.0
    left, y = MARGIN + 144.0, top + 62
    canvas.text(
        left + 1.5 * wide, y - 36, say(language, "columns of B", "B 的列"), layout.SMALL, INK, "middle", bold=True
    )
    canvas.text(MARGIN, y - 12, say(language, "rows of A", "A 的行"), layout.SMALL, INK, bold=True)
    for column, words in enumerate(COLUMNS):
        canvas.text(left + (column + 0.5) * wide, y - 12, say(language, *words), layout.SMALL, MUTED, "middle")
    for row, (words, chosen) in enumerate(ROWS):
        canvas.text(left - 14, y + (row + 0.5) * high + 5, say(language, *words), layout.SMALL, MUTED, "end")
        for column, digits in enumerate(chosen):
            fill, ink, name = CHOICES[digits]
            canvas.rect(left + column * wide, y + row * high, wide, high, fill, EDGE)
            at = left + (column + 0.5) * wide, y + (row + 0.5) * high + 6
            canvas.text(*at, say(language, *name), 16, ink, "middle", bold=True)
    words = (
        "A power of two on a row changes nothing. The bound is a sum of products: both sides count.",
        "一行乘上 2 的幂毫无影响。误差界是乘积之和，行和列都要算进去。",
    )
    canvas.height = layout.paragraph(canvas, y + len(ROWS) * high + 30, language, words, fill=MUTED)
    return canvas
