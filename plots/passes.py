"""A step and the one before it, or the variant that a ladder's first step is compared with, timed one after the other in
several passes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from records import Record, Records

from .course import Course, Step

Pass = tuple[str, int]  # the commit that was timed, which tells one series from another, and the number of the pass


@dataclass(frozen=True)
class Passes:
    """The records of one size, by pass."""

    before: dict[Pass, Record]
    now: dict[Pass, Record]

    @property
    def more(self) -> list[float]:
        """By how much of the other's time the step takes longer, from the least on."""
        return sorted(self.now[at]["ms"] / self.before[at]["ms"] - 1 for at in self.before)

    @property
    def faster(self) -> list[float]:
        """By how much of the step's time the other takes longer, by pass."""
        return [self.before[at]["ms"] / self.now[at]["ms"] - 1 for at in self.before]

    def medians(self, key: str) -> tuple[float, float]:
        """Of both: of the step before, and of the step; milliseconds (`ms`), megahertz (`sm_mhz`), watts (`power_w`)."""
        before, now = (statistics.median(r[key] for r in rows.values()) for rows in (self.before, self.now))
        return before, now


def beside(course: Course, records: Records, gpu: str, step: Step) -> tuple[str, dict[int, Passes]]:
    """What a step was timed in passes with, a step's number or a number and a variant, and these passes by square size; no
    sizes where it was not."""
    other, variant = course.alike(step) or (course.before(step), "")
    rows = records.passes.get(gpu, [])
    if other is None:
        return "", {}
    sizes = sorted({r["m"] for r in rows if r["step"] == step.name})
    timed = {size: found for size in sizes if (found := _both(rows, size, (other, variant), (step, "")))}
    return f"{other.number:02d} {variant}".strip(), timed


def of_variant(records: Records, gpu: str, size: int, default: Step, step: Step, variant: str) -> Passes | None:
    """The passes of a variant and of another step's default, at a square size."""
    return _both(records.passes.get(gpu, []), size, (default, ""), (step, variant))


def _both(rows: Iterable[Record], size: int, before: tuple[Step, str], now: tuple[Step, str]) -> Passes | None:
    """Of a series with only one of them there is nothing to compare; variant "": the default."""
    at_size = [r for r in rows if r["m"] == size]

    def of(step: Step, variant: str) -> dict[Pass, Record]:
        found = (r for r in at_size if r["step"] == step.name)
        found = (r for r in found if (r["variant"] == variant if variant else r.get("default")))
        return {(r["commit"], r["options"]["pass"]): r for r in found}

    one, other = of(*before), of(*now)
    both = sorted(one.keys() & other.keys())
    return Passes({at: one[at] for at in both}, {at: other[at] for at in both}) if both else None
