"""Tables of micro-benchmarks: what instructions and main loops reach, latencies, two schedules of stream-k."""

from __future__ import annotations

from records import Record

from .. import energy, latencies, step_charts, stream_k
from ..figures.text import Words
from .page import MIDDLE, Cells, Page, Table, as_figure, by_gpu, in_tflops


def limits(page: Page) -> str:
    """What instructions alone reach on a GPU, beside the data sheet."""

    def of(gpu: str) -> Table | None:
        found = page.records.limits.get(gpu, [])
        head = [page.say("instruction, operands in registers", "指令，操作数在寄存器中"), page.say("elements", "元素")]
        head += [page.say("accumulator", "累加器"), "TFLOPS", MIDDLE(page.language), "SM MHz", "W"]
        made = Table(head, used=found, texts=3)
        for r in found:
            span = [r[key] for key in ("tflops_p20", "tflops_p80") if key in r]
            cells = [
                f"`{r['limit']}`",
                *(step_charts.TYPE_NAMES.get(r[key], r[key]) for key in ("a", "acc")),
                in_tflops(r),
            ]
            cells.append("–".join(map(as_figure, span)) if len(span) == 2 else "–")
            made.rows.append([*cells, *(f"{r[key]:.0f}" if r.get(key) else "–" for key in ("sm_mhz", "power_w"))])
        return made if found else None

    return by_gpu(page, page.course.steps, of, "no instruction limit was measured")


def all_latencies(page: Page) -> str:
    """The latencies that the chapters use, in cycles."""

    def of(gpu: str) -> Table | None:
        found = [(words, latencies.find(page.records, gpu, *which)) for *which, words in latencies.ROWS]
        head = [page.say("the result of", "等待的结果"), page.say("cycles", "周期"), MIDDLE(page.language), "ns"]
        made = Table(head, used=[r for _, r in found if r])
        for words, r in found:
            if r:
                made.rows.append([words(page.language), *latencies.in_cycles(r), latencies.figure(r["nanoseconds"])])
        return made if made.rows else None

    return by_gpu(page, page.course.steps, of, "no latency was measured: build/lab/latency/latency")


def wgmma_alone(page: Page) -> str:
    """wgmma with resident operands: by type, with random data and with zeros."""

    def of(gpu: str) -> Table | None:
        found = [r for r in page.records.main_loops.get(gpu, []) if energy.resident(r)]
        found = [r for r in found if r["options"]["tile"] == energy.FITTED_TILE]
        head = [
            page.say("elements", "元素"),
            page.say("accumulator", "累加器"),
            page.say("zeros in A and B", "A 和 B 中零的比例"),
        ]
        made = Table([*head, *_loop_heads(page), _PER_GHZ(page.language), "pJ/FLOP"], used=found, texts=2)
        for r in sorted(found, key=lambda r: (_TYPES_IN_ORDER.index((r["a"], r["acc"])), r["options"]["zeros"])):
            types = [step_charts.TYPE_NAMES.get(r[key], r[key]) for key in ("a", "acc")]
            share = f"{r['options']['zeros']:.0%}"
            cells = [*types, share, *_loop_figures(r), f"{energy.per_ghz(r):.0f}", f"{energy.per_flop(r):.3f}"]
            made.rows.append(cells)
        return made if found else None

    return by_gpu(page, page.course.steps, of, "no main loop was measured: build/lab/main_loop/main_loop")


_TYPES_IN_ORDER = (("bf16", "f32"), ("f16", "f32"), ("f16", "f16"), ("tf32", "f32"), ("e4m3", "f32"))


def _loop_heads(page: Page) -> Cells:
    return ["TFLOPS", MIDDLE(page.language), "SM MHz", "W"]


_PER_GHZ = Words("TFLOPS per GHz", "每 GHz 的 TFLOPS")


def main_loops(page: Page) -> str:
    """The main loops in BF16 by what a stage receives, beside what the model of their energy says."""

    def of(gpu: str) -> Table | None:
        loops = page.records.main_loops.get(gpu, [])
        model = energy.fit(loops)
        head = [page.say("tile", "分块"), page.say("KB per stage from L2", "每个 stage 来自 L2 的 KB")]
        head += [
            page.say("from the partner", "来自另一线程块"),
            page.say("from memory", "来自显存"),
            *_loop_heads(page),
        ]
        head += [
            _PER_GHZ(page.language),
            page.say("µJ per 128×256×64", "每 128×256×64 的 µJ"),
            page.say("TFLOPS by the model", "模型给出的 TFLOPS"),
        ]
        made = Table(head, used=energy.of_bf16(loops))
        for r in made.used:
            told = r["options"]
            pair = page.say(", pairs", "，成对") if told["cluster"] > 1 else ""
            partner = told["received_kb"] - told["l2_kb"] - told["dram_kb"]
            cells = [
                told["tile"].replace("x", "×") + pair,
                *(str(kb) for kb in (told["l2_kb"], partner, told["dram_kb"])),
            ]
            said = as_figure(model.tflops(r)) if model and not told["dram_kb"] else "–"
            cells += [*_loop_figures(r), f"{energy.per_ghz(r):.0f}", f"{energy.per_unit(r):.2f}", said]
            made.rows.append(cells)
        return made if made.used else None

    return by_gpu(page, page.course.steps, of, "no main loop was measured: build/lab/main_loop/main_loop")


def two_schedules(page: Page) -> str:
    """Stream-K beside step 27: speeds relative to it in the same pass, and of the best library call."""

    def of(gpu: str) -> Table | None:
        found = page.records.stream_k.get(gpu, [])
        names = stream_k.variants(found)
        default = next((r["variant"] for r in found if r["default"]), "")
        head = ["M×N×K", page.say("step 27, TFLOPS", "步骤 27，TFLOPS")]
        head += [page.say(f"`{name}` ÷ step 27", f"`{name}` ÷ 步骤 27") for name in names]
        head += [page.say(f"{of_what} of the best library call", f"{of_what}相对最快的库调用") for of_what in
                 (page.say("step 27", "步骤 27 "), page.say("best stream-K", "最快的 stream-K "))]  # fmt: skip
        made = Table(head, used=found)
        for size in dict.fromkeys(map(stream_k.size_of, found)):
            name = f"{size[0]}³" if len(set(size)) == 1 else "×".join(map(str, size))
            speeds = {variant: stream_k.beside_default(found, size, variant) for variant in names}
            fastest = max(names, key=lambda variant: speeds[variant].median)
            cells = [name, as_figure(stream_k.tflops(found, size))]
            cells += [f"{one.median:.2f} ({one.least:.2f}–{one.most:.2f})" for one in speeds.values()]
            cells += [f"{stream_k.beside_library(found, size, one):.3f}" for one in (default, fastest)]
            made.rows.append(cells)
        return made if found else None

    return by_gpu(page, page.course.steps, of, "stream-K was not timed beside step 27")


def _loop_figures(r: Record) -> Cells:
    span = "–".join(as_figure(r[key]) for key in ("tflops_p20", "tflops_p80") if key in r)
    return [in_tflops(r), span or "–", f"{r['sm_mhz']:.0f}" if r.get("sm_mhz") else "–", f"{r['power_w']:.0f}"]
