"""Charts of one step as it was timed: over size beside the step before, and its variants."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from records import BASELINES, COMPLETE, CUBLAS, Record, Records

from . import findings, layout, panels, style, turn_charts
from .course import Course, Step
from .layout import Panel, Texts
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
    """TFLOPS over size for one step, the one before or the variant that it is compared with, the ladder's baseline, the
    limit and the peak; a panel per GPU.

    Of a step that stays near the library its ratio to it, in turn."""
    gpus = [gpu for gpu in records.gpus([step.name]) if records.square_sizes(gpu, [step.name])]
    if not gpus:
        raise Missing(f"no timing of {step.name} at a square size")
    if turn_charts.near(course, records, gpus[0], step):
        return turn_charts.over_size(course, records, gpus, step, language)
    before, alike = course.before(step), course.alike(step)
    where = panels.on_gpus(records, gpus, language)
    if alike:
        where = say(language, f"TFLOPS over size, {where}", f"各尺寸的 TFLOPS，{where}")
    sizes, yardstick = records.square_sizes(gpus[0], [step.name]), course.yardstick(step.ladder)
    notes = [
        panels.beyond(course, records, gpus[0], [step], sizes, language),
        panels.above_the_limit(course, records, gpus[0], step, sizes, yardstick, language),
    ]
    texts = Texts(
        findings.over_size(course, records, gpus[0], step, language),
        say(language, "; ", "；").join(filter(None, [where, *notes])),
        foot=panels.conditions(records, gpus[0], language),
    )
    panel = Panel(2.5, above=0.28)
    drawn, axes = layout.page(texts, panels.of_gpus(records, gpus, [panel] * len(gpus)), layout.SPEEDS, layout.ENDS)
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
        elif alike:
            found = panels.of_variant(records, gpu, *alike)
            name = f"{alike[0].number:02d} {alike[1]}"
            lines.add([(s, found[s]["tflops"]) for s in at if s in found], name, style.GREY, zorder=5)
        lines.add(points[step], step.short, style.BLUE, width=2.6, zorder=4)
        panels.over_size(lines, course, records, gpu, [step], at, language, only=yardstick)
        panels.size_axis(ax, at)
        lines.finish(panel.height, 1.1)
        for x, y in points[step]:  # above the panel, where no line runs through them
            ax.annotate(
                style.number(y),
                (x, 1),
                (0, 4),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                ha="center",
                fontsize=style.SMALL,
                fontweight="bold",
                color=style.BLUE,
            )
        ax.set_ylabel("TFLOPS")
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


Group = tuple[list[Record], list[panels.Reference]]  # rows of one type and layout, and what they compare with


def variants(course: Course, records: Records, step: Step, language: str) -> Figure:
    """A bar per variant of one step at 4096, a group per type and layout beside its own baseline; a panel per GPU."""
    beside = course.yardstick(step.ladder)
    rows = {gpu: variant_rows(records, gpu, step, beside=beside) for gpu in records.gpus([step.name])}
    rows = {gpu: found for gpu, found in rows.items() if len(found) > 1}
    if not rows:
        raise Missing(f"fewer than two variants of {step.name} timed at 4096")
    gpus = list(rows)
    alike = _by_kind(rows[gpus[0]])[0]
    library = BASELINES[beside](language)
    texts = Texts(
        findings.among_variants(step, rows[gpus[0]], alike, language),
        say(
            language,
            f"4096³, {panels.on_gpus(records, gpus, language)}; blue: the default; in brackets: share of {library} "
            "in the same types",
            f"4096³，{panels.on_gpus(records, gpus, language)}；蓝色：默认变体；括号内为相对同类型"
            f"{' cuBLAS ' if beside == CUBLAS else '下最快的库调用'}的比例",
        ),
    )
    longest = max(style.em(r["variant"]) for found in rows.values() for r in found)
    left = longest * style.SMALL / 72 + 0.2
    inches = layout.WIDTH - left - 0.3
    found = {gpu: _groups(course, records, gpu, step, rows[gpu], beside, language) for gpu in gpus}
    tops = {gpu: 1.04 * panels.axis_top(found[gpu][0][1], [r["tflops"] for r in rows[gpu]]) for gpu in gpus}
    places = [Panel(0.25 * _length(found[gpu]), panels.room_above(found[gpu][0][1], tops[gpu], inches)) for gpu in gpus]
    drawn, axes = layout.page(texts, panels.of_gpus(records, gpus, places), left, 0.3)
    for ax, gpu in zip(axes, gpus, strict=True):
        _bars(ax, found[gpu], tops[gpu], inches, language)
    return drawn


def _by_kind(rows: list[Record]) -> list[list[Record]]:
    """Rows of the default's types and layout first, then those of each other."""
    default = next((r for r in rows if r.get("default")), rows[0])
    kinds = dict.fromkeys([kind(default), *map(kind, rows)])
    return [[r for r in rows if kind(r) == each] for each in kinds]


def _groups(
    course: Course, records: Records, gpu: str, step: Step, rows: list[Record], beside: str, language: str
) -> list[Group]:
    """The rows by type and layout: the default's with all references, the others with the baseline they ran beside."""
    first, *others = _by_kind(rows)
    groups = [(first, _references(course, records, gpu, step, first, language))]
    for group in others:
        own = next((r["baseline_tflops"] for r in group if r.get("baseline") == beside), None)
        look = panels.LOOKS.get(beside, panels.LOOKS[CUBLAS])
        groups.append((group, [panels.Reference(BASELINES[beside](language), own, *look)] if own else []))
    return groups


def _length(groups: list[Group]) -> float:
    """The height of a panel in rows: a group after the first has a name over it."""
    return sum(len(rows) for rows, _ in groups) + 1.15 * (len(groups) - 1) + 0.1


def _bars(ax: Axes, groups: list[Group], top: float, inches: float, language: str) -> None:
    """The bars of a panel, group under group."""
    y, places, names = 0.0, [], []
    for number, (rows, references) in enumerate(groups):
        if number:
            words = kind_in_words(rows[0], language)
            told = say(language, ": ", "：").join([words, *(r.text for r in references)])
            style.group_name(ax, y + 0.1, told, style.MUTED, style.SMALL)
            y += 1.15
        for reference in references if number else ():
            ends = [y - 0.5, y + len(rows) - 0.5]
            ax.plot([reference.tflops] * 2, ends, color=reference.colour, ls=reference.dashes, lw=1.8, zorder=1.5)
        for record in rows:
            colour, ink = (style.BLUE, "white") if record.get("default") else (style.GREY, style.INK)
            panels.timed_bar(ax, y, record, colour, top, ink)
            places.append(y)
            names.append(record["variant"])
            y += 1
        if not number:
            panels.vertical_references(ax, references, top, inches, max(0.0, 1 - y / _length(groups)))
    ax.set_xlim(0, top)
    panels.named_rows(ax, names, places)
    ax.set_xlabel("TFLOPS")


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
