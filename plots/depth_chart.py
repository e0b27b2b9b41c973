"""Step 28's turns over K: the time of tiles in turn by that of a tile that both consumers share, timed in turn."""

from __future__ import annotations

import statistics

from matplotlib.figure import Figure

from records import Records, costs

from . import layout, style
from .course import Course
from .layout import Panel, Texts
from .style import Missing, say

STEP, SHARED = "29_split_k", "large"  # whose records have both steps' kernels, and what all is relative to
LEAST_EDGE, LEAST_SIZES = 4096, 5  # of C; of a dot's group
DEPTHS = 512, 1024, 2048, 4096, 8192
RINGED = 4096, 4096  # of C: a third of the last wave has tiles of 128×192, nearly all of it tiles of 128×128
SHOWN = (
    ("turns", style.BLUE, ("128×192 in turns", "128×192 轮流"), -0.2),
    ("square_turns", style.GREEN, ("128×128 in turns", "128×128 轮流"), 0.0),
    ("square", style.GREY, ("128×128 shared", "128×128 一起算"), 0.2),
)


def over_k(course: Course, records: Records, language: str) -> Figure:
    """A dot per size of C; the line goes through the geometric means of each K."""
    for gpu in records.gpus([STEP]):
        rows = [r for r in records.of_step(gpu, STEP) if not r.get("beta")]
        if times := costs.times_of(rows):
            break
    else:
        raise Missing("steps 27 and 28 were not timed in turn")
    found = {name: _ratios(times, name) for name, *_ in SHOWN}
    first, *_, last = found["turns"].items()
    less, more = (round(100 * abs(statistics.geometric_mean(ratios.values()) - 1)) for _, ratios in (first, last))
    texts = Texts(
        say(
            language,
            f"In turns, tiles of 128×192 take {less} % less time with K = {first[0]}, and {more} % more with K = {last[0]}",
            f"轮流算 128×192：K = {first[0]} 时省 {less}% 的时间，K = {last[0]} 时多用 {more}%",
        ),
        say(
            language,
            f"Time ÷ that of shared tiles of 128×256, timed in turn, {records.gpu_name(gpu)}; a dot per M × N from "
            f"{LEAST_EDGE} to 16384; rings: 4096×4096, where 128×192 has 5.3 waves and 128×128 has 7.8; lines: geometric means",
            f"用时，与两个消费者一起算的 128×256 分块相比，交替计时，{records.gpu_name(gpu)}；每点是一个 M × N，"
            f"两者都从 {LEAST_EDGE} 到 16384；圆圈：4096×4096，128×192 有 5.3 个 wave，128×128 有 7.8 个；线：几何平均",
        ),
        [("line", colour, say(language, *words)) for _, colour, words, _ in SHOWN],
    )
    drawn, (ax,) = layout.page(texts, [Panel(2.5, above=0.12)], layout.SPEEDS, 0.15)
    for name, colour, _, apart in SHOWN:
        means = []
        for k, ratios in found[name].items():
            x = DEPTHS.index(k) + apart
            for edges, ratio in ratios.items():
                if edges == RINGED:
                    ax.plot(x, ratio, "o", mfc="none", mec=colour, ms=8, mew=1.2, zorder=5)
                else:
                    ax.plot(x, ratio, "o", color=colour, ms=3, alpha=0.45, mew=0, zorder=2)
            means.append((x, statistics.geometric_mean(ratios.values())))
        ax.plot(*zip(*means, strict=True), "o-", color=colour, lw=2, ms=5.5, zorder=4)
    ax.axhline(1, color=style.INK, lw=1.1, zorder=1)
    ax.set_xticks(range(len(DEPTHS)), [f"K = {k}" for k in DEPTHS])
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.5, len(DEPTHS) - 0.5)
    ax.grid(axis="y")
    ax.set_ylabel(say(language, "time ÷ shared 128×256", "用时 ÷ 一起算的 128×256"))
    return drawn


def _ratios(times: costs.Times, name: str) -> dict[int, dict[tuple[int, int], float]]:
    """By K and by M and N, where enough sizes of a large C have it."""
    at = {
        k: {
            (m, n): each[name] / each[SHARED]
            for (m, n, depth), each in times.items()
            if depth == k and min(m, n) >= LEAST_EDGE and {name, SHARED} <= each.keys()
        }
        for k in DEPTHS
    }
    return {k: ratios for k, ratios in at.items() if len(ratios) >= LEAST_SIZES}
