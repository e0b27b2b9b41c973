"""Charts of a ladder as it was timed: its steps as bars, and over size; all ladders on one page."""

from __future__ import annotations

from matplotlib.figure import Figure

from . import findings, panels, style
from .course import Course, Step
from .records import BASELINES, Record, Records
from .style import Missing, say

SIZE = 4096  # of the charts of one size
COLOURS = (style.BLUE, "#1f8fa3", style.GREEN, "#7a8a1c", style.INK)  # of the ladders where all are shown


def ladder(course: Course, records: Records, name: str, language: str) -> Figure:
    """Bars per step at one square size; baselines, the instruction's limit and the peak as lines; a panel per GPU."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = [gpu for gpu in records.gpus(names) if any(records.default_at(gpu, s, SIZE) for s in names)]
    if not gpus:
        raise Missing(f"no timing of the {name} ladder at {SIZE}")
    shown = [s for s in steps if any(records.default_at(gpu, s.name, SIZE) for gpu in gpus)]
    inches = 6.05 if len(gpus) == 1 else 4.1
    references = {
        gpu: panels.baselines(records, gpu, steps, SIZE, language) + panels.roofs(course, records, gpu, steps, language)
        for gpu in gpus
    }
    beside = course.yardstick(name)
    found = {gpu: {s: records.default_beside(gpu, s.name, SIZE, beside) for s in shown} for gpu in gpus}
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
            else:
                ahead = (record.get("ratio") or 0) >= 1
                panels.timed_bar(ax, row, record, style.GREEN if ahead else style.BLUE, tops[gpu])
        panels.vertical_references(ax, references[gpu], tops[gpu], inches)
        ax.set_xlim(0, tops[gpu])
        panels.bar_rows(ax, [s.short for s in shown])
        ax.set_xlabel("TFLOPS")
    where = panels.on_gpus(records, gpus, language)
    library = style.spaced(BASELINES[beside]("zh-CN"))
    style.heading(
        drawn,
        findings.ladder(name.upper(), [r for r in found[gpus[0]].values() if r], BASELINES[beside](language), language),
        say(
            language,
            f"{SIZE}³, {where}; each step's default variant; in brackets: share of {BASELINES[beside]('en')} in the same run "
            "(green: ahead of it)",
            f"{SIZE}³，{where}；每一步的默认变体；括号内为同一次运行中相对{library}的比例（绿色：超过{library.rstrip()}）",
        ),
    )
    style.footnote(drawn, panels.conditions(records, gpus[0], language))
    return drawn


def all_ladders(course: Course, records: Records, language: str) -> Figure:
    """Every step of every ladder on one logarithmic axis, each ladder beside its own baselines, limit and peak."""
    gpu = next(iter(records.gpus([s.name for s in course.steps])), None)
    groups: list[tuple[str, list[tuple[Step, Record]]]] = []
    for name in course.ladders:
        rows = [(s, r) for s in course.ladder(name) if gpu and (r := records.default_at(gpu, s.name, SIZE))]
        groups += [(name, rows)] if rows else []
    if gpu is None or len(groups) < 2:
        raise Missing(f"fewer than two ladders timed at {SIZE}")
    height = 1.65 + 0.27 * sum(len(rows) + 1.3 for _, rows in groups)
    drawn, (ax,) = style.figure(9.4, height)
    drawn.subplots_adjust(left=2.25 / 9.4, right=1 - 0.4 / 9.4, top=1 - 0.98 / height, bottom=0.62 / height)
    y, ticks, names, values = 0.0, [], [], []
    kinds: dict[str, tuple[str, str, str]] = {}
    for index, (name, rows) in enumerate(groups):
        colour, steps = COLOURS[index % len(COLOURS)], course.ladder(name)
        style.group_name(ax, y - 0.1, course.ladder_name(name, language), colour)
        first, last = y + 0.55, y + len(rows) + 0.45
        ax.axhspan(y - 0.55, last, color=colour, alpha=0.05, lw=0)
        references = panels.baselines(records, gpu, steps, SIZE, language)
        for reference in references + panels.roofs(course, records, gpu, steps, language):
            limit = reference.colour == style.RED
            x = [reference.tflops] * 2
            ax.plot(x, [first, last], color=reference.colour, ls=reference.dashes, lw=1.8, zorder=1.5)
            words = say(language, "limit of the instruction", "指令实测上限") if limit else reference.name
            kinds[words] = ("dot" if reference.dashes == panels.DOTTED else "dash", reference.colour, words)
            values.append(reference.tflops)
        for step, record in rows:
            y += 1
            ax.plot([0.001, record["tflops"]], [y, y], color=colour, lw=1.2, alpha=0.45, zorder=2)
            ax.plot(panels.spread(record), [y, y], color=style.INK, lw=1.6, zorder=4)
            ax.plot(record["tflops"], y, "o", color=colour, ms=7.5, mec="white", mew=1, zorder=5)
            ax.annotate(style.number(record["tflops"]), (record["tflops"], y), (-8, 0), textcoords="offset points",
                        ha="right", va="center", fontsize=9, zorder=6,
                        bbox={"facecolor": style.PANEL, "edgecolor": "none", "pad": 0.6, "alpha": 0.85})  # fmt: skip
            ticks.append(y)
            names.append(step.short)
            values.append(record["tflops"])
        y += 1.3
    panels.log_axis(ax, min(values) / 2.6, max(values) * 1.3)
    ax.set_xlabel(say(language, "TFLOPS (logarithmic)", "TFLOPS（对数坐标）"))
    ax.set_ylim(y - 0.7, -0.6)
    ax.set_yticks(ticks, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        findings.all_ladders([r["tflops"] for _, rows in groups for _, r in rows], SIZE, language),
        say(
            language,
            f"{where}; each step's default variant, beside what its ladder is measured against; cuBLAS computes FP16 with wgmma",
            f"{where}；每一步的默认变体，以及各阶梯的参照；cuBLAS 用 wgmma 计算 FP16",
        ),
    )
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
            points = [(s, r["tflops"]) for s in at if (r := records.default_at(gpu, step.name, s))]
            lines.add(points, step.short, colour)
        beyond = panels.over_size(lines, course, records, gpu, steps, at, language)
        panels.size_axis(ax, at)
        lines.finish(4.2)
        ax.set_ylabel("TFLOPS")
    where, at = panels.on_gpus(records, gpus, language), records.square_sizes(gpus[0], names)
    timed = {s: [(step, r["tflops"]) for step in steps if (r := records.default_at(gpus[0], step.name, s))] for s in at}
    best = {size: max(rows, key=lambda row: row[1]) for size, rows in timed.items()}
    note = say(language, "; ", "；").join(filter(None, [where, beyond]))
    style.heading(drawn, findings.fastest(name.upper(), best, language), note)
    style.footnote(drawn, panels.conditions(records, gpus[0], language))
    return drawn
