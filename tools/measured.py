"""The recorded figures, as the command line shows them."""

from typing import Any

import records
from base import gpu
from base.errors import UserError
from base.languages import CHINESE, ENGLISH, percent, said
from base.paths import DATA
from records import REFERENCE_GPU, Records

FIGURE_SIZE = 4096  # the square size that every step is timed at


def load() -> Records:
    """Every record of the course; a corrupt one is named by file and line."""
    return records.load(DATA)


def choose_gpu(recorded: Records, asked: str | None) -> str | None:
    """Whose figures to show: the GPU asked for, else the one that is here, else the course's H200, else any."""
    if asked is not None and asked not in recorded.timings:
        known = ", ".join(sorted(recorded.timings)) or "none yet"
        raise UserError(f"there are no records of '{asked}'; there are some of: {known}")
    here = gpu.detect()
    likely = [asked, here.folder if isinstance(here, gpu.Gpu) else None, REFERENCE_GPU, *sorted(recorded.timings)]
    return next((name for name in likely if name in recorded.timings), None)


def at_figure_size(recorded: Records, gpu_folder: str | None, step_name: str) -> dict[str, Any] | None:
    """The default variant's record at 4096 x 4096 x 4096, or at the largest square size below where that is missing."""
    if gpu_folder is None:
        return None
    sizes = [size for size in recorded.square_sizes(gpu_folder, [step_name]) if size <= FIGURE_SIZE]
    return recorded.default_at(gpu_folder, step_name, max(sizes)) if sizes else None


def in_words(record: dict[str, Any] | None, spoken: str = ENGLISH) -> str:
    """One record as a phrase: `47.1 TFLOPS, 92 % of cuBLAS at 4096 on NVIDIA H200`."""
    if record is None:
        return said(spoken, "not timed yet", "还没有计时")
    with_cublas = record.get("baseline") == records.CUBLAS
    share = percent(spoken, record["ratio"], 0) if with_cublas else ""
    speed, size = f"{record['tflops']:.3g} TFLOPS", record["m"]
    if spoken == CHINESE:
        beside = f"，是 cuBLAS 的 {share}" if with_cublas else ""
        return f"{speed}{beside}（{size}，{record.get('gpu', '未注明的 GPU')}）"
    beside = f", {share} of cuBLAS" if with_cublas else ""
    return f"{speed}{beside} at {size} on {record.get('gpu', 'an unnamed GPU')}"
