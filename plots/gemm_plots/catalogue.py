"""The list of all charts: file name and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from . import (
    bottleneck_charts,
    count_charts,
    error_charts,
    ladder_charts,
    mix_charts,
    roofline,
    step_charts,
    sweep_charts,
    swizzle_charts,
)
from .course import Course
from .records import Records


@dataclass(frozen=True)
class Chart:
    """One chart: the name of its file without language and ending, and how it is drawn in a language."""

    name: str
    draw: Callable[[str], Figure]


def charts(course: Course, records: Records) -> Iterator[Chart]:
    """Every chart there is, whether or not its records exist; a step's own where it has records of the kind."""

    def chart(name: str, draw: Callable[..., Figure], *of: object) -> Chart:
        return Chart(name, partial(draw, course, records, *of))

    for size, ending in ((4096, ""), (8192, "-8192")):
        if len({step.ladder for step in course.steps}) > 1:
            yield chart(f"all-ladders{ending}", ladder_charts.all_ladders, size)
    if any(step.ladder != "fp32" for step in course.steps):
        yield chart("accumulation-error", error_charts.accumulation)
    for ladder in dict.fromkeys(step.ladder for step in course.steps):
        yield chart(f"{ladder}-ladder", ladder_charts.ladder, ladder, 4096)
        yield chart(f"{ladder}-ladder-8192", ladder_charts.ladder, ladder, 8192)
        for name, draw in (
            ("sizes", ladder_charts.sizes),
            ("relative", ladder_charts.relative),
            ("speedup", ladder_charts.speedup),
            ("roofline", roofline.roofline),
            ("sectors", count_charts.sectors),
            ("bank-conflicts", count_charts.bank_conflicts),
            ("instructions", count_charts.instructions),
            ("sweep27", sweep_charts.lines),
        ):
            yield chart(f"{ladder}-{name}", draw, ladder)
        yield chart(
            "instruction-mix" if ladder == "fp32" else f"{ladder}-instruction-mix", mix_charts.fma_share, ladder
        )
    for step in course.steps:
        yield chart(f"{step.name}-sizes", step_charts.step_sizes, step)
        yield chart(f"{step.name}-variants", step_charts.variants, step)
        if len(records.counted_variants(step.name)) > 1:
            yield chart(f"{step.name}-counts", count_charts.step_counts, step)
        if error_charts.gpu_of(records, step):
            yield chart(f"{step.name}-error", error_charts.step_error, step)
        for sweep in sweep_charts.SWEEPS:
            if sweep_charts.gpu_of(records, step, sweep):
                yield chart(f"{step.name}-{sweep.name}", sweep_charts.heat_map, step, sweep)
        if any(records.swizzled(gpu, step.name) for gpu in records.gpus([step.name])):
            yield chart(f"{step.name}-swizzle", swizzle_charts.over_stride, step)
            yield chart(f"{step.name}-stages", swizzle_charts.stages, step)
        if any(r["step"] == step.name for rows in records.bottlenecks.values() for r in rows):
            yield chart(f"{step.name}-bottlenecks", bottleneck_charts.chart, step)
