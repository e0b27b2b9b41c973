"""Tables of docs/precision: bits on kinds of data, energy beside the bits, and what programs gain."""

from __future__ import annotations

from .. import energy, precision_charts
from ..style import Missing
from .page import Page, Table, where


def bits_on_data(page: Page) -> str:
    """The bits that are right at 4096, by way to multiply and kind of data."""
    gpu = precision_charts.gpu_of(page.records)
    made = Table([page.say("product", "乘法"), *(page.say(*words) for words in precision_charts.KINDS.values())])
    made.note = page.say(
        "M = N = K = 4096; bits relative to |A||B|; u uniform in 0 … 1, g normal",
        "M = N = K = 4096；位数相对于 |A||B|；u 在 0 … 1 之间均匀分布，g 正态分布",
    )
    for product in precision_charts.PRODUCTS:
        rows = [
            precision_charts.recorded(page.records, gpu, product, data).get(precision_charts.SIZE)
            for data in precision_charts.KINDS
        ]
        if any(rows):
            cells = [
                f"{precision_charts.bits(r['rms']):.1f}" if r else page.say("beyond the type", "超出类型") for r in rows
            ]
            made.rows.append([page.say(*product.names), *cells])
            made.used += filter(None, rows)
    return f"{where(page, gpu, made)}\n\n{made}"


def energy_of_bits(page: Page) -> str:
    """Picojoules per FLOP of every ladder's last default, and the bits of its result on normal data."""
    gpu = page.records.most(page.records.alone)
    if gpu is None:
        raise Missing("no step was run alone: ./gemm record --only power")
    alone = {r["step"]: r for r in page.records.alone[gpu] if r.get("default")}
    heads = (page.say("step", "步骤"), page.say("sums", "累加"), "TFLOPS", "W", "pJ/FLOP", page.say("bits", "位数"))
    made = Table(list(heads))
    made.note = page.say(
        "energy at 8192³, run alone; bits relative to the result, at 4096³ on normal data",
        "能量取 8192³、单独运行；位数相对于结果，4096³，正态数据",
    )
    for step in page.course.steps:
        timing = page.records.default_at(gpu, step.name, precision_charts.SIZE)
        record = alone.get(step.name)
        last = step.ladder == "precision" or step is page.course.ladder(step.ladder)[-1]
        right = precision_charts.bits_of(page.records, gpu, step, timing) if timing and last else None
        if right and record and record.get("power_w"):
            figures = [record["tflops"], record["power_w"]]
            cells = [*(f"{figure:.0f}" for figure in figures), f"{energy.per_flop(record):.2f}", f"{right:.1f}"]
            sums = {"s32": "INT32"}.get(record["acc"], record["acc"].replace("f", "FP"))
            made.rows.append([page.link(step), sums, *cells])
            made.used.append(record)
    return f"{where(page, gpu, made)}\n\n{made}"


_WAYS = {
    "pytorch": ("PyTorch, FP32", "PyTorch，FP32"),
    "pytorch again": ("the same from other weights", "同上，换一组初始权重"),
    "fp32()": ("inside `fp32()`", "在 `fp32()` 里"),
    "tf32": ("PyTorch, TF32", "PyTorch，TF32"),
}


def programs(page: Page) -> str:
    """Two programs, each way: time, last loss, error."""
    gpu = page.records.most(page.records.programs)
    if gpu is None:
        raise Missing("no programs: python/examples/fp32_products.py --json")
    rows = page.records.programs[gpu]
    found = {(r["program"], r["way"]): r for r in rows}
    heads = (
        "",
        page.say("training, ms per step", "训练，每步 ms"),
        page.say("last loss", "最后的损失"),
        page.say("least squares, ms", "最小二乘，ms"),
        page.say("error", "误差"),
    )
    made = Table(list(heads))
    for way, words in _WAYS.items():
        training, solved = found.get(("training", way)), found.get(("least squares", way))
        if training:
            cells = [f"{1000 * training['seconds']:.1f}", f"{training['losses'][-1]:.5f}"]
            cells += [f"{1000 * solved['seconds']:.0f}", f"{solved['error']:.1e}"] if solved else ["", ""]
            made.rows.append([page.say(*words), *cells])
            made.used += [r for r in (training, solved) if r]
    return f"{where(page, gpu, made)}\n\n{made}"
