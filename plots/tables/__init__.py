"""Tables for the write-ups, in both languages, made from the records: by the name that a page's marker gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from records import Records

from .. import glossary, sweep_charts
from ..course import Course, Step
from ..style import Missing
from . import bottlenecks, busy, chooser, counts, errors, gpus, ladders, limits, precision, scaled, steps
from .page import Page, UnknownTable

__all__ = ["UnknownTable", "table"]


def table(course: Course, records: Records, name: str, language: str) -> str:
    """The table of that name as Markdown. Raises UnknownTable, or Missing where nothing is recorded yet."""
    page = Page(course, records, language)
    kind, _, of = name.partition(":")
    for beginning, make in (("ladder-", ladders.ladder), ("covers-", ladders.covers)):
        if course.ladder(kind.removeprefix(beginning)):
            return make(page, kind.removeprefix(beginning))
    if not of and kind in OF_THE_COURSE:
        return OF_THE_COURSE[kind](page)
    step = course.step(of)
    if step is None or kind not in OF_A_STEP:
        raise UnknownTable(name)
    return OF_A_STEP[kind](page, step)


def _terms(page: Page) -> str:
    names = [step.name for step in page.course.steps]
    return glossary.page(glossary.load(page.course.root), names, page.language)


def _data(page: Page, step: Step) -> str:
    """Every table of a step, under headings: its page of data."""
    parts = []
    for english, chinese, kinds in _DATA:
        made = []
        for kind in kinds:
            with suppress(Missing):
                made.append(OF_A_STEP[kind](page, step))
        if made:
            parts += [f"## {page.say(english, chinese)}", *made]
    if not parts:
        raise Missing(f"nothing of {step.name} is recorded")
    return "\n\n".join(parts)


_DATA = (
    ("Measured: the default", "实测：默认变体", ("step",)),
    ("Measured: every variant", "实测：各变体", ("variants",)),
    ("Measured: sweeps", "实测：扫描", ("sweep27", "hgemm27", "hgemm125", "swizzle")),
    ("Measured: few rows, and the old C", "实测：行数少的 C，以及 β ≠ 0", ("shapes",)),
    ("Measured: traffic", "实测：流量", ("l2-traffic",)),
    ("Measured: how busy a launch is", "实测：一次调用有多忙", ("busy",)),
    ("Measured: work left out", "实测：省去一部分工作", ("bottlenecks", "bottlenecks-in-turn")),
    ("Measured: rounding errors", "实测：舍入误差", ("error-over-k", "errors-on-data")),
    ("Measured: what the guard chose", "实测：每种数据选了什么", ("guarded",)),
    ("Counted in the simulator: the default", "模拟器计数：默认变体", ("counts",)),
    ("Counted in the simulator: every variant", "模拟器计数：各变体", ("count-variants",)),
    ("Instructions of the main loop", "主循环的指令构成", ("mix",)),
)
OF_THE_COURSE: dict[str, Callable[[Page], str]] = {
    "glossary": _terms,
    "ladders": ladders.all_ladders,
    "questions": ladders.questions,
    "cutlass": steps.beside_cutlass,
    "limits": limits.limits,
    "latencies": limits.all_latencies,
    "wgmma-alone": limits.wgmma_alone,
    "main-loops": limits.main_loops,
    "stream-k": limits.two_schedules,
    "chooser": chooser.constants,
    "chooser-squares": chooser.squares,
    "error": errors.error,
    "bits-on-data": precision.bits_on_data,
    "energy-of-bits": precision.energy_of_bits,
    "programs": precision.programs,
    "other-gpus": gpus.defaults,
    "other-gpus-memory": gpus.memory,
    "other-gpus-shares": gpus.shares,
    "other-gpus-power": gpus.power,
    "other-gpus-loops": gpus.loops,
    "other-gpus-latencies": gpus.latencies_of_loads,
    "published-speeds": gpus.published,
    "several-gpus-row": partial(gpus.several_gpus, layout="row"),
    "several-gpus-column": partial(gpus.several_gpus, layout="column"),
    "mix": lambda page: counts.mix(page, page.course.steps, default_only=True),
}
OF_A_STEP: dict[str, Callable[[Page, Step], str]] = {
    "step": steps.speeds,
    "variants": steps.variants,
    "sweep27": steps.sgemm27,
    "hgemm27": partial(steps.sweep, sweep=sweep_charts.HGEMM27),
    "hgemm125": partial(steps.sweep, sweep=sweep_charts.HGEMM125),
    "swizzle": steps.swizzle,
    "l2-traffic": steps.l2_traffic,
    "scaled": scaled.scaled,
    "scaled-sweep": scaled.scaled_sweep,
    "few-rows": scaled.few_rows,
    "shapes": scaled.shapes,
    "busy": busy.busy,
    "bottlenecks": bottlenecks.bottlenecks,
    "bottlenecks-in-turn": bottlenecks.bottlenecks_in_turn,
    "error-over-k": errors.error_over_k,
    "errors-on-data": errors.errors_on_data,
    "guarded": errors.guarded,
    "passes": steps.beside_the_step_before,
    "data": _data,
    "measured": steps.measured,
    "counts": counts.counts,
    "count-variants": counts.count_variants,
    "mix": lambda page, step: counts.mix(page, [step], default_only=False),
}
