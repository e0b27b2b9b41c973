"""One look for every chart: colours, fonts, heat maps, and SVG text that two runs write byte for byte alike."""

from __future__ import annotations

import io
import logging
import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.figures.palette import GRID as GRID
from plots.figures.palette import INK as INK
from plots.figures.palette import MUTED as MUTED
from plots.figures.palette import PANEL as PANEL
from plots.figures.palette import RED as RED
from plots.figures.palette import THREAD, A, B, C
from plots.figures.svg import FONT
from plots.figures.text import is_wide
from plots.figures.text import say as say

BLUE = A.strong  # operand A, and the step a chapter is about
AMBER, AMBER_INK = B.strong, B.ink  # operand B, and cuBLAS
GREEN = C.strong  # results, FMAs, gains
PLUM = THREAD.strong  # threads, and cublasLt
BROWN = "#8a5a3c"  # CUTLASS
GREY = "#a9b4c2"  # the step before, everything else
SIZES = {4096: GREY, 8192: BLUE, 16384: GREEN}  # where sizes are told apart by colour
_INKS = {tone.strong: tone.ink for tone in (A, B, C, THREAD)} | {GREY: MUTED}  # for text in a colour: darker

READABLE = 4.5  # contrast of letters with what they stand on
SMALL = 9  # the smallest letters, of figures, names and notes alike
LARGER = 1.2  # than its units is a chart where a page is wide enough

# Along a ladder, readable on the panel colour.
LADDER = (
    "#8a97a8",
    "#6f86a8",
    "#5578a8",
    "#3b6fb0",
    "#2f6fbb",
    "#2b86b8",
    "#2799ad",
    "#28a08f",
    "#2e9e6b",
    "#5a9a3a",
    "#8a8f1c",
)

# Measured with a font that matplotlib ships, so that layouts are the same everywhere; shown with the reader's own.
_MEASURE = "DejaVu Sans"
_SETTINGS = {
    "font.family": _MEASURE,
    "font.size": 10,
    "axes.labelsize": SMALL,
    "axes.labelpad": 3,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "svg.fonttype": "none",
    "svg.hashsalt": "gemm-course",
    "axes.edgecolor": "#b8c2ce",
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": PANEL,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "figure.facecolor": PANEL,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "savefig.facecolor": PANEL,
}


BOLD = 1.12  # how much wider bold letters are
# Of letters that are far narrower or wider than others, in font sizes.
_EMS = dict.fromkeys(".,:;'|!()[]/ijlftrI ", 0.36) | dict.fromkeys("mwMW%@", 0.92)


class Missing(Exception):
    """A chart or table has no record to stand on; the text says which."""


def apply() -> None:
    """Sets the look; quiet about glyphs that the measuring font lacks, for the reader's fonts draw them."""
    plt.rcdefaults()
    matplotlib.rcParams.update(_SETTINGS)
    warnings.filterwarnings("ignore", message="Glyph .* missing from")
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def to_svg(drawn: Figure) -> str:
    """The figure as SVG text, without date or version, and closes it. Screen readers read its heading."""
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": drawn.get_label()})
    plt.close(drawn)
    svg = buffer.getvalue()
    svg = re.sub(r"'DejaVu Sans'", FONT, svg)
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.S)
    svg = re.sub(r"(<svg\b[^>]*)>", r'\1 role="img">', svg, count=1)
    svg = re.sub(
        r'\b(width|height)="([\d.]+)pt"', lambda size: f'{size[1]}="{LARGER * float(size[2]):g}pt"', svg, count=2
    )
    svg = re.sub(r"^[ \t]+", "", svg, flags=re.M)
    return re.sub(r"[ \t]+$", "", svg, flags=re.M)


def spaced(name: str) -> str:
    """A library's name inside a Chinese sentence: with spaces around it where it is Latin."""
    return f" {name} " if name.isascii() else name


def em(text: str) -> float:
    """About how wide a text is in font sizes, in a wide font such as DejaVu Sans; a Chinese character is 1."""
    return sum(1.0 if is_wide(char) else _EMS.get(char, 0.62) for char in text)


def blend(colour: str, share: float, least: float = 0.08) -> str:
    """A colour mixed with white: 0 is nearly white, 1 the colour itself."""
    share = least + (1 - least) * share
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in parts)


