"""The simulator's page: why two accesses race, and why an engine may not see a store, told by who knows what."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plots.figures import layout
from plots.figures.palette import BOX, DARK, EDGE, INK, MUTED, RED
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words

WRITTEN = 1  # the writer's moment of the write
GAP, COLUMN_GAP, BOX_HIGH, BAR_HIGH, STEP = 20.0, 8.0, 54.0, 28.0, 30.0
PANEL_WIDE = (layout.INNER - GAP) / 2
COLUMN = (PANEL_WIDE - COLUMN_GAP) / 2


@dataclass(frozen=True)
class Bar:
    """What hands knowledge on: across both columns, or in the writer's alone."""

    words: Words
    alone: bool = False


@dataclass(frozen=True)
class Story:
    """A write, what lies between, and a read that knows of it or does not."""

    title: Words
    columns: tuple[Words, Words]
    write: tuple[Words, Words]
    bars: Sequence[Bar]  # in order; an absent one leaves its place empty
    places: int
    note: tuple[Words, Words]
    read: tuple[Words, Words]
    verdict: Words
    wrong: bool


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "simulator-race", race
    yield "simulator-proxy", proxy


def race(language: str) -> Canvas:
    """The same two accesses twice: without a barrier between them, and with it."""
    return _page(
        language,
        ("Only a barrier tells warp 1 that the write is over", "有屏障，warp 1 才知道写已经结束"),
        (
            "time runs down; at the read, the note at tile[0] is compared with what warp 1 knows",
            "时间自上而下；读的时候，把 tile[0] 的记录与 warp 1 所知道的比较",
        ),
        [_of_race(False), _of_race(True)],
    )


def _of_race(barrier: bool) -> Story:
    knows = WRITTEN if barrier else 0
    handed = Bar(Words(f"hands on: warp 0 up to {WRITTEN}", f"交接：warp 0 到时刻 {WRITTEN}"))
    return Story(
        Words("with __syncthreads", "有 __syncthreads") if barrier else Words("no barrier", "没有屏障"),
        (Words("warp 0", "warp 0"), Words("warp 1", "warp 1")),
        (Words("writes tile[0]", "写 tile[0]"), Words(f"at its moment {WRITTEN}", f"在自己的时刻 {WRITTEN}")),
        [handed] if barrier else [],
        1,
        (Words("note at tile[0]", "tile[0] 的记录"), Words(f"warp 0, moment {WRITTEN}", f"warp 0，时刻 {WRITTEN}")),
        (Words("reads tile[0]", "读 tile[0]"), Words(f"knows warp 0 to {knows}", f"知道 warp 0 到 {knows}")),
        Words(f"{WRITTEN} ≤ {knows}: the write is over", f"{WRITTEN} ≤ {knows}：写已结束")
        if barrier
        else Words(f"{WRITTEN} > {knows}: a race", f"{WRITTEN} > {knows}：数据竞争"),
        not barrier,
    )


def proxy(language: str) -> Canvas:
    """A tile that a thread stores and TMA reads: with the barrier alone, and with the fence before it."""
    return _page(
        language,
        ("A barrier alone does not make a store visible to TMA", "只有屏障，TMA 还看不到线程写的内容"),
        (
            "time runs down; TMA reads by the async proxy, and for it the second number counts: fenced up to",
            "时间自上而下；TMA 经 async proxy 读取，对它起作用的是第二个数：fence 到哪一时刻",
        ),
        [_of_proxy(False), _of_proxy(True)],
    )


