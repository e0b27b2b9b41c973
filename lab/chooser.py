"""Fits what step 29's launcher goes by: what each kernel's tile costs, from the records of each GPU.

    python -m lab.chooser            compare the committed header with the records
    python -m lab.chooser --update   write it
    python -m lab.chooser --plan     write lab/in_turn/plan.txt: which kernels are timed at which sizes, in turn

What is fitted, and how, stands in records/costs.py. The header is steps/29_split_k/also/costs.h.
"""

import argparse
import random
import sys
from dataclasses import replace
from itertools import groupby

from base.paths import DATA, ROOT, STEPS
from records import read
from records.costs import CUT, WAYS, Costs, Size, cut, estimate, fitted, times_of

STEP = "29_split_k"
HEADER = STEPS / STEP / "also" / "costs.h"
PLAN = ROOT / "lab" / "in_turn" / "plan.txt"
NEAR, ALWAYS = 1.1, "large"  # ways are timed whose estimate is at most so many times the least; and this one
NEAR_IN_TWO = 1.05  # and two launches for one C by so many
ROUNDS_IN_TURN = 3
# Of a way in a round. In less time the clock does not come down to what the power limit allows.
SECONDS, SECONDS_OF_A_CUBE = 0.15, 0.4
EDGES, DEPTHS = (1024, 2048, 4096, 8192, 16384), (512, 1024, 2048, 4096, 8192)  # the 125 sizes
FEW = [(m, n) for m in (128, 256, 512) for n in (512, 1024, 2048, 4096)]  # where blocks may share K
FEW_DEPTHS = (1024, 4096, 8192, 16384)


def sizes() -> list[Size]:
    """What is timed: the 125 sizes, the largest cube, and small C with any K."""
    return [
        *[(m, n, k) for m in EDGES for n in EDGES for k in DEPTHS],
        (16384, 16384, 16384),
        *[(m, n, k) for m, n in FEW for k in FEW_DEPTHS],
    ]


def plan(costs: Costs) -> str:
    """For in_turn: a line per size, and the ways that may be the fastest there, in random order."""
    lines = []
    for size in sizes():
        estimates = sorted((estimate(costs, way, size), way.name) for way in WAYS)
        least = estimates[0][0]
        near = [name for time, name in estimates if time <= NEAR * least]
        in_two = cut(replace(costs, cut=0.0), size)
        if in_two is not None and in_two <= NEAR_IN_TWO * least:
            near.append(CUT)
        chosen_names = list(dict.fromkeys([*near, *(name for _, name in estimates[:2]), ALWAYS]))
        random.Random(str(size)).shuffle(chosen_names)
        seconds = SECONDS_OF_A_CUBE if size[0] == size[1] == size[2] else SECONDS
        lines.append(f"{' '.join(map(str, size))} 0 {seconds} {ROUNDS_IN_TURN} {' '.join(chosen_names)}")
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
        "/// The costs on a GPU, in the order of fastest.cu's ways; `cut`: what a second launch for the",
        "/// same C costs besides.",
        "struct Costs {",
        "  const char* gpu;",
        "  double cut;",
        f"  Cost of[{len(WAYS)}];",
        "};",
        "",
        "constexpr Costs RECORDED[] = {",
    ]
    for gpu, costs in costs_of.items():
        entries = [f'{{"{name}", {", ".join(f"{cost:.5g}" for cost in of)}}}' for name, of in costs.of.items()]
        lines += [f'    {{"{gpu}",', f"     {costs.cut:.5g},", f"     {{{entries[0]},"]
        lines += [f"      {entry}," for entry in entries[1:-1]]
        lines += [f"      {entries[-1]}}}}},"]
    return "\n".join([*lines, "};", ""])


def from_records() -> dict[str, Costs]:
    """The costs of every GPU that has timings of all ways."""
    found = {}
    for file in sorted(DATA.glob(f"*/{STEP}.jsonl"), reverse=True):
        records = [one for one in read(file) if "gpu" in one and "baseline" in one]
        for gpu, of_gpu in groupby(sorted(records, key=lambda one: one["gpu"]), lambda one: one["gpu"]):
            times = times_of(of_gpu)
            if times:
                found[gpu] = fitted(times)
    return found


def main() -> int:
    """Compares, or writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the header")
    parser.add_argument("--plan", action="store_true", help="write the plan of the timings")
    asked = parser.parse_args()
    costs = from_records()
    if asked.plan:
        PLAN.write_text(plan(next(iter(costs.values()))), encoding="utf-8")
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
