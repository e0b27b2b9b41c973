"""What the simulator recorded of the steps' rings (lab/events.py): which slice fills which stage, and what frees it."""

from dataclasses import dataclass
from functools import cache

from records import events


@dataclass(frozen=True)
class Filled:
    """One slice of K in a stage of a block's ring."""

    stage: int
    parity: int  # of the phase of "full" that ends when it has landed
    landed: tuple[int, ...]  # bytes of its copies, in the order in which they land
    readers: frozenset[tuple[int, int]]  # rank and warp of those that wait for it
    freed_by: int | None  # the slice that lay there before, for whose readers the copies wait at an mbarrier
    arrivals: int  # there, in one phase; 0 where nobody waits


@cache
def filled(step: str, rank: int = 0) -> tuple[Filled, ...]:
    """The slices of one block in the order in which they were asked for."""
    found = events.load(step)["events"]
    ends = {(e["of"], e["mbarrier"], e["phase"]): e["seq"] for e in found if e["kind"] == "mbarrier_complete"}
    landings = [e for e in found if e["kind"] == "copy_land" and e.get("of") == rank and "mbarrier" in e]
    stages = sorted({each["mbarrier"] for each in landings})
    full: dict[tuple[int, int], list[dict]] = {}
    for each in landings:  # a landing belongs to the phase that ends next
        phase = min(
            p
            for of, barrier, p in ends
            if (of, barrier) == (rank, each["mbarrier"]) and ends[of, barrier, p] > each["seq"]
        )
        full.setdefault((each["mbarrier"], phase), []).append(each)
    order = sorted(full, key=lambda key: full[key][0]["caused_by"])
    made: list[Filled] = []
    for barrier, phase in order:
        issue = found[full[barrier, phase][0]["caused_by"]]
        waited = _waited_before(found, issue, rank, stages)
        before = [n for n, (other, _) in enumerate(order[: len(made)]) if other == barrier]
        arrivals = 0
        if waited is not None:
            those = [e for e in found if e["kind"] == "mbarrier_arrive" and _key(e) == _key(waited)]
            arrivals = sum(each.get("times", 1) for each in those)
        passes = [e for e in found if e["kind"] == "mbarrier_pass" and _key(e) == (rank, barrier, phase)]
        made.append(
            Filled(
                stage=stages.index(barrier),
                parity=phase % 2,
                landed=tuple(each["bytes"] for each in full[barrier, phase]),
                readers=frozenset((each["rank"], each["warp"]) for each in passes),
                freed_by=before[-1] if waited is not None else None,
                arrivals=arrivals,
            )
        )
    return tuple(made)


def _key(event: dict) -> tuple[int, int, int]:
    return event["of"], event["mbarrier"], event["phase"]


def _waited_before(found: list[dict], issue: dict, rank: int, full: list[int]) -> dict | None:
    """The wait at an "empty" that let a producer issue a copy; None where it had none, or found it before its first
    phase."""
    for event in reversed(found[: issue["seq"]]):
        if event["kind"] != "mbarrier_pass" or (event["of"] == rank and event["mbarrier"] in full):
            continue
        if (event["rank"], event["warp"]) == (issue["rank"], issue["warp"]):
            return event if event["phase"] >= 0 else None
    return None
