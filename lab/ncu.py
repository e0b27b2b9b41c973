"""Nsight Compute on the launches of a step: how it is started, and the numbers in what it prints."""

import csv
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ONE_LAUNCH = ("--fingerprint", "--verify", "off")
LIMIT_SECONDS = 300.0  # of one start of a program
PRINTED = re.compile(
    r"^(?P<step>\S+) (?P<variant>\S+), m (?P<m>\d+) n \d+ k \d+: C (?P<bits>[0-9a-f]{16})$", re.MULTILINE
)


class Failed(Exception):
    """A program that is needed did not do its part: one line that says what."""


def run(words: Iterable[object], limit: float = LIMIT_SECONDS) -> str:
    """Runs a program and returns its output."""
    words = [str(word) for word in words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit)
    except OSError as error:
        raise Failed(f"{words[0]} could not be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{' '.join(words)} took longer than {limit:g} s") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def command(ncu: str, kernels: Iterable[str], metrics: Iterable[str]) -> list[str]:
    """How ncu is started on kernels whose names begin so; the clock stays as it is, as in every timing."""
    pattern = f"regex:^({'|'.join(kernels)})"
    return [ncu, "--clock-control", "none", "--kernel-name", pattern, "--metrics", ",".join(metrics)]


def profiled(
    step: Path,
    kernels: Iterable[str],
    work: list,
    ncu: str,
    metrics: Sequence[str],
    limit: float,
    options: Iterable[str] = (),
) -> str:
    """What a step and ncu print when every launch of its kernels is profiled; all of them in one start of the step.

    `options` are ncu's own, besides. Without any it empties the caches before each launch.
    """
    printed = ["--csv", "--page", "raw", "--print-units", "base"]
    return run([*command(ncu, kernels, metrics), *printed, *options, step, *work, *ONE_LAUNCH], limit)


def launches(output: str, metrics: Sequence[str], name: str) -> list[tuple[re.Match[str], dict[str, float]]]:
    """Each launch in what `profiled` returns: the line that the step `name` printed of it, and its metrics."""
    printed, counted = list(PRINTED.finditer(output)), parse(output, metrics)
    if len(printed) != len(counted):
        raise Failed(f"{name} made {len(printed)} launches, ncu saw {len(counted)}")
    return list(zip(printed, counted, strict=True))


def parse(text: str, metrics: Sequence[str]) -> list[dict[str, float]]:
    """The metrics of each launch in ncu's CSV."""
    return [numbers(row, metrics) for row in rows(text)]


def rows(text: str) -> list[dict[str, str]]:
    """Each launch in ncu's CSV, by column: a row of names, one of units, then one per launch, among other lines."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    found = list(csv.DictReader(line for line in lines[start:] if line.startswith('"')))[1:]
    if not found:
        raise Failed(
            "ncu saw no launch of a step's kernel; may it read counters here? (run as root, or allow profiling)"
        )
    return found


def numbers(row: Mapping[str, str], metrics: Sequence[str]) -> dict[str, float]:
    """The metrics of one launch, less those that have no number."""
    shown_as = {metric: (row.get(metric) or "").replace(",", "") for metric in metrics}
    return {name: float(text) for name, text in shown_as.items() if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text)}


def known_metrics(ncu: str, limit: float = LIMIT_SECONDS) -> set[str]:
    """The names of the metrics that this GPU has, without the suffixes that say how they are summed up."""
    listed = [run([ncu, "--query-metrics", *which], limit) for which in ([], ["--query-metrics-collection", "source"])]
    return set(re.findall(r"^(\w+)", "\n".join(listed), re.MULTILINE))
