"""Charts of docs/precision: the bits that are right, over K on kinds of data, and speed over the error."""

from __future__ import annotations

import math
import statistics
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
_NAMES_FROM = 13.5  # bits: to the right of the crowd


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
    Product("cublas", "cublas", ("cuBLAS FP32", "cuBLAS FP32"), style.AMBER, "-", ("f32", "f32")),
    Product("cublas", "cublas_tf32", ("cuBLAS TF32", "cuBLAS TF32"), style.AMBER, panels.DASHED, ("tf32", "f32")),
    Product("30", "", ("30 TF32", "30 TF32"), style.PLUM, panels.DASHED),
    Product("23_wgmma", "f16", ("23 FP16, FP32 sums", "23 FP16，FP32 累加"), style.BROWN, panels.DASHED),
    Product("13_half_double_buffer", "t16x16_doubled", ("13 FP16, FP16 sums", "13 FP16，FP16 累加"), style.RED),
    Product("23_wgmma", "bf16", ("23 BF16", "23 BF16"), style.BROWN, panels.DOTTED),
    Product("32_digits", "three_digits", ("32 three digits", "32 三个数字"), style.GREEN),
    Product("32_digits", "four_digits", ("32 four digits", "32 四个数字"), style.GREEN, panels.DASHED),
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
    """A panel per kind of data: the bits that are right over K, a line per way to multiply."""
    gpu = gpu_of(records)
    found = {data: [(p, recorded(records, gpu, p, data)) for p in PRODUCTS] for data in KINDS}
    shown = [p for p in PRODUCTS if any(rows for lines in found.values() for q, rows in lines if q is p)]
    kinds = {"-": "line", panels.DASHED: "dash", panels.DOTTED: "dot"}
    texts = Texts(
        say(
            language,
            f"Each kind of data has another order, and only FP32 and step 33 keep their bits on all · {records.gpu_name(gpu)}",
            f"数据不同，名次就不同；在每一种数据上都保住有效位的只有 FP32 和 step 33 · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            "bits: −log₂ of the root mean square of |C − AB| / (|A||B|); the same FP32 data, which each rounds to its own type",
            "位数：|C − AB| / (|A||B|) 的均方根取 −log₂；数据都是同样的 FP32，各自舍入到自己的类型",
        ),
        [(kinds[p.dashes], p.colour, say(language, *p.names)) for p in shown],
    )
    depths = sorted({k for lines in found.values() for _, rows in lines for k in rows})
    drawn, axes = layout.page(
        texts, [Panel(1.0, below=0.42, title=say(language, *words)) for words in KINDS.values()], 0.62, 0.2
    )
    for ax, lines in zip(axes, found.values(), strict=True):
        for product, rows in lines:
            if rows:
                values = [bits(r["rms"]) for r in rows.values()]
                ax.plot(list(rows), values, color=product.colour, ls=product.dashes, lw=2, marker="o", ms=3.5)
        panels.size_axis(ax, depths, "K")
        ax.set_ylim(0, _MOST_BITS)
        ax.set_yticks(range(0, _MOST_BITS + 1, 8))
        ax.grid(axis="y")
        ax.set_ylabel(say(language, "bits", "位"))
    return drawn


