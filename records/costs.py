"""Step 29's ten kernels and what its launcher estimates of each: waves × (slices × per_slice + per_tile) +
fill × slices × shared + per_launch, in microseconds.

`fill` is the number of waves before it is rounded up. Idle multiprocessors leave power and bandwidth to the others: that
part of a slice's time counts by the fill. Where the last wave of pairs is not full, C may be cut: pairs compute the rows of
whole waves, a second launch the rows below. `lab/chooser.py` writes the costs for the launcher, docs/chooser tells of them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from records.schema import Record

BK = 64  # of a slice, in all of them
FAR = 3.0  # the power by which a time weighs less than the fastest of its size: what is far behind is never chosen
SQUARE = 4.0  # weight of a square size, which is timed for longer than the others
SHARE, PULL = 1 / 3, 0.1  # what of a slice counts by the fill, where times do not tell; and how much that weighs
ROUNDS = 20  # of the fit, each with the negative costs of the one before left out
Size = tuple[int, int, int]
Times = Mapping[Size, Mapping[str, float]]  # microseconds by size and way


@dataclass(frozen=True)
class Way:
    """A kernel that the launcher chooses among, as fastest.cu lists it."""

    name: str
    bm: int
    bn: int
    blocks: int = 1  # that compute a tile
    split: int = 1  # of them share K
    idle: int = 0  # multiprocessors without a place for a cluster: the launcher asks the driver; these are an H200's

    def work(self, size: Size, multiprocessors: int) -> tuple[float, float, float, float]:
        """What is multiplied by per_slice, per_tile, shared and per_launch."""
        m, n, k = size
        blocks, places = -(-m // self.bm) * -(-n // self.bn) * self.blocks, multiprocessors - self.idle
        all_slices, waves = -(-k // BK), -(-blocks // places)
        slices = -(-all_slices // self.split)
        return waves * slices, waves, blocks / places * slices, 1.0

    def bytes_asked_for(self, size: Size) -> int:
        """Bytes of A and B that the blocks ask for, 16 bits per element."""
        m, n, k = size
        return -(-m // self.bm) * -(-n // self.bn) * -(-k // BK) * (self.bm + self.bn) * BK * 2


WAYS = (
    Way("pairs", 256, 384, blocks=2),
    Way("wide", 256, 192),
    Way("large", 128, 256),
    Way("square", 128, 128),
    Way("small", 128, 64),
    Way("turns", 128, 192),
    Way("square_turns", 128, 128),
    Way("small_turns", 64, 128),
    Way("two", 128, 64, blocks=2, split=2),
    Way("four", 128, 64, blocks=4, split=4, idle=12),
)
PAIRS = WAYS[0]
CUT = "whole_waves"  # the variant with two launches: pairs, and what is the fastest for the rows below
NEVER = (1e9, 0.0, 0.0, 0.0)  # the costs of a way that was not timed, or was far behind wherever it was
MULTIPROCESSORS = 132


@dataclass(frozen=True)
class Costs:
    """What the launcher of one GPU goes by."""

    of: dict[str, tuple[float, ...]]  # per_slice, per_tile, shared, per_launch in microseconds, by the way's name
    cut: float = 0.0  # microseconds that a cut of C costs besides what its two launches are estimated at


def times_of(records: Iterable[Record]) -> dict[Size, dict[str, float]]:
    """Microseconds by size and way, or CUT, of the runs that timed them without a library."""
    names = {*(way.name for way in WAYS), CUT}
    found: dict[Size, dict[str, float]] = {}
    for record in records:
        if record["variant"] in names and record["baseline"] == "none" and record["beta"] == 0:
            found.setdefault((record["m"], record["n"], record["k"]), {})[record["variant"]] = record["ms"] * 1e3
    return found


def fitted(times: Times, multiprocessors: int = MULTIPROCESSORS) -> Costs:
    """The costs with the least squares of relative errors, none of them negative.

    A way is timed only where it may be chosen, mostly with full waves. Those do not tell the fill's part of a slice's
    time from the wave's, so the fit is pulled a little towards a fixed share.
    """
    costs: dict[str, tuple[float, ...]] = {}
    for way in WAYS:
        rows, weights = [], []
        for size, of_size in times.items():
            if way.name not in of_size:
                continue
            rows.append([part / of_size[way.name] for part in way.work(size, multiprocessors)])
            weight = (min(of_size.values()) / of_size[way.name]) ** FAR
            weights.append(weight * (SQUARE if len(set(size)) == 1 else 1.0))
        costs[way.name] = _least_squares(np.array(rows), np.array(weights)) if rows else NEVER
    return Costs(costs, _cost_of_a_cut(times, Costs(costs), multiprocessors))


def _cost_of_a_cut(times: Times, costs: Costs, multiprocessors: int) -> float:
    """Microseconds by which a cut takes longer than estimated, beside the fastest other way: the least squares of the
    relative errors. An estimate that misses the other way's time misses the cut's by the same part, mostly."""
    above = weights = 0.0
    for size, of_size in times.items():
        others = [way for way in WAYS if way.name in of_size]
        in_two = cut(costs, size, multiprocessors)
        if CUT in of_size and others and in_two is not None:
            whole = min(estimate(costs, way, size, multiprocessors) for way in others)
            measured = whole * of_size[CUT] / min(of_size[way.name] for way in others)
            above += (measured - in_two) / whole**2
            weights += 1 / whole**2
    return max(0.0, above / weights) if weights else 0.0


def _least_squares(rows: np.ndarray, weights: np.ndarray) -> tuple[float, ...]:
    slices = np.linalg.norm((rows[:, 0] + rows[:, 2]) * weights)
    rows = np.vstack([rows * weights[:, None], np.array([-SHARE, 0, 1, 0]) * PULL * slices])
    wanted = np.append(weights, 0.0)
    used = [0, 1, 2, 3]
    found = np.zeros(4)
    for _ in range(ROUNDS):
        found = np.zeros(4)
        found[used] = np.linalg.lstsq(rows[:, used], wanted, rcond=None)[0]
        if (found >= 0).all():
            break
        used = [part for part in used if found[part] > 0]
    return tuple(float(cost) for cost in found)


def estimate(costs: Costs, way: Way, size: Size, multiprocessors: int = MULTIPROCESSORS) -> float:
    """Microseconds, as the launcher has it."""
    work = way.work(size, multiprocessors)
    return sum(cost * part for cost, part in zip(costs.of[way.name], work, strict=True))


def cut(costs: Costs, size: Size, multiprocessors: int = MULTIPROCESSORS) -> float | None:
    """Microseconds of the two launches, as the launcher has it; None: pairs need whole waves only, or less than one."""
    m, n, k = size
    columns, at_once = -(-n // PAIRS.bn), (multiprocessors - PAIRS.idle) // PAIRS.blocks
    in_waves = -(-m // PAIRS.bm) * columns // at_once * at_once
    upper = min(m, in_waves // columns * PAIRS.bm)
    if upper in (0, m):
        return None
    rest = min(estimate(costs, way, (m - upper, n, k), multiprocessors) for way in WAYS)
    return estimate(costs, PAIRS, (upper, n, k), multiprocessors) + rest + costs.cut


def chosen(costs: Costs, size: Size, multiprocessors: int = MULTIPROCESSORS) -> str:
    """The way, or CUT, with the least estimate: what the launcher takes where N is a multiple of 8."""
    estimates = {way.name: estimate(costs, way, size, multiprocessors) for way in WAYS}
    in_two = cut(costs, size, multiprocessors)
    if in_two is not None:
        estimates[CUT] = in_two
    return min(estimates, key=lambda name: estimates[name])


def losses(times: Times, sizes: Iterable[Size], left_out: bool = False) -> dict[Size, float]:
    """By which part of it the time of the chosen way exceeds the least at these sizes, where it was timed.

    `left_out`: the costs are fitted anew for each size, without what was timed at it.
    """
    frozen = tuple((size, tuple(of_size.items())) for size, of_size in times.items())
    return dict(_losses(frozen, tuple(sizes), left_out))


@functools.cache  # each sentence that tells one of them asks for all
def _losses(frozen: tuple, sizes: tuple[Size, ...], left_out: bool) -> dict[Size, float]:
    times = {size: dict(of_size) for size, of_size in frozen}
    costs, found = fitted(times), {}
    for size in sizes:
        of_size = times.get(size, {})
        if left_out:
            costs = fitted({other: timed for other, timed in times.items() if other != size})
        if (taken := chosen(costs, size)) in of_size:
            found[size] = of_size[taken] / min(of_size.values()) - 1
    return found
