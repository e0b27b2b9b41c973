"""Step 21: one SM over two tiles, with a block for each and with a block that stays."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, motion
from plots.figures.palette import INK, MUTED, PALE_RED, RED, THREAD, A, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

# In slices: a short K, and what a tile takes beyond its slices.
SLICES, AHEAD = 8, 2
FILL, STORE = 1.1, 1.1
LEFT, RIGHT, TRACK = 100.0, layout.RIGHT, 32.0


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "21_mma_persistent-blocks", persistent_blocks


@dataclass(frozen=True)
class _Span:
    """Something that a multiprocessor does from `start` to `end`, for tile 0 or 1, in lane `lane`."""

    lane: int  # 0 copies, 1 arithmetic, 2 store, 3 arithmetic that waits
    start: float
    end: float
    tile: int
    text: str = ""


def tile_times(persistent: bool) -> list[_Span]:
    """Two tiles on one multiprocessor: by a block each, or by one that stays."""
    found = []
    now = 0.0
    for tile in range(2):
        if tile == 0 or not persistent:
            found += [
                _Span(0, now + i * FILL / AHEAD, now + (i + 1) * FILL / AHEAD, tile, str(i)) for i in range(AHEAD)
            ]
            found.append(_Span(3, now, now + FILL, tile))
            now += FILL
        for at in range(SLICES):
            found.append(_Span(1, now + at, now + at + 1, tile, str(at)))
            copied = at + AHEAD
            if copied < SLICES:
                found.append(_Span(0, now + at, now + at + 1, tile, str(copied)))
            elif persistent and tile == 0:
                found.append(_Span(0, now + at, now + at + 1, 1, str(copied - SLICES)))
        now += SLICES
        found += [_Span(2, now, now + STORE, tile), _Span(3, now, now + STORE, tile)]
        now += STORE
    return found


def persistent_blocks(language: str) -> Canvas:
    """Step 21: a block for each tile, and a block that stays."""
    canvas, y = layout.of_step(
        "21_mma_persistent",
        language,
        ("a block that stays fills its pipeline once", "persistent 线程块只预填一次流水线"),
        (
            f"two tiles of C on one SM, K = {SLICES * 64}: {SLICES} slices each; copies run {AHEAD} slices ahead",
            f"一个 SM 上的两个分块，K = {SLICES * 64}，各 {SLICES} 片；拷贝超前 {AHEAD} 片",
        ),
    )
    scale = (RIGHT - LEFT) / max(span.end for span in tile_times(False))
    bands = []
    for stays, words in (
        (False, ("one block per tile", "每个分块一个线程块")),
        (True, ("a persistent block: the pipeline is filled once", "persistent 线程块：流水线只预填一次")),
    ):
        canvas.text(layout.MARGIN, y + 22, say(language, *words), layout.SMALL, C.ink if stays else RED, bold=True)
        _tracks(canvas, tile_times(stays), y + 32, scale, language)
        bands.append((y + 33, y + 32 + 3 * TRACK))
        y += 32 + 3 * TRACK + 10
    motion.sweep(canvas, LEFT, RIGHT, bands)
    entries = (
        (C.strong, ("first tile", "第一个分块")),
        (C.middle, ("second tile", "第二个分块")),
        (PALE_RED, ("the tensor cores wait", "Tensor Core 在等")),
    )
    y = layout.legend(canvas, y + 18, language, entries)
    words = (
        f"Numbers: slices of the tile. Schematic: filling and storing are drawn {FILL:g} slices long each; together, about "
        "what a tile costs beyond its own slices.",
        f"数字：该分块的第几片。示意图：流水线预填与写回各画作 {FILL:g} 片，合起来大致是一个分块在自己的切片之外的开销。",
    )
    canvas.height = layout.paragraph(canvas, y + 2, language, words, fill=MUTED)
    return canvas


def _tracks(canvas: Canvas, spans: list[_Span], top: float, scale: float, language: str) -> None:
    names, tones = (("copies", "拷贝"), ("arithmetic", "计算"), ("store of C", "写回 C")), (A, C, THREAD)
    end = max(span.end for span in spans)
    for lane, name in enumerate(names):
        y = top + lane * TRACK
        canvas.rect(LEFT, y + 2, end * scale, TRACK - 4, "#f1f4f8", radius=3)
        canvas.text(LEFT - 8, y + TRACK / 2 + 4.5, say(language, *name), layout.SMALL, INK, "end")
    for span in spans:
        x, wide = LEFT + span.start * scale, (span.end - span.start) * scale
        if span.lane == 3:
            canvas.rect(x, top + TRACK + 2, wide, TRACK - 4, PALE_RED)
            continue
        y, tone = top + span.lane * TRACK, tones[span.lane]
        canvas.rect(x + 0.5, y + 3, wide - 1, TRACK - 6, tone.middle if span.tile else tone.strong, radius=3)
        if span.text:
            ink = tone.ink if span.tile else "#ffffff"
            canvas.text(x + wide / 2, y + TRACK / 2 + 4.5, span.text, layout.SMALL, ink, "middle", bold=True)
