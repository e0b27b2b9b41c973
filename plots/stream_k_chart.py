"""Stream-K beside step 27: the ratio of the speeds at each size, with what was predicted of it."""

from __future__ import annotations

from matplotlib.figure import Figure

from records import Records

from . import layout, panels, stream_k, style
from .course import Course
from .layout import Panel, Texts
from .style import Missing, say

# Of stream-K's speed by step 27's, worked out in docs/stream-k before the measurement.
PREDICTED = {
    (1536, 1536, 1536): 0.89,
    (2560, 2560, 2560): 1.23,
    (3072, 3072, 3072): 0.99,
    (4096, 4096, 4096): 1.01,
    (5120, 5120, 5120): 1.13,
    (8192, 8192, 8192): 1.03,
    (16384, 4096, 512): 0.92,
    (8192, 16384, 512): 0.89,
    (2048, 16384, 512): 0.89,
    (1024, 1024, 4096): 0.74,
    (4096, 1024, 512): 0.69,
}
SHOWN = (("stream_k", style.GREY), ("stream_k_rest", style.BLUE))


def beside_step_27(course: Course, records: Records, language: str) -> Figure:
    """A row per size, a dot per way to share out, from the least to the most of the passes."""
    gpu = next(iter(records.stream_k), None)
    if gpu is None:
        raise Missing("stream-K was not timed beside step 27")
    found = records.stream_k[gpu]
    sizes = list(dict.fromkeys(map(stream_k.size_of, found)))
    medians = [max(stream_k.beside_default(found, size, name).median for name, _ in SHOWN) for size in sizes]
    slower, below = (
        sum(m < 1 for m in medians),
        all(m < PREDICTED.get(s, 2.0) for m, s in zip(medians, sizes, strict=True)),
    )
    texts = Texts(
        say(language, f"Stream-K is slower than step 27 at {slower} of {len(sizes)} sizes"
            + ", and below its prediction at each" * below,
            f"{len(sizes)} 个尺寸里有 {slower} 个，stream-K 比步骤 27 慢" + "，而且每个都低于预测" * below),
        say(language, f"Speed ÷ step 27 in the same pass, {records.gpu_name(gpu)}; whiskers: the least and the most of the passes",
            f"与同一遍里步骤 27 的速度之比，{records.gpu_name(gpu)}；误差线：各遍的最低到最高"),
        [("box", colour, name) for name, colour in SHOWN] + [("tick", style.INK, say(language, "predicted", "预测"))],
    )  # fmt: skip
    drawn, (ax,) = layout.page(texts, [Panel(0.25 * len(sizes))], 1.3, 0.2)
    for y, size in enumerate(sizes):
        for place, (name, colour) in enumerate(SHOWN):
            speeds, at = stream_k.beside_default(found, size, name), y + 0.26 * (place - 0.5)
            ax.plot([speeds.least, speeds.most], [at, at], color=colour, lw=1.8, zorder=3)
            ax.plot(speeds.median, at, "o", color=colour, ms=5, zorder=4)
        if size in PREDICTED:
            ax.plot([PREDICTED[size]] * 2, [y - 0.38, y + 0.38], color=style.INK, lw=1.8, zorder=3)
    panels.named_rows(ax, [_name(size) for size in sizes], edge=0.7)
    ax.axvline(1, color=style.INK, lw=1, zorder=1)
    ax.set_xlim(0.55, 1.28)
    ax.set_xlabel(say(language, "speed ÷ step 27", "速度 ÷ 步骤 27"))
    return drawn


def _name(size: stream_k.Size) -> str:
    m, n, k = size
    return f"{m}³" if m == n == k else f"{m}×{n}×{k}"
