"""The ladder in the simulator: what it counted, as one table, instead of every step's counts line by line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import record_files
from tools.listing import table
from tools.paths import BUILD
from tools.registry import Step

FOLDER = BUILD / "simulated"
HEADING = (
    "step",
    "m × n × k",
    "FMA share",
    "instructions",
    "global sectors",
    "shared wavefronts",
    "conflicts",
    "barriers",
)


def records_file(step: Step) -> Path:
    """Where a step's counts of this run are kept."""
    return FOLDER / f"{step.name}.jsonl"


def report_file(step: Step) -> Path:
    """Where all that a step printed in this run is kept, with the counts of each source line."""
    return FOLDER / f"{step.name}.txt"


def prepare(steps: Sequence[Step]) -> None:
    """Makes room for the files of a new run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for step in steps:
        records_file(step).unlink(missing_ok=True)
        report_file(step).unlink(missing_ok=True)


def summary(files: Sequence[tuple[Step, Path]]) -> list[str]:
    """One line a step: its counts for each FMA, so that steps at different sizes can be compared."""
    rows: list[Sequence[str]] = [HEADING]
    for step, file in files:
        rows += [
            _row(record) for record in record_files.read(file) if record["step"] == step.name and "counts" in record
        ]
    return table(rows, right=range(2, len(HEADING))) if len(rows) > 1 else []


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    counts = record["counts"]
    fma = counts["by_class"]["fma"] + counts["by_class"]["tensor"]
    sectors = counts["global_load_sectors"] + counts["cp_async_global_sectors"]
    shared = ("shared_load_wavefronts", "shared_store_wavefronts", "cp_async_shared_wavefronts")
    wavefronts = sum(counts[name] for name in shared)

    def for_each_fma(count: int) -> str:
        return f"{count / fma:.3f}" if fma else "–"

    return (
        record["step"],
        f"{record['m']} × {record['n']} × {record['k']}",
        f"{100 * fma / counts['instructions']:.1f} %" if counts["instructions"] else "–",
        for_each_fma(counts["instructions"]),
        for_each_fma(sectors),
        for_each_fma(wavefronts),
        str(counts["shared_load_conflicts"] + counts["shared_store_conflicts"]),
        str(counts["barriers"]),
    )
