"""The picture of step 32: nine products of three digits by three, by weight, and the three sums that six of them share."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.layout import MARGIN
from plots.figures.palette import BOX, EDGE, MUTED, THREAD, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "32_digits"
DIGITS = 3
SUBSCRIPT = "₁₂₃"
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SUMS = (C, A, B)  # what has which weight, by the sum of both digits' places


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-products", products


def weight(place: int) -> str:
    """The weight of a product of digits whose places add up to this: 2³² for x₁y₁."""
    return "2" + str(8 * (2 * DIGITS - 2 - place)).translate(SUPERSCRIPT)


def products(language: str) -> Canvas:
    """A square of products: digits of x down, digits of y across; colours tell the sums, grey is left out."""
    canvas, top = layout.of_step(
        STEP,
        language,
        ("the six products that weigh most need only three sums", "权重最大的六个乘积，只要三组累加器"),
        (
            "a cell: one product of 8-bit digits and its weight; one colour per sum; grey: left out",
            "一格：两个 8 位数位的乘积和它的权重；一种颜色是一组累加器；灰色：舍去",
        ),
    )
    side, high = 128.0, 58.0
    left, y = MARGIN + 64.0, top + 34
    for column in range(DIGITS):
        canvas.text(left + (column + 0.5) * side, y - 10, f"y{SUBSCRIPT[column]}", 16, THREAD.ink, "middle", bold=True)
    for row in range(DIGITS):
        canvas.text(left - 24, y + (row + 0.5) * high + 5, f"x{SUBSCRIPT[row]}", 16, THREAD.ink, "middle", bold=True)
        for column in range(DIGITS):
            place = row + column
            kept = place < DIGITS
            fill = SUMS[place].middle if kept else BOX
            at = left + column * side
            canvas.rect(at, y + row * high, side, high, fill, EDGE)
            name = f"x{SUBSCRIPT[row]}y{SUBSCRIPT[column]}"
            ink = SUMS[place].ink if kept else MUTED
            canvas.text(at + side / 2, y + row * high + 26, name, 16, ink, "middle", bold=kept)
            canvas.text(at + side / 2, y + row * high + 46, weight(place), layout.SMALL, ink, "middle")
    y += DIGITS * high + 30
    for place, tone in enumerate(SUMS):
        count = place + 1
        words = (
            f"sum {count}: weight {weight(place)}, {count} product{'s' if count > 1 else ''} per k",
            f"第 {count} 组累加器：权重 {weight(place)}，每个 k 有 {count} 个乘积",
        )
        canvas.rect(MARGIN, y - 13, 16, 16, tone.middle, EDGE)
        canvas.text(MARGIN + 26, y, say(language, *words), layout.SMALL, tone.ink)
        y += 24
    words = (
        "X = 65536 x₁ + 256 x₂ + x₃, and Y alike. All sums are exact: a product is at most 2¹⁴.",
        "X = 65536 x₁ + 256 x₂ + x₃，Y 也一样。每次累加都是精确的：一个乘积最大是 2¹⁴。",
    )
    canvas.height = layout.paragraph(canvas, y + 6, language, words, fill=MUTED)
    return canvas
