"""Tables that compare GPUs, and of one product on several."""

from __future__ import annotations

from records import ALONE_SIZE, BEST_LIBRARY, Record, Records

from .. import energy, gpu_tables, latencies
from ..style import Missing
from .page import MIDDLE, Page, Table, as_figure, beside_the_first, in_percent, in_tflops, in_turn, where, with_spread

COUNTED_STEP = "14_wmma_naive"  # whose bytes were counted on several GPUs: no other step is bound by memory


def _with_records(records: Records, kept: dict[str, list[Record]], why: str) -> list[str]:
    """The GPUs that records of a kind are kept of; Missing, and why, where there is nothing to compare."""
    gpus = [gpu for gpu in gpu_tables.compared(records) if kept.get(gpu)]
    if len(gpus) < 2:
        raise Missing(why)
    return gpus


def _with_stand_in(record: Record | None, first: Record | None) -> str:
    """A default's speed, and its name where another variant stands in for that of the first GPU."""
    is_other = record and first and record["variant"] != first["variant"]
    return f"{with_spread(record)} `{record['variant']}`" if is_other else with_spread(record)


def defaults(page: Page) -> str:
    """Every step's default on each GPU at 4096 and 8192, and what it is there to the first GPU."""
    course, records = page.course, page.records
    names = [gpu_tables.short_name(records, gpu) for gpu in gpu_tables.compared(records)]
    if len(names) < 2:
        raise Missing("the steps were timed on one GPU alone")
    made = Table([page.say("step", "步骤")])
    for size in (4096, 8192):
        made.head += [f"{name}, {size}³" for name in names] + [f"{name} ÷ {names[0]}" for name in names[1:]]
    for step in course.steps:
        small, large = (gpu_tables.timed(course, records, step, size) for size in (4096, 8192))
        if not any(small[1:] + large[1:]):
            continue
        cells = [page.link(step)]
        for found in (small, large):
            cells += [_with_stand_in(r, found[0]) for r in found]
            cells += [beside_the_first(r, found[0]) for r in found[1:]]
        made.rows.append(cells)
    note = page.say(
        "TFLOPS of the defaults (in brackets: 20–80 %); a ratio other than 1.00 is bold where the two spreads do not overlap",
        "默认变体的 TFLOPS（括号内为 20–80%）；两块 GPU 的范围不重叠且比值不是 1.00 时，比值用粗体",
    )
    return f"{note}\n\n{made}"


def shares(page: Page) -> str:
    """The Hopper ladder's defaults on each GPU from 4096 on: speed, what it is to the first, share of the best library call."""
    course, records = page.course, page.records
    names = [gpu_tables.short_name(records, gpu) for gpu in gpu_tables.compared(records)]
    made = Table([page.say("step", "步骤"), "M = N = K"])
    made.head += [f"{name}, TFLOPS" for name in names] + [f"{name} ÷ {names[0]}" for name in names[1:]]
    made.head += [page.say(f"{name}, of the best library call", f"{name}，相对最快的库调用") for name in names]
    for step in course.steps:
        for size in (4096, 8192, 16384) if course.yardstick(step.ladder) == BEST_LIBRARY else ():
            found = gpu_tables.timed(course, records, step, size)
            if not all(found[:1]) or not any(found[1:]):
                continue
            cells = [page.link(step), str(size), *map(with_spread, found)]
            cells += [beside_the_first(r, found[0]) for r in found[1:]]
            for ratio in (in_turn(r)[1:] if r else [] for r in found):
                cells.append(f"{ratio[0]} ({ratio[1]})" if ratio else "–")
            made.rows.append(cells)
    if not made.rows:
        raise Missing("no step for Hopper was timed on two GPUs")
    return str(made)