def luminance(colour: str) -> float:
    """A colour's relative luminance: 0 for black, 1 for white; text on it is white below about 0.22."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(colour: str, ground: str = PANEL) -> float:
    """How well a colour is seen on a ground that is lighter: 1 for not at all, 21 for black on white."""
    return (luminance(ground) + 0.05) / (luminance(colour) + 0.05)


def ink(colour: str) -> str:
    """A colour for text: the one chosen for it, or the colour itself, as dark as letters on the panel have to be."""
    colour = _INKS.get(colour, colour)
    while contrast(colour) < READABLE:
        colour = "#" + "".join(f"{round(0.96 * int(colour[i : i + 2], 16)):02x}" for i in (1, 3, 5))
    return colour


def ratio_colour(ratio: float, reach: float) -> str:
    """The colour of a ratio: white at 1, blue above, orange below, full where it is `reach` times as large or small."""
    share = min(1.0, abs(math.log(ratio)) / math.log(reach))
    return blend(BLUE if ratio > 1 else AMBER, share, 0)


def cells(
    ax: Axes,
    rows: int,
    columns: int,
    values: Mapping[tuple[int, int], tuple[float, str, str]],
    colour: Callable[[float], str],
    bold: Callable[[float], bool] = lambda value: True,
    start: float = 0.0,
) -> None:
    """A heat map from `start` on: by row and column a value, which gives the cell its colour, and up to two texts."""
    for row in range(rows):
        for column in range(columns):
            value, first, second = values.get((row, column), (None, "–", ""))
            shade = GRID if value is None else colour(value)
            ax.add_patch(Rectangle((start + column, row), 1, 1, facecolor=shade, edgecolor="white", lw=1.5))
            ink = INK if value is None or luminance(shade) > 0.22 else "white"
            weight = "bold" if value is not None and bold(value) else "normal"
            middle = {"va": "center_baseline", "color": ink, "zorder": 5}
            x = start + column + (0.53 if second else 0.5)
            ax.text(
                x, row + 0.5, first, ha="right" if second else "center", fontsize=SMALL, fontweight=weight, **middle
            )
            if second:
                ax.text(start + column + 0.6, row + 0.5, second, ha="left", fontsize=SMALL, **middle)
    ax.set_xlim(0, start + columns)
    ax.set_ylim(rows, 0)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def group_name(ax: Axes, y: float, text: str, colour: str = INK, size: float = 10) -> None:
    """The name of a group of rows, at the left edge of the axes."""
    ax.text(
        0.004,
        y,
        text,
        fontsize=size,
        fontweight="bold",
        color=ink(colour),
        va="center",
        transform=ax.get_yaxis_transform(),
        zorder=5,
    )


def lines_of_text(ax: Axes, text: str, at: tuple[float, float], coords: object, points: float, **look: object) -> None:
    """The lines of a text around a place, `points` to its right, each a text of its own: matplotlib would align them
    by the letters of the font that it measures with, which a reader may not have."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        up = 1.2 * SMALL * ((len(lines) - 1) / 2 - number)
        ax.annotate(line, at, (points, up), xycoords=coords, textcoords="offset points", va="center", fontsize=SMALL,
                    annotation_clip=False, **look)  # fmt: skip


def name_beside(ax: Axes, point: tuple[float, float], text: str, place: float, colour: str) -> None:
    """A line's name to the right of the axes, at `place` of their height, joined to the line's last point."""
    leader = {"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 2}
    ax.annotate("", point, (1.035, place), textcoords="axes fraction", annotation_clip=False, arrowprops=leader)
    lines_of_text(ax, text, (1.035, place), "axes fraction", 2, color=ink(colour))


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Moves label positions apart to at least `gap`, keeping their order and staying near their values."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    placed = [values[i] for i in order]
    for _ in range(200):
        moved = False
        for i in range(len(placed) - 1):
            short = gap - (placed[i + 1] - placed[i])
            if short > 1e-9:
                placed[i] -= short / 2
                placed[i + 1] += short / 2
                moved = True
        if not moved:
            break
    result = [0.0] * len(values)
    for place, i in zip(placed, order, strict=True):
        result[i] = place
    return result


def number(value: float) -> str:
    """Three significant digits the way a table shows them: 0.497, 6.25, 51.4, 652."""
    return (
        f"{value:.3f}"
        if value < 1
        else f"{value:.2f}"
        if value < 10
        else f"{value:.1f}"
        if value < 100
        else f"{value:.0f}"
    )
