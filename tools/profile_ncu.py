"""Nsight Compute on one launch of a step: which metrics are asked for, how it is started, what its report says."""

import csv
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from base import cuda, process
from base.errors import Failure, UserError
from base.paths import shown
from lab import ncu as lab_ncu
from lab.validate import METRICS
from records import metrics

DURATION = "gpu__time_duration.sum"  # ns
BUSY = ".avg.pct_of_peak_sustained_elapsed"
TENSOR_PIPE, FMA_PIPE = metrics.TENSOR_ANY, f"sm__pipe_fma_cycles_active{BUSY}"
ISSUE_SLOTS = f"smsp__issue_active{BUSY}"
WARPS = "sm__warps_active.avg.pct_of_peak_sustained_active"
L1_HITS, L2_HITS = "l1tex__t_sector_hit_rate.pct", metrics.L2_HITS
L1_BYTES, L2_BYTES = "l1tex__t_bytes.sum", "lts__t_bytes.sum"
SM_RECEIVED, SM_SENT = "l1tex__m_xbar2l1tex_read_bytes.sum", "l1tex__m_l1tex2xbar_write_bytes.sum"
COALESCER_SECTORS, COALESCER_RATIO = metrics.COALESCER_SECTORS, metrics.COALESCER_RATIO
DRAM_READ, DRAM_WRITTEN = metrics.DRAM_READ, metrics.DRAM_WRITTEN
FIGURES = (DURATION, TENSOR_PIPE, FMA_PIPE, ISSUE_SLOTS, WARPS, L1_HITS, L2_HITS, L1_BYTES, L2_BYTES)
FIGURES += (SM_RECEIVED, SM_SENT, COALESCER_SECTORS, COALESCER_RATIO, DRAM_READ, DRAM_WRITTEN)
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active")
# Of the launch itself: ncu gives these without being asked.
REGISTERS, WAVES = "launch__registers_per_thread", "launch__waves_per_multiprocessor"
LIMITS = "launch__occupancy_limit_"  # blocks per SM, as far as one resource goes
RESOURCES = ("registers", "shared_mem", "warps", "blocks", "barriers")

# How the source page abbreviates the reasons; one that is not here it calls by its name.
SOURCE_COLUMNS = {
    "dispatch_stall": "dispatch",
    "imc_miss": "imc",
    "lg_throttle": "lg",
    "long_scoreboard": "long_sb",
    "math_pipe_throttle": "math",
    "mio_throttle": "mio",
    "no_instruction": "no_inst",
    "short_scoreboard": "short_sb",
    "sleeping": "sleep",
    "tex_throttle": "tex",
}
MOST_LINES = 2  # of the source, for each reason
INSTALLED = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
NOT_PERMITTED = (
    "the driver lets only root read this GPU's counters (ERR_NVGPUCTRPERM): run as root, or load the driver with "
    "NVreg_RestrictProfilingToAdminUsers=0 (https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
)


# A machine instruction: file and line that it comes from, its address, and the counts of the page's columns.
Instruction = tuple[str, int, str, dict[str, int]]
Samples = dict[tuple[str, int], dict[str, int]]  # by file and line: by address


@dataclass(frozen=True)
class Line:
    """A source line, and how many samples of warps were taken there while they were stalled for one reason."""

    file: Path
    number: int
    samples: int
    share: float  # of all samples with this reason


