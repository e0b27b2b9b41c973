"""How a picture fills its page: narrow, so that a phone shows it readably, its parts one below the other.

Every function takes words as a pair, English and Chinese. A y that comes back is where the next part begins; it depends
on how many lines the words need, so that the picture of one language may be a little higher than that of the other.
"""

from collections.abc import Iterable
from functools import partial

from plots.figures import text as in_words
from plots.figures.palette import EDGE, INK, MUTED
from plots.figures.svg import SMALL as SMALL
from plots.figures.svg import Canvas, text_width
from plots.figures.text import say, title

Pair = tuple[str, str]

WIDTH = 640.0  # of every picture
MARGIN = 24.0
INNER = WIDTH - 2 * MARGIN
RIGHT = WIDTH - MARGIN


def page(language: str, heading: Pair, note: Pair = ("", "")) -> tuple[Canvas, float]:
    """A picture with its title and a muted line under it; the caller sets its height at last."""
    canvas = Canvas(WIDTH, 0, say(language, *heading))
    y = paragraph(canvas, 34, language, heading, 18, bold=True, step=1.3)
    if any(note):
        y = paragraph(canvas, y - 2, language, note, fill=MUTED, step=1.35)
    return canvas, y - 6


def of_step(name: str, language: str, words: Pair, note: Pair = ("", "")) -> tuple[Canvas, float]:
    """A step's picture: its name and what it shows."""
    return page(language, (f"{title(name)}: {words[0]}", f"{title(name)}：{words[1]}"), note)


def paragraph(
    canvas: Canvas,
    y: float,
    language: str,
    words: Pair,
    size: float = SMALL,
    x: float = MARGIN,
    width: float = INNER,
    step: float = 1.4,
    fill: str = INK,
    anchor: str = "start",
    bold: bool = False,
) -> float:
    """Words in as many lines as they need, the first one's baseline at y."""
    lines = wrap(say(language, *words), size, width, bold)
    for index, line in enumerate(lines):
        canvas.text(x, y + index * size * step, line, size, fill, anchor, bold)
    return float(round(y + len(lines) * size * step))


def paragraphs(canvas: Canvas, y: float, language: str, texts: Iterable[Pair], gap: float) -> float:
    """Paragraphs with a gap between them, the first line's baseline at y."""
    for words in texts:
        y = paragraph(canvas, y, language, words) + gap
    return y - gap


def wrap(text: str, size: float, width: float, bold: bool = False) -> list[str]:
    """A text in as few lines as the width allows, all about equally long."""
    return in_words.wrap(text, width, partial(text_width, size=size, bold=bold))


def legend(
    canvas: Canvas,
    y: float,
    language: str,
    entries: Iterable[tuple[str, Pair]],
    x: float = MARGIN,
) -> float:
    """Marks with their meaning, in rows; the first one's baseline at y.

    A mark is the colour of a square; `outline:` before it draws an empty square, `line:` an upright line, `dash:` a
    dashed one. The key of a barrier is such a line.
    """
    left = x
    for mark, words in entries:
        text = say(language, *words)
        wide = 18 + text_width(text)
        if left > x and left + wide > RIGHT:
            left, y = x, y + 21
        _mark(canvas, left, y, mark)
        canvas.text(left + 18, y, text)
        left += wide + 18
    return y + 21


def _mark(canvas: Canvas, x: float, y: float, mark: str) -> None:
    kind, _, colour = mark.rpartition(":")
    if kind == "outline":
        canvas.rect(x + 1, y - 10, 10, 10, "none", colour, 2)
    elif kind:
        canvas.line(x + 6, y - 12, x + 6, y + 2, colour, 2.5, "4 2.5" if kind == "dash" else "")
    else:
        canvas.rect(x, y - 11, 12, 12, colour, EDGE)
