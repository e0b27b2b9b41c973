"""What a result is waited for: the latencies of instructions and loads, as a chart over the bytes and as rows."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.figures.text import Words
from records import Record, Records

from . import layout, panels, style
from .course import Course
from .layout import Panel, Texts
from .style import Missing, say

LOAD = "global load"
KB_OF_LEVELS = {"L1": 64, "L2": 8192, "DRAM": 1 << 20}  # rings that a level holds: well within it, or far beyond L2
KB_COMPARED = (64, 8192, 16384, 32768, 65536, 131072, 1 << 20)  # rings that a table of several GPUs shows
LEVELS = {"L1": Words("L1", "L1"), "L2": Words("L2", "L2"), "DRAM": Words("DRAM", "显存")}
ROWS = (  # of the table: what is recorded under which options, in words
    ("FP32 FMA", {}, Words("FP32 FMA", "FP32 FMA")),
    (
        "mma.sync.m16n8k16",
        {"sum_bits": 16},
        Words("product of 16×8×16 on a tensor core, FP16 sums", "Tensor Core 上 16×8×16 的乘法，FP16 累加"),
    ),
    ("mma.sync.m16n8k16", {"sum_bits": 32}, Words("the same, FP32 sums", "同上，FP32 累加")),
    ("barrier", {"threads": 256}, Words("barrier of 256 threads", "256 个线程的屏障")),
    ("barrier", {"threads": 1024}, Words("barrier of 1024 threads", "1024 个线程的屏障")),
    ("shared load", {}, Words("load from shared memory", "读共享内存")),
    (LOAD, {"ring_kb": KB_OF_LEVELS["L1"]}, Words("load that hits L1", "读全局内存，命中 L1")),
    (LOAD, {"ring_kb": KB_OF_LEVELS["L2"]}, Words("load that hits L2", "读全局内存，命中 L2")),
    (LOAD, {"ring_kb": KB_OF_LEVELS["DRAM"]}, Words("load from DRAM", "读显存")),
)


def find(records: Records, gpu: str, name: str, options: dict[str, int]) -> Record | None:
    """The record of one latency, if it was measured."""
    found = records.latencies.get(gpu, [])
    return next((r for r in found if r["latency"] == name and r["options"] == options), None)


def figure(cycles: float) -> str:
    """Cycles or nanoseconds as a table shows them: 4.0, 33, 263."""
    return f"{cycles:.1f}" if cycles < 10 else f"{cycles:.0f}"


def in_cycles(record: Record) -> list[str]:
    """The median, and the 20th and the 80th percentile: `280` and `276–282`."""
    middle, *ends = (figure(record[key]) for key in ("cycles", "cycles_p20", "cycles_p80"))
    return [middle, "–".join(ends)]


def measured(records: Records) -> str:
    """The GPU with most latencies, of those that pages show. Raises Missing where there is none."""
    gpu = records.most(records.latencies)
    if gpu is None:
        raise Missing("no latency was measured: build/lab/latency/latency")
    return gpu


def over_bytes(course: Course, records: Records, language: str) -> Figure:
    """The latency of a load over the bytes that the loads go round in."""
    gpu = measured(records)
    rings = {r["options"]["ring_kb"]: r for r in records.latencies[gpu] if r["latency"] == LOAD}
    named = {level: rings.get(kb) for level, kb in KB_OF_LEVELS.items()}
    if not all(named.values()):
        raise Missing(f"of the loads on {gpu} a ring that L1, L2 or only DRAM holds is missing")
    near, middle, far = (figure(named[level]["cycles"]) for level in KB_OF_LEVELS)
    texts = Texts(
        say(language, f"A load takes {near} cycles from L1, {middle} from L2 and {far} from DRAM",
            f"一次读：L1 {near} 周期，L2 {middle} 周期，显存 {far} 周期"),
        say(language, f"{records.gpu_name(gpu)}: each load needs the result of the one before; one thread, lines in random order",
            f"{records.gpu_name(gpu)}：每次读都要等前一次的结果；一个线程，缓存行的次序随机"),
        foot=say(language, "median of launches on several SMs; a whisker spans the middle 60 %",
                 "在多个 SM 上各启动一次，取中位数；竖线为中间 60%"),
    )  # fmt: skip
    drawn, (ax,) = layout.page(texts, [Panel(2.6)], layout.SPEEDS, 0.22)
    for kb, record in rings.items():
        ax.plot([kb] * 2, [record["cycles_p20"], record["cycles_p80"]], color=style.BLUE, lw=1.4, marker="_", ms=6)
    ax.plot(list(rings), [r["cycles"] for r in rings.values()], "-", color=style.BLUE, lw=2)
    for level, kb in KB_OF_LEVELS.items():
        cycles = named[level]["cycles"]
        ax.plot(kb, cycles, "o", color=style.BLUE, ms=8, mec="white", mew=1, zorder=5)
        at_the_end = kb == max(rings)
        ax.annotate(LEVELS[level](language) + say(language, ": ", "：") + figure(cycles), (kb, cycles), (4 if at_the_end else 0, 11),
                    textcoords="offset points", ha="right" if at_the_end else "center", fontsize=10,
                    fontweight="bold", color=style.ink(style.BLUE))  # fmt: skip
    ticks = sorted(rings)[::2]
    panels.size_axis(ax, ticks, say(language, "bytes that the loads go round in", "这些读依次访问的总字节数"))
    ax.set_xticks(ticks, [in_bytes(kb) for kb in ticks])
    ax.set_xlim(min(rings) / 1.3, max(rings) * 1.3)
    ax.set_ylim(0, 1.15 * max(r["cycles_p80"] for r in rings.values()))
    ax.set_ylabel(say(language, "cycles", "周期"))
    return drawn


def in_bytes(kb: int) -> str:
    """16 KB, 4 MB, 1 GB."""
    unit = min(2, (kb.bit_length() - 1) // 10)
    return f"{kb >> 10 * unit} {('KB', 'MB', 'GB')[unit]}"
