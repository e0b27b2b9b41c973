"""Fits what step 29's launcher goes by: what each kernel's tile costs, from the records of each GPU.

    python -m lab.chooser            compare the committed header with the records
    python -m lab.chooser --update   write it
    python -m lab.chooser --plan     write lab/in_turn/plan.txt: which kernels are timed at which sizes, in turn

    python -m lab.chooser --show     what the choice loses at each size that was timed

A kernel's time is taken for waves × (slices × per_slice + per_tile) + fill × slices × shared + per_launch, in
microseconds; `fill` is the number of waves before it is rounded up. Idle multiprocessors leave power and bandwidth to the
others: that part of a slice's time counts by the fill. Where C is cut, the second launch reads B again: `again` is what
that costs per column and slice, and `cut` what else it costs. The header is steps/29_split_k/also/costs.h.
"""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from base.paths import DATA, ROOT, STEPS
from records import read
from records.files import Record

STEP = "29_split_k"
HEADER = STEPS / STEP / "also" / "costs.h"
PLAN = ROOT / "lab" / "in_turn" / "plan.txt"
NEAR, FEWEST = 1.05, 2  # ways are timed whose estimate is at most so many times the least, and no fewer than these
ROUNDS_IN_TURN, ROUNDS_OF_SQUARES = 4, 3
EDGES, DEPTHS = (1024, 2048, 4096, 8192, 16384), (512, 1024, 2048, 4096, 8192)  # the 125 sizes
FEW = [(m, n) for m in (128, 256, 512) for n in (512, 1024, 2048, 4096)]  # where blocks may share K
FEW_DEPTHS = (1024, 4096, 8192, 16384)
FAR = 3.0  # the power by which a time weighs less than the fastest of its size: what is far behind is never chosen
SQUARE = 4.0  # weight of a square size, which is timed for longer than the others
SHARE, PULL = 1 / 3, 0.1  # what of a slice counts by the fill, where times do not tell; and how much that weighs
ROUNDS = 20  # of the fit, each with the negative costs of the one before left out
Size = tuple[int, int, int]


