"""Charts of a ladder as it was timed: its steps as bars, and over size; all ladders on one page."""

from __future__ import annotations

from matplotlib.figure import Figure

from records import BASELINES, Record, Records

from . import findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
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
    references = {gpu: _references(course, records, gpu, name, language) for gpu in gpus}
    beside = course.yardstick(name)
    found = {gpu: {s: records.default_beside(gpu, s.name, SIZE, beside) for s in shown} for gpu in gpus}
    tops = {
        gpu: 1.04 * panels.axis_top(references[gpu], [r["tflops"] for r in found[gpu].values() if r]) for gpu in gpus
    }
    where, library = panels.on_gpus(records, gpus, language), style.spaced(BASELINES[beside]("zh-CN"))
    texts = Texts(
        findings.ladder(name.upper(), [r for r in found[gpus[0]].values() if r], BASELINES[beside](language), language),
        say(
            language,
            f"{SIZE}³, {where}; each step's default variant; in brackets: share of {BASELINES[beside]('en')} in the same run "
            "(green: ahead of it)",
            f"{SIZE}³，{where}；每一步的默认变体；括号内为同一次运行中相对{library}的比例（绿色：超过{library.rstrip()}）",
        ),
        foot=panels.conditions(records, gpus[0], language),
    )
    inches = layout.WIDTH - layout.NAMES - 0.3
    rows = [Panel(0.27 * len(shown), panels.room_above(references[gpu], tops[gpu], inches)) for gpu in gpus]
    drawn, axes = layout.page(texts, panels.of_gpus(records, gpus, rows), layout.NAMES, 0.3)
    for ax, gpu in zip(axes, gpus, strict=True):
        for row, record in enumerate(found[gpu].values()):
            if record is None:
                ax.text(
                    0,
                    row,
                    say(language, "  not timed", "  未计时"),
                    va="center",
                    fontsize=style.SMALL,
                    color=style.MUTED,
                )
            else:
                ahead = (record.get("ratio") or 0) >= 1
                panels.timed_bar(ax, row, record, style.GREEN if ahead else style.BLUE, tops[gpu])
        panels.vertical_references(ax, references[gpu], tops[gpu], inches)
        ax.set_xlim(0, tops[gpu])
        panels.named_rows(ax, [s.short for s in shown])
        ax.set_xlabel("TFLOPS")
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
    references = {name: _references(course, records, gpu, name, language) for name, _ in groups}
    kinds = {words: look for of in references.values() for words, look in (_kind(r, language) for r in of)}
    texts = Texts(
        findings.all_ladders([r["tflops"] for _, rows in groups for _, r in rows], SIZE, language),
        say(
            language,
            f"{records.gpu_name(gpu)}; each step's default variant, beside what its ladder is measured against, where all "
            "its steps multiply one type; cuBLAS computes FP16 with wgmma",
            f"{records.gpu_name(gpu)}；每一步的默认变体，以及各阶梯的参照（各步类型不同的阶梯没有）；cuBLAS 用 wgmma 计算 FP16",
        ),
        list(kinds.values()),
        panels.conditions(records, gpu, language),
    )
    height = 0.22 * sum(len(rows) + 1.3 for _, rows in groups)
    drawn, (ax,) = layout.page(texts, [Panel(height)], layout.NAMES, 0.15)
    y, places, names, values = 0.0, [], [], []
    for index, (name, rows) in enumerate(groups):
        colour = COLOURS[index % len(COLOURS)]
        style.group_name(ax, y - 0.1, course.ladder_name(name, language), colour)
        first, last = y + 0.55, y + len(rows) + 0.45
        ax.axhspan(y - 0.55, last, color=colour, alpha=0.05, lw=0)
        for reference in references[name]:
            x = [reference.tflops] * 2
            ax.plot(x, [first, last], color=reference.colour, ls=reference.dashes, lw=1.8, zorder=1.5)
            values.append(reference.tflops)
        for step, record in rows:
            y += 1
            ax.plot([0.001, record["tflops"]], [y, y], color=colour, lw=1.2, alpha=0.45, zorder=2)
            ax.plot(panels.spread(record), [y, y], color=style.INK, lw=1.6, zorder=4)
            ax.plot(record["tflops"], y, "o", color=colour, ms=7.5, mec="white", mew=1, zorder=5)
            ax.annotate(style.number(record["tflops"]), (record["tflops"], y), (-8, 0), textcoords="offset points",
                        ha="right", va="center", fontsize=style.SMALL, zorder=6,
                        bbox={"facecolor": style.PANEL, "edgecolor": "none", "pad": 0.6, "alpha": 0.85})  # fmt: skip
            places.append(y)
            names.append(step.short)
            values.append(record["tflops"])
        y += 1.3
    panels.log_axis(ax, min(values) / 4.2, max(values) * 1.3)
    ax.set_xlabel(say(language, "TFLOPS (logarithmic)", "TFLOPS（对数坐标）"))
    panels.named_rows(ax, names, places, 0.6)
    return drawn


def _references(course: Course, records: Records, gpu: str, name: str, language: str) -> list[panels.Reference]:
    """What a ladder is measured against; nothing where its steps multiply different elements."""
    steps = course.ladder(name)
    if len({step.element for step in steps}) > 1:
        return []
    return panels.baselines(records, gpu, steps, SIZE, language) + panels.roofs(course, records, gpu, steps, language)


def _kind(reference: panels.Reference, language: str) -> tuple[str, layout.Entry]:
    """The name of a line of reference where all ladders are shown, with its entry in the legend."""
    limit = reference.colour == style.RED
    words = say(language, "limit of the instruction", "指令实测上限") if limit else reference.name
    return words, ("dot" if reference.dashes == panels.DOTTED else "dash", reference.colour, words)


def sizes(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS over the square size, a line per step, baselines, the limit and the peak; a panel per GPU."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = [gpu for gpu in records.gpus(names) if len(records.square_sizes(gpu, names)) > 1]
    if not gpus:
        raise Missing(f"no timing of the {name} ladder at two sizes or more")
    at = records.square_sizes(gpus[0], names)
    timed = {s: [(step, r["tflops"]) for step in steps if (r := records.default_at(gpus[0], step.name, s))] for s in at}
    best = {size: max(rows, key=lambda row: row[1]) for size, rows in timed.items()}
    beyond = panels.beyond(course, records, gpus[0], steps, at, language)
    texts = Texts(
        findings.fastest(name.upper(), best, language),
        say(language, "; ", "；").join(filter(None, [panels.on_gpus(records, gpus, language), beyond])),
        foot=panels.conditions(records, gpus[0], language),
    )
    height = 4.0
    drawn, axes = layout.page(
        texts, panels.of_gpus(records, gpus, [Panel(height)] * len(gpus)), layout.SPEEDS, layout.ENDS
    )
    for ax, gpu in zip(axes, gpus, strict=True):
        at = records.square_sizes(gpu, names)
        lines = panels.Lines(ax)
        for index, step in enumerate(steps):
            colour = style.LADDER[index * (len(style.LADDER) - 1) // max(1, len(steps) - 1)]
            points = [(s, r["tflops"]) for s in at if (r := records.default_at(gpu, step.name, s))]
            lines.add(points, step.short, colour)
        panels.over_size(lines, course, records, gpu, steps, at, language)
        panels.size_axis(ax, at)
        lines.finish(height)
        ax.set_ylabel("TFLOPS")
    return drawn
