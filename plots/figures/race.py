"""The simulator's page: why two accesses race, told by what each warp knows of the other."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.palette import BOX, DARK, EDGE, INK, MUTED, RED
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words

WRITTEN = 1  # warp 0's moment of the write
GAP, COLUMN_GAP, BOX_HIGH = 24.0, 12.0, 50.0
PANEL_WIDE = (layout.INNER - GAP) / 2
COLUMN = (PANEL_WIDE - COLUMN_GAP) / 2
WRITES = Words("writes tile[0]", "写 tile[0]")
AT = Words(f"at its moment {WRITTEN}", f"在自己的时刻 {WRITTEN}")
READS = Words("reads tile[0]", "读 tile[0]")


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "simulator-race", race


def race(language: str) -> Canvas:
    """The same two accesses twice: without a barrier between them, and with it."""
    canvas, y = layout.page(
        language,
        (
            "Only a barrier tells warp 1 that the write is over",
            "只有屏障能让 warp 1 知道写已经结束",
        ),
        (
            "time runs down; at the read, the note at tile[0] is compared with what warp 1 knows",
            "时间自上而下；读的时候，把 tile[0] 的记录与 warp 1 所知道的比较",
        ),
    )
    titles = Words("no barrier", "没有屏障"), Words("with __syncthreads", "有 __syncthreads")
    ends = []
    for panel, title in enumerate(titles):
        x = layout.MARGIN + panel * (PANEL_WIDE + GAP)
        canvas.text(x + PANEL_WIDE / 2, y + 26, title(language), 16, anchor="middle", bold=True)
        ends.append(_panel(canvas, x, y + 42, bool(panel), language))
    canvas.height = max(ends) + 18
    return canvas


def _panel(canvas: Canvas, x: float, top: float, barrier: bool, language: str) -> float:
    """Two warps side by side; returns the y under them."""
    right = x + COLUMN + COLUMN_GAP
    middles = x + COLUMN / 2, right + COLUMN / 2
    for number, middle in enumerate(middles):
        canvas.text(middle, top + 16, f"warp {number}", 14, MUTED, "middle", bold=True)
    y = top + 28
    _access(canvas, x, y, BOX, DARK, [WRITES(language), AT(language)])
    below, bar, read = y + BOX_HIGH, y + BOX_HIGH + 30, y + BOX_HIGH + 86
    canvas.line(middles[1], y, middles[1], bar if barrier else read, EDGE, 2)
    if barrier:
        canvas.rect(x, bar, PANEL_WIDE, 26, DARK, radius=3)
        hands_on = Words(f"hands on: warp 0 up to {WRITTEN}", f"转交：warp 0 直到 {WRITTEN}")
        canvas.text(x + PANEL_WIDE / 2, bar + 18, hands_on(language), 14, "#ffffff", "middle", bold=True)
        canvas.arrow(middles[0], below, middles[0], bar - 1, INK, 2.2)
        canvas.arrow(middles[1], bar + 26, middles[1], read - 1, INK, 2.2)
    else:
        canvas.line(middles[0], below, middles[0], read, EDGE, 2)
    knows = WRITTEN if barrier else 0
    canvas.rect(x, read, COLUMN, BOX_HIGH, "none", MUTED, 1.3, 4, "5 3")
    note = Words("note at tile[0]", "tile[0] 的记录"), Words(f"warp 0, moment {WRITTEN}", f"warp 0，时刻 {WRITTEN}")
    for line, words in enumerate(note):
        canvas.text(x + COLUMN / 2, read + 20 + 20 * line, words(language), 13.5, MUTED if line == 0 else INK, "middle")
    known = Words(f"knows warp 0 to {knows}", f"知道 warp 0 到 {knows}")
    _access(canvas, right, read, BOX, DARK, [READS(language), known(language)])
    verdict = (
        Words(f"{WRITTEN} ≤ {knows}: the write is over", f"{WRITTEN} ≤ {knows}：写已结束")
        if barrier
        else Words(f"{WRITTEN} > {knows}: a race", f"{WRITTEN} > {knows}：数据竞争")
    )
    y = read + BOX_HIGH + 28
    canvas.text(x + PANEL_WIDE / 2, y, verdict(language), 16, INK if barrier else RED, "middle", bold=True)
    return y + 4


def _access(canvas: Canvas, x: float, y: float, fill: str, edge: str, lines: list[str]) -> None:
    canvas.rect(x, y, COLUMN, BOX_HIGH, fill, edge, 1.5, 4)
    for line, text in enumerate(lines):
        canvas.text(x + COLUMN / 2, y + 20 + 20 * line, text, 13.5, INK, "middle", bold=not line)
