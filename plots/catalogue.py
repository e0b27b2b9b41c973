"""The charts that there can be, by the name of their file: `fp32-ladder`, `07_thread_tile_8x8-sizes`, `all-ladders`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from matplotlib.figure import Figure

from records import Records

from . import (
    bottleneck_charts,
    bounds_charts,
    count_charts,
    depth_chart,
    energy_charts,
    error_charts,
    gpu_charts,
    ladder_charts,
    latencies,
    mix_charts,
    precision_charts,
    regret_chart,
    roofline,
    shares_chart,
    step_charts,
    stream_k_chart,
    sweep_charts,
    swizzle_charts,
)
from .course import Course

OF_THE_COURSE = {
    "all-ladders": ladder_charts.all_ladders,
    "shares": shares_chart.shares,
    "tensor-bounds": bounds_charts.tensor_bounds,
    "hopper-bounds": bounds_charts.hopper_bounds,
    "accumulation-error": error_charts.accumulation,
    "instruction-mix": mix_charts.fma_share,
    "load-latency": latencies.over_bytes,
    "energy": energy_charts.per_flop,
    "zeros": energy_charts.over_zeros,
    "main-loop": energy_charts.limits,
    "main-loop-energy": energy_charts.per_kilobyte,
    "bits-over-k": precision_charts.over_k,
    "speed-and-error": precision_charts.speed_over_error,
    "several-gpus": gpu_charts.several,
    "other-gpus": gpu_charts.beside,
    "stream-k": stream_k_chart.beside_step_27,
    "turns-over-k": depth_chart.over_k,
    "chooser-regret": regret_chart.of_125,
}
OF_A_LADDER = {
    "ladder": ladder_charts.ladder,
    "sizes": ladder_charts.sizes,
    "bounds": bounds_charts.bounds,
    "roofline": roofline.roofline,
    "bank-conflicts": count_charts.bank_conflicts,
    "sweep27": sweep_charts.sgemm27,
}
OF_A_STEP = {
    "sizes": step_charts.step_sizes,
    "variants": step_charts.variants,
    "bounds": bounds_charts.up_to,
    "hgemm125": sweep_charts.hgemm125,
    "swizzle": swizzle_charts.over_stride,
    "stages": swizzle_charts.stages,
    "bottlenecks": bottleneck_charts.chart,
}


def find(course: Course, records: Records, name: str) -> Callable[[str], Figure] | None:
    """The function that draws a chart in a language, if there is one of that name."""
    if name in OF_THE_COURSE:
        return partial(OF_THE_COURSE[name], course, records)
    of, _, kind = name.partition("-")
    if course.ladder(of) and kind in OF_A_LADDER:
        return partial(OF_A_LADDER[kind], course, records, of)
    step = course.step(of)
    return partial(OF_A_STEP[kind], course, records, step) if step and kind in OF_A_STEP else None
