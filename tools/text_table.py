"""Tables on a terminal."""

import unicodedata
from collections.abc import Collection, Sequence

GAP = "  "


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Rows of text as lines in which columns stand below each other; those in `right` are set to the right."""
    widths = widths_of(rows)
    lines = []
    for row in rows:
        padded = [(cell, " " * (width - columns(cell))) for cell, width in zip(row, widths, strict=True)]
        cells = [space + cell if at in right else cell + space for at, (cell, space) in enumerate(padded)]
        lines.append(GAP.join(cells).rstrip())
    return lines


def widths_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column of a table is."""
    return [max(map(columns, column)) for column in zip(*rows, strict=True)]


def columns(text: str) -> int:
    """How wide a text is on a terminal: a Chinese character takes two columns."""
    return sum(1 + is_wide(letter) for letter in text)


def cut(text: str, width: int) -> str:
    """A text in exactly so many columns of a terminal: its end left out, or spaces after it."""
    if columns(text) > width:
        while columns(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - columns(text))


def is_wide(letter: str) -> bool:
    """Whether a character takes two columns."""
    return unicodedata.east_asian_width(letter) in "WF"
