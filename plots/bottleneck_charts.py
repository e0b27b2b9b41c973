"""Charts of kernels that leave work out on purpose, beside the full kernel: what each piece of work costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from records import BASELINES, BEST_LIBRARY, COMPLETE, Record, Records

from . import findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .step_charts import kind
from .style import Missing, say

# What is left out, by the variant's name: English, Chinese. A variant of another name is shown as its record says.
WORDS = {
    "no_copy_a": ("the copy of A", "A 的拷贝"),
    "no_copy_b": ("the copy of B", "B 的拷贝"),
    "no_copies": ("both copies", "A 和 B 的拷贝"),
    "no_load_a": ("the loads of A", "A 的加载"),
    "no_load_b": ("the loads of B", "B 的加载"),
    "no_loads": ("both loads", "A 和 B 的加载"),
    "no_misses": ("misses in L2", "L2 未命中"),
    "no_store_conflicts": ("the store conflicts", "写入时的 bank 冲突"),
    "no_load_and_mma": ("fragment loads and mma", "fragment 加载与 mma"),
    "no_mma": ("the products", "计算"),
    "no_movmatrix": ("movmatrix", "movmatrix"),
    "no_store": ("the store of C", "C 的写回"),
    "no_staging": ("sums to shared memory", "累加结果写进共享内存"),
    "no_tma_store": ("TMA's stores of C", "TMA 对 C 的写回"),
    "no_beta": ("the case beta ≠ 0", "beta ≠ 0 的情形"),
}


_LEFT, _RIGHT = 1.5, 0.15  # inches for the words, and at the other end


@dataclass(frozen=True)
class LeftOut:
    """One kernel that leaves work out, and the full one at the same size."""

    record: Record
    full: Record

    @property
    def gain(self) -> float:
        """Its speed relative to the full kernel."""
        return self.record["tflops"] / self.full["tflops"]

    @property
    def in_turn(self) -> bool:
        """Was each of the two timed in turn with the same library?"""
        return all("ratio" in r for r in (self.record, self.full)) and self.record["baseline"] == self.full["baseline"]

    @property
    def gain_in_turn(self) -> float:
        """The same by the ratios to the library in turn: a clock that fell or rose for both of them cancels."""
        return self.record["ratio"] / self.full["ratio"]

    def words(self, language: str) -> str:
        """What it leaves out, and of which variant where that is not the default."""
        english, chinese = WORDS.get(self.record["variant"], (self.record["leaves_out"],) * 2)
        if not self.full.get("default") and self.full["variant"] != COMPLETE:
            english, chinese = f"{english} ({self.full['variant']})", f"{chinese}（{self.full['variant']}）"
        return say(language, english, chinese)


def full_kernel(records: Records, gpu: str, record: Record) -> Record | None:
    """The kernel that a record leaves work out of: `complete`, else a variant named after that work, else the default.

    `complete` is the default once more, built and timed as those that leave work out. A step that has it leaves out
    everything from it, whatever else is named like the work (`branchy_store` is not what `no_store` lacks).
    """
    work = record["variant"].removeprefix("no_")
    size = (record["m"], record["n"], record["k"])
    rows = [r for r in records.of_step(gpu, record["step"]) if (r["m"], r["n"], r["k"]) == size]
    rows = [r for r in rows if not r.get("options") and kind(r) == kind(record)]
    named = [r for r in rows if r["variant"].endswith(work)]
    complete = [r for r in rows if r["variant"] == COMPLETE]
    return next(iter([*complete, *named, *(r for r in rows if r.get("default"))]), None)


def left_out(records: Records, gpu: str, step: str) -> dict[int, list[LeftOut]]:
    """By square size, the kernels that leave work out, in the order of WORDS, each with its full kernel."""
    order = list(WORDS)
    found: dict[int, list[LeftOut]] = {}
    for record in records.bottlenecks.get(gpu, []):
        if record["step"] == step and record["m"] == record["n"] == record["k"]:
            full = full_kernel(records, gpu, record)
            if full:
                found.setdefault(record["m"], []).append(LeftOut(record, full))
    for rows in found.values():
        rows.sort(key=lambda r: order.index(r.record["variant"]) if r.record["variant"] in order else len(order))
    return dict(sorted(found.items()))


def published(course: Course, step: str) -> dict[str, tuple[float, float]]:
    """What the A100 notes published of their kernel, by variant: per cent of peak, in full and with work left out."""
    facts = course.published().get("bottlenecks", {}).get("steps", {}).get(step, {})
    return {name: (facts["full"], value) for name, value in facts.get("left_out", {}).items()}


def _beside_products(
    by_size: dict[int, list[LeftOut]], gain: Callable[[LeftOut], float], language: str
) -> list[tuple[str, float, int]]:
    """What each piece of work gains that is left out; not the products themselves, without which any kernel is faster."""
    every = [r for rows in by_size.values() for r in rows]
    others = [r for r in every if "mma" not in r.record["variant"]]
    return [(r.words(language), gain(r), r.record["m"]) for r in others or every]


def chart(course: Course, records: Records, step: Step, language: str) -> Figure:
    """The time beside the full kernel's, which is 100; a bar per size and piece of work left out, and those published.

    Of a ladder that is measured against the best library call, all at the power limit, by the ratios to the library in
    turn, as its chapter tells."""
    gpu = next((g for g in records.gpus([step.name]) if left_out(records, g, step.name)), None)
    if gpu is None:
        raise Missing(f"no kernel of {step.name} that leaves work out was timed")
    by_size = left_out(records, gpu, step.name)
    every = [r for rows in by_size.values() for r in rows]
    turns = course.yardstick(step.ladder) == BEST_LIBRARY and all(r.in_turn for r in every)
    gain: Callable[[LeftOut], float] = (lambda r: r.gain_in_turn) if turns else (lambda r: r.gain)

    def time(r: LeftOut) -> float:
        return 100 / gain(r)

    marks = {name: 100 * full / value for name, (full, value) in published(course, step.name).items()}
    names = list(dict.fromkeys(r.record["variant"] for rows in by_size.values() for r in rows))
    words = {r.record["variant"]: r.words(language) for rows in by_size.values() for r in rows}
    others = iter((style.PLUM, style.AMBER))
    colours = [style.SIZES.get(size) or next(others) for size in by_size]
    bars = {n: [(i, time(r), r.record["tflops"]) for i, rows in enumerate(by_size.values()) for r in rows if
                r.record["variant"] == n] for n in names}  # fmt: skip
    thick, between = 0.19, 0.14
    height = 0.1 + sum(thick * (len(bars[n]) + (n in marks)) + between for n in names)
    entries = []
    for index, (size, rows) in enumerate(by_size.items()):
        full = style.number(next((r for r in rows if r.full.get("default")), rows[0]).full["tflops"])
        text = say(language, f"{size}³ (full: {full} TFLOPS)", f"{size}³（完整：{full} TFLOPS）")
        entries.append(("box", colours[index % len(colours)], text))
    if any(name in names for name in marks):
        source = course.published()["bottlenecks"]["source"]
        entries.append(("box", style.AMBER, source["zh-CN" if language == "zh-CN" else "en"]))
    where = records.gpu_name(gpu)
    by_ratio = BASELINES[every[0].record["baseline"]](language) if turns else ""
    texts = Texts(
        findings.left_out(step, _beside_products(by_size, gain, language), language),
        say(
            language,
            f"{where}; time without the named work (results are wrong on purpose) · TFLOPS as if all were done; dotted: the full kernel (docs/bottlenecks)"
            + (f"; bars: by the ratios to {by_ratio} in turn" if turns else ""),
            f"{where}；省去该项工作后的时间（结果有意算错）· TFLOPS 仍按全部工作计；点线：完整 kernel（docs/bottlenecks）"
            + (f"；条形：按与 {by_ratio} 轮流计时的比值" if turns else ""),
        ),
        entries,
        panels.conditions(records, gpu, language),
    )
    drawn, (ax,) = layout.page(texts, [Panel(height)], _LEFT, _RIGHT)
    longest = max([100.0, *marks.values(), *map(time, every)])
    inches = layout.WIDTH - _LEFT - _RIGHT
    figures = (style.em("111 · 1111") * style.SMALL + 6) / 72  # in a column of their own

    def beside(y: float, text: str) -> None:
        ax.annotate(text, (longest, y), (5, 0), textcoords="offset points", va="center", fontsize=style.SMALL)

    y, middles = 0.0, []
    for name in names:
        first = y
        for index, taken, tflops in bars[name]:
            ax.barh(y, taken, thick * 0.88, color=colours[index % len(colours)], zorder=2)
            beside(y, f"{taken:.0f} · {style.number(tflops)}")
            y += thick
        if name in marks:
            ax.barh(y, marks[name], thick * 0.88, color=style.AMBER, zorder=2)
            beside(y, f"{marks[name]:.0f}")
            y += thick
        middles.append((first + y - thick) / 2)
        y += between
    ax.axvline(100, color=style.INK, ls=panels.DOTTED, lw=1.6, zorder=3)
    ax.set_xlim(0, longest * inches / (inches - figures))
    ax.set_ylim(y - between, -0.2)
    ax.set_yticks([])
    for name, middle in zip(names, middles, strict=True):
        label = "\n".join(layout.wrap(words[name], _LEFT - 0.2, style.SMALL))
        style.lines_of_text(ax, label, (0, middle), ax.get_yaxis_transform(), -7, ha="right")
    ax.grid(axis="x")
    ax.set_xlabel(say(language, "time, the full kernel being 100", "时间，完整 kernel 为 100"))
    return drawn
