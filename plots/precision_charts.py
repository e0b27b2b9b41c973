"""Charts of docs/precision: the bits that are right, over K on positive data, and speed over the error."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from records import Record, Records

from . import layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

SIZE = 4096
KINDS = {
    "normal": ("normal", "正态"),
    "uniform": ("uniform, 0 … 1", "均匀，0 … 1"),
    "scaled": ("normal, rows and columns scaled by 2^±20", "正态，行列按 2^±20 缩放"),
    "spread": ("(u − ½)·e^g", "(u − ½)·e^g"),
    "wide": ("(u − ½)·e^(4g)", "(u − ½)·e^(4g)"),
}
_MOST_BITS = 32
_OVER_K = (
    "cublas",
    "",
    "f16",
    "t16x16_doubled",
    "bf16",
    "three_digits",
)  # variants of PRODUCTS: the others lie on them
_NAMES_FROM = 13.5  # bits: to the right of the crowd
_NEAR = 0.15  # two marks of about one speed, on the logarithmic axis


@dataclass(frozen=True)
class Product:
    """One way to multiply FP32 data, as lab/errors records it."""

    step: str  # its name, or its number alone, and then its first variant
    variant: str
    names: tuple[str, str]
    colour: str
    dashes: str | tuple[float, tuple[float, ...]] = "-"
    types: tuple[str, str] = ("", "")  # of a library's call: elements and sums


PRODUCTS = (
    Product("cublas", "cublas", ("SGEMM (cuBLAS)", "SGEMM（cuBLAS）"), style.AMBER, "-", ("f32", "f32")),
    Product("cublas", "cublas_tf32", ("cuBLAS TF32", "cuBLAS TF32"), style.AMBER, panels.DASHED, ("tf32", "f32")),
    Product("30", "", ("30 TF32", "30 TF32"), style.PLUM, panels.DASHED),
    Product("23_wgmma", "f16", ("23 FP16, FP32 sums", "23 FP16，FP32 累加"), style.BROWN, panels.DASHED),
    Product("13_half_double_buffer", "t16x16_doubled", ("13 FP16, FP16 sums", "13 FP16，FP16 累加"), style.RED),
    Product("23_wgmma", "bf16", ("23 BF16", "23 BF16"), style.MUTED, panels.DOTTED),
    Product("32_digits", "three_digits", ("32 three digits", "32 三个数位"), style.GREEN),
    Product("32_digits", "four_digits", ("32 four digits", "32 四个数位"), style.GREEN, panels.DASHED),
    Product("33_guarded", "guarded", ("33 guarded", "33 带误差界"), style.BLUE),
)


LIBRARIES = (
    *(product for product in PRODUCTS if product.step == "cublas"),
    Product("cublas", "cublas_f16", ("cuBLAS FP16", "cuBLAS FP16"), style.AMBER, "-", ("f16", "f32")),
    Product(
        "cublas",
        "cublas_f16_sums",
        ("cuBLAS FP16, FP16 sums", "cuBLAS FP16，FP16 累加"),
        style.AMBER,
        "-",
        ("f16", "f16"),
    ),
    Product("cublas", "cublaslt_e4m3_fast_sums", ("cublasLt FP8", "cublasLt FP8"), style.AMBER, "-", ("e4m3", "f22")),
    Product("cublas", "cublas_bf16", ("cuBLAS BF16", "cuBLAS BF16"), style.AMBER, "-", ("bf16", "f32")),
)


def bits(error: float) -> float:
    """How many bits of a result are right."""
    return -math.log2(error)


def _numbered(step: str, number: str) -> str:
    """The step's name where it has this number; "" otherwise."""
    return step if step.partition("_")[0] == number else ""


