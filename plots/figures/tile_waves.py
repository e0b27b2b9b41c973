"""Step 21: the waves that one C takes in tiles of four kinds, and the score that the launcher's rule gives each."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from base.paths import STEPS
from plots.figures import layout, parts
from plots.figures.palette import BOX, INK, MUTED, A
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP, SIZE = "21_mma_persistent", 2048
MULTIPROCESSORS = 132
SHOWN = ("Large", "Wide", "Square", "Small")
DOWN, ACROSS, CELL = 6, 22, 5.0  # places of a wave
LEFT = 134.0


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-waves", waves


@dataclass(frozen=True)
class Kind:
    """A kind of tile, and the speed that the launcher reckons with."""

    bm: int
    bn: int
    speed: float

    @property
    def tiles(self) -> int:
        """Of the C that is shown."""
        return SIZE // self.bm * (SIZE // self.bn)

    @property
    def waves(self) -> int:
        """Rounds of one tile per multiprocessor."""
        return -(-self.tiles // MULTIPROCESSORS)

    @property
    def used(self) -> float:
        """Share of the places in its waves."""
        return self.tiles / (self.waves * MULTIPROCESSORS)


@cache
def of_the_kernel() -> tuple[Kind, ...]:
    """The four kinds, with the numbers of kernel.cu."""
    source = (STEPS / STEP / "kernel.cu").read_text(encoding="utf-8")
    shapes = {name: (int(bm), int(bn)) for name, bm, bn in re.findall(r"using (\w+) = Tile<(\d+), (\d+),", source)}
    speeds = dict(re.findall(r"choice<(\w+)>\(([\d.]+),", source))
    return tuple(Kind(*shapes[name], float(speeds[name])) for name in SHOWN)


def waves(language: str) -> Canvas:
    """A row per kind of tile: its waves with the places that have a tile, and its score."""
    kinds = of_the_kernel()
    best = max(kinds, key=lambda kind: kind.speed * kind.used)
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            f"{best.tiles} tiles of {best.bm}×{best.bn} nearly fill one wave",
            f"{best.tiles} 个 {best.bm}×{best.bn} 的分块几乎装满一个 wave",
        ),
        (
            f"C of {SIZE}×{SIZE}; a box is a wave, {MULTIPROCESSORS} places, one per SM; blue: a tile is computed there",
            f"C 为 {SIZE}×{SIZE}；一框一个 wave，{MULTIPROCESSORS} 个 SM 各一个位置；蓝色：算一个分块",
        ),
    )
    y += 30
    gap = (layout.RIGHT - LEFT - 4 * ACROSS * CELL) / 3
    for kind in kinds:
        words = (f"{kind.tiles} tiles", f"{kind.tiles} 个分块")
        canvas.text(layout.MARGIN, y + 12, f"{kind.bm}×{kind.bn}", bold=True)
        canvas.text(layout.MARGIN, y + 32, say(language, *words), layout.SMALL, MUTED)
        for wave in range(kind.waves):
            x, busy = LEFT + wave * (ACROSS * CELL + gap), min(kind.tiles - wave * MULTIPROCESSORS, MULTIPROCESSORS)
            canvas.rect(x, y, ACROSS * CELL, DOWN * CELL, BOX)
            places = [divmod(place, ACROSS) for place in range(busy)]
            parts.fill(canvas, x, y, places, CELL, CELL, A.strong)
            down = "".join(f"M{x + i * CELL:g} {y:g}v{DOWN * CELL:g}" for i in range(1, ACROSS))
            across = "".join(f"M{x:g} {y + i * CELL:g}h{ACROSS * CELL:g}" for i in range(1, DOWN))
            canvas.path(down + across, "#ffffff", line=0.8)
            parts.frame(canvas, x, y, DOWN, ACROSS, CELL, CELL)
        share, score = f"{kind.used:.2f}", f"{kind.speed * kind.used:.2f}"
        score_of = (
            f"speed {kind.speed:.2f} · efficiency {share} = score {score}",
            f"速度 {kind.speed:.2f} · 利用率 {share} = 得分 {score}",
        )
        taken = say(language, "  ← taken", "  ← 选它") if kind is best else ""
        canvas.text(LEFT, y + DOWN * CELL + 20, say(language, *score_of) + taken, layout.SMALL, INK, bold=kind is best)
        y += DOWN * CELL + 44
    canvas.height = y - 8
    return canvas
