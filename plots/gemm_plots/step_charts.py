"""Charts of one step as it was timed: over size beside the step before, and its variants."""

from __future__ import annotations

from matplotlib.figure import Figure

from . import findings, panels, style
from .course import Course, Step
from .records import BASELINES, COMPLETE, CUBLAS, Record, Records
from .style import Missing, say

# How element types are written, and what a record's types come to in a few words.
TYPE_NAMES = {"f16": "FP16", "bf16": "BF16", "tf32": "TF32", "f32": "FP32", "e4m3": "FP8 e4m3"}


def kind(record: Record) -> tuple[str, str, str]:
    """Types and layout of a record, by which speeds may be compared: elements, accumulator, layout."""
    return record.get("a", ""), record.get("acc", ""), record.get("layout", "NN")


def kind_in_words(record: Record, language: str) -> str:
    """`FP16, FP32 accumulate, TN`."""
    a, acc, layout = kind(record)
    words = [TYPE_NAMES.get(a, a)]
    if acc != a:
        name = TYPE_NAMES.get(acc, acc)
        words.append(say(language, f"{name} accumulate", f"{name} 累加"))
    return say(language, ", ", "，").join(words + ([layout] if layout != "NN" else []))


def step_sizes(course: Course, records: Records, step: Step, language: str) -> Figure:
    """TFLOPS over size for one step, the one before, the baselines, the limit and the peak; a panel per GPU."""
    gpus = [gpu for gpu in records.gpus([step.name]) if records.square_sizes(gpu, [step.name])]
    if not gpus:
        raise Missing(f"no timing of {step.name} at a square size")
    before = course.before(step)
    drawn, axes = panels.gpu_panels(records, gpus, 4.2, 4.9 if len(gpus) == 1 else 3.3, 0.76, 2.1, 0.82, 0.77)
    beyond = ""
    for ax, gpu in zip(axes, gpus, strict=True):
        at = records.square_sizes(gpu, [step.name])
        lines = panels.Lines(ax)
        points = {
            one: [(s, r["tflops"]) for s in at if (r := records.default_at(gpu, one.name, s))]
            for one in (before, step)
            if one
        }
        if before:
            lines.add(points[before], before.short, style.GREY, zorder=4)
        lines.add(points[step], step.short, style.BLUE, width=2.6, zorder=4)
        beyond = panels.over_size(lines, course, records, gpu, [step], at, language)
        panels.size_axis(ax, at)
        lines.finish(2.6, 1.1)
        for x, y in points[step]:  # above the panel, where no line runs through them
            ax.annotate(
                style.number(y),
                (x, 1),
                (0, 4),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                fontweight="bold",
                color=style.BLUE,
            )
        ax.set_ylabel("TFLOPS")
    where = panels.on_gpus(records, gpus, language)
    note = say(language, "; ", "；").join(filter(None, [where, beyond]))
    style.heading(drawn, findings.over_size(course, records, gpus[0], step, language), note)
    style.footnote(drawn, panels.conditions(records, gpus[0], language))
    return drawn


def variant_rows(records: Records, gpu: str, step: Step, size: int = 4096, beside: str = CUBLAS) -> list[Record]:
    """The variants of a step at one size without options, best first; `versus`: their ratio to each baseline.

    Each is the record beside the baseline asked for, where there is one.

    `complete`, the default once more for those that leave work out, is not among them.
    """
    found: dict[str, Record] = {}
    for record in records.of_step(gpu, step.name):
        name, baseline = record["variant"], record.get("baseline")
        if (record["m"], record["n"], record["k"]) != (size,) * 3 or record.get("options") or name == COMPLETE:
            continue
        versus = found.get(name, {}).get("versus", {})
        if record.get("ratio") is not None:
            versus = {**versus, baseline: record["ratio"]}
        if name not in found or baseline == beside:
            found[name] = record
        found[name] = {**found[name], "versus": versus}
    return sorted(found.values(), key=lambda r: -r["tflops"])


def variants(course: Course, records: Records, step: Step, language: str) -> Figure:
    """A bar per variant of one step at 4096, cuBLAS and peak as lines; a panel per GPU."""
    beside = course.yardstick(step.ladder)
    rows = {gpu: variant_rows(records, gpu, step, beside=beside) for gpu in records.gpus([step.name])}
    rows = {gpu: found for gpu, found in rows.items() if len(found) > 1}
    if not rows:
        raise Missing(f"fewer than two variants of {step.name} timed at 4096")
    gpus = list(rows)
    names = {gpu: [_shown(r, rows[gpu], language) for r in rows[gpu]] for gpu in gpus}
    longest = max(style.em(name) for gpu in gpus for name in names[gpu])
    left, inches = max(1.3, longest * 10 / 72 + 0.3), 4.85 if len(gpus) == 1 else 3.6
    references = {gpu: _references(course, records, gpu, step, rows[gpu], language) for gpu in gpus}
    tops = {gpu: 1.04 * panels.axis_top(references[gpu], [r["tflops"] for r in rows[gpu]]) for gpu in gpus}
    levels = max(1 + row for gpu in gpus for _, row, _ in panels.label_rows(references[gpu], tops[gpu], inches))
    top = 0.68 + 0.17 * levels
    height = top + 0.5 + (0.34 if len(rows[gpus[0]]) < 16 else 0.27) * max(map(len, rows.values()))
    drawn, axes = panels.gpu_panels(records, gpus, height, inches, left, 0.75, top, 0.5)
    for ax, gpu in zip(axes, gpus, strict=True):
        for row, record in enumerate(rows[gpu]):
            colour, ink = (style.BLUE, "white") if record.get("default") else (style.GREY, style.INK)
            panels.timed_bar(ax, row, record, colour, tops[gpu], ink)
        panels.vertical_references(ax, references[gpu], tops[gpu], inches)
        ax.set_xlim(0, tops[gpu])
        panels.bar_rows(ax, names[gpu])
        ax.set_xlabel("TFLOPS")
    where = panels.on_gpus(records, gpus, language)
    default = next((r for r in rows[gpus[0]] if r.get("default")), rows[gpus[0]][0])
    alike = [r for r in rows[gpus[0]] if kind(r) == kind(default)]
    style.heading(
        drawn,
        findings.among_variants(step, rows[gpus[0]], alike, language),
        say(
            language,
            f"4096³, {where}; blue: the default; in brackets: share of {BASELINES[beside]('en')} in the same types",
            f"4096³，{where}；蓝色：默认变体；括号内为相对同类型{' cuBLAS ' if beside == CUBLAS else '下最快的库调用'}的比例",
        ),
    )
    return drawn


def _shown(record: Record, rows: list[Record], language: str) -> str:
    """A variant's name, with its types where they are not the default's."""
    default, words = next((r for r in rows if r.get("default")), rows[0]), kind_in_words(record, language)
    return record["variant"] + ("" if kind(record) == kind(default) else say(language, f" ({words})", f"（{words}）"))


def _references(
    course: Course, records: Records, gpu: str, step: Step, rows: list[Record], language: str
) -> list[panels.Reference]:
    """The baselines beside the default; without one beside the fastest; then limit and peak."""
    found = panels.baselines(records, gpu, [step], 4096, language)
    if not found:
        one = next((r for r in rows if r.get("baseline_tflops") and r.get("baseline") in panels.LOOKS), None)
        if one:
            name = one["baseline"]
            found = [panels.Reference(BASELINES[name](language), one["baseline_tflops"], *panels.LOOKS[name])]
    return found + panels.roofs(course, records, gpu, [step], language)