def recorded(records: Records, gpu: str, product: Product, data: str) -> dict[int, Record]:
    """A product's errors on one kind of data, by K."""
    rows = [
        r
        for r in records.errors.get(gpu, [])
        if r["data"] == data and r["step"] in (product.step, _numbered(r["step"], product.step))
    ]
    variant = product.variant or next((r["variant"] for r in rows), "")
    return dict(sorted((r["k"], r) for r in rows if r["variant"] == variant))


def gpu_of(records: Records) -> str:
    """The GPU whose errors are shown."""
    if (gpu := records.most(records.errors)) is None:
        raise Missing("no errors on kinds of data: build/lab/errors")
    return gpu


def over_k(course: Course, records: Records, language: str) -> Figure:
    """Uniform data: the bits that are right over K, a line per way to multiply, its name at its end."""
    gpu = gpu_of(records)
    lines = {p: rows for p in PRODUCTS if p.variant in _OVER_K and (rows := recorded(records, gpu, p, "uniform"))}
    if not lines:
        raise Missing("no errors on uniform data: build/lab/errors")
    texts = Texts(
        say(
            language,
            f"On positive data SGEMM and TF32 lose bits as K grows, sums of integers none · {records.gpu_name(gpu)}",
            f"数据全为正时，K 越大，SGEMM 和 TF32 丢的位越多，整数累加不丢 · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            "elements uniform in 0 … 1; bits: −log₂ of the root mean square of |C − AB| / (|A||B|)",
            "元素在 0 … 1 之间均匀分布；位数：|C − AB| / (|A||B|) 的均方根取 −log₂",
        ),
    )
    drawn, (ax,) = layout.page(texts, [Panel(2.3)], 0.62, layout.ENDS)
    most = 28
    ends = [bits(list(rows.values())[-1]["rms"]) for rows in lines.values()]
    places = style.spread([end / most for end in ends], 0.075)
    for (product, rows), end, place in zip(lines.items(), ends, places, strict=True):
        ax.plot(list(rows), [bits(r["rms"]) for r in rows.values()], color=product.colour, ls=product.dashes, lw=2,
                marker="o", ms=3.5)  # fmt: skip
        style.name_beside(ax, (max(rows), end), say(language, *product.names), place, product.colour)
    panels.size_axis(ax, sorted({k for rows in lines.values() for k in rows}), "K")
    ax.set_ylim(0, most)
    ax.set_yticks(range(0, most + 1, 4))
    ax.grid(axis="y")
    ax.set_ylabel(say(language, "bits", "位"))
    return drawn


def library_speed(records: Records, gpu: str, types: tuple[str, str]) -> float | None:
    """The library's TFLOPS at 4096³ in these types: the median of what it did beside our kernels."""
    call = "cublaslt_fast_sums" if types[0] == "e4m3" else "cublas"
    rows = [
        r["baseline_tflops"]
        for r in records.timings.get(gpu, [])
        if (r["m"], r["n"], r["k"]) == (SIZE, SIZE, SIZE)
        and (r.get("a"), r.get("acc")) == types
        and r.get("baseline") == call
        and not r.get("beta")
    ]
    return statistics.median(rows) if rows else None


# Which product of lab/errors has the arithmetic of a kernel: on tensor cores or not, elements, sums.
_ARITHMETIC = {
    (True, "f16", "f16"): ("cublas", "cublas_f16_sums"),
    (False, "f16", "f16"): ("13_half_double_buffer", "t16x16_doubled"),
    (True, "f16", "f32"): ("cublas", "cublas_f16"),
    (False, "f16", "f32"): ("13_half_double_buffer", "fp32_accumulate"),
    (True, "bf16", "f32"): ("cublas", "cublas_bf16"),
    (True, "tf32", "f32"): ("cublas", "cublas_tf32"),
    (False, "f32", "f32"): ("cublas", "cublas"),
    (True, "f32", "f32"): ("cublas", "cublas"),
}

# Kernels whose arithmetic is not that of their types: parts of operands, operands that are not rounded.
_OF_THEIR_OWN = {("30_tf32", "three_products"), ("30_tf32", "cut")}


