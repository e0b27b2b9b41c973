"""Tables of rounding errors."""

from __future__ import annotations

import math
import re

from .. import error_charts, step_charts
from ..course import Step
from ..style import Missing
from .page import Page, Table, by_gpu, in_percent


def error(page: Page) -> str:
    """The rounding error of every kind of sums at 4096, and what bounds it."""
    found = error_charts.errors(page.course, page.records)
    found = {kind: rows for kind, rows in found.items() if len(rows) > 1}
    if not found:
        raise Missing("no errors at two K or more")
    depths = sorted({k for rows in found.values() for k in rows})
    made = Table([page.say("elements, accumulator", "元素，累加器"), *(f"K = {k}" for k in depths)])
    for kind, rows in found.items():
        figures = [f"{rows[k]:.1e}" if k in rows else "–" for k in depths]
        made.rows.append([error_charts.kind_name(kind, page.language), *figures])
    return str(made)


def error_over_k(page: Page, step: Step) -> str:
    """The error of the default and of the variant with FP32 sums by K, and the worst element's share of its bound."""

    def of(gpu: str) -> Table | None:
        (m, n), pairs = error_charts.over_k(page.records, gpu, step.name)
        if len(pairs) < 3:
            return None
        names = [step_charts.TYPE_NAMES[r["acc"]] for r in next(iter(pairs.values()))]
        sums = [page.say(f"{name} sums", f"{name} 累加") for name in names]
        bounds = [page.say(f"{name}, of the bound", f"{name}，占上界") for name in names]
        made = Table(["K", sums[0], page.say("growth", "增长"), sums[1], " ÷ ".join(names), *bounds], texts=0)
        size = f"M = N = {m}" if m == n else f"M = {m}, N = {n}"
        made.note = page.say(
            f"{size}, ‖C − reference‖ / ‖reference‖; of the bound: the worst element",
            f"{size}，‖C − 参考‖ / ‖参考‖；占上界：最差的元素",
        )
        before = 0.0
        for k, pair in pairs.items():
            narrow, wide = (r["error"] for r in pair)
            cells = [str(k), f"{narrow:.5f}", f"×{narrow / before:.2f}" if before else "", f"{wide:.5f}"]
            made.rows.append([*cells, f"{narrow / wide:.0f}", *(in_percent(r.get("worst_of_bound")) for r in pair)])
            made.used += pair
            before = narrow
        return made

    return by_gpu(page, [step], of, f"no errors of {step.name} with FP16 and FP32 sums at three K or more")


# Kinds of data as lab/errors names them, in the order in which they get harder.
_DATA = {
    "normal": ("normal", "正态"),
    "uniform": ("uniform, 0 … 1", "均匀，0 … 1"),
    "scaled": ("normal, rows and columns scaled by 2^±20", "正态，行列按 2^±20 缩放"),
    "spread": ("(u − ½)·e^g", "(u − ½)·e^g"),
    "wide": ("(u − ½)·e^(4g)", "(u − ½)·e^(4g)"),
}


def errors_on_data(page: Page, step: Step) -> str:
    """The root mean square error of every variant and of cuBLAS on five kinds of data, as a power of two."""

    def of(gpu: str) -> Table | None:
        rows = [r for r in page.records.errors.get(gpu, []) if r["step"] in (step.name, "cublas")]
        own = [r for r in rows if r["step"] == step.name]
        if not own:
            return None
        names = {"cublas": "cuBLAS", "cublas_tf32": "cuBLAS TF32"}
        if own[0]["a"] == "e4m3":
            fast = page.say("cublasLt, fast sums", "cublasLt，快速累加")
            names = {"cublaslt_e4m3_fast_sums": fast, "cublaslt_e4m3": "cublasLt"}
        same_sums = re.compile(r"_tn$|_\d+x\d+$")  # another layout, another tile
        variants = list(dict.fromkeys(r["variant"] for r in own if not same_sums.search(r["variant"])))
        sides = [*variants, *names]
        made = Table([page.say("data", "数据"), "K", *(names.get(side, f"`{side}`") for side in sides)], texts=1)
        made.note = page.say(
            "M = N = K; root of the mean square of |C − reference| / (|A||B|), as a power of two",
            "M = N = K；|C − 参考| / (|A||B|) 的均方根，以 2 的幂表示",
        )
        for data, words in _DATA.items():
            for size in sorted({r["k"] for r in rows}):
                at = [r for r in rows if (r["data"], r["k"]) == (data, size)]
                found = {r["variant"]: r for r in at if r["variant"] in sides}
                if len(found) == len(sides):
                    cells = [f"2^{math.log2(found[side]['rms']):.1f}" for side in sides]
                    made.rows.append([page.say(*words), str(size), *cells])
                    made.used += found.values()
        return made

    return by_gpu(page, [step], of, f"no errors of {step.name} on kinds of data: build/lab/errors")


# Kinds of matrices as lab/guard names them beside those above.
_KINDS = _DATA | {
    "relu": ("normal, negative ones 0", "正态，负数取 0"),
    "sparse": ("normal, 63 of 64 are 0", "正态，64 个里有 63 个是 0"),
    "outliers": ("normal, one k of 64 of A times 2¹²", "正态，A 每 64 个 k 有一个乘 2¹²"),
    "halves": ("normal, halves of K apart by 2²⁰", "正态，K 的两半相差 2²⁰"),
    "worst": ("digits whose errors all add up", "误差全部同号的数位"),
    "extreme": ("rows and columns from 2⁻¹⁴⁹ to 2¹²⁶, and zeros", "行列从 2⁻¹⁴⁹ 到 2¹²⁶，并有全零行列"),
}


def guarded(page: Page, step: Step) -> str:
    """What a guard has chosen for each kind of matrices, the bounds, and the largest error beside them."""

    def of(gpu: str) -> Table | None:
        rows = [r for r in page.records.guard.get(gpu, []) if r["step"] == step.name]
        if not rows:
            return None
        heads = (
            page.say("data", "数据"),
            "K",
            page.say("variant", "变体"),
            page.say("three digits", "三个数位"),
            page.say("four", "四个"),
            page.say("bound of three", "三个数位的界"),
            page.say("of four", "四个的界"),
            page.say("largest error", "最大误差"),
            page.say("of the theorem", "占定理"),
        )
        made = Table(list(heads), texts=1)
        made.note = page.say(
            "shares of C; bounds and errors relative to |aᵢ||bⱼ| / K, as powers of two, the largest over all elements",
            "占 C 的比例；界和误差相对于 |aᵢ||bⱼ| / K，以 2 的幂表示，取所有元素中最大的",
        )
        for data, words in _KINDS.items():
            for row in sorted((r for r in rows if r["data"] == data), key=lambda r: (r["k"], r["variant"])):
                powers = [f"2^{math.log2(row[key]):.1f}" for key in ("bound_three", "bound_four", "largest")]
                shares = [f"{row[key]:.0%}" for key in ("three", "four")]
                theorem = f"{row['of_theorem']:.2f}" if row["three"] + row["four"] > 0 else "–"
                made.rows.append([page.say(*words), str(row["k"]), f"`{row['variant']}`", *shares, *powers, theorem])
                made.used.append(row)
        return made

    return by_gpu(page, [step], of, f"nothing that a guard of {step.name} chose: build/lab/guard/guard")
