"""The page of a chart: one width for all, narrow enough for a phone; its texts wrapped, its panels one under another.

A chart is 380 units wide, so on a phone that shows it at 380 px a unit is a pixel, and its smallest letters have 9 px.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.figures import text as in_words

from . import style
from .style import BOLD, MUTED, SMALL

WIDTH = 380 / 72  # inches, 72 units each
TITLE = 12
NAMES = 1.64  # inches at the left of the panels for the steps' names
ENDS = 1.74  # inches at the right of the panels for the names at the ends of lines
SPEEDS = 0.62  # inches at the left of an axis of speeds of up to four digits
_EDGE = 0.12  # between the texts and the edges
_TITLE_LINE, _LINE, _LEGEND_LINE = 0.2, 0.155, 0.19
_CLAUSE = re.compile(r"(?<=[，；])|(?<=[,;] )")  # where one ends; in a title after a colon, too
_TITLE_CLAUSE = re.compile(_CLAUSE.pattern + r"|(?<=\D：)|(?<=\D: )")

Entry = tuple[str, str, str]  # of a legend: kind (`box`, `tick`, `line`, `dash` or `dot`), colour, text


@dataclass(frozen=True)
class Texts:
    """What stands around the panels: the title, a muted note under it, the legend, and a muted foot."""

    title: str
    note: str = ""
    legend: Sequence[Entry] = ()
    foot: str = ""


@dataclass(frozen=True)
class Panel:
    """The height of one panel's axes in inches, the room over and under them, and a title over that room."""

    height: float
    above: float = 0.08
    below: float = 0.46
    title: str = ""


def wrap(text: str, inches: float, size: float, bold: bool = False) -> list[str]:
    """The lines of a text, as few as fit into a width: its clauses where these take no more lines, else about equally
    long ones."""
    room = inches * 72 / size / (BOLD if bold else 1)
    lines, clauses = in_words.wrap(text, room, style.em), [""]
    for clause in (_TITLE_CLAUSE if bold else _CLAUSE).split(text):
        if clauses[-1] and style.em((clauses[-1] + clause).rstrip()) > room:
            clauses.append("")
        clauses[-1] += clause
    clauses = [clause.rstrip() for clause in clauses]
    return clauses if len(clauses) <= len(lines) and max(map(style.em, clauses)) <= room else lines


def page(texts: Texts, panels: Sequence[Panel], left: float, right: float) -> tuple[Figure, list[Axes]]:
    """A figure with its texts and the axes of its panels, from top to bottom; margins in inches."""
    room = WIDTH - 2 * _EDGE
    title = wrap(texts.title, room, TITLE, bold=True)
    note = wrap(texts.note, room, SMALL) if texts.note else []
    foot = wrap(texts.foot, room, SMALL) if texts.foot else []
    rows = _legend_rows(texts.legend, room)
    names = [0.22 if panel.title else 0.0 for panel in panels]
    head = 0.08 + _TITLE_LINE * len(title) + _LINE * len(note) + _LEGEND_LINE * len(rows) + 0.07
    body = sum(panel.above + panel.height + panel.below for panel in panels) + sum(names)
    height = head + body + (_LINE * len(foot) + 0.1 if foot else 0.0)
    drawn = style.plt.figure(figsize=(WIDTH, height))
    drawn.set_label(texts.title)  # for to_svg

    y = 0.08
    for lines, step, look in (
        (title, _TITLE_LINE, {"fontsize": TITLE, "fontweight": "bold"}),
        (note, _LINE, {"fontsize": SMALL, "color": MUTED}),
    ):
        y += 0.03 if lines is note else 0.0
        for line in lines:
            y += step
            drawn.text(_EDGE / WIDTH, 1 - (y - 0.03) / height, line, va="baseline", **look)
    for row in rows:
        y += _LEGEND_LINE
        _legend(drawn, row, y - 0.03)
    for number, line in enumerate(reversed(foot)):
        place = (0.08 + _LINE * number) / height
        drawn.text(_EDGE / WIDTH, place, line, fontsize=SMALL, color=MUTED, va="baseline")

    axes, y = [], head
    for panel, name in zip(panels, names, strict=True):
        if panel.title:
            drawn.text(_EDGE / WIDTH, 1 - (y + name - 0.05) / height, panel.title, fontsize=10, fontweight="bold")
        y += name + panel.above + panel.height
        place = (left / WIDTH, 1 - y / height, (WIDTH - left - right) / WIDTH, panel.height / height)
        axes.append(drawn.add_axes(place))
        y += panel.below
    return drawn, axes


def _entry_width(entry: Entry) -> float:
    """The inches that an entry of a legend takes, with the gap after it."""
    kind, _, text = entry
    return (0.2 if kind in ("box", "tick") else 0.3) + style.em(text) * SMALL / 72 + 0.16


def _legend_rows(entries: Sequence[Entry], room: float) -> list[list[Entry]]:
    """The entries of a legend in rows, each as long as the width allows."""
    rows: list[list[Entry]] = []
    for entry in entries:
        if not rows or sum(map(_entry_width, [*rows[-1], entry])) - 0.16 > room:
            rows.append([])
        rows[-1].append(entry)
    return rows


def _legend(drawn: Figure, entries: Sequence[Entry], y_inches: float) -> None:
    """One row of a legend, its baseline `y_inches` below the top edge."""
    height = drawn.get_figheight()
    x, y = _EDGE, 1 - y_inches / height
    for entry in entries:
        kind, colour, text = entry
        wide = 0.14 if kind in ("box", "tick") else 0.24
        if kind in ("box", "tick"):
            thick, start = (0.14, x) if kind == "box" else (0.04, x + 0.05)
            corner, size = (start / WIDTH, y - 0.01 / height), (thick / WIDTH, 0.12 / height)
            drawn.add_artist(Rectangle(corner, *size, color=colour, transform=drawn.transFigure))
        else:
            dashes = {"line": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.5))}[kind]
            ends, at = [x / WIDTH, (x + wide) / WIDTH], [y + 0.045 / height] * 2
            drawn.add_artist(style.plt.Line2D(ends, at, color=colour, ls=dashes, lw=2, transform=drawn.transFigure))
        drawn.text((x + wide + 0.06) / WIDTH, y, text, fontsize=SMALL, va="baseline")
        x += _entry_width(entry)