def find() -> str:
    """Where ncu is. Raises UserError where it is not."""
    roots = [os.environ[name] for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    for candidate in (shutil.which("ncu"), *(f"{root}/bin/ncu" for root in roots)):
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    for pattern in INSTALLED:
        if found := sorted(Path("/").glob(pattern.removeprefix("/"))):
            return str(found[-1])
    raise UserError(
        "there is no ncu (Nsight Compute): install it from the CUDA Toolkit "
        f"(on Ubuntu cuda-nsight-compute-{cuda.NEEDED}-0) and put it on PATH"
    )


def metrics_here(ncu: str) -> tuple[list[str], list[str]]:
    """The metrics to ask for, and those that this GPU lacks; ncu refuses a list with one that it does not know."""
    try:
        known = lab_ncu.known_metrics(ncu)
    except lab_ncu.Failed as problem:
        raise _refused(str(problem)) from None
    wanted = (*FIGURES, *METRICS)
    here = [metric for metric in wanted if metric.split(".")[0] in known]
    stalls = sorted(f"{name}.ratio" for name in known if STALL.fullmatch(name))
    return here + stalls, [metric for metric in wanted if metric not in here]


def profile(ncu: str, kernels: Iterable[str], command: list, metrics: Iterable[str], report: Path) -> None:
    """Profiles the one launch that a command makes, and keeps ncu's report."""
    report.unlink(missing_ok=True)
    words = [*lab_ncu.command(ncu, kernels, metrics), "--set", "full", "--import-source", "yes"]
    words += ["--force-overwrite", "--export", report]
    code, text = process.output([str(word) for word in (*words, *command)])
    if code != 0 or not report.is_file():
        raise _refused(text)


def page(ncu: str, report: Path, name: str) -> str:
    """A page of a report as comma-separated values: raw, source."""
    words = [ncu, "--import", str(report), "--csv", "--print-units", "base", "--page", name]
    code, text = process.output([*words, *(["--print-source", "cuda,sass"] if name == "source" else [])])
    if code != 0:
        raise Failure(f"ncu cannot read {shown(report)}: {_last(text)}")
    return text


def values(raw: str) -> dict[str, float]:
    """Every number on the raw page of a report with one launch, by the metric's name."""
    try:
        launches = lab_ncu.rows(raw)
    except lab_ncu.Failed as problem:
        raise Failure(str(problem)) from None
    if len(launches) != 1:
        raise Failure(f"ncu saw {len(launches)} launches of the step's kernel, not one")
    return lab_ncu.numbers(launches[0], list(launches[0]))


def stalls(figures: Mapping[str, float]) -> dict[str, float]:
    """By reason: how many warps were stalled for it, on average per issued instruction; the largest first."""
    found = {match[1]: value for name, value in figures.items() if (match := STALL.match(name))}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def blocks_per_sm(figures: Mapping[str, float]) -> tuple[int, list[str]] | None:
    """How many blocks fit on one SM, and the resources that allow no more; None where ncu does not say."""
    limits = {name: int(figures[LIMITS + name]) for name in RESOURCES if LIMITS + name in figures}
    if not limits:
        return None
    fitting = min(limits.values())
    return fitting, [name for name in RESOURCES if limits.get(name) == fitting]


def stalled_lines(source: str, reasons: Iterable[str], home: Path) -> dict[str, list[Line]]:
    """By reason: the few source lines at which most warps were sampled waiting for it, the largest share first.

    An inlined instruction is listed under each of the lines that it comes from. It is counted once: at the line with
    more samples, of equal ones at the one in the folder `home`.
    """
    instructions = list(_instructions(source))
    return {reason: _largest(_samples(instructions, reason), home.resolve()) for reason in reasons}


def _samples(instructions: list[Instruction], reason: str) -> Samples:
    """How many samples there are with one reason, by line and address."""
    columns = (f"stall_{SOURCE_COLUMNS.get(reason, reason)}", f"smsp__pcsamp_warps_issue_stalled_{reason}")
    found: Samples = defaultdict(dict)
    for file, number, address, cells in instructions:
        if count := next((cells[column] for column in columns if column in cells), 0):
            found[file, number][address] = count
    return found


def _largest(samples: Samples, home: Path) -> list[Line]:
    """The lines with most samples, of which each is counted at one line alone."""
    whole = sum({address: count for counts in samples.values() for address, count in counts.items()}.values())
    lines: list[Line] = []
    counted: set[str] = set()
    while len(lines) < MOST_LINES:
        left = {line: sum(n for at, n in counts.items() if at not in counted) for line, counts in samples.items()}
        order = sorted(left, key=lambda line: (-left[line], not _within(line[0], home), line))
        if not order or not left[order[0]]:
            break
        file, number = order[0]
        lines.append(Line(Path(file), number, left[file, number], left[file, number] / whole))
        counted |= samples[file, number].keys()
    return lines


def _within(file: str, home: Path) -> bool:
    """Whether a file is in a folder; compilers write paths such as build/../steps."""
    return Path(file).resolve().is_relative_to(home)


def _instructions(source: str) -> Iterator[Instruction]:
    """The machine instructions on the source page: file, line, address, and the counts of its columns.

    The page has a table per source file, in which each source line is followed by its instructions. Lines are read one
    by one because ncu does not escape quotation marks in C++.
    """
    file, number, columns = "", 0, []
    for text in source.splitlines():
        row = next(csv.reader([text]), [])
        if len(row) == 2 and row[0] == "File Path":
            file, number, columns = row[1], 0, []
        elif row[:4] == ["Line No", "Source", "Address", "Source"]:
            columns = row[4:]
        elif columns and len(row) > 4:
            number = int(row[0]) if row[0].isdecimal() else number
            if row[2].startswith("0x") and len(row) == 4 + len(columns) and number:
                cells = {name: cell.replace(",", "") for name, cell in zip(columns, row[4:], strict=True)}
                yield file, number, row[2], {name: int(cell) for name, cell in cells.items() if cell.isdecimal()}


def _refused(text: str) -> UserError | Failure:
    """Why ncu, or the program under it, did not do what was asked."""
    if "ERR_NVGPUCTRPERM" in text:
        return UserError(NOT_PERMITTED)
    return Failure(f"ncu failed: {_last(text)}")


def _last(text: str) -> str:
    """The line of ncu's words that says what is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
    unseen = [line.removeprefix("==WARNING==").strip() for line in lines if "No kernels were profiled" in line]
    return (said or unseen or lines or ["it said nothing"])[0 if said else -1]
