"""Charts of what the simulator counted: sectors, bank conflicts, instructions, and the roofline that they give."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from . import style
from .course import Course, Step
from .records import Record, Records
from .style import Missing, say

L1_BYTES_PER_CLOCK = 128  # per multiprocessor, since Volta
SECTOR_BYTES = 32

# Instruction classes drawn, in stacking order: key(s), colour, English, Chinese.
CLASSES = (
    (("fma", "tensor"), style.GREEN, "FMA", "FMA"),
    (("load_shared",), style.BLUE, "shared loads", "共享内存读"),
    (("store_shared",), "#7fb0e6", "shared stores", "共享内存写"),
    (("load_global", "store_global", "cp_async"), style.AMBER, "global", "全局内存"),
    (("integer", "float", "convert", "predicate"), style.VIOLET, "integer, predicate", "整数与谓词"),
    (("barrier",), style.RED, "barriers", "屏障"),
    (("move", "branch", "shuffle", "atomic", "other"), style.GREY, "move, branch, other", "移动、分支、其他"),
)


def counted(course: Course, records: Records, name: str) -> list[tuple[Step, Record]]:
    """The ladder's steps that the simulator has counted."""
    rows = [(step, records.counts_of(step.name)) for step in course.ladder(name)]
    found = [(step, record) for step, record in rows if record]
    if not found:
        raise Missing(f"no simulator counts of the {name} ladder")
    return found


def fmas(record: Record) -> int:
    """Multiply-adds that the problem needs."""
    return record["m"] * record["n"] * record["k"]


def read_sectors(record: Record) -> int:
    """Global sectors read, by loads and by asynchronous copies."""
    return record["counts"].get("global_load_sectors", 0) + record["counts"].get("cp_async_global_sectors", 0)


def sectors_per_request(record: Record) -> float | None:
    """Sectors per global read request, loads and asynchronous copies together."""
    requests = record["counts"].get("global_load_requests", 0) + record["counts"].get("cp_async_requests", 0)
    return read_sectors(record) / requests if requests else None


def flop_per_byte(record: Record) -> float | None:
    """FLOP per byte that the kernel asks of global memory (reads, before any cache)."""
    sectors = read_sectors(record)
    return 2 * fmas(record) / (sectors * SECTOR_BYTES) if sectors else None


def shared_parts(record: Record) -> tuple[float, float, float, float]:
    """Shared-memory wavefronts per 1000 FMAs: loads and stores, each without conflicts and their conflicts."""
    counts, scale = record["counts"], 1000 / fmas(record)
    load_conflicts = counts.get("shared_load_conflicts", 0)
    store_conflicts = counts.get("shared_store_conflicts", 0)
    copies = counts.get("cp_async_shared_wavefronts", 0)
    return (
        (counts.get("shared_load_wavefronts", 0) - load_conflicts) * scale,
        load_conflicts * scale,
        (counts.get("shared_store_wavefronts", 0) - store_conflicts + copies) * scale,
        store_conflicts * scale,
    )


def _bars(rows: list[tuple[str, Record]], columns: int, legend: bool) -> tuple[Figure, list, float]:
    height = (1.55 if legend else 1.3) + 0.32 * len(rows)
    drawn, axes = style.figure(2.1 + 4.3 * columns, height, columns=columns, sharey=True)
    width = drawn.get_figwidth()
    top = 1.12 if legend else 0.95
    drawn.subplots_adjust(
        left=2.0 / width, right=1 - 0.25 / width, top=1 - top / height, bottom=0.42 / height, wspace=0.12
    )
    for ax in axes:
        ax.set_ylim(len(rows) - 0.45, -0.55)
        ax.set_yticks(range(len(rows)), [name for name, _ in rows])
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="x")
    return drawn, axes, height


def _size(rows: list[tuple[str, Record]]) -> str:
    sizes = {(r["m"], r["n"], r["k"]) for _, r in rows}
    return ", ".join(f"{m}³" if m == n == k else f"{m}×{n}×{k}" for m, n, k in sorted(sizes))


