"""Charts of what was timed: the ladder, sizes, speed relative to cuBLAS, the waterfall, variants."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .course import Course, Step
from .records import Record, Records
from .style import Missing, say

SIZES_SHOWN = (1024, 2048, 4096, 8192, 16384)


def conditions(records: Records, gpu: str, language: str) -> str:
    """How the timings were taken, for the foot of a chart."""
    rows = records.timings.get(gpu, [])
    cuda = next((r["cuda"] for r in rows if r.get("cuda")), "?")
    return say(
        language,
        f"CUDA {cuda}, random normal data, kernel and cuBLAS in turn, median of rounds; α = 1, β = 0",
        f"CUDA {cuda}，正态随机数据，内核与 cuBLAS 轮流计时，取各轮中位数；α = 1，β = 0",
    )


def _references(
    ax: Axes, course: Course, gpu: str, types: str, cublas: float | None, language: str, vertical: bool
) -> None:
    """cuBLAS and the peak as lines across the bars, each with its name and figure."""
    peak = course.peak(gpu, types)
    draw = ax.axvline if vertical else ax.axhline
    for value, colour, dashes, name in (
        (cublas, style.AMBER, (0, (5, 2)), "cuBLAS"),
        (peak, style.INK, (0, (1, 1.5)), say(language, "peak", "峰值")),
    ):
        if value is None:
            continue
        draw(value, color=colour, ls=dashes, lw=1.8, zorder=1.5)
        text = f"{name} {style.number(value)}"
        if vertical:
            left = colour == style.AMBER
            ax.annotate(
                text,
                (value, 1),
                (-3 if left else 3, 4),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="right" if left else "left",
                fontsize=9,
                color=colour,
            )


def ladder(course: Course, records: Records, name: str, size: int, language: str) -> Figure:
    """Bars per step at one square size, cuBLAS and peak as lines, a panel per GPU."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = [gpu for gpu in records.gpus(names) if any(records.default_at(gpu, s, size) for s in names)]
    if not gpus:
        raise Missing(f"no timing of the {name} ladder at {size}")
    shown = [s for s in steps if any(records.default_at(gpu, s.name, size) for gpu in gpus)]
    height = (1.65 if len(gpus) == 1 else 1.85) + 0.34 * len(shown)
    drawn, axes = style.figure(
        2.3 + (6.2 if len(gpus) == 1 else 4.6 * len(gpus)), height, columns=len(gpus), sharey=True
    )
    width = drawn.get_figwidth()
    drawn.subplots_adjust(
        left=2.15 / width,
        right=1 - 0.75 / width,
        top=1 - (1.02 if len(gpus) == 1 else 1.22) / height,
        bottom=0.78 / height,
        wspace=0.22,
    )
    for ax, gpu in zip(axes, gpus, strict=True):
        cublas = records.cublas_at(gpu, names, size)
        top = max(filter(None, [cublas, course.peak(gpu, steps[0].types)]), default=0)
        for row, step in enumerate(shown):
            record = records.default_at(gpu, step.name, size)
            if record is None:
                ax.text(0, row, say(language, "  not timed", "  未计时"), va="center", fontsize=9, color=style.MUTED)
                continue
            ratio = record.get("ratio")
            top = max(top, record["tflops"])
            ahead = ratio is not None and ratio >= 1
            ax.barh(row, record["tflops"], 0.66, color=style.GREEN if ahead else style.BLUE, zorder=2)
            text = style.number(record["tflops"]) + (f"  ({ratio:.1%})" if ratio is not None else "")
            inside = record["tflops"] > 0.45 * top
            ax.annotate(
                text,
                (record["tflops"], row),
                (-5 if inside else 5, 0),
                textcoords="offset points",
                va="center",
                ha="right" if inside else "left",
                fontsize=9,
                color="white" if inside else style.INK,
                fontweight="bold" if inside else "normal",
                zorder=4,
            )
        _references(ax, course, gpu, steps[0].types, cublas, language, vertical=True)
        ax.set_xlim(0, top * 1.04)
        ax.set_yticks(range(len(shown)), [s.short for s in shown])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(shown) - 0.45, -0.55)
        ax.grid(axis="x")
        ax.set_xlabel("TFLOPS")
        if len(gpus) > 1:
            ax.set_title(records.gpu_name(gpu), pad=20)
    where = records.gpu_name(gpus[0]) if len(gpus) == 1 else say(language, f"{len(gpus)} GPUs", f"{len(gpus)} 种 GPU")
    style.heading(
        drawn,
        say(language, f"The {name.upper()} ladder at {size}³ · {where}", f"{name.upper()} 阶梯，{size}³ · {where}"),
        say(
            language,
            "each step's default variant; in brackets: share of cuBLAS in the same run (green: ahead of it)",
            "每一步的默认变体；括号内为同一次运行中相对 cuBLAS 的比例（绿色：超过 cuBLAS）",
        ),
    )
    style.footnote(drawn, conditions(records, gpus[0], language))
    return drawn


