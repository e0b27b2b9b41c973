"""Charts of the error of FP16 and FP32 accumulation over K, from the error that each timing records."""

from __future__ import annotations

import math
import statistics

from matplotlib.figure import Figure

from records import Record, Records

from . import findings, layout, panels, step_charts, style
from .course import Course
from .layout import Panel, Texts
from .step_charts import TYPE_NAMES
from .style import Missing, say

# On tensor cores or not, elements, accumulator: colour, line.
_SERIES = {
    (False, "f16", "f16"): (style.RED, "-"),
    (True, "f16", "f16"): (style.AMBER, panels.DASHED),
    (False, "f16", "f32"): (style.BLUE, "-"),
    (True, "f16", "f32"): (style.GREEN, panels.DASHED),
    (True, "bf16", "f32"): (style.PLUM, panels.DASHED),
    (True, "tf32", "f32"): (style.MUTED, panels.DASHED),
    (False, "f32", "f32"): (style.INK, panels.DOTTED),
}
Kind = tuple[bool, str, str]
Pairs = dict[int, tuple[Record, Record]]
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_HEIGHT = 3.6  # of the axes in inches


def errors(course: Course, records: Records) -> dict[Kind, dict[int, float]]:
    """The median recorded error of products without old C, by kind of arithmetic and K, where K is a power of two."""
    found: dict[Kind, dict[int, list[float]]] = {}
    for step in course.steps:
        for gpu in records.gpus([step.name]):
            for row in records.of_step(gpu, step.name):
                kind = (step.on_tensor_cores, row.get("a", ""), row.get("acc", ""))
                plain = not row.get("beta") and row["k"].bit_count() == 1
                if row.get("error") and kind in _SERIES and plain:
                    found.setdefault(kind, {}).setdefault(row["k"], []).append(row["error"])
    order = [kind for kind in _SERIES if kind in found]
    return {kind: {k: statistics.median(v) for k, v in sorted(found[kind].items())} for kind in order}


def kind_name(kind: Kind, language: str) -> str:
    """`FP16, FP32 accumulate (tensor cores)`."""
    tensor, a, acc = kind
    where = say(language, "tensor cores" if tensor else "CUDA cores", "Tensor Core" if tensor else "CUDA core")
    a, acc = TYPE_NAMES[a], TYPE_NAMES[acc]
    return say(language, f"{a}, {acc} accumulate ({where})", f"{a}，{acc} 累加（{where}）")


def _in_two_lines(name: str) -> str:
    """The name of a line, broken before its bracket."""
    return name.replace(" (", "\n(").replace("（", "\n（")


def accumulation(course: Course, records: Records, language: str) -> Figure:
    """‖C − reference‖ / ‖reference‖ over K, a line per kind of arithmetic, on logarithmic axes; and how √K grows."""
    found = {kind: rows for kind, rows in errors(course, records).items() if len(rows) > 1}
    narrow = next((kind for kind in found if kind[1:] == ("f16", "f16")), None)
    if narrow is None or not any(kind[1:] == ("f16", "f32") for kind in found):
        raise Missing("no errors of FP16 and of FP32 accumulation at two K or more")
    lines = [(rows, _in_two_lines(kind_name(kind, language)), *_SERIES[kind]) for kind, rows in found.items()]
    first, error = next(iter(found[narrow].items()))
    root = {k: 1.35 * error * (k / first) ** 0.5 for k in found[narrow]}
    lines.append((root, "∝ √K", style.MUTED, panels.DOTTED))
    wide = found[next(kind for kind in found if kind[1:] == ("f16", "f32"))]
    texts = Texts(
        findings.accumulators(found[narrow], wide, language),
        say(
            language,
            "normal random inputs against an FP64 reference, as recorded with each timing; logarithmic axes",
            "正态随机输入，与 FP64 参考对比，取自各次计时的记录；双对数坐标",
        ),
    )
    drawn, (ax,) = layout.page(texts, [Panel(_HEIGHT, above=0.2)], 0.66, 1.78)
    for rows, text, colour, dashes in lines:
        mark = "" if text == "∝ √K" else "o"  # a law has no points
        ax.plot(list(rows), list(rows.values()), color=colour, ls=dashes, lw=2, marker=mark, ms=4.5, zorder=3)
    ax.set_yscale("log")
    low, high = (math.log10(v) for v in ax.get_ylim())
    decades = range(math.ceil(low), math.floor(high) + 1)
    ax.set_yticks([10.0**e for e in decades], [f"10{str(e).translate(_RAISED)}" for e in decades])
    ax.set_yticks([], minor=True)
    panels.size_axis(ax, sorted({k for rows, *_ in lines for k in rows}), "K")
    gap = (high - low) * 0.33 / _HEIGHT
    places = style.spread([math.log10(list(rows.values())[-1]) for rows, *_ in lines], gap)
    for (rows, text, colour, _), place in zip(lines, places, strict=True):
        style.name_beside(ax, list(rows.items())[-1], text, (place - low) / (high - low), colour)
    ax.set_ylabel(say(language, "relative error ‖C − ref‖ / ‖ref‖", "相对误差 ‖C − ref‖ / ‖ref‖"))
    return drawn


def over_k(records: Records, gpu: str, step: str) -> tuple[tuple[int, int], Pairs]:
    """M and N with most K at which both the default and a variant with FP32 sums were timed; by K the two records."""
    rows = [r for r in records.of_step(gpu, step) if r.get("error") and not r.get("options")]
    default = {(r["m"], r["n"], r["k"]): r for r in rows if r.get("default") and r.get("acc") != "f32"}
    found: dict[tuple[int, int, str], Pairs] = {}
    for wide in rows:
        narrow = default.get((wide["m"], wide["n"], wide["k"]))
        if narrow and wide["acc"] == "f32" and step_charts.kind(wide)[::2] == step_charts.kind(narrow)[::2]:
            found.setdefault((wide["m"], wide["n"], wide["variant"]), {})[wide["k"]] = narrow, wide
    m, n, variant = max(found, key=lambda key: (len(found[key]), key), default=(0, 0, ""))
    return (m, n), dict(sorted(found.get((m, n, variant), {}).items()))
