"""The recorded figures, as the command line shows them: read by the plots' own reader."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools import gpu
from tools.errors import UserError
from tools.languages import CHINESE, ENGLISH, said
from tools.paths import DATA, ROOT

sys.path.insert(0, str(ROOT / "plots"))
from gemm_plots import records as plot_records

REFERENCE_GPU = plot_records.REFERENCE_GPU
FIGURE_SIZE = 4096  # the square size that every step is timed at

Records = plot_records.Records


def load() -> Records:
    """Every record of the course; a corrupt one is named by file and line."""
    return _read_by(plot_records.load, DATA)


def read(file: Path) -> list[dict[str, Any]]:
    """The records of one file, none where there is no file; a corrupt one is named by file and line."""
    return _read_by(plot_records.read_lines, file)


def _read_by(reader: Callable[[Path, Path], Any], path: Path) -> Any:
    try:
        return reader(path, ROOT)
    except plot_records.RecordError as error:
        raise UserError(str(error)) from None


def choose_gpu(records: Records, asked: str | None) -> str | None:
    """Whose figures to show: the GPU asked for, else the one that is here, else the course's H200, else any."""
    if asked is not None and asked not in records.timings:
        known = ", ".join(sorted(records.timings)) or "none yet"
        raise UserError(f"there are no records of '{asked}'; there are some of: {known}")
    here = gpu.detect()
    likely = [asked, here.folder if isinstance(here, gpu.Gpu) else None, REFERENCE_GPU, *sorted(records.timings)]
    return next((name for name in likely if name in records.timings), None)


def at_figure_size(records: Records, gpu_folder: str | None, step_name: str) -> dict[str, Any] | None:
    """The default variant's record at 4096 x 4096 x 4096, or at the largest square size below where that is missing."""
    if gpu_folder is None:
        return None
    sizes = [size for size in records.square_sizes(gpu_folder, [step_name]) if size <= FIGURE_SIZE]
    return records.default_at(gpu_folder, step_name, max(sizes)) if sizes else None


def in_words(record: dict[str, Any] | None, spoken: str = ENGLISH) -> str:
    """One record as a phrase: `47.1 TFLOPS, 92 % of cuBLAS at 4096 on NVIDIA H200`."""
    if record is None:
        return said(spoken, "not timed yet", "还没有计时")
    with_cublas = record.get("baseline") == plot_records.CUBLAS
    share = f"{100 * record['ratio']:.0f} %" if with_cublas else ""
    speed, size = f"{record['tflops']:.3g} TFLOPS", record["m"]
    if spoken == CHINESE:
        beside = f"，是 cuBLAS 的 {share}" if with_cublas else ""
        return f"{speed}{beside}（{size}，{record.get('gpu', '未注明的 GPU')}）"
    beside = f", {share} of cuBLAS" if with_cublas else ""
    return f"{speed}{beside} at {size} on {record.get('gpu', 'an unnamed GPU')}"
