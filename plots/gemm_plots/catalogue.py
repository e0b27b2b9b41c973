"""The list of all charts: file name and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from . import count_charts, ladder_charts, mix_charts, step_charts, sweep_charts
from .course import Course
from .records import Records


@dataclass(frozen=True)
class Chart:
    """One chart: the name of its file without language and ending, and how it is drawn in a language."""

    name: str
    draw: Callable[[str], Figure]


def charts(course: Course, records: Records) -> Iterator[Chart]:
    """Every chart there is, whether or not its records exist."""
    for ladder in dict.fromkeys(step.ladder for step in course.steps):
        yield Chart(f"{ladder}-ladder", partial(_at, ladder_charts.ladder, course, records, ladder, 4096))
        yield Chart(f"{ladder}-ladder-8192", partial(_at, ladder_charts.ladder, course, records, ladder, 8192))
        for name, draw in (
            ("sizes", ladder_charts.sizes),
            ("relative", ladder_charts.relative),
            ("speedup", ladder_charts.speedup),
            ("roofline", count_charts.roofline),
            ("sectors", count_charts.sectors),
            ("bank-conflicts", count_charts.bank_conflicts),
            ("instructions", count_charts.instructions),
            ("sweep27", sweep_charts.lines),
        ):
            yield Chart(f"{ladder}-{name}", partial(_of_ladder, draw, course, records, ladder))
        mix_name = "instruction-mix" if ladder == "fp32" else f"{ladder}-instruction-mix"
        yield Chart(mix_name, partial(_of_ladder, mix_charts.fma_share, course, records, ladder))
    for step in course.steps:
        yield Chart(f"{step.name}-sizes", partial(_of_ladder, step_charts.step_sizes, course, records, step))
        yield Chart(f"{step.name}-variants", partial(_of_ladder, step_charts.variants, course, records, step))
        if len(records.counted_variants(step.name)) > 1:
            yield Chart(f"{step.name}-counts", partial(_of_ladder, count_charts.step_counts, course, records, step))
        if any(sweep_charts.swept(records, gpu, step.name) for gpu in records.gpus([step.name])):
            yield Chart(f"{step.name}-sweep27", partial(_of_ladder, sweep_charts.heat_map, course, records, step))


def _of_ladder(draw: Callable[..., Figure], course: Course, records: Records, what: object, language: str) -> Figure:
    return draw(course, records, what, language)


def _at(draw: Callable[..., Figure], course: Course, records: Records, ladder: str, size: int, language: str) -> Figure:
    return draw(course, records, ladder, size, language)
