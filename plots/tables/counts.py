"""Tables of the simulator's counts and of instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from records import Record

from .. import count_charts, mix_charts
from ..course import Step
from ..style import Missing
from .page import Page, Table, as_count, variant_name


def _counter(key: str) -> Callable[[Record], int | None]:
    return lambda r: r["counts"].get(key)


def _of_tma(key: str) -> Callable[[Record], int | None]:
    return lambda r: r["counts"].get("tma", {}).get(key)


COUNTED: tuple[tuple[str, str, Callable[[Record], float | None]], ...] = (
    ("warp instructions", "warp 指令", _counter("instructions")),
    ("of them FMAs", "其中 FMA", lambda r: r["counts"].get("by_class", {}).get("fma")),
    ("global read requests", "全局读请求", count_charts.read_requests),
    ("global read sectors", "全局读扇区（sector）", count_charts.read_sectors),
    ("sectors per read request", "每次读请求的扇区", count_charts.sectors_per_request),
    ("FLOP per byte read", "每读一字节的 FLOP", count_charts.flop_per_byte),
    ("global store sectors", "全局写扇区", _counter("global_store_sectors")),
    ("shared load wavefronts", "共享内存读 wavefront", _counter("shared_load_wavefronts")),
    ("of them bank conflicts", "其中 bank 冲突", _counter("shared_load_conflicts")),
    ("shared store wavefronts", "共享内存写 wavefront", _counter("shared_store_wavefronts")),
    ("of them bank conflicts", "其中 bank 冲突", _counter("shared_store_conflicts")),
    ("wavefronts of asynchronous copies", "异步拷贝的 wavefront", _counter("cp_async_shared_wavefronts")),
    ("TMA loads asked for", "TMA 加载请求", _of_tma("load_requests")),
    ("bytes that TMA read", "TMA 读取的字节", _of_tma("load_bytes")),
    ("bytes that TMA delivered", "TMA 送达的字节", _of_tma("shared_bytes")),
    ("of them saved by multicast", "其中多播省下的读取", _of_tma("multicast_saved_bytes")),
    ("bytes that TMA stored", "TMA 写回的字节", _of_tma("store_bytes")),
    ("wavefronts of wgmma's operands", "wgmma 操作数的 wavefront", _counter("wgmma_wavefronts")),
    ("barriers (warps arriving)", "屏障（到达的 warp 数）", _counter("barriers")),
    ("tensor-core operations", "Tensor Core 操作次数", _counter("tensor_ops")),
    ("divergent branches", "发散的分支", _counter("divergent_branches")),
)


def counts(page: Page, step: Step) -> str:
    """A step's counts beside those of the step before, each of the tile that it has at 4096."""
    steps = [s for s in (page.course.before(step), step) if s]
    found = [(s, count_charts.counts_as_at_4096(page.course, page.records, s)) for s in steps]
    now = found[-1][1]
    if now is None:
        raise Missing(f"no simulator counts of {step.name}")
    size = [now[key] for key in ("m", "n", "k")]
    shown = [(s, r) for s, r in found if r and [r[key] for key in ("m", "n", "k")] == size]
    names = [s.short + ("" if r.get("default") else f" `{r['variant']}`") for s, r in shown]
    at = "×".join(map(str, size))
    made = Table([page.say(f"at {at}", f"尺寸 {at}"), *names[:-1], f"**{names[-1]}**"])
    for english, chinese, value in COUNTED:
        values = [value(r) for _, r in shown]
        if any(values):
            made.rows.append([page.say(english, chinese), *map(as_count, values)])
    return str(made)


def count_variants(page: Page, step: Step) -> str:
    """What the simulator counts of every variant of a step."""
    found = page.records.counted_variants(step.name)
    if not found:
        raise Missing(f"no simulator counts of {step.name}")
    conflicts = page.say("conflicts", "其中冲突")
    head = [page.say("variant", "变体"), page.say("warp instructions", "warp 指令"), page.say("read sectors", "读扇区")]
    head += [page.say("per request", "每次请求"), page.say("load wavefronts", "读 wavefront"), conflicts]
    made = Table([*head, page.say("store wavefronts", "写 wavefront"), conflicts])
    keys = [f"shared_{kind}" for kind in ("load_wavefronts", "load_conflicts", "store_wavefronts", "store_conflicts")]
    for r in found:
        values = [r["counts"].get("instructions"), count_charts.read_sectors(r), count_charts.sectors_per_request(r)]
        made.rows.append([variant_name(r), *map(as_count, values), *(as_count(r["counts"].get(key)) for key in keys)])
    at = "×".join(str(found[0][key]) for key in ("m", "n", "k"))
    return page.say(f"Counted at {at}:", f"尺寸 {at} 下的计数：") + f"\n\n{made}"


MIXED = (
    ("fma", "tensor"),
    ("load_shared",),
    ("store_shared",),
    ("load_global", "store_global", "cp_async"),
    ("integer",),
)


def mix(page: Page, steps: Sequence[Step], default_only: bool) -> str:
    """The instructions of the main loops, in PTX and in machine code: of the steps' defaults, or of all their variants."""
    if default_only:
        steps = [step for step in steps if mix_charts.counts_slices(page.records, step)]
    found = [r for s in steps for level in ("ptx", "sass") for r in page.records.mixes_of(s.name, level, default_only)]
    if not found:
        raise Missing("no instruction mix is recorded: run python -m lab.instruction_mix")
    head = [page.say("step", "步骤") if default_only else page.say("variant", "变体"), page.say("level", "层次")]
    head += [page.say("loop", "循环指令"), "FMA", page.say("shared loads", "共享内存读")]
    head += [page.say("shared stores", "共享内存写"), page.say("global", "全局内存"), page.say("integer", "整数")]
    head += [page.say("other", "其他"), page.say("FMA share", "FMA 占比"), page.say("registers", "寄存器")]
    made = Table(head, texts=2)
    for r in found:
        loop = r["loop"]
        counts = [sum(loop.get(key, 0) for key in keys) for keys in MIXED]
        share = counts[0] / loop["instructions"] if loop["instructions"] else 0.0
        level = r["level"].upper() + (f" ({r['arch']})" if r.get("arch") else "")
        cells = [r["step"] if default_only else f"`{r['variant']}`", level, str(loop["instructions"])]
        cells += [*map(str, counts), str(loop["instructions"] - sum(counts)), f"{share:.1%}"]
        made.rows.append([*cells, str(r.get("registers", "–"))])
    return str(made)