def bits_of(records: Records, gpu: str, step: Step, record: Record) -> float | None:
    """The bits of a whole result at 4096³ that are right, of FP32 data: of this kernel, or of its arithmetic."""
    kind = (step.on_tensor_cores, record.get("a", ""), record.get("acc", ""))
    own = (step.name, record["variant"])
    wanted = own if own in _OF_THEIR_OWN else _ARITHMETIC.get(kind, own)
    rows = [r for r in records.errors.get(gpu, []) if (r["step"], r["variant"]) == wanted and r.get("relative")]
    found = next((r for r in rows if (r["k"], r["data"]) == (SIZE, "normal")), None)
    return bits(_of_floats(found)) if found else None


def _of_floats(record: Record) -> float:
    """The norm of the error of FP32 data by that of the result, what rounding them to 8 bits lost included."""
    return record.get("relative_to_floats", record["relative"])


_FAMILIES = {
    ("f32", "f32"): (("FP32", "FP32"), style.AMBER),
    ("f16", "f16"): (("FP16, FP16 sums", "FP16，FP16 累加"), style.RED),
    ("f16", "f32"): (("FP16, FP32 sums", "FP16，FP32 累加"), style.BROWN),
    ("bf16", "f32"): (("BF16", "BF16"), style.MUTED),
    ("tf32", "f32"): (("TF32", "TF32"), style.PLUM),
    ("f32", "s32"): (("digits", "数位"), style.GREEN),
    ("e4m3", "f22"): (("FP8 e4m3", "FP8 e4m3"), style.BLUE),
    ("e4m3", "f32"): (("FP8 e4m3", "FP8 e4m3"), style.BLUE),
}
_NAMED = {  # variants that the page speaks of
    ("32_digits", "two_digits"): ("32 two digits", "32 两个数位"),
    ("32_digits", "three_digits"): ("32 three digits", "32 三个数位"),
    ("32_digits", "eight_products"): ("32 eight products", "32 八个乘积"),
    ("32_digits", "four_digits"): ("32 four digits", "32 四个数位"),
    ("33_guarded", "balanced"): ("33 balanced", "33 balanced"),
    ("30_tf32", "three_products"): ("30 three products", "30 三个乘积"),
}


def _clearance(at: tuple[float, float], marks: Sequence[tuple[float, float, str]]) -> float:
    """How much higher a name begins, on the logarithmic axis, so that the line to it passes above a mark to the right."""
    x, y = at
    return 0.55 if any(right > x + 1 and abs(math.log(speed / y)) < _NEAR for right, speed, _ in marks) else 0.0