def sectors(course: Course, records: Records, name: str, language: str) -> Figure:
    """Sectors per read request, and all the sectors read per 1000 multiply-adds."""
    rows = [(s.short, r) for s, r in counted(course, records, name)]
    drawn, (left, right), _ = _bars(rows, 2, legend=False)
    totals = [1000 * read_sectors(r) / fmas(r) for _, r in rows]
    for row, (_, record) in enumerate(rows):
        value = sectors_per_request(record)
        if value is not None:
            left.barh(row, value, 0.66, color=style.AMBER, zorder=2)
            left.annotate(f"{value:.2f}", (value, row), (4, 0), textcoords="offset points", va="center", fontsize=9)
        right.barh(row, totals[row], 0.66, color=style.BLUE, zorder=2)
        right.annotate(
            style.number(totals[row]), (totals[row], row), (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    left.set_xlim(0, max(sectors_per_request(r) or 0 for _, r in rows) * 1.16)
    right.set_xscale("log")
    low, high = min(t for t in totals if t), max(totals)
    right.set_xlim(low / 3, high * 3.2)
    ticks = [t for t in (1, 10, 100, 1000) if low / 3 <= t <= high * 3.2]
    right.set_xticks(ticks, [str(t) for t in ticks])
    right.set_xticks([], minor=True)
    left.set_title(say(language, "sectors (32 bytes) per read request", "每次读请求的扇区数（32 字节）"), fontsize=10)
    right.set_title(
        say(language, "sectors read per 1000 FMAs (logarithmic)", "每 1000 次 FMA 读取的扇区数（对数）"), fontsize=10
    )
    style.heading(
        drawn,
        say(language, "What each step asks of global memory", "每一步向全局内存要多少数据"),
        say(
            language,
            f"counted by the simulator at {_size(rows)}; a warp's read of 32 neighbouring floats is 4 sectors, "
            "of 32 float4 16",
            f"模拟器计数，{_size(rows)}；一个 warp 读 32 个相邻 float 是 4 个扇区，32 个 float4 是 16 个",
        ),
    )
    return drawn


def bank_conflicts(course: Course, records: Records, name: str, language: str) -> Figure:
    """Shared-memory wavefronts per 1000 multiply-adds: what is needed, and what conflicts add."""
    rows = [(s.short, r) for s, r in counted(course, records, name) if sum(shared_parts(r))]
    if not rows:
        raise Missing(f"no shared-memory access counted in the {name} ladder")
    title = say(language, "Shared-memory wavefronts per 1000 FMAs", "每 1000 次 FMA 的共享内存波前数")
    return _wavefronts(rows, title, language)


def step_counts(course: Course, records: Records, step: Step, language: str) -> Figure:
    """The same for the variants of one step."""
    rows = [(r["variant"], r) for r in records.counted_variants(step.name) if sum(shared_parts(r))]
    if len(rows) < 2:
        raise Missing(f"fewer than two variants of {step.name} with shared memory counted")
    title = say(
        language,
        f"Shared-memory wavefronts per 1000 FMAs, variants of {step.short}",
        f"每 1000 次 FMA 的共享内存波前数，{step.short} 的各变体",
    )
    return _wavefronts(rows, title, language)


def _wavefronts(rows: list[tuple[str, Record]], title: str, language: str) -> Figure:
    drawn, (left, right), _ = _bars(rows, 2, legend=True)
    for ax, first in ((left, 0), (right, 2)):
        top = 0.0
        for row, (_, record) in enumerate(rows):
            needed, extra = shared_parts(record)[first : first + 2]
            ax.barh(row, needed, 0.66, color=style.BLUE, zorder=2)
            ax.barh(row, extra, 0.66, left=needed, color=style.RED, zorder=2)
            text = style.number(needed + extra) if needed + extra else "0"
            share = f"  ({extra / (needed + extra):.0%})" if extra else ""
            ax.annotate(
                text + share, (needed + extra, row), (4, 0), textcoords="offset points", va="center", fontsize=9
            )
            top = max(top, needed + extra)
        ax.set_xlim(0, top * 1.3 or 1)
    left.set_title(say(language, "loads", "读"), fontsize=10)
    right.set_title(say(language, "stores and asynchronous copies", "写与异步拷贝"), fontsize=10)
    style.heading(
        drawn,
        title,
        say(
            language,
            f"counted by the simulator at {_size(rows)}; in brackets: the share that is conflicts",
            f"模拟器计数，{_size(rows)}；括号内为冲突所占比例",
        ),
    )
    style.legend(
        drawn,
        [
            ("box", style.BLUE, say(language, "without conflict", "无冲突所需")),
            ("box", style.RED, say(language, "bank conflicts", "bank 冲突")),
        ],
        0.76,
    )
    return drawn


def instructions(course: Course, records: Records, name: str, language: str) -> Figure:
    """Warp instructions (PTX) per 32 multiply-adds, by class."""
    rows = [(s.short, r) for s, r in counted(course, records, name)]
    drawn, (ax,), _height = _bars(rows, 1, legend=True)
    drawn.set_figwidth(9.4)
    drawn.subplots_adjust(left=2.0 / 9.4, right=1 - 0.3 / 9.4)
    longest = 0.0
    for row, (_, record) in enumerate(rows):
        by_class = record["counts"].get("by_class", {})
        at = 0.0
        for keys, colour, *_ in CLASSES:
            value = sum(by_class.get(key, 0) for key in keys) * 32 / fmas(record)
            ax.barh(row, value, 0.66, left=at, color=colour, zorder=2)
            at += value
        ax.annotate(f"{at:.2f}", (at, row), (4, 0), textcoords="offset points", va="center", fontsize=9)
        longest = max(longest, at)
    ax.axvline(1, color=style.INK, ls=(0, (1, 1.5)), lw=1.5)
    ax.set_xlim(0, longest * 1.1)
    style.heading(
        drawn,
        say(language, "Warp instructions per warp-wide FMA", "每条 warp 级 FMA 对应的指令数"),
        say(
            language,
            f"PTX executed, counted by the simulator at {_size(rows)}; dotted: 1, nothing but FMAs",
            f"模拟器执行的 PTX 指令，{_size(rows)}；点线为 1，即只有 FMA",
        ),
    )
    style.legend(
        drawn, [("box", colour, say(language, english, chinese)) for _, colour, english, chinese in CLASSES], 0.76
    )
    return drawn


def roofline(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS against FLOP per byte asked of global memory, under the roofs of L1, DRAM and the FP32 units."""
    steps = course.ladder(name)
    size = 4096
    points = []
    gpu = next(iter(records.gpus([s.name for s in steps])), None)
    for step in steps:
        record = records.default_at(gpu, step.name, size) if gpu else None
        counts = records.counts_of(step.name)
        intensity = flop_per_byte(counts) if counts else None
        if record and intensity:
            points.append((intensity, record["tflops"], step))
    if gpu is None or not points:
        raise Missing(
            f"the roofline of the {name} ladder needs timings at {size} and simulator counts of the same steps"
        )
    facts, peak = course.gpu(gpu), course.peak(gpu, steps[0])
    if not facts or not peak:
        raise Missing(f"no peak of {gpu} in plots/data/gpus.json")
    height = 5.4
    drawn, (ax,) = style.figure(9.4, height)
    drawn.subplots_adjust(left=0.075, right=0.975, top=1 - 0.8 / height, bottom=0.8 / height)
    xs = (min(0.03, min(p[0] for p in points) / 2), max(128.0, max(p[0] for p in points) * 4))
    ys = (min(0.2, min(p[1] for p in points) / 2), peak * 2.2)
    l1 = facts["sms"] * L1_BYTES_PER_CLOCK * facts["clock_mhz"] * 1e6 / 1e12
    roofs = (
        (
            l1,
            style.BLUE,
            say(
                language,
                f"L1: {l1:.1f} TB/s (128 bytes per clock and SM)",
                f"L1：{l1:.1f} TB/s（每 SM 每周期 128 字节）",
            ),
        ),
        (
            facts["dram_tb_per_s"],
            style.VIOLET,
            say(language, f"DRAM: {facts['dram_tb_per_s']} TB/s", f"显存：{facts['dram_tb_per_s']} TB/s"),
        ),
    )
    slope = _screen_slope(xs, ys, 9.4 * 0.9, height - 1.6)
    for bandwidth, colour, text in roofs:
        ax.plot([xs[0], peak / bandwidth], [xs[0] * bandwidth, peak], color=colour, lw=2, zorder=2)
        knee = peak / bandwidth
        below = bandwidth != l1
        ax.annotate(
            text,
            (knee / 1.9, peak / 1.9),
            (0, -12 if below else 5),
            textcoords="offset points",
            ha="right",
            rotation=slope,
            rotation_mode="anchor",
            fontsize=9,
            color=colour,
        )
    ax.plot([peak / l1, xs[1]], [peak, peak], color=style.INK, lw=2, zorder=2)
    ax.annotate(
        say(language, f"FP32 peak {peak} TFLOPS", f"FP32 峰值 {peak} TFLOPS"),
        (peak / l1, peak),
        (4, 5),
        textcoords="offset points",
        fontsize=9,
    )
    if cublas := records.baseline_at(gpu, [s.name for s in steps], size):
        ax.axhline(cublas, color=style.AMBER, ls=(0, (5, 2)), lw=1.4, zorder=1)
        ax.annotate(
            f"cuBLAS {style.number(cublas)}",
            (xs[0], cublas),
            (4, 4),
            textcoords="offset points",
            fontsize=9,
            color=style.AMBER,
        )
    for y_label, (x, y, step) in zip(_label_heights(points, ys, height - 1.6), points, strict=True):
        ax.plot(x, y, "o", color=style.GREEN, ms=7, mec="white", mew=1, zorder=5)
        ax.annotate(
            step.number,
            (x, y),
            (x * 1.32, y_label),
            ha="center",
            va="center",
            fontsize=9,
            fontweight="bold",
            zorder=6,
            arrowprops={"arrowstyle": "-", "color": style.GREEN, "lw": 0.7, "shrinkA": 1, "shrinkB": 2},
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(*xs)
    ax.set_ylim(*ys)
    for axis, bounds in ((ax.xaxis, xs), (ax.yaxis, ys)):
        ticks = [t for t in (0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000) if bounds[0] <= t <= bounds[1]]
        axis.set_ticks(ticks, [f"{t:g}" for t in ticks])
        axis.set_ticks([], minor=True)
    ax.grid(True)
    ax.set_xlabel(
        say(language, "FLOP per byte asked of global memory (logarithmic)", "每字节全局内存请求对应的 FLOP（对数）")
    )
    ax.set_ylabel("TFLOPS")
    style.heading(
        drawn,
        say(
            language,
            f"Roofline, {name.upper()} at {size}³ · {records.gpu_name(gpu)}",
            f"Roofline，{name.upper()}，{size}³ · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            "bytes are what the loads ask for, before any cache: a point above the DRAM line is served by L1 and L2",
            "字节数是读指令请求的量，未计缓存：高于显存线的点由 L1 和 L2 供数",
        ),
    )
    style.footnote(
        drawn,
        say(
            language,
            f"Intensity from the simulator's sectors, speed measured. Peaks: {facts['source']}.",
            f"强度取自模拟器的扇区计数，速度为实测。峰值来源：{facts['source']}。",
        ),
    )
    return drawn


def _screen_slope(xs: tuple[float, float], ys: tuple[float, float], width: float, height: float) -> float:
    """The angle in degrees at which a line of slope 1 on logarithmic axes is drawn."""
    return math.degrees(math.atan2(height / math.log10(ys[1] / ys[0]), width / math.log10(xs[1] / xs[0])))


def _label_heights(points: list[tuple[float, float, Step]], ys: tuple[float, float], inches: float) -> list[float]:
    """Where labels beside the points stand, moved apart among points of nearly the same intensity."""
    gap = 0.17 * math.log10(ys[1] / ys[0]) / inches
    heights = [0.0] * len(points)
    left = sorted(range(len(points)), key=lambda i: points[i][0])
    while left:
        group = [i for i in left if points[i][0] <= points[left[0]][0] * 1.6]
        left = [i for i in left if i not in group]
        for i, place in zip(group, style.spread([math.log10(points[i][1]) for i in group], gap), strict=True):
            heights[i] = 10**place
    return heights
