"""Charts of the error of FP16 and FP32 accumulation over K, from the error that each timing records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from matplotlib.figure import Figure

from . import panels, step_charts, style
from .course import Course, Step
from .records import Record, Records
from .step_charts import TYPE_NAMES
from .style import Missing, say

# On tensor cores or not, elements, accumulator: colour, line.
_SERIES = {
    (False, "f16", "f16"): (style.RED, "-"),
    (True, "f16", "f16"): (style.AMBER, panels.DASHED),
    (False, "f16", "f32"): (style.BLUE, "-"),
    (True, "f16", "f32"): (style.GREEN, panels.DASHED),
    (True, "bf16", "f32"): (style.VIOLET, panels.DASHED),
    (True, "tf32", "f32"): (style.GREY, panels.DASHED),
    (False, "f32", "f32"): (style.INK, panels.DOTTED),
}
Kind = tuple[bool, str, str]
Pairs = dict[int, tuple[Record, Record]]
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.85, 2.85, 0.75, 0.62  # margins in inches


def errors(course: Course, records: Records) -> dict[Kind, dict[int, float]]:
    """The median recorded error by kind of arithmetic and K."""
    found: dict[Kind, dict[int, list[float]]] = {}
    for step in course.steps:
        for gpu in records.gpus([step.name]):
            for row in records.of_step(gpu, step.name):
                kind = (step.on_tensor_cores, row.get("a", ""), row.get("acc", ""))
                if row.get("error") and kind in _SERIES:
                    found.setdefault(kind, {}).setdefault(row["k"], []).append(row["error"])
    order = [kind for kind in _SERIES if kind in found]
    return {kind: {k: statistics.median(v) for k, v in sorted(found[kind].items())} for kind in order}


def kind_name(kind: Kind, language: str) -> str:
    """`FP16, FP32 accumulate (tensor cores)`."""
    tensor, a, acc = kind
    where = say(language, "tensor cores" if tensor else "CUDA cores", "Tensor Core" if tensor else "CUDA core")
    a, acc = TYPE_NAMES[a], TYPE_NAMES[acc]
    return say(language, f"{a}, {acc} accumulate ({where})", f"{a}，{acc} 累加（{where}）")


def accumulation(course: Course, records: Records, language: str) -> Figure:
    """‖C − reference‖ / ‖reference‖ over K, a line per kind of arithmetic, on logarithmic axes."""
    found = {kind: rows for kind, rows in errors(course, records).items() if len(rows) > 1}
    if not any(kind[1:] == ("f16", "f16") for kind in found) or not any(kind[1:] == ("f16", "f32") for kind in found):
        raise Missing("no errors of FP16 and of FP32 accumulation at two K or more")
    lines = [(rows, kind_name(kind, language), *_SERIES[kind]) for kind, rows in found.items()]
    drawn = _over_k(lines, 4.9, language)
    style.heading(
        drawn,
        say(language, "What the accumulator's type costs", "累加器类型的代价"),
        say(
            language,
            "normal random inputs against an FP64 reference, as recorded with each timing; logarithmic axes",
            "正态随机输入，与 FP64 参考对比，取自各次计时的记录；双对数坐标",
        ),
    )
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


def gpu_of(records: Records, step: Step) -> str | None:
    """The GPU with most records among those on which a step's error was recorded at three K or more."""
    return next((g for g in records.gpus([step.name]) if len(over_k(records, g, step.name)[1]) > 2), None)


def step_error(course: Course, records: Records, step: Step, language: str) -> Figure:
    """The error of a step's default and of its variant with FP32 sums over K, and how √K grows."""
    gpu = gpu_of(records, step)
    if gpu is None:
        raise Missing(f"no errors of {step.name} with FP16 and FP32 sums at three K or more")
    (m, n), pairs = over_k(records, gpu, step.name)
    first = next(iter(pairs))
    lines = []
    for index, (colour, dashes) in enumerate(((style.RED, "-"), (style.BLUE, "-"))):
        one = pairs[first][index]
        name = TYPE_NAMES[one["acc"]]
        text = say(language, f"{name} sums ({one['variant']})", f"{name} 累加（{one['variant']}）")
        lines.append(({k: pair[index]["error"] for k, pair in pairs.items()}, text, colour, dashes))
    root = {k: 1.35 * pairs[first][0]["error"] * (k / first) ** 0.5 for k in pairs}
    drawn = _over_k([*lines, (root, "∝ √K", style.MUTED, panels.DOTTED)], 3.9, language)
    where = records.gpu_name(gpu)
    style.heading(
        drawn,
        say(language, f"{step.short}: error over K · {where}", f"{step.short}：误差随 K 的变化 · {where}"),
        say(
            language,
            f"C of {m}×{n}, normal random inputs against an FP64 reference; logarithmic axes",
            f"C 为 {m}×{n}，正态随机输入，与 FP64 参考对比；双对数坐标",
        ),
    )
    return drawn


def _over_k(lines: Sequence[tuple[dict[int, float], str, str, object]], height: float, language: str) -> Figure:
    """Errors over K on logarithmic axes: values by K, name, colour and dashes of each line, named at its right end."""
    width = 9.4
    drawn, (ax,) = style.figure(width, height)
    drawn.subplots_adjust(left=_LEFT / width, right=1 - _RIGHT / width, top=1 - _TOP / height, bottom=_BOTTOM / height)
    for rows, _, colour, dashes in lines:
        mark = "" if dashes == panels.DOTTED and colour == style.MUTED else "o"  # a law has no points
        ax.plot(list(rows), list(rows.values()), color=colour, ls=dashes, lw=2, marker=mark, ms=4.5, zorder=3)
    ax.set_yscale("log")
    panels.size_axis(ax, sorted({k for rows, *_ in lines for k in rows}), "K")
    ax.grid(True, which="major")
    low, high = (math.log10(v) for v in ax.get_ylim())
    gap = (high - low) * 0.2 / (height - _TOP - _BOTTOM)
    places = style.spread([math.log10(list(rows.values())[-1]) for rows, *_ in lines], gap)
    for (rows, text, colour, _), place in zip(lines, places, strict=True):
        style.name_beside(ax, list(rows.items())[-1], text, (place - low) / (high - low), colour)
    ax.set_ylabel(say(language, "relative error ‖C − ref‖ / ‖ref‖", "相对误差 ‖C − ref‖ / ‖ref‖"))
    return drawn