def speed_over_error(course: Course, records: Records, language: str) -> Figure:
    """Every kernel at 4096³: TFLOPS over the bits that are right on normal data, and cuBLAS's calls."""
    gpu = gpu_of(records)
    ours: dict[tuple[str, str], list[tuple[float, float, Record]]] = {}
    for step in course.steps:
        for r in records.of_step(gpu, step.name):
            family = (r.get("a", ""), r.get("acc", ""))
            square = (r["m"], r["n"], r["k"]) == (SIZE, SIZE, SIZE)
            right = bits_of(records, gpu, step, r) if square and family in _FAMILIES and not r.get("options") else None
            if right:
                ours.setdefault(family, []).append((right, r["tflops"], r))
    libraries = []
    for product in LIBRARIES:
        row = recorded(records, gpu, product, "normal").get(SIZE)
        speed = library_speed(records, gpu, product.types)
        if row and row.get("relative") and speed:
            libraries.append((bits(_of_floats(row)), speed, say(language, *product.names)))
    if not ours or not libraries:
        raise Missing("no errors of cuBLAS relative to the result: build/lab/errors")
    single = max(speed for _, speed, name in libraries if name == say(language, *PRODUCTS[0].names))
    digits = max(ours.get(("f32", "s32"), [(0, 0, {})]), key=lambda at: at[1] if at[0] > 20 else 0)
    texts = Texts(
        say(
            language,
            f"On normal data, three digits are more precise than SGEMM and {digits[1] / single:.1f} times as fast · {records.gpu_name(gpu)}",
            f"正态数据上，三个数位比 SGEMM 更准，速度是它的 {digits[1] / single:.1f} 倍 · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            f"a dot: a variant of a step, {SIZE}³; bits relative to the result; the line: no other kernel is both faster and more precise",
            f"一个点是某一步的一个变体，{SIZE}³；位数相对于结果；没有哪个 kernel 既比折线上的快，又比它准",
        ),
        list(dict.fromkeys(("box", c, say(language, *names)) for f, (names, c) in _FAMILIES.items() if f in ours)),
    )
    drawn, (ax,) = layout.page(texts, [Panel(3.6)], layout.SPEEDS, 0.3)
    for family, points in ours.items():
        colour = _FAMILIES[family][1]
        ax.plot([x for x, *_ in points], [y for _, y, _ in points], "o", color=colour, ms=4, alpha=0.75, mew=0)
    points_of = {
        (r["step"], r["variant"]): (x, y, style.ink(_FAMILIES[family][1]))
        for family in ours
        for x, y, r in ours[family]
    }
    named = [(*points_of[which], say(language, *words)) for which, words in _NAMED.items() if which in points_of]
    for x, y, _ in libraries:
        ax.plot(x, y, "D", color=style.INK, ms=6, mec="white", mew=0.8, zorder=5)
    every = [(x, y) for points in ours.values() for x, y, _ in points] + [(x, y) for x, y, _ in libraries]
    edge = [at for at in sorted(every) if not any(x >= at[0] and y > at[1] for x, y in every)]
    ax.step([x for x, _ in edge], [y for _, y in edge], where="pre", color=style.MUTED, lw=1.6, zorder=1)
    every_name = sorted([*((x, y, style.INK, name) for x, y, name in libraries), *named], key=lambda at: at[1])
    # Names of the crowd stand in one column, those of the line behind it above it, all others beside their dots.
    crowd = [at for at in every_name if at[0] <= _NAMES_FROM]
    above = [at for at in every_name if at[0] > _NAMES_FROM and at[:2] in edge]
    for rows, up, start in ((crowd, 0.0, _NAMES_FROM), (above, 0.3, 0.0)):
        lifts = [up + _clearance((x, y), libraries if rows is crowd else []) for x, y, *_ in rows]
        heights = style.spread([math.log(y) + lift for (_, y, *_), lift in zip(rows, lifts, strict=True)], 0.33)
        for (x, y, colour, name), height in zip(rows, heights, strict=True):
            to = max(x, start) + 0.5, math.exp(height)
            ax.annotate("", (x, y), to, arrowprops={"arrowstyle": "-", "color": style.MUTED, "lw": 0.6})
            style.lines_of_text(ax, name, to, "data", 3, color=colour)
    for x, y, colour, name in every_name:
        if (x, y, colour, name) not in crowd + above:
            left = any(abs(right - x) < 0.1 and speed > y for right, speed in edge)  # the line turns above it
            side = ((x, 0.92 * y), "data", -6) if left else ((x, y), "data", 9)
            style.lines_of_text(ax, name, *side, color=colour, ha="right" if left else "left")
    ax.set_yscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    low, high = min(y for _, y in every) / 1.4, max(y for _, y in every) * 3
    ax.set_yticks([t for t in ticks if low < t < high], [f"{t:g}" for t in ticks if low < t < high])
    ax.set_yticks([], minor=True)
    ax.set_ylim(low, high)
    ax.set_xlim(0, _MOST_BITS)
    ax.grid(axis="both")
    ax.set_ylabel("TFLOPS")
    ax.set_xlabel(say(language, "bits that are right, relative to the result", "相对于结果的有效位"))
    return drawn