def library_speed(records: Records, gpu: str, types: tuple[str, str]) -> float | None:
    """cuBLAS's TFLOPS at 4096³ in these types: the median of what it did beside our kernels."""
    rows = [
        r["baseline_tflops"]
        for r in records.timings.get(gpu, [])
        if (r["m"], r["n"], r["k"]) == (SIZE, SIZE, SIZE)
        and (r.get("a"), r.get("acc")) == types
        and r.get("baseline") == "cublas"
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
    return bits(found["relative"]) if found else None


_FAMILIES = {
    ("f32", "f32"): ("FP32", style.AMBER),
    ("f16", "f16"): ("FP16 / FP16", style.RED),
    ("f16", "f32"): ("FP16 / FP32", style.BROWN),
    ("bf16", "f32"): ("BF16", style.MUTED),
    ("tf32", "f32"): ("TF32", style.PLUM),
    ("f32", "s32"): ("32, 33", style.GREEN),
}


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
            libraries.append((bits(row["relative"]), speed, say(language, *product.names)))
    if not ours or not libraries:
        raise Missing("no errors of cuBLAS relative to the result: build/lab/errors")
    single = max(speed for x, speed, name in libraries if name.endswith("FP32"))
    digits = max(ours.get(("f32", "s32"), [(0, 0, {})]), key=lambda at: at[1] if at[0] > 20 else 0)
    texts = Texts(
        say(
            language,
            f"FP32's precision at {digits[1] / single:.1f} times SGEMM's speed: digits are on the edge · {records.gpu_name(gpu)}",
            f"精度达到 FP32，速度是 SGEMM 的 {digits[1] / single:.1f} 倍：数字乘法在最外沿 · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            f"every variant of every step at {SIZE}³; bits: −log₂(‖C − AB‖ / ‖AB‖) of its arithmetic on normal FP32 data, rounded to its type",
            f"每一步的每个变体，{SIZE}³；位数：把正态 FP32 数据舍入到它的类型，按它的算法得到的 −log₂(‖C − AB‖ / ‖AB‖)",
        ),
        [("box", colour, name) for family, (name, colour) in _FAMILIES.items() if family in ours],
    )
    drawn, (ax,) = layout.page(texts, [Panel(3.6)], layout.SPEEDS, 0.3)
    for family, points in ours.items():
        colour = _FAMILIES[family][1]
        ax.plot([x for x, *_ in points], [y for _, y, _ in points], "o", color=colour, ms=4, alpha=0.75, mew=0)
    named: list[tuple[float, float, str]] = []
    for product in PRODUCTS[6:]:  # the digits
        at = [(x, y) for x, y, r in ours.get(("f32", "s32"), []) if (r["step"], r["variant"]) == (product.step, product.variant)]  # fmt: skip
        named += [(*at[0], say(language, *product.names))] if at else []
    for x, y, _ in libraries:
        ax.plot(x, y, "D", color=style.INK, ms=6, mec="white", mew=0.8, zorder=5)
    every_name = sorted([*libraries, *named], key=lambda at: at[1])
    heights = style.spread([math.log(y) for _, y, _ in every_name], 0.33)
    for (x, y, name), height in zip(every_name, heights, strict=True):
        ours_too = (x, y, name) in named
        at = max(x, _NAMES_FROM if y > 60 else x)
        ax.annotate(
            "", (x, y), (at + 0.5, math.exp(height)), arrowprops={"arrowstyle": "-", "color": style.MUTED, "lw": 0.6}
        )
        style.lines_of_text(
            ax, name, (at + 0.5, math.exp(height)), "data", 3, color=style.ink(style.GREEN) if ours_too else style.INK
        )
    every = [(x, y) for points in ours.values() for x, y, _ in points] + [(x, y) for x, y, _ in libraries]
    edge = [at for at in sorted(every) if not any(x >= at[0] and y > at[1] for x, y in every)]
    ax.step([x for x, _ in edge], [y for _, y in edge], where="pre", color=style.GREY, lw=1.2, zorder=1)
    ax.set_yscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    low, high = min(y for _, y in every) / 1.4, max(y for _, y in every) * 1.5
    ax.set_yticks([t for t in ticks if low < t < high], [f"{t:g}" for t in ticks if low < t < high])
    ax.set_yticks([], minor=True)
    ax.set_ylim(low, high)
    ax.set_xlim(0, _MOST_BITS)
    ax.grid(axis="both")
    ax.set_ylabel("TFLOPS")
    ax.set_xlabel(say(language, "bits that are right", "有效位"))
    return drawn
