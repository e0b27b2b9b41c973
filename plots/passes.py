"""A step and the one before it, timed one after the other in several passes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from records import Record


@dataclass(frozen=True)
class Passes:
    """Milliseconds of one size, by pass."""

    before: dict[int, float]
    now: dict[int, float]

    @property
    def more(self) -> list[float]:
        """By how much of the other's time the step takes longer, from the least on."""
        return sorted(self.now[at] / self.before[at] - 1 for at in self.before)

    @property
    def faster(self) -> list[float]:
        """By how much of the step's time the other takes longer, by pass."""
        return [self.before[at] / self.now[at] - 1 for at in self.before]

    @property
    def medians(self) -> tuple[float, float]:
        """Of both, in milliseconds: of the step before, and of the step."""
        return statistics.median(self.before.values()), statistics.median(self.now.values())


def of_sizes(rows: Iterable[Record], step: str, before: str) -> dict[int, Passes]:
    """By square size; none where these records are not of both steps."""
    rows = list(rows)

    def ms(name: str, size: int) -> dict[int, float]:
        return {r["options"]["pass"]: r["ms"] for r in rows if (r["step"], r["m"]) == (name, size)}

    sizes = sorted({r["m"] for r in rows if r["step"] == step})
    return {size: Passes(ms(before, size), ms(step, size)) for size in sizes if ms(before, size)}
