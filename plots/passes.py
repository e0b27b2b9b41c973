"""A step and the one before it, or the variant that a ladder's first step is compared with, timed one after the other in
several passes."""

from __future__ import annotations

import statistics
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

    def of(which: Step, size: int, variant: str) -> dict[Pass, Record]:
        found = [r for r in rows if (r["step"], r["m"]) == (which.name, size)]
        found = [r for r in found if (r["variant"] == variant if variant else r.get("default"))]
        return {(r["commit"], r["options"]["pass"]): r for r in found}

    timed = {}
    for size in sorted({r["m"] for r in rows if r["step"] == step.name}):
        before, now = of(other, size, variant), of(step, size, "")
        if both := before.keys() & now.keys():  # of a series without the other step there is nothing to compare
            timed[size] = Passes(*({at: found[at] for at in sorted(both)} for found in (before, now)))
    return f"{other.number:02d} {variant}".strip(), timed
