"""Motion for pictures in which time is the idea: CSS inside the SVG, without a script.

The still picture is the base: what only the motion needs has opacity 0 there, and what moves stands where the still
picture has it. A viewer without CSS animation, and a reader who asked for reduced motion, see exactly that. The motion
runs once, and the still picture stays.
"""

from collections.abc import Iterable, Sequence

from plots.figures.palette import INK, PANEL
from plots.figures.svg import Canvas

SECONDS = 10  # of a loop
FADE, SWEPT = 3, 72  # per cent of a loop: when the line starts, and when it has arrived; then the picture stands whole
VEIL = 0.75  # opacity over what is still to come

Box = tuple[float, float, float, float, str]


def sweep(canvas: Canvas, left: float, right: float, bands: Iterable[tuple[float, float]]) -> None:
    """A line runs along a time axis from x = left to right; all right of it is pale until the line arrives.

    `bands` are the top and the bottom of each stretch of tracks that shares the axis. Call it after the last bar: the
    veil lies over what has been drawn.
    """
    width = f"{right - left:g}"
    data = ""
    for top, bottom in bands:
        # Two pixels more on the right, for marks that stand on the axis's end.
        canvas.rect(left, top, right + 2 - left, bottom - top, PANEL, opacity=0, moves="later")
        data += f"M{left:g} {bottom:g}V{top - 1:g}l-4.5 -5h9l-4.5 5"
    ends = f'stroke="{INK}" stroke-width="2" stroke-linejoin="round"'
    canvas.parts.append(f'<path class="now" d="{data}" fill="{INK}" {ends} opacity="0"/>')
    _animate(
        canvas,
        [
            _keyframes("later", VEIL, "scaleX(1)", "scaleX(0)"),
            _keyframes("now", 1, "translateX(0)", f"translateX({width}px)"),
        ],
        [
            f".later{{transform-origin:{right + 2:g}px 0;animation:later {SECONDS}s linear}}",
            f".now{{animation:now {SECONDS}s linear}}",
        ],
    )


def _keyframes(name: str, opacity: float, start: str, end: str) -> str:
    """From one transform to the other and then out of sight."""
    return (
        f"@keyframes {name}{{from{{opacity:0;transform:{start}}}"
        f"{FADE}%{{opacity:{opacity:g};transform:{start}}}"
        f"{SWEPT}%{{opacity:{opacity:g};transform:{end}}}"
        f"{SWEPT + 1}%,to{{opacity:0;transform:{end}}}}}"
    )


def walk(canvas: Canvas, slices: Sequence[tuple[str, str, float]], count: int, shown: int) -> None:
    """Marks that step through `count` slices of K together, one loop for all.

    `slices` gives each mark's class, its axis (X or Y) and the pixels from one slice to the next; the still picture has
    the mark at slice `shown`.
    """
    frames, rules = [], []
    for name, axis, step in slices:
        first, past = -shown * step, (count - shown) * step
        frames.append(
            f"@keyframes {name}{{from{{transform:translate{axis}({first:g}px)}}"
            f"to{{transform:translate{axis}({past:g}px)}}}}"
        )
        rules.append(f".{name}{{animation:{name} {SECONDS}s steps({count})}}")
    _animate(canvas, frames, rules)


def alternate(
    canvas: Canvas,
    first: Iterable[Box],
    then: Iterable[Box],
    turns: int,
) -> None:
    """In each of a loop's turns the boxes `first` are clear and `then` are pale, and after half of it the reverse.

    A box is x, y, width, height and the colour of what it lies on.
    """
    for name, boxes in (("copying", first), ("reading", then)):
        for box in boxes:
            canvas.rect(*box, opacity=0, moves=name)
    turn = SECONDS / turns
    _animate(
        canvas,
        [f"@keyframes turn{{from,45%{{opacity:{VEIL:g}}}50%,95%{{opacity:0}}to{{opacity:{VEIL:g}}}}}"],
        [
            f".reading{{animation:turn {turn:g}s linear {turns}}}",
            f".copying{{animation:turn {turn:g}s linear -{turn / 2:g}s {turns}}}",
        ],
    )


def _animate(canvas: Canvas, keyframes: Iterable[str], rules: Iterable[str]) -> None:
    """Adds keyframes, and the rules that use them where the reader has not asked for reduced motion."""
    canvas.styles += [*keyframes, "@media (prefers-reduced-motion:no-preference){", *rules, "}"]
