"""Charts of several GPUs: what two reach together, and each step on one kind of GPU beside another."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from records import REFERENCE_GPU, Record, Records

from . import energy, gpu_tables, layout, panels, style
from .course import Course
from .layout import Panel, Texts
from .style import Missing, say

BY = {  # who moves the bytes
    "serial": ("NCCL", "NCCL", style.AMBER),
    "chunked": ("NCCL", "NCCL", style.AMBER),
    "copied": ("copy engines", "拷贝引擎", style.BLUE),
    "summed": ("copy engines", "拷贝引擎", style.BLUE),
    "stored": ("the kernel itself", "kernel 自己", style.PLUM),
}
# Speed-ups that docs/several-gpus predicted before the first measurement: layout, way, product.
PREDICTED = {
    ("row", "serial", "27"): 1.77,
    ("row", "chunked", "27"): 1.75,
    ("row", "chunked", "24"): 1.88,
    ("row", "summed", "27"): 1.92,
    ("column", "serial", "27"): 1.77,
    ("column", "chunked", "27"): 1.75,
    ("column", "chunked", "24"): 1.88,
    ("column", "copied", "27"): 1.94,
}
GOAL, NOTHING_EXPOSED = 1.8, 2.0
SIZES = ((4096, style.MUTED), (8192, style.BLUE))
NOISE = 0.03  # what two series on H100s differ by


def several(course: Course, records: Records, language: str) -> Figure:
    """The speed-up of two GPUs over one, a row per way and product, with what was predicted of it."""
    rows = [r for layout_ in ("row", "column") for r in gpu_tables.several(records, REFERENCE_GPU, layout_)]
    rows = [r for r in rows if r["gpus"] == 2 and r.get("run", 1) == 1]
    if not rows:
        raise Missing("no product on two GPUs")
    ours, nccl = (
        [
            max(r["speed_up"] for r in rows if BY[r["way"]][0] == who and r["layout"] == each)
            for each in ("row", "column")
        ]
        for who in ("copy engines", "NCCL")
    )
    title = say(
        language,
        f"Two GPUs with copy engines are {ours[0]:.2f} and {ours[1]:.2f} times as fast as one, with NCCL at most "
        f"{nccl[0]:.2f} and {nccl[1]:.2f}",
        f"按行、按列的加速比：拷贝引擎最高 {ours[0]:.2f}、{ours[1]:.2f}，NCCL 最高 {nccl[0]:.2f}、{nccl[1]:.2f}",
    )
    note = say(
        language,
        f"Speed-up over one GPU, {rows[0]['m']}³ in BF16, 2 × {records.gpu_name(REFERENCE_GPU)}; "
        "24 and 27: steps; whiskers: the middle 60 % of the rounds",
        f"相对一块 GPU 的加速比，BF16，{rows[0]['m']}³，2 × {records.gpu_name(REFERENCE_GPU)}；24、27 是步骤；误差线：各轮中间的 60%",
    )
    looks = dict.fromkeys(BY.values())
    entries = [("box", colour, say(language, english, chinese)) for english, chinese, colour in looks]
    entries += [("tick", style.INK, say(language, "predicted", "预测"))]
    groups = [[r for r in rows if r["layout"] == each] for each in ("row", "column")]
    names = say(language, "row-parallel", "按行并行"), say(language, "column-parallel", "按列并行")
    places = [Panel(0.22 * len(group), above=0.06, below=0.46, title=name)
              for group, name in zip(groups, names, strict=True)]  # fmt: skip
    drawn, axes = layout.page(Texts(title, note, entries), places, layout.NAMES, 0.45)
    for ax, group in zip(axes, groups, strict=True):
        for y, r in enumerate(group):
            colour = BY[r["way"]][2]
            ax.plot([r["speed_up_p20"], r["speed_up_p80"]], [y, y], color=colour, lw=2.4, solid_capstyle="butt")
            ax.plot(r["speed_up"], y, "o", color=colour, ms=6, zorder=4)
            told = PREDICTED.get((r["layout"], r["way"], r["product"]))
            if told:
                ax.plot([told, told], [y - 0.36, y + 0.36], color=style.INK, lw=1.6, zorder=3)
            ax.annotate(f"{r['speed_up']:.2f}", (1.02, y), xycoords=("axes fraction", "data"), va="center",
                        fontsize=style.SMALL)  # fmt: skip
        panels.named_rows(ax, [_of_way(course, r) for r in group], edge=0.6)
        ax.axvline(GOAL, color=style.MUTED, ls=(0, (4, 2)), lw=1.2, zorder=1)
        ax.axvline(NOTHING_EXPOSED, color=style.INK, lw=1.2, zorder=1)
        ax.set_xlim(1.35, 2.02)
        ax.set_xlabel(say(language, "speed-up (dashed: the goal; 2: nothing exposed)",
                          "加速比（虚线：目标；2：通信全部掩盖）"))  # fmt: skip
    return drawn


def _of_way(course: Course, record: Record) -> str:
    """`copied, step 27` or `serial, torch`."""
    product = record["product"]
    return f"{record['way']}, {product if product.isdigit() else 'torch'}"


def beside(course: Course, records: Records, language: str) -> Figure:
    """A dot per step and size: its speed on the second GPU by that on the reference, with the spread of both; then the
    main loops that read DRAM."""
    gpus = gpu_tables.compared(records)
    if len(gpus) < 2:
        raise Missing("the steps were timed on one GPU alone")
    first, second = gpus[:2]
    one, other = (gpu_tables.short_name(records, gpu) for gpu in (first, second))
    rows = []
    for step in course.steps:
        pairs = [(size, gpu_tables.timed(course, records, step, size)[:2]) for size, _ in SIZES]
        pairs = [(size, pair) for size, pair in pairs if all(pair)]
        if pairs:
            rows.append((f"{step.number:02d}", [(size, _ratio(*pair)) for size, pair in pairs]))
    loops = _loops_from_dram(records, first, second)
    title = say(
        language,
        f"The {other} is as fast as the {one}, except where bytes come from DRAM",
        f"{other} 与 {one} 一样快，除非字节来自显存",
    )
    note = say(
        language,
        f"Speed on the {other} ÷ speed on the {one}; whiskers: the spreads of both; band: {NOISE:.0%}, what "
        "two series on H100s differ by",
        f"{other} 的速度 ÷ {one} 的速度；误差线：两者的波动；淡色带：{NOISE:.0%}，H100 的两组测量之差",
    )
    entries = [("box", colour, f"{size}³") for size, colour in SIZES]
    entries.append(("box", style.RED, say(language, "main loops that read DRAM", "读显存的主循环")))
    places = [Panel(0.165 * len(rows), below=0.34, title=say(language, "steps", "步骤")),
              Panel(0.2 * len(loops), below=0.46, title=say(language, "main loops", "主循环"))]  # fmt: skip
    drawn, axes = layout.page(Texts(title, note, entries), places if loops else places[:1], layout.NAMES, 0.2)
    for y, (_, points) in enumerate(rows):
        for place, (size, ratio) in enumerate(points):
            _dot(axes[0], y + 0.24 * (place - 0.5) * (len(points) - 1), ratio, dict(SIZES)[size])
    panels.named_rows(axes[0], [name for name, _ in rows], edge=0.7)
    for y, (_, ratio) in enumerate(loops):
        _dot(axes[1], y, ratio, style.RED)
    if loops:
        panels.named_rows(axes[1], [name for name, _ in loops], edge=0.7)
    for ax in axes:
        ax.axvspan(1 - NOISE, 1 + NOISE, color=style.GRID, zorder=0)
        ax.axvline(1, color=style.INK, lw=1.1, zorder=1)
        ax.set_xlim(0.7, 1.15)
    axes[-1].set_xlabel(f"{other} ÷ {one}")
    return drawn


def _ratio(one: Record, other: Record) -> tuple[float, float, float]:
    """The second speed by the first: the middle, the least and the most that their spreads allow."""
    (slow, fast), (low, high) = panels.spread(other), panels.spread(one)
    return other["tflops"] / one["tflops"], slow / high, fast / low


def _loops_from_dram(records: Records, first: str, second: str) -> list[tuple[str, tuple[float, float, float]]]:
    """The main loops in BF16 that receive bytes from DRAM: tile and KB per slice, and the ratio of the speeds."""
    found = []
    for loop in records.main_loops.get(first, []):
        told = loop["options"]
        same = next((r for r in records.main_loops.get(second, []) if energy.same_loop(r, loop)), None)
        if same and "tile" in told and loop["a"] == "bf16" and told["dram_kb"]:
            pair = " ×2" if told["cluster"] > 1 else ""
            found.append((f"{told['tile'].replace('x', '×')}{pair}, {told['dram_kb']} KB", _ratio(loop, same)))
    return found


def _dot(ax: Axes, y: float, ratio: tuple[float, float, float], colour: str) -> None:
    middle, low, high = ratio
    ax.plot([low, high], [y, y], color=colour, lw=1.6, solid_capstyle="butt", zorder=2)
    ax.plot(middle, y, "o", color=colour, ms=4.5, zorder=3)
