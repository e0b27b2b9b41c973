"""Waves: what a kernel loses when its tiles do not fill the last round of SMs."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.palette import EDGE, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

PLACES = 132  # blocks at a time: one per SM
TILE = 256  # rows and columns of the block tile of steps 17 and 19
SHOWN = (2816, 3072, 4096)  # sizes enlarged above the curve
STEP, LAST = 128, 8192


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "waves", waves


def tiles(size: int, tile: int = TILE) -> int:
    """Tiles that cover a square C of this side."""
    return (-(-size // tile)) ** 2


def used(size: int, tile: int = TILE, places: int = PLACES) -> float:
    """Share of the SMs' time that a square C of this side needs: waves may be ragged, and so may the tiles at its edge."""
    rounds = -(-tiles(size, tile) // places)
    return size * size / (rounds * places * tile * tile)


def waves(language: str) -> Canvas:
    """Three sizes as filled waves, and under them the share of the SMs' time over all sizes."""
    canvas, _ = layout.page(
        language,
        ("One tile too many costs a whole wave", "多出一个分块，就要多跑一整个 wave"),
        (
            f"BM = BN = {TILE}, a block per SM, {PLACES} SMs; worked out, with blocks of equal time",
            f"BM = BN = {TILE}，每个 SM 一个线程块，{PLACES} 个 SM；按所有线程块用时相同推算",
        ),
    )
    canvas.height = 590
    for index, size in enumerate(SHOWN):
        _rounds(canvas, 30.0 + index * 204, 128, size, language)
    _curve(canvas, language)
    return canvas


def _rounds(canvas: Canvas, x: float, y: float, size: int, language: str) -> None:
    """Two waves of 132 places side by side, the filled ones coloured from the bottom."""
    count, wide, high = tiles(size), 80.0, 116.0
    canvas.text(x, y - 14, f"M = N = {size}", 16, bold=True)
    left = count
    for number in range(2):
        filled = min(left, PLACES)
        at = x + number * (wide + 6)
        canvas.rect(at, y, wide, high, "#ffffff" if filled else "none", EDGE, dash="" if filled else "4 3")
        if filled:
            height = high * filled / PLACES
            canvas.rect(at, y + high - height, wide, height, C.middle, C.ink)
            middle = y + high - (height / 2 - 5 if height > 20 else height + 6)
            canvas.text(at + wide / 2, middle, str(filled), 16, C.ink, "middle", bold=True)
        name = say(language, f"wave {number + 1}", f"wave {number + 1}")
        canvas.text(at + wide / 2, y + high + 19, name, layout.SMALL, MUTED, "middle")
        left -= filled
    side = -(-size // TILE)
    canvas.text(x, y + high + 45, say(language, f"{side}×{side} = {count} tiles", f"{side}×{side} = {count} 个分块"))
    share = f"{used(size):.0%}"
    canvas.text(
        x,
        y + high + 67,
        say(language, f"uses {share} of the time", f"用上 {share} 的时间"),
        layout.SMALL,
        C.ink,
        bold=True,
    )


def _curve(canvas: Canvas, language: str) -> None:
    """The share over the size, in steps of 128; the three sizes above marked."""
    x, y, width, height = 66.0, 366.0, 548.0, 160.0
    canvas.rect(x, y, width, height, "#ffffff", EDGE)

    def place(size: int) -> tuple[float, float]:
        return x + width * size / LAST, y + height * (1 - used(size))

    for share in (0, 0.25, 0.5, 0.75, 1):
        at = y + height * (1 - share)
        canvas.line(x, at, x + width, at, EDGE, 0.8)
        canvas.text(x - 8, at + 5, f"{share:.0%}", layout.SMALL, MUTED, "end")
    for size in range(2048, LAST + 1, 2048):
        anchor = "end" if size == LAST else "middle"
        canvas.text(x + width * size / LAST, y + height + 20, str(size), layout.SMALL, MUTED, anchor)
    canvas.text(x + width / 2, y + height + 42, "M = N", layout.SMALL, INK, "middle")
    words = ("share of the SMs' time that is used, over the size", "SM 的时间用上的比例，随尺寸的变化")
    canvas.text(x, y - 12, say(language, *words), bold=True)
    points = [place(size) for size in range(STEP, LAST + 1, STEP)]
    canvas.path("M" + "L".join(f"{round(px, 1):g} {round(py, 1):g}" for px, py in points), A.strong, line=2)
    for size in SHOWN:
        canvas.circle(*place(size), 5, B.strong, "#ffffff")
