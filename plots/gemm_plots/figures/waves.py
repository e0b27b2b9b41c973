"""Waves: what a kernel loses when its tiles do not fill the last round of SMs."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.palette import EDGE, INK, MUTED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

PLACES = 132  # blocks at a time: one per SM
TILE = 256  # rows and columns of the block tile of steps 17 and 19
SHOWN = (2816, 3072, 4096)  # sizes enlarged above the curve
STEP, LAST = 128, 8192


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
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
    canvas = Canvas(960, 560, say(language, "One tile too many costs a whole wave", "多出一个分块，就要多跑一整波"))
    parts.heading(
        canvas,
        say(
            language,
            f"BM = BN = {TILE}, one block per SM, {PLACES} SMs; worked out, with all blocks taking the same time",
            f"BM = BN = {TILE}，每个 SM 一个线程块，{PLACES} 个 SM；按所有线程块用时相同推算",
        ),
    )
    for index, size in enumerate(SHOWN):
        _rounds(canvas, 84.0 + index * 296, 108, size, language)
    _curve(canvas, language)
    return canvas


def _rounds(canvas: Canvas, x: float, y: float, size: int, language: str) -> None:
    """Two waves of 132 places side by side, the filled ones coloured from the bottom."""
    count, wide, high = tiles(size), 92.0, 116.0
    canvas.text(x, y - 14, f"M = N = {size}", 14, bold=True)
    left = count
    for number in range(2):
        filled = min(left, PLACES)
        at = x + number * (wide + 6)
        canvas.rect(at, y, wide, high, "#ffffff" if filled else "none", EDGE, dash="" if filled else "4 3")
        if filled:
            height = high * filled / PLACES
            canvas.rect(at, y + high - height, wide, height, C.middle, C.ink)
            middle = y + high - (height / 2 - 5 if height > 20 else height + 6)
            canvas.text(at + wide / 2, middle, str(filled), 14, C.ink, "middle", bold=True)
        canvas.text(at + wide / 2, y + high + 17, say(language, f"wave {number + 1}", f"第 {number + 1} 波"), 12, MUTED,
                    "middle")  # fmt: skip
        left -= filled
    side = -(-size // TILE)
    words = say(language, f"{side} × {side} = {count} tiles", f"{side} × {side} = {count} 个分块")
    canvas.text(x, y + high + 40, words, 13)
    canvas.text(x, y + high + 60, say(language, f"{used(size):.0%} of the SMs' time is used",
                                      f"SM 的时间用上了 {used(size):.0%}"), 13, C.ink, bold=True)  # fmt: skip


def _curve(canvas: Canvas, language: str) -> None:
    """The share over the size, in steps of 128; the three sizes above marked."""
    x, y, width, height = 84.0, 346.0, 850.0, 160.0
    canvas.rect(x, y, width, height, "#ffffff", EDGE)

    def place(size: int) -> tuple[float, float]:
        return x + width * size / LAST, y + height * (1 - used(size))

    for share in (0, 0.25, 0.5, 0.75, 1):
        at = y + height * (1 - share)
        canvas.line(x, at, x + width, at, EDGE, 0.8)
        canvas.text(x - 8, at + 4, f"{share:.0%}", 12, MUTED, "end")
    for size in range(1024, LAST + 1, 1024):
        canvas.text(x + width * size / LAST, y + height + 18, str(size), 12, MUTED, "middle")
    canvas.text(x + width, y + height + 38, "M = N", 12.5, INK, "end")
    canvas.text(x, y - 10, say(language, "share of the SMs' time that the tiles need", "分块真正用到的 SM 时间所占的比例"), 13,
                bold=True)  # fmt: skip
    sizes = range(STEP, LAST + 1, STEP)
    points = " ".join(f"{px:g} {py:g}" for px, py in (tuple(round(v, 1) for v in place(size)) for size in sizes))
    canvas.path("M" + points.replace(" ", "L", 0), A.strong, line=2)
    for size in SHOWN:
        px, py = place(size)
        canvas.circle(px, py, 5, B.strong, "#ffffff")
