"""The picture of step 31: which bits of a sum of FP8 products the tensor core keeps."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.layout import MARGIN
from plots.figures.palette import EDGE, INK, MUTED, PALE_RED, RED, A, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "31_eight_bits"
HIGHEST, LOWEST = 6, -10  # powers of two that have a column
FRACTION = 13  # bits of fraction that the tensor core keeps of a sum of FP8 products
SUM, PRODUCT = 100.25, 1.375 * 2.0**-7  # both are exact in the columns


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-sums", sums


def bits(value: float) -> dict[int, int]:
    """The digit of each column."""
    return {power: int(value / 2.0**power) % 2 for power in range(HIGHEST, LOWEST - 1, -1)}


def cut(value: float) -> float:
    """What a sum whose first bit is HIGHEST keeps of a value."""
    last = 2.0 ** (HIGHEST - FRACTION)
    return int(value / last) * last


def sums(language: str) -> Canvas:
    """A running sum, a product that is added, and what is left of it in the tensor core and in FP32."""
    canvas, top = layout.of_step(
        STEP,
        language,
        ("a large sum loses small FP8 products", "累加结果一大，就会丢掉 FP8 的小乘积"),
        (
            "one row per number, one column per power of two; red: cut off by the tensor core",
            "每行一个数，每列一个 2 的幂；红色：被 Tensor Core 截掉",
        ),
    )
    wide, high, gap = 34.0, 30.0, 46.0
    kept = HIGHEST - FRACTION  # the last column of the tensor core's sum
    rows = (
        (("the sum so far: 100.25", "目前的累加结果：100.25"), bits(SUM), C, LOWEST),
        (("a product: 1.375 · 2⁻⁷", "一个乘积：1.375 · 2⁻⁷"), bits(PRODUCT), A, LOWEST),
        (
            (
                f"summed in the tensor core: {FRACTION} bits behind the first",
                f"在 Tensor Core 里相加：首位之后 {FRACTION} 位",
            ),
            bits(SUM + cut(PRODUCT)),
            C,
            kept,
        ),
        (("summed in FP32: 23 bits behind the first", "以 FP32 相加：首位之后 23 位"), bits(SUM + PRODUCT), C, LOWEST),
    )
    y = top + 34
    for power in range(HIGHEST, LOWEST - 1, -1):
        x = MARGIN + (HIGHEST - power) * wide
        if power % 2 == 0:
            superscript = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(d)] if d.isdigit() else "⁻" for d in str(power))
            canvas.text(x + wide / 2, y - 10, f"2{superscript}", layout.SMALL, MUTED, "middle")
    for words, digits, tone, last in rows:
        canvas.text(MARGIN, y + 16, say(language, *words), layout.SMALL, tone.ink, bold=True)
        for power, digit in digits.items():
            x = MARGIN + (HIGHEST - power) * wide
            gone = power < last
            fill = PALE_RED if gone else tone.middle if digit else "#ffffff"
            canvas.rect(x, y + 24, wide, high, fill, RED if gone else EDGE)
            canvas.text(
                x + wide / 2,
                y + 45,
                "×" if gone else str(digit),
                layout.SMALL,
                RED if gone else INK,
                "middle",
                mono=True,
            )
        y += high + gap
    words = (
        "Every addition cuts again. Integers of 32 bits have nothing behind the point and lose nothing.",
        "每次相加都会再截一次。32 位整数没有小数部分，什么也不丢。",
    )
    canvas.height = layout.paragraph(canvas, y + 8, language, words, fill=MUTED)
    return canvas