@dataclass(frozen=True)
class Way:
    """A kernel that the launcher chooses among, as fastest.cu lists it."""

    name: str
    bm: int
    bn: int
    blocks: int = 1  # that compute a tile
    split: int = 1  # of them share K
    idle: int = (
        0  # multiprocessors for which there is no cluster: the launcher asks the driver, which said so on an H200
    )

    def work(self, size: Size, multiprocessors: int) -> tuple[float, float, float, float]:
        """What is multiplied by per_slice, per_tile, shared and per_launch."""
        m, n, k = size
        blocks, places = -(-m // self.bm) * -(-n // self.bn) * self.blocks, multiprocessors - self.idle
        all_slices, waves = -(-k // 64), -(-blocks // places)
        slices = -(-all_slices // self.split)
        return waves * slices, waves, blocks / places * slices, 1.0


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
NEVER = (1e9, 0.0, 0.0, 0.0)  # the costs of a way that was not timed, or was far behind wherever it was
CUT = "whole_waves"  # C cut into whole waves of pairs and the rows below, which are a launch of their own
Costs = dict[str, tuple[float, ...]]  # per_slice, per_tile, shared, per_launch by the way's name; of CUT: again, once
MULTIPROCESSORS = 132


def times_of(records: Iterable[Record]) -> dict[Size, dict[str, float]]:
    """Microseconds by size and way, of the runs that timed the ways without a library."""
    names = {CUT, *(way.name for way in WAYS)}
    found: dict[Size, dict[str, float]] = {}
    for record in records:
        if record["variant"] in names and record["baseline"] == "none" and record["beta"] == 0:
            found.setdefault((record["m"], record["n"], record["k"]), {})[record["variant"]] = record["ms"] * 1e3
    return found


def fitted(times: dict[Size, dict[str, float]], multiprocessors: int = MULTIPROCESSORS) -> Costs:
    """The costs with the least squares of relative errors, none of them negative.

    A way is timed only where it may be chosen, mostly with full waves. Those do not tell the fill's part of a slice's
    time from the wave's, so the fit is pulled a little towards a fixed share.
    """
    costs = {}
    for way in WAYS:
        rows, weights = [], []
        for size, of_size in times.items():
            if way.name not in of_size:
                continue
            rows.append([part / of_size[way.name] for part in way.work(size, multiprocessors)])
            weight = (min(of_size.values()) / of_size[way.name]) ** FAR
            weights.append(weight * (SQUARE if len(set(size)) == 1 else 1.0))
        costs[way.name] = _least_squares(np.array(rows), np.array(weights)) if rows else NEVER
    costs[CUT] = _of_cut(costs, times, multiprocessors)
    return costs


def _of_cut(costs: Costs, times: dict[Size, dict[str, float]], multiprocessors: int) -> tuple[float, ...]:
    """By how much a cut C was slower than the costs of its two launches say: for B, which is read again, and once."""
    rows, slower = [], []
    for size, of_size in times.items():
        if CUT in of_size:
            rows.append([_read_again(size) / of_size[CUT], 1 / of_size[CUT]])
            slower.append(1 - cut_estimate(costs, size, multiprocessors) / of_size[CUT])
    if not rows:
        return (0.0, 0.0)
    found = np.linalg.lstsq(np.array(rows), np.array(slower), rcond=None)[0]
    for other in (0, 1):  # of what comes out negative, none
        if found[other] < 0:
            left = np.array(rows)[:, 1 - other]
            found[1 - other], found[other] = max(0.0, left @ slower / (left @ left)), 0.0
    return tuple(float(cost) for cost in found)


def _read_again(size: Size) -> float:
    return float(size[1] * -(-size[2] // 64))


def rows_of_whole_waves(size: Size, multiprocessors: int = MULTIPROCESSORS) -> int:
    """The rows of C that whole waves of pairs compute; 0 where there is no such wave or nothing is left."""
    m, n, _ = size
    pairs = WAYS[0]
    rows, columns, places = -(-m // pairs.bm), -(-n // pairs.bn), multiprocessors // pairs.blocks
    upper = min(m, rows * columns // places * places // columns * pairs.bm)
    return upper if upper < m else 0


def cut_estimate(costs: Costs, size: Size, multiprocessors: int = MULTIPROCESSORS) -> float:
    """Microseconds where C is cut, as the launcher has it."""
    (m, n, k), upper = size, rows_of_whole_waves(size, multiprocessors)
    if upper == 0:
        return np.inf
    rest = (m - upper, n, k)
    least = min(estimate(costs, way, rest, multiprocessors) for way in WAYS)
    again, once = costs.get(CUT, (0.0, 0.0))
    upper_time = estimate(costs, WAYS[0], (upper, n, k), multiprocessors)
    return upper_time + least + again * _read_again(size) + once


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
    return sum(cost * part for cost, part in zip(costs[way.name], way.work(size, multiprocessors), strict=True))


def chosen(costs: Costs, size: Size, multiprocessors: int = MULTIPROCESSORS) -> Way:
    """The first of those with the least estimate: what the launcher takes where N is a multiple of 8 and it does not cut C."""
    return min(WAYS, key=lambda way: estimate(costs, way, size, multiprocessors))


def chosen_name(costs: Costs, size: Size) -> str:
    """The same, or CUT."""
    way = chosen(costs, size)
    return CUT if cut_estimate(costs, size) < estimate(costs, way, size) else way.name


def sizes() -> list[Size]:
    """What is timed: the 125 sizes, the largest cube, and small C with any K."""
    return [
        *[(m, n, k) for m in EDGES for n in EDGES for k in DEPTHS],
        (16384, 16384, 16384),
        *[(m, n, k) for m, n in FEW for k in FEW_DEPTHS],
    ]


def plan(costs: Costs) -> str:
    """For in_turn: a line per size, squares first, and the ways that may be the fastest there."""
    lines = []
    for size in sorted(sizes(), key=lambda size: len(set(size)) > 1):
        estimates = sorted([*((estimate(costs, way, size), way.name) for way in WAYS), (cut_estimate(costs, size), CUT)])
        least = estimates[0][0]
        near = [name for time, name in estimates if time <= NEAR * least]
        beside = [WAYS[0].name] if CUT in near else []
        chosen_names = list(dict.fromkeys([*near, *beside, *(name for _, name in estimates[:FEWEST])]))
        # The squares are timed as long as the ladder's tables do: each of their kernels has the clock to itself.
        square = len(set(size)) == 1
        seconds = 0.5 if square else 0.02 if least < 60 else 0.03 if least < 500 else 0.06
        rounds = ROUNDS_OF_SQUARES if square else ROUNDS_IN_TURN
        lines.append(f"{' '.join(map(str, size))} 0 {seconds} {rounds} {' '.join(chosen_names)}")
    return "\n".join([*lines, ""])


def header(costs_of: dict[str, Costs]) -> str:
    """costs.h for these GPUs, by their names."""
    lines = [
        f"// Written by `python -m lab.chooser --update` from records/<gpu>/{STEP}.jsonl.",
        "#pragma once",
        "",
        "/// What a kernel costs, in microseconds: a wave per slice of K, a wave once, what of a slice counts",
        "/// by the fill of the waves, and a launch.",
        "struct Cost {",
        "  const char* way;",
        "  double per_slice, per_tile, shared, per_launch;",
        "};",
        "",
        "/// The costs on a GPU, in the order of fastest.cu's ways.",
        "struct Costs {",
        "  const char* gpu;",
        f"  Cost of[{len(WAYS)}];",
        "  double again, cut;  // where C is cut: a column and slice of B, which is read twice; and once",
        "};",
        "",
        "constexpr Costs RECORDED[] = {",
    ]
    for gpu, costs in costs_of.items():
        entries = [
            f'{{"{way.name}", {", ".join(f"{cost:.5g}" for cost in costs[way.name])}}}' for way in WAYS
        ]
        lines += [f'    {{"{gpu}",', f"     {{{entries[0]},"]
        lines += [f"      {entry}," for entry in entries[1:-1]]
        lines += [f"      {entries[-1]}}},", f"     {costs[CUT][0]:.5g}, {costs[CUT][1]:.5g}}},"]
    return "\n".join([*lines, "};", ""])


def from_records() -> dict[str, Costs]:
    """The costs of every GPU that has timings of the ways."""
    return {gpu: fitted(times) for gpu, times in all_times().items()}


def all_times() -> dict[str, dict[Size, dict[str, float]]]:
    """What was timed in turn, by GPU."""
    found = {}
    for file in sorted(DATA.glob(f"*/{STEP}.jsonl"), reverse=True):
        records = [one for one in read(file) if "gpu" in one and "baseline" in one]
        for gpu, of_gpu in groupby(sorted(records, key=lambda one: one["gpu"]), lambda one: one["gpu"]):
            times = times_of(of_gpu)
            if times:
                found[gpu] = times
    return found


def show(costs: Costs, times: dict[Size, dict[str, float]]) -> None:
    """The choice beside the fastest that was timed, the largest loss first."""
    rows = []
    for size, of_size in times.items():
        name, best = chosen_name(costs, size), min(of_size, key=lambda way: of_size[way])
        if name in of_size:
            rows.append((of_size[name] / of_size[best], size, name, best))
    for loss, size, name, best in sorted(rows, reverse=True):
        print(f"{loss:.3f}  {'x'.join(map(str, size))}: {name}, the fastest was {best}")
    print(f"geometric mean of {len(rows)}: {np.exp(np.mean(np.log([row[0] for row in rows]))):.4f}")


def main() -> int:
    """Compares, or writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the header")
    parser.add_argument("--show", action="store_true", help="say what the choice loses at each size that was timed")
    parser.add_argument("--plan", action="store_true", help="write the plan of the timings")
    asked = parser.parse_args()
    costs = from_records()
    if asked.plan:
        PLAN.write_text(plan(next(iter(costs.values()))), encoding="utf-8")
        return 0
    if asked.show:
        show(next(iter(costs.values())), next(iter(all_times().values())))
        return 0
    made = header(costs)
    if asked.update:
        HEADER.write_text(made, encoding="utf-8")
        return 0
    same = HEADER.read_text(encoding="utf-8") == made
    print("as the records have it" if same else "not as the records have it: python -m lab.chooser --update")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
