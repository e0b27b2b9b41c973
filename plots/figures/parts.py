"""Parts that several pictures share: matrices with some of their cells, rows of sectors, cards."""

from collections.abc import Iterable, Sequence

from plots.figures.geometry import SECTOR_FLOATS, Cell
from plots.figures.palette import BOX, EDGE, GRID, INK, PALE_RED, Tone
from plots.figures.svg import SMALL, Canvas


def grid(canvas: Canvas, x: float, y: float, rows: int, cols: int, height: float, width: float, every: int = 1) -> None:
    """The lines of a matrix on its plate."""
    canvas.rect(x, y, cols * width, rows * height, "#ffffff")
    down = "".join(f"M{x + i * width:g} {y:g}v{rows * height:g}" for i in range(every, cols, every))
    across = "".join(f"M{x:g} {y + i * height:g}h{cols * width:g}" for i in range(every, rows, every))
    if down or across:
        canvas.path(down + across, GRID, line=0.6)


def frame(canvas: Canvas, x: float, y: float, rows: int, cols: int, height: float, width: float) -> None:
    """The border of a matrix, drawn over its cells."""
    canvas.rect(x, y, cols * width, rows * height, "none", "#9aa6b5", 1.2)


def boxes(cells: Iterable[Cell]) -> list[tuple[int, int, int, int]]:
    """Cells as few rectangles (row, column, height, width): runs along rows, then equal runs joined downwards."""
    runs: dict[tuple[int, int], list[int]] = {}
    for row in sorted({r for r, _ in cells}):
        cols = sorted(c for r, c in set(cells) if r == row)
        at = 0
        while at < len(cols):
            end = at
            while end + 1 < len(cols) and cols[end + 1] == cols[end] + 1:
                end += 1
            runs.setdefault((cols[at], end - at + 1), []).append(row)
            at = end + 1
    found = []
    for (col, width), rows in runs.items():
        start = previous = rows[0]
        for row in [*rows[1:], None]:
            if row is not None and row == previous + 1:
                previous = row
                continue
            found.append((start, col, previous - start + 1, width))
            if row is not None:
                start = previous = row
    return sorted(found)


def fill(canvas: Canvas, x: float, y: float, cells: Iterable[Cell], height: float, width: float, colour: str) -> None:
    """Colours cells of a matrix."""
    cells = list(cells)
    data = "".join(
        f"M{x + col * width:g} {y + row * height:g}h{wide * width:g}v{high * height:g}h{-wide * width:g}z"
        for row, col, high, wide in boxes(cells)
    )
    if data:
        canvas.path(data, fill=colour)


def outline(
    canvas: Canvas, x: float, y: float, cells: Iterable[Cell], height: float, width: float, colour: str, line: float = 2
) -> None:
    """Draws a frame around each connected rectangle of cells."""
    for row, col, high, wide in boxes(list(cells)):
        canvas.rect(x + col * width, y + row * height, wide * width, high * height, "none", colour, line)


def sector_strip(
    canvas: Canvas, x: float, y: float, used: Sequence[set[int]], tone: Tone, per_row: int = 4, cell: float = 7
) -> float:
    """Sectors as strips of 8 floats, the used ones coloured, the wasted ones pale red; returns the y under them."""
    gap = 6.0
    for index, floats in enumerate(used):
        left = x + index % per_row * (SECTOR_FLOATS * cell + gap)
        top = y + index // per_row * (cell + 4)
        wasted = [i for i in range(SECTOR_FLOATS) if i not in floats]
        fill(canvas, left, top, [(0, i) for i in floats], cell, cell, tone.strong)
        fill(canvas, left, top, [(0, i) for i in wasted], cell, cell, PALE_RED)
        canvas.rect(left, top, SECTOR_FLOATS * cell, cell, "none", "#8793a3", 0.8)
    return y + -(-len(used) // per_row) * (cell + 4)


def card(
    canvas: Canvas,
    x: float,
    y: float,
    width: float,
    height: float,
    title: str = "",
    colour: str = INK,
) -> None:
    """A container: a rounded plate with its name at the top left."""
    canvas.rect(x, y, width, height, BOX, EDGE, radius=7)
    if title:
        canvas.text(x + 12, y + 21, title, SMALL, colour, bold=True)
