"""The roofline of a ladder: speed measured over intensity counted, under the roofs of L1, DRAM and the arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from records import Records

from . import findings, layout, panels, style
from .count_charts import chosen, counts_as_at_4096, flop_per_byte
from .course import Course, Step
from .layout import Panel, Texts
from .step_charts import TYPE_NAMES
from .style import Missing, say

SIZE = 4096
L1_BYTES_PER_CLOCK = 128  # per multiprocessor, since Volta
HEIGHT, LEFT, RIGHT = 3.6, 0.58, 1.64  # of the axes, and the margins beside them, in inches

Point = tuple[float, float, Step]
Bounds = tuple[float, float]


def points_of(course: Course, records: Records, gpu: str | None, name: str) -> list[Point]:
    """Intensity and speed of every step of a ladder that has both."""
    found = []
    for step in course.ladder(name) if gpu else []:
        record, counts = records.default_at(gpu, step.name, SIZE), counts_as_at_4096(course, records, step)
        intensity = flop_per_byte(counts) if counts else None
        if record and intensity:
            found.append((intensity, record["tflops"], step))
    return found


def roofline(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS against FLOP per byte asked of global memory."""
    steps = course.ladder(name)
    gpu = next(iter(records.gpus([s.name for s in steps])), None)
    points = points_of(course, records, gpu, name)
    if gpu is None or not points:
        raise Missing(
            f"the roofline of the {name} ladder needs timings at {SIZE} and simulator counts of the same steps"
        )
    facts, peak = course.gpu(gpu), course.peak(gpu, steps[-1])
    if not facts or not peak:
        raise Missing(f"no peak of {gpu} in sim/devices.json")
    l1 = facts["sms"] * L1_BYTES_PER_CLOCK * facts["clock_mhz"] * 1e6 / 1e12
    dram = facts["dram_tb_per_s"]
    shown = [(step, counts_as_at_4096(course, records, step)) for _, _, step in points]
    texts = Texts(
        findings.intensity(name.upper(), points, language),
        say(
            language,
            "bytes are what the loads ask for, before any cache: a point above the DRAM line is served by L1 and L2",
            "字节数是读指令请求的量，未计缓存：高于显存线的点由 L1 和 L2 供数",
        )
        + chosen([(step, record) for step, record in shown if record], language),
        foot=say(
            language,
            f"Intensity: the simulator's sectors; speed: {SIZE}³; L1: 128 bytes per clock and SM; peaks: {facts['source'][language]}.",
            f"强度：模拟器的扇区计数；速度：{SIZE}³；L1：每 SM 每周期 128 字节；峰值：{facts['source'][language]}。",
        ),
    )
    drawn, (ax,) = layout.page(texts, [Panel(HEIGHT)], LEFT, RIGHT)
    low = min(p[1] for p in points)
    xs = (min(min(p[0] for p in points) / 2, peak / l1 / 12), max(peak / dram * 4, max(p[0] for p in points) * 6))
    ys = (min(low / 2.5, l1 * xs[0]), peak * 2.2)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*xs)
    ax.set_ylim(*ys)
    flat = _levels(course, records, gpu, steps, ys, language)
    _roofs(ax, xs, ys, peak, min(value for value, *_ in flat), (
        (l1, style.BLUE, say(language, f"L1: {l1:.1f} TB/s",
                             f"L1：{l1:.1f} TB/s")),
        (dram, style.PLUM, say(language, f"DRAM: {dram} TB/s", f"显存：{dram} TB/s")),
    ))  # fmt: skip
    _flat_lines(ax, xs, ys, flat)
    _labelled_points(ax, points, xs, ys, [value for value, *_ in flat], (l1, dram))
    for axis, bounds in ((ax.xaxis, xs), (ax.yaxis, ys)):
        ticks = [t for e in range(-3, 5) for t in (10.0**e, 3 * 10.0**e) if bounds[0] <= t <= bounds[1]]
        axis.set_ticks(ticks, [f"{t:g}" for t in ticks])
        axis.set_ticks([], minor=True)
    ax.grid(True)
    ax.set_xlabel(
        say(language, "FLOP per byte asked of global memory (logarithmic)", "每字节全局内存请求对应的 FLOP（对数）")
    )
    ax.set_ylabel("TFLOPS")
    return drawn


def _levels(
    course: Course, records: Records, gpu: str, steps: Sequence[Step], ys: Bounds, language: str
) -> list[tuple[float, str, object, str]]:
    """The peak, the baselines and the limit inside the axes: value, colour, dashes (none: drawn as a roof), name."""
    peak, types = course.peak(gpu, steps[-1]), TYPE_NAMES.get(steps[-1].element, steps[-1].element)
    flat = [(peak, style.INK, "", say(language, f"{types} peak {peak}", f"{types} 峰值 {peak}"))]
    for reference in panels.baselines(records, gpu, steps, SIZE, language) + panels.roofs(
        course, records, gpu, steps, language
    ):
        if not reference.peak and reference.tflops < ys[1]:
            flat.append((reference.tflops, reference.colour, reference.dashes, reference.text))
    return flat


