"""Step 27 and stream-K at the same sizes, in several passes: each pass times all of them, one right after the other."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from records import BEST_LIBRARY, Record

Size = tuple[int, int, int]
STEP = "27_by_size"  # that they are compared with


@dataclass(frozen=True)
class Speeds:
    """The middle of several passes, the least and the most."""

    median: float
    least: float
    most: float


def size_of(record: Record) -> Size:
    """M, N and K."""
    return record["m"], record["n"], record["k"]


def variants(records: Iterable[Record]) -> list[str]:
    """Those of stream-K, as they are recorded."""
    return list(dict.fromkeys(r["variant"] for r in records if not r["default"]))


def tflops(records: Iterable[Record], size: Size) -> float:
    """The default's, the middle of all passes."""
    return statistics.median(r["tflops"] for r in _one_per_pass(records, size) if r["default"])


def beside_default(records: Iterable[Record], size: Size, variant: str) -> Speeds:
    """A variant's speed relative to the default's in the same pass."""
    rows = _one_per_pass(records, size)
    default = {_pass(r): r["ms"] for r in rows if r["default"]}
    ratios = [default[_pass(r)] / r["ms"] for r in rows if r["variant"] == variant]
    return Speeds(statistics.median(ratios), min(ratios), max(ratios))


def beside_library(records: Iterable[Record], size: Size, variant: str) -> float:
    """A variant's speed relative to the best library call, in turn with it."""
    found = (r["ratio"] for r in records if (size_of(r), r["variant"], r["baseline"]) == (size, variant, BEST_LIBRARY))
    return next(found)


def _pass(record: Record) -> int:
    return record["options"]["pass"]


def _one_per_pass(records: Iterable[Record], size: Size) -> list[Record]:
    """Of a timing beside libraries there is a record per library, all with the same time."""
    return list({(_pass(r), r["variant"]): r for r in records if size_of(r) == size}.values())