def _of_proxy(fence: bool) -> Story:
    fenced = WRITTEN if fence else 0
    bars = [Bar(Words(f"over, fenced: {WRITTEN}", f"结束且 fence：{WRITTEN}"), alone=True)] if fence else []
    bars.append(Bar(Words(f"hands on: over {WRITTEN}, fenced {fenced}", f"交接：结束 {WRITTEN}，fence {fenced}")))
    return Story(
        Words("with fence.proxy.async", "有 fence.proxy.async") if fence else Words("barrier alone", "只有屏障"),
        (Words("a thread", "一个线程"), Words("TMA", "TMA")),
        (Words("stores the tile", "写分块"), Words(f"at its moment {WRITTEN}", f"在自己的时刻 {WRITTEN}")),
        bars,
        2,
        (Words("note at the tile", "分块的记录"), Words(f"thread, moment {WRITTEN}", f"线程，时刻 {WRITTEN}")),
        (Words("reads the tile", "读分块"), Words(f"fenced up to {fenced}", f"fence 到 {fenced}")),
        Words(f"{WRITTEN} ≤ {fenced}: visible", f"{WRITTEN} ≤ {fenced}：看得到")
        if fence
        else Words(f"{WRITTEN} > {fenced}: missing proxy fence", f"{WRITTEN} > {fenced}：missing proxy fence"),
        not fence,
    )


def _page(language: str, heading: layout.Pair, note: layout.Pair, stories: Sequence[Story]) -> Canvas:
    canvas, y = layout.page(language, heading, note)
    ends = []
    for panel, story in enumerate(stories):
        x = layout.MARGIN + panel * (PANEL_WIDE + GAP)
        canvas.text(x + PANEL_WIDE / 2, y + 26, story.title(language), 16, anchor="middle", bold=True)
        ends.append(_panel(canvas, x, y + 42, story, language))
    canvas.height = max(ends) + 18
    return canvas


def _panel(canvas: Canvas, x: float, top: float, story: Story, language: str) -> float:
    """Writer and reader side by side; returns the y under them."""
    right = x + COLUMN + COLUMN_GAP
    middles = x + COLUMN / 2, right + COLUMN / 2
    for name, middle in zip(story.columns, middles, strict=True):
        canvas.text(middle, top + 16, name(language), layout.SMALL, MUTED, "middle", bold=True)
    y = top + 28
    _access(canvas, x, y, story.write, language)
    read = y + BOX_HIGH + story.places * (STEP + BAR_HIGH) + STEP
    at = y + BOX_HIGH + (story.places - len(story.bars)) * (STEP + BAR_HIGH)
    last = y + BOX_HIGH
    across = next((at + index * (STEP + BAR_HIGH) + STEP for index, b in enumerate(story.bars) if not b.alone), read)
    canvas.line(middles[1], y, middles[1], across, EDGE, 2)
    for bar in story.bars:
        at += STEP
        canvas.arrow(middles[0], last, middles[0], at - 1, INK, 2.2)
        canvas.rect(x, at, COLUMN if bar.alone else PANEL_WIDE, BAR_HIGH, DARK, radius=3)
        middle = middles[0] if bar.alone else x + PANEL_WIDE / 2
        canvas.text(middle, at + 19, bar.words(language), layout.SMALL, "#ffffff", "middle", bold=True)
        at += BAR_HIGH
        last = at
    if story.bars:
        canvas.arrow(middles[1], last, middles[1], read - 1, INK, 2.2)
    else:
        canvas.line(middles[0], last, middles[0], read, EDGE, 2)
    canvas.rect(x, read, COLUMN, BOX_HIGH, "none", MUTED, 1.3, 4, "5 3")
    for line, words in enumerate(story.note):
        canvas.text(
            x + COLUMN / 2, read + 22 + 20 * line, words(language), layout.SMALL, INK if line else MUTED, "middle"
        )
    _access(canvas, right, read, story.read, language)
    y = read + BOX_HIGH + 28
    canvas.text(x + PANEL_WIDE / 2, y, story.verdict(language), 16, RED if story.wrong else INK, "middle", bold=True)
    return y + 4


def _access(canvas: Canvas, x: float, y: float, words: tuple[Words, Words], language: str) -> None:
    canvas.rect(x, y, COLUMN, BOX_HIGH, BOX, DARK, 1.5, 4)
    for line, text in enumerate(words):
        canvas.text(x + COLUMN / 2, y + 22 + 20 * line, text(language), layout.SMALL, INK, "middle", bold=not line)