def memory(page: Page) -> str:
    """What Nsight Compute counted of one step on every GPU: bytes from L2 and from DRAM, and how fast the latter came."""
    records = page.records
    head = ["M = N = K", "GPU", page.say("into L1, GB", "送入 L1，GB"), page.say("from DRAM, GB", "来自显存，GB")]
    made = Table([*head, "ms", page.say("TB/s from DRAM", "来自显存，TB/s")], texts=2)
    for size in (4096, 8192):
        for gpu in gpu_tables.compared(records):
            counts = gpu_tables.bytes_read(records, gpu, COUNTED_STEP, size)
            timed = records.default_at(gpu, COUNTED_STEP, size)
            if not counts or not timed:
                continue
            gigabytes = [f"{counted / 1e9:.1f}" for counted in counts]
            rate = f"{counts[-1] / timed['ms'] / 1e9:.1f}"
            name = gpu_tables.short_name(records, gpu)
            made.rows.append([str(size), name, *gigabytes, f"{timed['ms']:.3g}", rate])
    if not made.rows:
        raise Missing(f"the bytes that {COUNTED_STEP} reads were not counted")
    return str(made)


def loops(page: Page) -> str:
    """The main loops in BF16 on each GPU, by what they receive; and what their speed is to the first GPU."""
    records = page.records
    gpus = _with_records(records, records.main_loops, "main loops were measured on one GPU alone")
    names = [gpu_tables.short_name(records, gpu) for gpu in gpus]
    head = [page.say("tile", "分块"), page.say("zeros", "零的比例"), page.say("KB from L2", "来自 L2 的 KB")]
    made = Table([*head, page.say("from memory", "来自显存")])
    for name in names:
        made.head += [f"{name}, TFLOPS", "W"]
    made.head += [f"{name} ÷ {names[0]}" for name in names[1:]]
    for first in records.main_loops[gpus[0]]:
        told = first["options"]
        same = [[r for r in records.main_loops[gpu] if energy.same_loop(r, first)] for gpu in gpus]
        if "tile" not in told or first["a"] != "bf16" or not all(same):
            continue
        found = [rs[0] for rs in same]
        pair = page.say(", pairs", "，成对") if told["cluster"] > 1 else ""
        cells = [
            told["tile"].replace("x", "×") + pair,
            f"{told['zeros']:.0%}",
            str(told["l2_kb"]),
            str(told["dram_kb"]),
        ]
        for r in found:
            cells += [with_spread(r), f"{r['power_w']:.0f}"]
        made.rows.append([*cells, *(beside_the_first(r, found[0]) for r in found[1:])])
    return str(made)


def power(page: Page) -> str:
    """Every step's default run alone on each GPU: speed, watts, clock and energy per FLOP, and what it is to the first."""
    records = page.records
    gpus = _with_records(records, records.alone, "defaults were run alone on one GPU alone")
    names = [gpu_tables.short_name(records, gpu) for gpu in gpus]
    made = Table([page.say("step", "步骤")])
    for name in names:
        made.head += [f"{name}, TFLOPS", "W", "MHz", "pJ/FLOP"]
    for name in names[1:]:
        made.head += [f"{name} ÷ {names[0]}, {what}" for what in ("TFLOPS", "pJ/FLOP")]
    for step in page.course.steps:
        found = [gpu_tables.run_alone(records, gpu, step) for gpu in gpus]
        if not all(found[:1]) or not any(found[1:]):
            continue
        cells = [page.link(step)]
        for r in found:
            watts = (
                [f"{r['power_w']:.0f}", f"{r.get('sm_mhz', 0):.0f}", as_figure(energy.per_flop(r))] if r else ["–"] * 3
            )
            cells += [with_spread(r), *watts]
        for r in found[1:]:
            joules = f"{energy.per_flop(r) / energy.per_flop(found[0]):.2f}" if r else "–"
            cells += [beside_the_first(r, found[0]), joules]
        made.rows.append(cells)
    note = page.say(
        f"defaults at {ALONE_SIZE}³, run alone; in brackets 20–80 %; a ratio of the speeds other than 1.00 is bold "
        "where the two spreads do not overlap",
        f"默认变体在 {ALONE_SIZE}³ 单独运行；括号内为 20–80%；两块 GPU 的范围不重叠且速度之比不是 1.00 时，比值用粗体",
    )
    return f"{note}\n\n{made}"