def _size_axis(ax: Axes, sizes: list[int]) -> None:
    ax.set_xscale("log", base=2)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.set_xticks([], minor=True)
    ax.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
    ax.grid(True)


def _end_labels(ax: Axes, labels: list[tuple[float, float, str, str]], low: float, high: float, inches: float) -> None:
    """Names at the right ends of lines (x, y, text, colour), moved apart, with a thin line to their own end."""
    gap = (high - low) * 0.165 / inches
    for (x, y, text, colour), place in zip(labels, style.spread([y for _, y, _, _ in labels], gap), strict=True):
        ax.annotate(
            text,
            (x, y),
            (1.035, (place - low) / (high - low)),
            xycoords="data",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 2},
        )


def sizes(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS over the square size, a line per step, cuBLAS and the peak; a panel per GPU."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = [gpu for gpu in records.gpus(names) if len(records.square_sizes(gpu, names)) > 1]
    if not gpus:
        raise Missing(f"no timing of the {name} ladder at two sizes or more")
    height, panel = 5.7, 4.3
    drawn, axes = style.figure(0.4 + (8.0 if len(gpus) == 1 else 5.9 * len(gpus)), height, columns=len(gpus))
    width = drawn.get_figwidth()
    drawn.subplots_adjust(
        left=0.62 / width,
        right=1 - 2.0 / width,
        top=1 - (0.62 if len(gpus) == 1 else 0.8) / height,
        bottom=0.78 / height,
        wspace=2.7 / 3.3,
    )
    for ax, gpu in zip(axes, gpus, strict=True):
        at = records.square_sizes(gpu, names)
        labels, top = [], 0.0
        for index, step in enumerate(steps):
            points = [(s, r["tflops"]) for s in at if (r := records.default_at(gpu, step.name, s))]
            if not points:
                continue
            colour = style.LADDER[index * (len(style.LADDER) - 1) // max(1, len(steps) - 1)]
            ax.plot(*zip(*points, strict=True), color=colour, lw=1.8, marker="o", ms=4, zorder=3)
            labels.append((*points[-1], step.short, colour))
            top = max(top, max(p[1] for p in points))
        points = [(s, c) for s in at if (c := records.cublas_at(gpu, names, s))]
        if points:
            ax.plot(*zip(*points, strict=True), color=style.AMBER, lw=2.2, ls=(0, (5, 2)), marker="s", ms=4, zorder=4)
            labels.append((*points[-1], "cuBLAS", style.AMBER))
            top = max(top, max(p[1] for p in points))
        if peak := course.peak(gpu, steps[0].types):
            ax.axhline(peak, color=style.INK, ls=(0, (1, 1.5)), lw=1.6)
            labels.append((at[-1] * 1.12, peak, f"{say(language, 'peak', '峰值')} {style.number(peak)}", style.INK))
            top = max(top, peak)
        _size_axis(ax, at)
        ax.set_ylim(0, top * 1.05)
        _end_labels(ax, labels, 0, top * 1.05, panel)
        ax.set_xlabel("M = N = K")
        ax.set_ylabel("TFLOPS")
        if len(gpus) > 1:
            ax.set_title(records.gpu_name(gpu))
    where = records.gpu_name(gpus[0]) if len(gpus) == 1 else ""
    style.heading(
        drawn,
        say(language, f"Speed over size, {name.upper()} {where}", f"速度随尺寸的变化，{name.upper()} {where}").rstrip(),
    )
    style.footnote(drawn, conditions(records, gpus[0], language))
    return drawn


def relative(course: Course, records: Records, name: str, language: str) -> Figure:
    """Speed relative to cuBLAS, a panel per size, bars per step (on the GPU with most records)."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpu = next(iter(records.gpus(names)), None)
    at = [s for s in records.square_sizes(gpu, names) if records.cublas_at(gpu, names, s)] if gpu else []
    at = [s for s in at if s in SIZES_SHOWN] or at
    if not at:
        raise Missing(f"no timing of the {name} ladder beside cuBLAS")
    height = 1.35 + 0.3 * len(steps)
    drawn, axes = style.figure(2.2 + 1.75 * len(at), height, columns=len(at), sharey=True)
    width = drawn.get_figwidth()
    drawn.subplots_adjust(
        left=2.0 / width, right=1 - 0.2 / width, top=1 - 0.95 / height, bottom=0.38 / height, wspace=0.12
    )
    found = [r.get("ratio") or 0 for s in at for n in names if (r := records.default_at(gpu, n, s))]
    right = max([1.0, *found]) * 1.08
    for ax, size in zip(axes, at, strict=True):
        for row, step in enumerate(steps):
            record = records.default_at(gpu, step.name, size)
            ratio = record.get("ratio") if record else None
            if ratio is None:
                ax.text(0.02, row, "–", va="center", fontsize=9, color=style.MUTED)
                continue
            ax.barh(row, ratio, 0.68, color=style.GREEN if ratio >= 1 else style.BLUE, zorder=2)
            inside = ratio > 0.5
            ax.annotate(
                f"{ratio:.1%}",
                (ratio, row),
                (-4 if inside else 4, 0),
                textcoords="offset points",
                va="center",
                ha="right" if inside else "left",
                fontsize=8.5,
                color="white" if inside else style.INK,
                zorder=4,
            )
        ax.axvline(1, color=style.AMBER, ls=(0, (5, 2)), lw=1.6, zorder=1.5)
        ax.set_xlim(0, right)
        ax.set_ylim(len(steps) - 0.45, -0.55)
        ax.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
        ax.set_yticks(range(len(steps)), [s.short for s in steps])
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        ax.set_title(f"{size}³", fontsize=10)
    style.heading(
        drawn,
        say(
            language,
            f"Speed relative to cuBLAS, {name.upper()} · {records.gpu_name(gpu)}",
            f"相对 cuBLAS 的速度，{name.upper()} · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            "dashed line: cuBLAS in the same run; green: ahead of it",
            "虚线：同一次运行中的 cuBLAS；绿色：超过它",
        ),
    )
    return drawn


def speedup(course: Course, records: Records, name: str, language: str) -> Figure:
    """Waterfall: what each step multiplies the speed of the one before by, on a logarithmic axis."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    size = 4096
    gpu = next((g for g in records.gpus(names) if sum(bool(records.default_at(g, s, size)) for s in names) > 1), None)
    if gpu is None:
        raise Missing(f"fewer than two steps of the {name} ladder timed at {size}")
    rows = [(s, records.default_at(gpu, s.name, size)) for s in steps]
    rows = [(s, r) for s, r in rows if r]
    height = 5.2
    drawn, (ax,) = style.figure(1.1 + 0.86 * len(rows), height)
    width = drawn.get_figwidth()
    drawn.subplots_adjust(left=0.62 / width, right=1 - 0.2 / width, top=1 - 0.8 / height, bottom=1.0 / height)
    low = min(r["tflops"] for _, r in rows) / 2
    before = low
    for x, (_, record) in enumerate(rows):
        now = record["tflops"]
        colour = style.GREY if x == 0 else style.GREEN if now >= before else style.RED
        bottom, top = min(before, now), max(before, now)
        ax.bar(x, top - bottom, 0.64, bottom=bottom, color=colour, zorder=2)
        factor = "" if x == 0 else f"×{now / before:.2f}"
        text = f"{factor}\n{style.number(now)}".strip()
        ax.annotate(
            text,
            (x, top),
            (0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9,
            linespacing=1.25,
            zorder=6,
            bbox={"facecolor": style.PANEL, "edgecolor": "none", "pad": 0.6, "alpha": 0.9},
        )
        if x + 1 < len(rows):
            ax.plot([x - 0.32, x + 1.32], [now, now], color=style.MUTED, lw=0.8, zorder=1)
        before = now
    cublas = records.cublas_at(gpu, names, size)
    high = max(r["tflops"] for _, r in rows)
    if cublas:
        ax.axhline(cublas, color=style.AMBER, ls=(0, (5, 2)), lw=1.8, zorder=1)
        ax.annotate(
            f"cuBLAS {style.number(cublas)}",
            (0, cublas),
            (4, 4),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            fontsize=9,
            color=style.AMBER,
        )
        high = max(high, cublas)
    ax.set_yscale("log")
    ax.set_ylim(low, high * 2.2)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if low <= t <= high * 2.2]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_yticks([], minor=True)
    ax.set_ylabel(say(language, "TFLOPS (logarithmic)", "TFLOPS（对数坐标）"))
    ax.set_xlim(-0.6, len(rows) - 0.4)
    ax.set_xticks(range(len(rows)), [_two_lines(s.short) for s, _ in rows], fontsize=9)
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y")
    style.heading(
        drawn,
        say(
            language,
            f"What each step gains, {size}³ · {records.gpu_name(gpu)}",
            f"每一步带来的提升，{size}³ · {records.gpu_name(gpu)}",
        ),
        say(language, "× speed of the step before; TFLOPS below it", "× 为相对上一步的倍数；其下为 TFLOPS"),
    )
    style.footnote(drawn, conditions(records, gpu, language))
    return drawn


def _two_lines(text: str) -> str:
    """`07 thread tile 8×8` on up to three short lines."""
    words = text.split(" ")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines) > 1 and len(lines[-1]) + len(word) < 10:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return "\n".join(lines)


def step_sizes(course: Course, records: Records, step: Step, language: str) -> Figure:
    """TFLOPS over size for one step, the one before, cuBLAS and the peak; a panel per GPU."""
    gpus = [gpu for gpu in records.gpus([step.name]) if records.square_sizes(gpu, [step.name])]
    if not gpus:
        raise Missing(f"no timing of {step.name} at a square size")
    before = course.before(step)
    height, panel = 4.2, 2.75
    drawn, axes = style.figure(0.4 + (7.4 if len(gpus) == 1 else 5.9 * len(gpus)), height, columns=len(gpus))
    width = drawn.get_figwidth()
    drawn.subplots_adjust(
        left=0.62 / width,
        right=1 - 2.0 / width,
        top=1 - (0.68 if len(gpus) == 1 else 0.86) / height,
        bottom=0.77 / height,
        wspace=2.7 / 3.3,
    )
    for ax, gpu in zip(axes, gpus, strict=True):
        at = records.square_sizes(gpu, [step.name])
        labels, top = [], 0.0
        for one, colour, line_width in ((before, style.GREY, 1.8), (step, style.BLUE, 2.6)):
            points = [(s, r["tflops"]) for s in at if one and (r := records.default_at(gpu, one.name, s))]
            if points and one:
                ax.plot(*zip(*points, strict=True), color=colour, lw=line_width, marker="o", ms=4.5, zorder=4)
                labels.append((*points[-1], one.short, style.MUTED if one is before else colour))
                top = max(top, max(p[1] for p in points))
                if one is step:
                    for x, y in points:
                        ax.annotate(
                            style.number(y),
                            (x, y),
                            (0, 7),
                            textcoords="offset points",
                            ha="center",
                            fontsize=9,
                            zorder=6,
                        )
        points = [(s, c) for s in at if (c := records.cublas_at(gpu, [step.name], s))]
        if points:
            ax.plot(*zip(*points, strict=True), color=style.AMBER, lw=2, ls=(0, (5, 2)), marker="s", ms=4, zorder=3)
            labels.append((*points[-1], "cuBLAS", style.AMBER))
            top = max(top, max(p[1] for p in points))
        if peak := course.peak(gpu, step.types):
            ax.axhline(peak, color=style.INK, ls=(0, (1, 1.5)), lw=1.5)
            labels.append((at[-1] * 1.12, peak, f"{say(language, 'peak', '峰值')} {style.number(peak)}", style.INK))
            top = max(top, peak)
        _size_axis(ax, at)
        ax.set_ylim(0, top * 1.1)
        _end_labels(ax, labels, 0, top * 1.1, panel)
        ax.set_xlabel("M = N = K")
        ax.set_ylabel("TFLOPS")
        if len(gpus) > 1:
            ax.set_title(records.gpu_name(gpu))
    where = records.gpu_name(gpus[0]) if len(gpus) == 1 else ""
    style.heading(drawn, f"{step.short} · {where}".rstrip(" ·"))
    style.footnote(drawn, conditions(records, gpus[0], language))
    return drawn


def variant_rows(records: Records, gpu: str, step: Step, size: int = 4096) -> list[Record]:
    """The variants of a step at one size, best first, plain options before others."""
    found: dict[str, Record] = {}
    for record in records.of_step(gpu, step.name):
        if (record["m"], record["n"], record["k"]) != (size, size, size):
            continue
        options = record.get("options") or {}
        name = record["variant"] + "".join(f" {key}={value}" for key, value in sorted(options.items()))
        if name not in found or record.get("baseline") == "cublas":
            found[name] = {**record, "shown": name}
    return sorted(found.values(), key=lambda r: -r["tflops"])


def variants(course: Course, records: Records, step: Step, language: str) -> Figure:
    """A bar per variant of one step at 4096, cuBLAS and peak as lines; a panel per GPU."""
    gpus = [gpu for gpu in records.gpus([step.name]) if len(variant_rows(records, gpu, step)) > 1]
    if not gpus:
        raise Missing(f"fewer than two variants of {step.name} timed at 4096")
    rows = {gpu: variant_rows(records, gpu, step) for gpu in gpus}
    most = max(map(len, rows.values()))
    names = max((style.em(r["shown"]) for gpu in gpus for r in rows[gpu]), default=10)
    left = max(1.3, names * 10 / 72 + 0.3)
    top_inches = 0.85 if len(gpus) == 1 else 1.15
    height = top_inches + 0.5 + 0.34 * most
    panel = 4.85 if len(gpus) == 1 else 3.6
    drawn, axes = style.figure((left + panel + 0.75) * len(gpus), height, columns=len(gpus))
    width = drawn.get_figwidth()
    drawn.subplots_adjust(
        left=left / width,
        right=1 - 0.75 / width,
        top=1 - top_inches / height,
        bottom=0.5 / height,
        wspace=(left + 0.75) / panel,
    )
    for ax, gpu in zip(axes, gpus, strict=True):
        cublas = next((r["baseline_tflops"] for r in rows[gpu] if r.get("baseline_tflops")), None)
        top = max(filter(None, [cublas, course.peak(gpu, step.types), rows[gpu][0]["tflops"]]))
        for row, record in enumerate(rows[gpu]):
            value, ratio = record["tflops"], record.get("ratio")
            colour = style.BLUE if record.get("default") else style.GREY
            ax.barh(row, value, 0.66, color=colour, zorder=2)
            text = style.number(value) + (f"  ({ratio:.1%})" if ratio is not None else "")
            inside = value > 0.45 * top
            ax.annotate(
                text,
                (value, row),
                (-5 if inside else 5, 0),
                textcoords="offset points",
                va="center",
                ha="right" if inside else "left",
                fontsize=9,
                zorder=4,
                color="white" if inside and record.get("default") else style.INK,
            )
        _references(ax, course, gpu, step.types, cublas, language, vertical=True)
        ax.set_xlim(0, top * 1.04)
        ax.set_ylim(most - 0.45, -0.55)
        ax.set_yticks(range(len(rows[gpu])), [r["shown"] for r in rows[gpu]])
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
        ax.set_xlabel("TFLOPS")
        if len(gpus) > 1:
            ax.set_title(records.gpu_name(gpu), pad=20)
    where = f" · {records.gpu_name(gpus[0])}" if len(gpus) == 1 else ""
    style.heading(
        drawn,
        say(language, f"Variants of {step.short}, 4096³{where}", f"{step.short} 的各变体，4096³{where}"),
        say(language, "blue: the default; in brackets: share of cuBLAS", "蓝色：默认变体；括号内为相对 cuBLAS 的比例"),
    )
    return drawn
