"""Charts of docs/power: energy per FLOP along the ladders, the main loop's limits, and what a KB costs in them."""

from __future__ import annotations

from matplotlib.figure import Figure

from . import energy, panels, style
from .course import Course, Step
from .records import BASELINES, BEST_LIBRARY, Record, Records
from .style import Missing, say

SIZE = 8192  # at which each default was run alone
SIZES = (8192, 16384)  # of the bars beside the main loop's limits
LADDER = "hopper"
PAIR = 2


def per_flop(course: Course, records: Records, language: str) -> Figure:
    """Picojoules per FLOP of every step's default, by ladder, beside those of the instruction alone."""
    gpu, groups = _measured(course, records)
    height = 1.4 + 0.27 * sum(len(rows) + 1.3 for _, rows in groups)
    width = 9.4
    drawn, (ax,) = style.figure(width, height)
    drawn.subplots_adjust(left=2.1 / width, right=1 - 2.55 / width, top=1 - 0.82 / height, bottom=0.62 / height)
    y, ticks, names, values = 0.0, [], [], []
    for name, rows in groups:
        style.group_name(ax, y, course.ladder_name(name, language))
        limit = _limit(records, gpu, *rows[-1])
        if limit:
            ax.plot([energy.per_flop(limit)] * 2, [y + 0.55, y + len(rows) + 0.45], color=style.RED, lw=1.8,
                    ls=panels.DOTTED, zorder=1.5)  # fmt: skip
        for step, record in rows:
            y += 1
            value = energy.per_flop(record)
            ax.plot(value, y, "o", color=style.BLUE, ms=6.5, mec="white", mew=0.8, zorder=4)
            told = f"{style.number(value)} pJ · {record['power_w']:.0f} W · {record.get('sm_mhz', 0):.0f} MHz"
            ax.text(1.02, y, told, fontsize=9, va="center", transform=ax.get_yaxis_transform())
            ticks.append(y)
            names.append(step.short)
            values.append(value)
        y += 1.3
    panels.log_axis(ax, min(values) / 1.6, max(values) * 1.6)
    ax.set_xlabel(say(language, "pJ per FLOP (logarithmic)", "每 FLOP 的能量，pJ（对数坐标）"))
    ax.set_ylim(y - 0.6, -0.7)
    ax.set_yticks(ticks, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    first, last = style.number(max(values)), style.number(min(values))
    style.heading(
        drawn,
        say(language, f"From {first} to {last} pJ per FLOP · {records.gpu_name(gpu)}",
            f"每 FLOP 从 {first} pJ 降到 {last} pJ · {records.gpu_name(gpu)}"),
        say(
            language,
            f"watts ÷ TFLOPS of each step's default at {SIZE}³, run alone for longer than the second that power is averaged over",
            f"每一步的默认变体在 {SIZE}³ 的瓦数 ÷ TFLOPS；单独运行，时间长于功耗取平均的一秒",
        ),
    )  # fmt: skip
    style.legend(drawn, [("dot", style.RED, say(language, "the instruction alone", "只有这条指令"))], 0.74)
    return drawn


def _measured(course: Course, records: Records) -> tuple[str, list[tuple[str, list[tuple[Step, Record]]]]]:
    """The GPU with most steps that were run alone, and by ladder these steps with their records."""
    gpu = records.most(records.alone)
    found = {r["step"]: r for r in records.alone.get(gpu, []) if r.get("default") and r["m"] == SIZE}
    groups = [(name, [(s, found[s.name]) for s in course.ladder(name) if s.name in found]) for name in course.ladders]
    groups = [(name, rows) for name, rows in groups if rows]
    if gpu is None or not groups:
        raise Missing(f"no step was run alone at {SIZE}: ./gemm record --only power")
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
    bars: list[tuple[str, Record, str]] = []
    for size, colour in zip(SIZES, (style.BLUE, style.GREY), strict=True):
        found = [(s, records.default_beside(gpu, s.name, size, BEST_LIBRARY)) for s in steps]
        bars += [(f"{s.short}, {size}³", r, colour) for s, r in found if r]
        library = records.baseline_at(gpu, [s.name for s in steps], size, baseline=BEST_LIBRARY)
        if library:
            bars.append((f"{BASELINES[BEST_LIBRARY](language)}, {size}³", {"tflops": library}, style.AMBER))
    whole = energy.pick(records.main_loops[gpu], energy.FITTED_TILE, 1)
    if whole is None or not bars:
        raise Missing(f"no timing of the {LADDER} ladder at {SIZES}, or no loop of a whole main loop")
    end = style.number(whole["tflops"])
    inches, top = 5.6, 1.04 * max(line.tflops for line in lines)
    rows = 1 + max(row for _, row, _ in panels.label_rows(lines, top, inches))
    above, height = 0.85 + 0.17 * rows, 0.85 + 0.17 * rows + 0.55 + 0.3 * len(bars)
    drawn, (ax,) = panels.gpu_panels(records, [gpu], height, inches, 2.7, 0.75, above, 0.55)
    for row, (_, record, colour) in enumerate(bars):
        ink = style.INK if colour in (style.GREY, style.AMBER) else "white"
        panels.timed_bar(ax, row, record, colour, top, ink)
    panels.vertical_references(ax, lines, top, inches)
    ax.set_xlim(0, top)
    panels.bar_rows(ax, [name for name, *_ in bars])
    ax.set_xlabel("TFLOPS")
    style.heading(
        drawn,
        say(language, f"A main loop of 128×256 ends at {end} TFLOPS · {records.gpu_name(gpu)}",
            f"128×256 的主循环止于 {end} TFLOPS · {records.gpu_name(gpu)}"),
        say(
            language,
            "lines: loops with a GEMM's copies out of L2 and nothing else; brackets: share of the best library call",
            "竖线：只有从 L2 拷贝与乘法、没有其他工作的循环；括号内为相对最快的库调用的比例",
        ),
    )  # fmt: skip
    return drawn


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


def per_kilobyte(course: Course, records: Records, language: str) -> Figure:
    """Microjoules per 128×256×64 of products over the KB that they take from L2, and the line that fits them."""
    gpu = records.most(records.main_loops)
    model = energy.fit(records.main_loops.get(gpu, []))
    if gpu is None or model is None:
        raise Missing("no main loops that determine what a KB costs: build/lab/main_loop/main_loop")
    loops = [r for r in energy.of_bf16(records.main_loops[gpu]) if not energy.waits(r, records.main_loops[gpu])]
    width, height = 9.4, 4.9
    drawn, (ax,) = style.figure(width, height)
    drawn.subplots_adjust(left=0.85 / width, right=1 - 0.4 / width, top=1 - 1.0 / height, bottom=0.62 / height)
    end = 1.06 * max(map(energy.kilobytes, loops))
    ax.plot([0, end], [model.products, model.products + end * model.per_kb], color=style.INK, lw=1.6, zorder=2)
    kinds = {kind: look for loop in loops for kind, look in (_kind(loop, language),)}
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
            fontsize=9,
            zorder=5,
        )
    ax.margins(y=0.12)  # for the figures beside the points
    ax.set_xlim(-0.03 * end, end)
    ax.set_xlabel(
        say(language, "KB that a block reads per 128×256×64 of products", "每 128×256×64 的乘法，线程块读取的 KB")
    )
    ax.set_ylabel(say(language, "µJ per 128×256×64", "每 128×256×64 的能量，µJ"))
    ax.grid(True)
    nano = 1000 * model.per_kb
    style.heading(
        drawn,
        say(language, f"A KB from L2 costs {nano:.1f} nJ · {records.gpu_name(gpu)}",
            f"来自 L2 的每 KB 耗能 {nano:.1f} nJ · {records.gpu_name(gpu)}"),
        say(
            language,
            "watts ÷ TFLOPS of each loop that does not wait, beside it its TFLOPS; line: the fit to 128×256",
            "不等待数据的各循环：瓦数 ÷ TFLOPS，旁注 TFLOPS；直线：对 128×256 的拟合",
        ),
    )  # fmt: skip
    style.legend(drawn, [("box", colour, kind) for kind, (colour, _) in kinds.items()], 0.76)
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