def latencies_of_loads(page: Page) -> str:
    """The latency of a load on each GPU, by the bytes that the loads go round in."""
    records = page.records
    gpus = _with_records(records, records.latencies, "latencies were measured on one GPU alone")
    made = Table([page.say("the loads go round in", "依次访问的总字节数")])
    for name in (gpu_tables.short_name(records, gpu) for gpu in gpus):
        made.head += [page.say(f"{name}, cycles", f"{name}，周期"), MIDDLE(page.language)]
    for kb in latencies.KB_COMPARED:
        found = [latencies.find(records, gpu, latencies.LOAD, {"ring_kb": kb}) for gpu in gpus]
        if not all(found):
            continue
        cells = [latencies.in_bytes(kb)]
        for r in found:
            cells += latencies.in_cycles(r)
        made.rows.append(cells)
    return str(made)


def published(page: Page) -> str:
    """What others published of kernels that resemble a step, on other GPUs."""
    facts = page.course.published().get("speeds", {})
    head = ["GPU", "kernel", page.say("resembles", "相近的步骤")]
    head += ["TFLOPS", page.of("cublas"), page.say("of peak", "相对峰值"), page.say("source", "来源")]
    made = Table(head, texts=3, remark=True)
    for r in facts.get("figures", []):
        step = page.course.step(r["step"])
        share = r["tflops"] / r["cublas"] if "cublas" in r else None
        cells = [
            r["gpu"],
            f"`{r['kernel']}`",
            page.link(step) if step else "",
            as_figure(r["tflops"]),
            in_percent(share),
        ]
        made.rows.append([*cells, in_percent(r["tflops"] / r["peak"]), facts["sources"][r["source"]][page.language]])
    if not made.rows:
        raise Missing("published.json has no speeds")
    return str(made)


def several_gpus(page: Page, layout: str) -> str:
    """One product on several GPUs, a way per row."""

    def of(gpu: str) -> str | None:
        found = gpu_tables.several(page.records, gpu, layout)
        head = [page.say("run", "运行"), page.say("way", "方式"), page.say("product", "乘法")]
        head += [page.say("chunks", "批数"), page.say("ms", "毫秒"), MIDDLE(page.language), "TFLOPS"]
        head += [page.say("speed-up", "加速比"), page.say("arithmetic alone", "只有计算")]
        head += [page.say("communication alone", "只有通信"), page.say("exposed", "未掩盖")]
        made = Table([*head, page.say("hidden", "掩盖的比例")], used=found, texts=3)
        for r in found:
            number, _, variant = r["product"].partition(":")
            of_step = page.course.steps[int(number) - 1].short if number.isdigit() else "torch.matmul"
            of_step += f", `{variant}`" if variant else ""
            cells = [str(r.get("run", 1)), f"`{r['way']}`", of_step, str(r["chunks"]) if r["chunks"] > 1 else "–"]
            cells += [
                f"{r['ms']:.2f}",
                f"{r['ms_p20']:.2f}–{r['ms_p80']:.2f}",
                in_tflops(r),
                f"**{r['speed_up']:.2f}**",
            ]
            moved = f"{r['communication_ms']:.2f}" if "communication_ms" in r else "–"
            share = f"{r['hidden']:.0%}" if "hidden" in r else "–"
            made.rows.append([*cells, f"{r['arithmetic_ms']:.2f}", moved, f"{r['exposed_ms']:.2f}", share])
        if not found:
            return None
        first, gpus = found[0], "、".join(map(str, sorted({r["gpus"] for r in found})))
        made.note = page.say(
            f"{gpus.replace('、', ', ')} GPUs, {first['m']}³ in BF16, PyTorch {first['torch'].partition('+')[0]}, NCCL {first['nccl']}; times in ms",
            f"{gpus} 块 GPU，BF16，{first['m']}³，PyTorch {first['torch'].partition('+')[0]}，NCCL {first['nccl']}；时间单位为毫秒",
        )
        return f"{where(page, gpu, made)}\n\n{made}"

    parts = [part for gpu in sorted(page.records.several) if (part := of(gpu))]
    if not parts:
        raise Missing("no product on several GPUs is recorded: python/examples/tensor_parallel.py")
    return "\n\n".join(parts)
