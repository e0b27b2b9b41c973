"""Charts of a ladder as it was timed: its steps as bars, over size, relative to cuBLAS, the gains; all ladders."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from . import panels, style
from .course import LADDERS, Course, Step
from .records import Record, Records
from .style import Missing, say

SIZES_SHOWN = (1024, 2048, 4096, 8192, 16384)


def ladder(course: Course, records: Records, name: str, size: int, language: str) -> Figure:
    """Bars per step at one square size; baselines, the instruction's limit and the peak as lines; a panel per GPU."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = [gpu for gpu in records.gpus(names) if any(records.default_at(gpu, s, size) for s in names)]
    if not gpus:
        raise Missing(f"no timing of the {name} ladder at {size}")
    shown = [s for s in steps if any(records.default_at(gpu, s.name, size) for gpu in gpus)]
    inches = 6.05 if len(gpus) == 1 else 4.1
    references = {
        gpu: panels.baselines(records, gpu, steps, size) + panels.roofs(course, records, gpu, steps, language)
        for gpu in gpus
    }
    found = {gpu: {s: records.default_at(gpu, s.name, size) for s in shown} for gpu in gpus}
    tops = {
        gpu: 1.04 * panels.axis_top(references[gpu], [r["tflops"] for r in found[gpu].values() if r]) for gpu in gpus
    }
    rows = max(
        1 + row for gpu in gpus for _, row, _ in panels.label_rows(references[gpu], tops[gpu], inches) or [(0, 0, 0)]
    )
    top = 0.85 + 0.17 * rows
    height = top + 0.63 + 0.34 * len(shown)
    drawn, axes = panels.gpu_panels(records, gpus, height, inches, 2.15, 0.75, top, 0.78, sharey=True)
    for ax, gpu in zip(axes, gpus, strict=True):
        for row, record in enumerate(found[gpu].values()):
            if record is None:
                ax.text(0, row, say(language, "  not timed", "  未计时"), va="center", fontsize=9, color=style.MUTED)
                continue
            value, ratio = record["tflops"], record.get("ratio")
            ahead = ratio is not None and ratio >= 1
            ax.barh(row, value, 0.66, color=style.GREEN if ahead else style.BLUE, zorder=2)
            panels.bar_text(ax, value, row, panels.with_share(value, ratio), value > 0.4 * tops[gpu], bold=True)
        panels.vertical_references(ax, references[gpu], tops[gpu], inches)
        ax.set_xlim(0, tops[gpu])
        panels.bar_rows(ax, [s.short for s in shown])
        ax.set_xlabel("TFLOPS")
    where = panels.on_gpus(records, gpus, language)
    style.heading(
        drawn,
        say(language, f"The {name.upper()} ladder at {size}³ · {where}", f"{name.upper()} 阶梯，{size}³ · {where}"),
        say(
            language,
            "each step's default variant; in brackets: share of cuBLAS in the same run (green: ahead of it)",
            "每一步的默认变体；括号内为同一次运行中相对 cuBLAS 的比例（绿色：超过 cuBLAS）",
        ),
    )
    style.footnote(drawn, panels.conditions(records, gpus[0], language))
    return drawn


