"""What the tables that compare GPUs hold: the same step on each, what others published, one product on several GPUs."""

from __future__ import annotations

from records import ALONE_SIZE, REFERENCE_GPU, Record, Records
from records.metrics import DRAM_READ

from .course import Course, Step

INTO_L1 = "l1tex__m_xbar2l1tex_read_bytes.sum"


def compared(records: Records) -> list[str]:
    """The GPUs that steps were timed on: the reference first, then by name."""
    return sorted(records.timings, key=lambda gpu: (gpu != REFERENCE_GPU, gpu))


def short_name(records: Records, gpu: str) -> str:
    """`H200` for `NVIDIA H200`, `H100` for `NVIDIA H100 80GB HBM3`."""
    words = records.gpu_name(gpu).removeprefix("NVIDIA ").split(" ")
    return " ".join(word for word in words if not word.endswith("GB") and not word.startswith("HBM"))


def timed(course: Course, records: Records, step: Step, size: int) -> list[Record | None]:
    """The default's timing on each of the GPUs, beside the library that its ladder is measured against."""
    beside = course.yardstick(step.ladder)
    return [records.default_beside(gpu, step.name, size, beside) for gpu in compared(records)]


def run_alone(records: Records, gpu: str, step: Step) -> Record | None:
    """The default's run without a library beside it on one GPU, or nothing."""
    found = (r for r in records.alone.get(gpu, []) if r["step"] == step.name and r.get("default"))
    return next((r for r in found if r["m"] == ALONE_SIZE), None)


def bytes_read(records: Records, gpu: str, step: str, size: int) -> list[float]:
    """The bytes that a step's L1 caches were sent and those that came from DRAM, of one launch; or nothing."""
    counted = {r["metric"]: r["value"] for r in records.profiles.get(gpu, []) if (r["step"], r["m"]) == (step, size)}
    return [counted[metric] for metric in (INTO_L1, DRAM_READ)] if INTO_L1 in counted else []


def several(records: Records, gpu: str, layout: str) -> list[Record]:
    """One product on several GPUs of a kind: by their number, then in the order in which the program wrote them."""
    return sorted((r for r in records.several.get(gpu, []) if r["layout"] == layout), key=lambda r: r["gpus"])
