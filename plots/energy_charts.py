"""Charts of docs/power: energy per FLOP along the ladders, the main loop's limits, and what a KB costs in them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from matplotlib.figure import Figure

from records import ALONE_SIZE, BASELINES, BEST_LIBRARY, Record, Records

from . import energy, findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

SIZES = (8192, 16384)  # of the bars beside the main loop's limits
LADDER = "hopper"
PAIR = 2
LIMIT = 700  # watts, of an H200
_COLUMNS = (43, 68, 96)  # right edges of the figures beside the energies, in points from the axes


def per_flop(course: Course, records: Records, language: str) -> Figure:
    """Picojoules per FLOP of every step's default, by ladder, beside those of the instruction alone."""
    gpu, groups = _measured(course, records)
    every = [energy.per_flop(record) for _, rows in groups for _, record in rows]
    texts = Texts(
        f"{findings.joules([(step, energy.per_flop(record)) for step, record in groups[0][1]], language)} · "
        f"{records.gpu_name(gpu)}",
        say(
            language,
            f"watts ÷ TFLOPS of each step's default at {ALONE_SIZE}³, run alone for longer than the second that power is averaged over",
            f"每一步的默认变体在 {ALONE_SIZE}³ 的瓦数 ÷ TFLOPS；单独运行两秒以上，因为功率是约一秒的平均",
        ),
        [("dot", style.RED, say(language, "the instruction alone", "只有这条指令"))],
    )  # fmt: skip
    rows_in_all = sum(len(rows) + 1.3 for _, rows in groups)
    drawn, (ax,) = layout.page(texts, [Panel(0.22 * rows_in_all, above=0.25)], layout.NAMES, 1.45)
    for column, head in zip(_COLUMNS, ("pJ/FLOP", "W", "MHz"), strict=True):
        ax.annotate(head, (1, 1), (column, 2), xycoords="axes fraction", textcoords="offset points", ha="right",
                    fontsize=style.SMALL, color=style.MUTED)  # fmt: skip
    y, places, names = 0.0, [], []
    for name, rows in groups:
        style.group_name(ax, y, course.ladder_name(name, language))
        of_limits = [_limit(records, gpu, *row) for row in rows]
        for limit, those in itertools.groupby(range(len(rows)), lambda row, of=of_limits: of[row]):
            if limit:
                first, *_, last = [*those] * 2
                ax.plot([energy.per_flop(limit)] * 2, [y + first + 0.55, y + last + 1.45], color=style.RED, lw=1.8,
                        ls=panels.DOTTED, zorder=1.5)  # fmt: skip
        for step, record in rows:
            y += 1
            value = energy.per_flop(record)
            ax.plot(value, y, "o", color=style.BLUE, ms=6.5, mec="white", mew=0.8, zorder=4)
            told = (style.number(value), f"{record['power_w']:.0f}", f"{record.get('sm_mhz', 0):.0f}")
            for column, figure in zip(_COLUMNS, told, strict=True):
                ax.annotate(figure, (1, y), (column, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                            ha="right", va="center", fontsize=style.SMALL)  # fmt: skip
            places.append(y)
            names.append(step.short)
        y += 1.3
    panels.log_axis(ax, min(every) / 1.6, max(every) * 1.6)
    ax.set_xlabel(say(language, "pJ per FLOP (logarithmic)", "每 FLOP 的能量，pJ（对数坐标）"))
    panels.named_rows(ax, names, places, 0.7)
    return drawn


def _measured(course: Course, records: Records) -> tuple[str, list[tuple[str, list[tuple[Step, Record]]]]]:
    """The GPU with most steps that were run alone, and by ladder these steps with their records."""
    gpu = records.most(records.alone)
    found = {r["step"]: r for r in records.alone.get(gpu, []) if r.get("default") and r["m"] == ALONE_SIZE}
    groups = [(name, [(s, found[s.name]) for s in course.ladder(name) if s.name in found]) for name in course.ladders]
    groups = [(name, rows) for name, rows in groups if rows]
    if gpu is None or not groups:
        raise Missing(f"no step was run alone at {ALONE_SIZE}: ./gemm record --only power")
    return gpu, groups


def _limit(records: Records, gpu: str, step: Step, record: Record) -> Record | None:
    """What the instruction alone reached in the types of a record, if its power is known."""
    found = records.limit(gpu, record.get("a", ""), record.get("acc", ""), step.instruction)
    return found if found and found.get("power_w") else None


def limits(course: Course, records: Records, language: str) -> Figure:
    """The steps of the Hopper ladder and the best library call as bars, what a main loop can reach as lines."""
    steps = course.ladder(LADDER)
    gpu = next((g for g in records.gpus([s.name for s in steps]) if records.main_loops.get(g)), None)
    if gpu is None:
        raise Missing("no main loop was measured where the steps were: build/lab/main_loop/main_loop")
    lines = _lines(records.main_loops[gpu], language)
    groups = {size: _bars_at(records, gpu, steps, size, language) for size in SIZES}
    whole = energy.pick(records.main_loops[gpu], energy.FITTED_TILE, 1)
    if whole is None or not any(groups.values()):
        raise Missing(f"no timing of the {LADDER} ladder at {SIZES}, or no loop of a whole main loop")
    end = style.number(whole["tflops"])
    texts = Texts(
        say(language, f"A main loop of 128×256 ends at {end} TFLOPS · {records.gpu_name(gpu)}",
            f"128×256 的主循环止于 {end} TFLOPS · {records.gpu_name(gpu)}"),
        say(
            language,
            "lines: loops with a GEMM's copies out of L2 and nothing else; bars: each in turn with the library, in a run of its own",
            "竖线：只有从 L2 拷贝与乘法、没有其他工作的循环；横条来自不同的运行，每次运行里与库交替计时",
        ),
    )  # fmt: skip
    inches, top = layout.WIDTH - layout.NAMES - 0.3, 1.04 * max(line.tflops for line in lines)
    rows = sum(len(bars) + 1 for bars in groups.values())
    panel = Panel(0.26 * rows, panels.room_above(lines, top, inches))
    drawn, (ax,) = layout.page(texts, [panel], layout.NAMES, 0.3)
    y, places, names = 0, [], []
    for size, bars in groups.items():
        style.group_name(ax, y, f"{size}³")
        for name, record, colour in bars:
            y += 1
            panels.timed_bar(ax, y, record, colour, top, style.INK if colour == style.AMBER else "white")
            places.append(y)
            names.append(name)
        y += 1
    panels.vertical_references(ax, lines, top, inches)
    ax.set_xlim(0, top)
    panels.named_rows(ax, names, places)
    ax.set_xlabel("TFLOPS")
    return drawn


def _bars_at(
    records: Records, gpu: str, steps: Sequence[Step], size: int, language: str
) -> list[tuple[str, Record, str]]:
    """The steps and the best library call at one size: name, timing and colour."""
    found = [(step.short, records.default_beside(gpu, step.name, size, BEST_LIBRARY)) for step in steps]
    # Without their ratios: those are in turn, and the bars below one another are not.
    bars = [(name, {**record, "ratio": None}, style.BLUE) for name, record in found if record]
    library = records.baseline_at(gpu, [step.name for step in steps], size, baseline=BEST_LIBRARY)
    return bars + ([(BASELINES[BEST_LIBRARY](language), {"tflops": library}, style.AMBER)] if library else [])


def _lines(loops: list[Record], language: str) -> list[panels.Reference]:
    """What main loops reach: wgmma alone, the two tiles, the larger one shared by pairs."""
    wanted = (
        (("128x256", 1, False), say(language, "wgmma alone", "只有 wgmma"), style.INK, panels.DOTTED),
        (("128x256", 1), "128×256", style.RED, panels.DASHED),
        (("256x192", 1), "256×192", style.PLUM, panels.DASH_DOT),
        (("256x192", PAIR), say(language, "256×192, pairs", "256×192，成对"), style.GREEN, panels.DASHED),
    )
    found = [(energy.pick(loops, *which), *look) for which, *look in wanted]
    return [panels.Reference(name, r["tflops"], colour, dashes) for r, name, colour, dashes in found if r]


def over_zeros(course: Course, records: Records, language: str) -> Figure:
    """Watts and TFLOPS of wgmma alone in BF16 over the share of zeros in A and B."""
    gpu = records.most(records.main_loops)
    loops = [r for r in records.main_loops.get(gpu or "", []) if r["a"] == "bf16" and energy.resident(r)]
    loops = sorted(
        (r for r in loops if r["options"]["tile"] == energy.FITTED_TILE), key=lambda r: r["options"]["zeros"]
    )
    if gpu is None or len(loops) < 3:
        raise Missing("wgmma alone was not measured with zeros: build/lab/main_loop/main_loop")
    least, most = loops[0], loops[-1]
    less, faster = 100 - 100 * most["power_w"] / least["power_w"], 100 * most["tflops"] / least["tflops"] - 100
    texts = Texts(
        say(
            language,
            f"With A and B full of zeros the same loop draws {less:.0f} % less power, and is {faster:.0f} % faster",
            f"A 和 B 全是零时，同一个循环的功耗低 {less:.0f}%，速度快 {faster:.0f}%",
        ),
        say(
            language,
            f"wgmma alone, BF16, {records.gpu_name(gpu)}; under each speed the clock in MHz; whiskers: 20–80 %; the axis of "
            "TFLOPS does not start at 0",
            f"只有 wgmma，BF16，{records.gpu_name(gpu)}；速度下方是频率（MHz）；误差线：20–80%；TFLOPS 的纵轴不从 0 开始",
        ),
    )
    drawn, (watts, speed) = layout.page(
        texts, [Panel(1.35, above=0.12, below=0.2), Panel(1.35, above=0.12, below=0.62)], layout.SPEEDS, 0.3
    )
    zeros = [100 * r["options"]["zeros"] for r in loops]
    for ax, key, colour, up in ((watts, "power_w", style.RED, -14), (speed, "tflops", style.BLUE, 8)):
        ax.plot(zeros, [r[key] for r in loops], "o-", color=colour, lw=2.2, ms=5.5, zorder=3)
        for x, r in zip(zeros, loops, strict=True):
            lines = [f"{r[key]:.0f} W"] if key == "power_w" else [f"{r.get('sm_mhz', 0):.0f}", f"{r[key]:.0f}"]
            for line, words in enumerate(lines):  # the lowest first
                ax.annotate(words, (x, r[key]), (0, up + 12 * line), textcoords="offset points", ha="center",
                            fontsize=style.SMALL, va="bottom" if up > 0 else "center", zorder=5)  # fmt: skip
        ax.set_xlim(-9, 109)
        ax.grid(True)
    for x, r in zip(zeros, loops, strict=True):
        speed.plot([x, x], [r["tflops_p20"], r["tflops_p80"]], color=style.INK, lw=1.2, zorder=2)
    watts.axhline(LIMIT, color=style.INK, ls=panels.DOTTED, lw=1.5)
    watts.text(108, LIMIT + 12, say(language, f"limit {LIMIT} W", f"上限 {LIMIT} W"), ha="right", va="bottom",
               fontsize=style.SMALL)  # fmt: skip
    watts.set_ylim(0, 830)
    watts.set_ylabel("W")
    watts.set_xticks(zeros)
    watts.tick_params(axis="x", labelbottom=False)
    speed.set_ylim(820, 990)
    speed.set_ylabel("TFLOPS")
    percent = say(language, " %", "%")
    speed.set_xticks(zeros, [f"{x:.0f}{percent}" for x in zeros])
    for x in zeros:
        speed.annotate(f"{(100 - x) ** 2 / 100:.0f}{percent}", (x, 0), (0, -19), xycoords=("data", "axes fraction"),
                       textcoords="offset points", ha="center", va="top", fontsize=style.SMALL)  # fmt: skip
    speed.xaxis.labelpad = 16
    speed.set_xlabel(
        say(
            language,
            "upper: zeros in A and B; lower: products that are not zero",
            "上行：A 和 B 中零的比例；下行：不为零的乘积",
        )
    )
    return drawn


def per_kilobyte(course: Course, records: Records, language: str) -> Figure:
    """Microjoules per 128×256×64 of products over the KB that they take from L2, and the line that fits them."""
    gpu = records.most(records.main_loops)
    model = energy.fit(records.main_loops.get(gpu, []))
    if gpu is None or model is None:
        raise Missing("no main loops that determine what a KB costs: build/lab/main_loop/main_loop")
    loops = [r for r in energy.of_bf16(records.main_loops[gpu]) if not energy.waits(r, records.main_loops[gpu])]
    nano, kinds = 1000 * model.per_kb, dict(_kind(loop, language) for loop in loops)
    texts = Texts(
        say(language, f"A KB from L2 costs {nano:.1f} nJ · {records.gpu_name(gpu)}",
            f"来自 L2 的每 KB 耗能 {nano:.1f} nJ · {records.gpu_name(gpu)}"),
        say(
            language,
            "watts ÷ TFLOPS of each loop that does not wait, beside it its TFLOPS; line: the fit to 128×256; the axis does not "
            "start at 0",
            "不等待数据的各循环：瓦数 ÷ TFLOPS，旁注 TFLOPS；直线：对 128×256 的拟合；纵轴不从 0 开始",
        ),
        [("box", colour, kind) for kind, (colour, _) in kinds.items()],
    )  # fmt: skip
    drawn, (ax,) = layout.page(texts, [Panel(3.3)], layout.SPEEDS, 0.15)
    end = 1.06 * max(map(energy.kilobytes, loops))
    ax.plot([0, end], [model.products, model.products + end * model.per_kb], color=style.INK, lw=1.6, zorder=2)
    for loop in loops:
        _, (colour, marker) = _kind(loop, language)
        x = energy.kilobytes(loop)
        ax.plot(x, energy.per_unit(loop), marker, color=colour, ms=8, mec="white", mew=0.8, zorder=4)
        below = [loop["options"][key] for key in ("tile", "cluster", "dram_kb")] == [
            energy.FITTED_TILE,
            1,
            0,
        ]  # of the line's own points; the others' names stand above
        ax.annotate(
            style.number(loop["tflops"]),
            (x, energy.per_unit(loop)),
            (0, -16 if below else 9),
            textcoords="offset points",
            ha="center",
            fontsize=style.SMALL,
            zorder=5,
        )
    ax.margins(y=0.12)  # for the figures beside the points
    ax.set_xlim(-0.03 * end, end)
    ax.set_xlabel(
        say(language, "KB that a block reads per 128×256×64 of products", "每 128×256×64 的乘法，线程块读取的 KB")
    )
    ax.set_ylabel(say(language, "µJ per 128×256×64", "每 128×256×64 的能量，µJ"))
    ax.grid(True)
    return drawn


def _kind(loop: Record, language: str) -> tuple[str, tuple[str, str]]:
    """What sort of loop it is, in words, with its colour and marker."""
    told = loop["options"]
    tile = told["tile"].replace("x", "×")
    if told["dram_kb"]:
        return say(language, "some or all from memory", "部分或全部来自显存"), (style.RED, "D")
    if told["cluster"] == PAIR:
        return say(language, f"{tile}, pairs", f"{tile}，成对"), (
            (style.PLUM, "s") if told["tile"] == energy.FITTED_TILE else (style.GREEN, "s")
        )
    return tile, ((style.BLUE, "o") if told["tile"] == energy.FITTED_TILE else (style.AMBER, "o"))