def all_ladders(course: Course, records: Records, size: int, language: str) -> Figure:
    """Every step of every ladder on one logarithmic axis, each ladder beside its own baseline, limit and peak."""
    everything = [s.name for s in course.steps]
    gpu = next(iter(records.gpus(everything)), None)
    groups: list[tuple[str, list[tuple[Step, Record]]]] = []
    for name in dict.fromkeys(s.ladder for s in course.steps):
        rows = [(s, r) for s in course.ladder(name) if gpu and (r := records.default_at(gpu, s.name, size))]
        if rows:
            groups.append((name, rows))
    if gpu is None or len(groups) < 2:
        raise Missing(f"fewer than two ladders timed at {size}")
    lines = sum(len(rows) + 1.3 for _, rows in groups)
    height = 1.65 + 0.27 * lines
    drawn, (ax,) = style.figure(9.4, height)
    drawn.subplots_adjust(left=2.25 / 9.4, right=1 - 0.4 / 9.4, top=1 - 0.98 / height, bottom=0.62 / height)
    y, ticks, names, values = 0.0, [], [], []
    kinds: dict[str, tuple[str, str, str]] = {}
    for index, (name, rows) in enumerate(groups):
        colour = (style.BLUE, "#1f8fa3", style.GREEN, "#7a8a1c", style.INK)[index % 5]
        heading = LADDERS[name](language) if name in LADDERS else name
        heading = heading[0].upper() + heading[1:]
        ax.text(0.004, y - 0.1, heading, fontsize=10, fontweight="bold", color=colour, va="center",
                transform=ax.get_yaxis_transform(), zorder=5)  # fmt: skip
        first, last = y + 0.55, y + len(rows) + 0.45
        ax.axhspan(y - 0.55, last, color=colour, alpha=0.05, lw=0)
        for reference in panels.baselines(records, gpu, course.ladder(name), size) + panels.roofs(
            course, records, gpu, course.ladder(name), language
        ):
            limit = reference.colour == style.RED
            ax.plot(
                [reference.tflops] * 2, [first, last], color=reference.colour, ls=reference.dashes, lw=1.8, zorder=1.5
            )
            words = say(language, "limit of the instruction", "指令实测上限") if limit else reference.name
            kinds[words] = ("dot" if reference.peak else "dash", reference.colour, words)
            values.append(reference.tflops)
        for step, record in rows:
            y += 1
            ax.plot([0.001, record["tflops"]], [y, y], color=colour, lw=1.2, alpha=0.45, zorder=2)
            ax.plot(record["tflops"], y, "o", color=colour, ms=7.5, mec="white", mew=1, zorder=5)
            ax.annotate(style.number(record["tflops"]), (record["tflops"], y), (-8, 0), textcoords="offset points",
                        ha="right", va="center", fontsize=9, zorder=6,
                        bbox={"facecolor": style.PANEL, "edgecolor": "none", "pad": 0.6, "alpha": 0.85})  # fmt: skip
            ticks.append(y)
            names.append(step.short)
            values.append(record["tflops"])
        y += 1.3
    ax.set_xscale("log")
    low, high = min(values) / 2.6, max(values) * 1.3
    ax.set_xlim(low, high)
    marks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if low <= t <= high]
    ax.set_xticks(marks, [f"{t:g}" for t in marks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel(say(language, "TFLOPS (logarithmic)", "TFLOPS（对数坐标）"))
    ax.set_ylim(y - 0.7, -0.6)
    ax.set_yticks(ticks, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        say(language, f"All ladders at {size}³ · {where}", f"全部阶梯，{size}³ · {where}"),
        say(language, "each step's default variant, beside what its ladder is measured against",
            "每一步的默认变体，以及各阶梯的参照"),
    )  # fmt: skip
    style.legend(drawn, list(kinds.values()), 0.78)
    style.footnote(drawn, panels.conditions(records, gpu, language))
    return drawn


def sizes(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS over the square size, a line per step, baselines, the limit and the peak; a panel per GPU."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = [gpu for gpu in records.gpus(names) if len(records.square_sizes(gpu, names)) > 1]
    if not gpus:
        raise Missing(f"no timing of the {name} ladder at two sizes or more")
    drawn, axes = panels.gpu_panels(records, gpus, 5.7, 5.5 if len(gpus) == 1 else 3.3, 0.76, 2.1, 0.75, 0.78)
    beyond = ""
    for ax, gpu in zip(axes, gpus, strict=True):
        at = records.square_sizes(gpu, names)
        lines = panels.Lines(ax)
        for index, step in enumerate(steps):
            colour = style.LADDER[index * (len(style.LADDER) - 1) // max(1, len(steps) - 1)]
            lines.add(
                [(s, r["tflops"]) for s in at if (r := records.default_at(gpu, step.name, s))], step.short, colour
            )
        beyond = panels.over_size(lines, course, records, gpu, steps, at, language)
        panels.size_axis(ax, at)
        lines.finish(4.2)
        ax.set_ylabel("TFLOPS")
    where = records.gpu_name(gpus[0]) if len(gpus) == 1 else ""
    style.heading(
        drawn,
        say(
            language, f"Speed over size, {name.upper()} · {where}", f"速度随尺寸的变化，{name.upper()} · {where}"
        ).rstrip(" ·"),
        beyond,
    )
    style.footnote(drawn, panels.conditions(records, gpus[0], language))
    return drawn


def relative(course: Course, records: Records, name: str, language: str) -> Figure:
    """Speed relative to cuBLAS, a panel per size, bars per step (on the GPU with most records)."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpu = next(iter(records.gpus(names)), None)
    at = [s for s in records.square_sizes(gpu, names) if records.baseline_at(gpu, names, s)] if gpu else []
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
            panels.bar_text(ax, ratio, row, f"{ratio:.1%}", ratio > 0.5, size=8.5)
        ax.axvline(1, color=style.AMBER, ls=panels.DASHED, lw=1.6, zorder=1.5)
        ax.set_xlim(0, right)
        panels.bar_rows(ax, [s.short for s in steps])
        ax.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
        ax.set_title(f"{size}³", fontsize=10)
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        say(
            language,
            f"Speed relative to cuBLAS, {name.upper()} · {where}",
            f"相对 cuBLAS 的速度，{name.upper()} · {where}",
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
    rows = [(s, r) for s in steps if (r := records.default_at(gpu, s.name, size))]
    height = 5.2
    drawn, (ax,) = style.figure(max(7.6, 1.2 + 0.86 * len(rows)), height)
    width = drawn.get_figwidth()
    drawn.subplots_adjust(left=0.76 / width, right=1 - 0.2 / width, top=1 - 0.8 / height, bottom=1.0 / height)
    low = min(r["tflops"] for _, r in rows) / 2
    before = low
    for x, (_, record) in enumerate(rows):
        now = record["tflops"]
        colour = style.GREY if x == 0 else style.GREEN if now >= before else style.RED
        bottom, top = min(before, now), max(before, now)
        ax.bar(x, top - bottom, 0.64, bottom=bottom, color=colour, zorder=2)
        factor = "" if x == 0 else f"×{now / before:.2f}"
        ax.annotate(
            f"{factor}\n{style.number(now)}".strip(),
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
    high = max(r["tflops"] for _, r in rows)
    if cublas := records.baseline_at(gpu, names, size):
        ax.axhline(cublas, color=style.AMBER, ls=panels.DASHED, lw=1.8, zorder=1)
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
    ax.set_xticks(range(len(rows)), [_short_lines(s.short) for s, _ in rows], fontsize=9)
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="y")
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        say(language, f"What each step gains, {size}³ · {where}", f"每一步带来的提升，{size}³ · {where}"),
        say(language, "× speed of the step before; TFLOPS below it", "× 为相对上一步的倍数；其下为 TFLOPS"),
    )
    style.footnote(drawn, panels.conditions(records, gpu, language))
    return drawn


def _short_lines(text: str) -> str:
    """`07 thread tile 8×8` on up to three short lines."""
    words: Sequence[str] = text.split(" ")
    lines = [words[0]]
    for word in words[1:]:
        if len(lines) > 1 and len(lines[-1]) + len(word) < 10:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return "\n".join(lines)
