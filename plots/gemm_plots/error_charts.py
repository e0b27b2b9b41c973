"""Chart of the error of FP16 and FP32 accumulation over K, from the error that each timing records."""

from __future__ import annotations

import math
import statistics

from matplotlib.figure import Figure

from . import panels, style
from .course import Course
from .records import Records
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
    height, width = 4.9, 9.4
    drawn, (ax,) = style.figure(width, height)
    drawn.subplots_adjust(left=0.85 / width, right=1 - 2.85 / width, top=1 - 0.75 / height, bottom=0.62 / height)
    ends = []
    for kind, rows in found.items():
        colour, dashes = _SERIES[kind]
        ax.plot(list(rows), list(rows.values()), color=colour, ls=dashes, lw=2, marker="o", ms=4.5, zorder=3)
        ends.append((*list(rows.items())[-1], kind_name(kind, language), colour))
    sizes = sorted({k for rows in found.values() for k in rows})
    ax.set_yscale("log")
    panels.size_axis(ax, sizes, "K")
    ax.grid(True, which="major")
    low, high = (math.log10(v) for v in ax.get_ylim())
    places = style.spread([math.log10(y) for _, y, _, _ in ends], (high - low) * 0.2 / (height - 1.37))
    for (x, y, text, colour), place in zip(ends, places, strict=True):
        ax.annotate(
            text,
            (x, y),
            (1.03, (place - low) / (high - low)),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.7, "shrinkA": 0, "shrinkB": 2},
        )
    ax.set_ylabel(say(language, "relative error ‖C − ref‖ / ‖ref‖", "相对误差 ‖C − ref‖ / ‖ref‖"))
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
