"""docs/chooser: which kernel step 29's launcher takes, over the size of C, for a short, a middle and a long K."""

from collections.abc import Iterable
from functools import cache

from base.paths import DATA
from plots.figures import layout
from plots.figures.palette import INK, MUTED, THREAD, A, B, C
from plots.figures.svg import Canvas, Draw
from records import REFERENCE_GPU, costs, read

STEP = "29_split_k"
DEPTHS = 512, 2048, 8192
ROWS, COLUMNS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384), (512, 1024, 2048, 4096, 8192, 16384)
WIDE, HIGH, GAP = 27.0, 26.0, 16.0  # of a cell; between two panels
KINDS: tuple[tuple[str, tuple[str, ...], layout.Pair], ...] = (
    (C.middle, ("two", "four"), ("blocks share K (29)", "切分 K（29）")),
    (A.pale, ("wide", "large", "square", "small"), ("a tile per block (27)", "每个线程块一个分块（27）")),
    (B.middle, ("turns", "square_turns", "small_turns"), ("consumers in turn (28)", "消费者轮流（28）")),
    (THREAD.middle, ("pairs", costs.CUT), ("pairs of blocks (26)", "成对的线程块（26）")),
)


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "chooser-map", over_sizes


@cache
def fitted() -> costs.Costs:
    """The costs that the H200's records give."""
    return costs.fitted(costs.times_of(r for r in read(DATA / REFERENCE_GPU / f"{STEP}.jsonl") if "baseline" in r))


def over_sizes(language: str) -> Canvas:
    """A panel per K, a row per M, a column per N; a cell has the colour of the kind of kernel."""
    canvas, y = layout.page(
        language,
        (
            "Where C is small and K long, blocks share K; with a short K, consumers take turns",
            "C 小、K 长时切分 K；K 短时消费者轮流",
        ),
        (
            "what step 29's launcher takes for C of M×N, by the costs fitted on an H200",
            "步骤 29 的启动函数按 H200 上拟合的常数，为 M×N 的 C 选的 kernel",
        ),
    )
    left, top = layout.MARGIN + 44, y + 52
    panel = WIDE * len(COLUMNS)
    for index, k in enumerate(DEPTHS):
        x = left + index * (panel + GAP)
        canvas.text(x + panel / 2, top - 26, f"K = {k}", layout.SMALL, INK, "middle", bold=True)
        for column, n in enumerate(COLUMNS):
            canvas.text(x + (column + 0.5) * WIDE, top - 6, _short(n), layout.SMALL, MUTED, "middle")
            for row, m in enumerate(ROWS):
                name = costs.chosen(fitted(), (m, n, k))
                fill = next(colour for colour, names, _ in KINDS if name in names)
                canvas.rect(x + column * WIDE, top + row * HIGH, WIDE, HIGH, fill, "#ffffff", 1.5)
    for row, m in enumerate(ROWS):
        canvas.text(left - 7, top + (row + 0.5) * HIGH + 4, _short(m), layout.SMALL, MUTED, "end")
    canvas.text(left - 7, top - 6, "M \\ N", layout.SMALL, MUTED, "end")
    y = top + len(ROWS) * HIGH + 28
    y = layout.legend(canvas, y, language, ((colour, words) for colour, _, words in KINDS))
    canvas.height = y
    return canvas


def _short(edge: int) -> str:
    return str(edge) if edge < 1024 else f"{edge // 1024}k"