def _inches(x: float, y: float, xs: Bounds, ys: Bounds) -> tuple[float, float]:
    """A place of the logarithmic axes in inches from their corner."""
    return (
        (layout.WIDTH - LEFT - RIGHT) * math.log(x / xs[0]) / math.log(xs[1] / xs[0]),
        HEIGHT * math.log(y / ys[0]) / math.log(ys[1] / ys[0]),
    )


def _roofs(
    ax: Axes, xs: Bounds, ys: Bounds, peak: float, free: float, bandwidths: Sequence[tuple[float, str, str]]
) -> None:
    """The sloping lines of the bandwidths, each named along its upper end, below the level `free`."""
    one, ten = _inches(xs[0], ys[0], xs, ys), _inches(xs[0] * 10, ys[0] * 10, xs, ys)
    slope = math.degrees(math.atan2(ten[1] - one[1], ten[0] - one[0]))
    for index, (bandwidth, colour, text) in enumerate(bandwidths):
        knee = peak / bandwidth
        end = (
            min(knee, free / bandwidth) / 1.3
        )  # of the name: near the top for the first line; for the second lower, away from the points
        if index:
            start = max(xs[0], ys[0] / bandwidth)
            end = start * (knee / start) ** 0.45
        ax.plot([xs[0], knee], [xs[0] * bandwidth, peak], color=colour, lw=2, zorder=2)
        away = -12 if index else 5  # points across the line: the letters stand under it or over it
        ax.annotate(
            text,
            (end, end * bandwidth),
            (-away * math.sin(math.radians(slope)), away * math.cos(math.radians(slope))),
            textcoords="offset points",
            ha="right",
            rotation=slope,
            rotation_mode="anchor",
            fontsize=style.SMALL,
            color=colour,
        )
    ax.plot([peak / bandwidths[0][0], xs[1]], [peak, peak], color=style.INK, lw=2, zorder=2)


def _flat_lines(ax: Axes, xs: Bounds, ys: Bounds, lines: Sequence[tuple[float, str, object, str]]) -> None:
    """Levels named to the right of the axes, names moved apart."""
    span = math.log(ys[1] / ys[0])
    places = style.spread([math.log(v / ys[0]) / span * HEIGHT for v, *_ in lines], 0.17)
    for (value, colour, dashes, text), place in zip(lines, places, strict=True):
        if dashes:
            ax.axhline(value, color=colour, ls=dashes, lw=1.4, zorder=1)
        style.name_beside(ax, (xs[1], value), text, min(place, HEIGHT - 0.08) / HEIGHT, colour)


def _labelled_points(
    ax: Axes, points: Sequence[Point], xs: Bounds, ys: Bounds, levels: Sequence[float], slopes: Sequence[float]
) -> None:
    """The steps' points with their numbers, each where it covers no point, line or other number."""
    at = [_inches(x, y, xs, ys) for x, y, _ in points]
    heights = [_inches(xs[0], level, xs, ys)[1] for level in levels]
    taken = [(x - 0.07, y - 0.07, x + 0.07, y + 0.07) for x, y in at]
    for bandwidth in slopes:
        along = [_inches(x, x * bandwidth, xs, ys) for x in (xs[0] * (xs[1] / xs[0]) ** (i / 80) for i in range(81))]
        taken += [(x, y, x, y) for x, y in along if 0 <= y <= HEIGHT]
    ring = [(r, a) for r in (0.2, 0.32, 0.46, 0.62, 0.8) for a in (0, 180, -35, 35, -145, 145, -90, 90, -65, 65)]
    for (x, y), (value_x, value_y, step) in zip(at, points, strict=True):
        ax.plot(value_x, value_y, "o", color=style.GREEN, ms=7, mec="white", mew=1, zorder=5)

        def cost(spot: tuple[float, float], x: float = x, y: float = y) -> tuple[float, float]:
            cx = x + spot[0] * math.cos(math.radians(spot[1]))
            cy = y + spot[0] * math.sin(math.radians(spot[1]))
            box = (cx - 0.12, cy - 0.08, cx + 0.12, cy + 0.08)
            covered = sum(box[0] < b[2] and box[2] > b[0] and box[1] < b[3] and box[3] > b[1] for b in taken)
            covered += box[0] < 0  # over the vertical axis
            return covered + sum(box[1] < h < box[3] for h in heights), spot[0]

        radius, angle = min(ring, key=cost)
        cx, cy = x + radius * math.cos(math.radians(angle)), y + radius * math.sin(math.radians(angle))
        taken.append((cx - 0.12, cy - 0.08, cx + 0.12, cy + 0.08))
        leader = {"arrowstyle": "-", "color": style.GREEN, "lw": 0.7, "shrinkA": 1, "shrinkB": 3}
        ax.annotate(
            f"{step.number:02d}",
            (value_x, value_y),
            ((cx - x) * 72, (cy - y) * 72),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=style.SMALL,
            fontweight="bold",
            zorder=6,
            arrowprops=leader if radius > 0.25 else None,
        )
