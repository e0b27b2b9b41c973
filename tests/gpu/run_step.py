"""Checks one step on a GPU: every variant on every kind of size, and every refusal. Exit code 77 without a fitting GPU.

With --sim the same in the simulator, on fewer sizes, and once more with as few multiprocessors as it takes where their
number matters: persistent blocks then have to get from tile to tile. A step with asynchronous copies runs a small size
under several orders of its warps and copies, too, on these few. One process checks all sizes (`--check`): it says what
became of each variant, and every case that failed as it can be run by hand.
"""

import argparse
import resource
import sys
from dataclasses import replace
from pathlib import Path

from sizes import few_multiprocessors_cases, gpu_cases, sanitized_cases, simulated_cases
from step import Step, require_gpu

SEEDS = range(1, 6)  # of the orders in which warps take turns and copies land
SEEDED_SLICES = 6  # enough for every stage of a ring to be filled again
# Besides the default variant: the kernel of step 29 itself, whose blocks share K.
SEEDED_TOO = {"29_split_k": ("two",)}
MOST_MEMORY = 2 << 30  # bytes that a simulated run may hold at its highest
ASYNCHRONOUS = ("cp_async", "tma_load")
STEPS = Path(__file__).resolve().parents[2] / "steps"
FOURS = ("29_split_k",)  # has a variant in clusters of four blocks
CLUSTERS_FROM = 90  # a step for this architecture or a newer one may launch pairs of blocks, which take two


def few_multiprocessors(step: Step) -> str:
    if step.name in FOURS:
        return "4"
    return "2" if int(step.arch.rstrip("a")) >= CLUSTERS_FROM else "1"


def copies_asynchronously(step: Step) -> bool:
    kernel = (STEPS / step.name / "kernel.cu").read_text(encoding="utf-8")
    return any(word in kernel for word in ASYNCHRONOUS)


def counts_multiprocessors(step: Step) -> bool:
    """Does a launcher choose by their number, or do blocks go on from tile to tile? To other steps it is all one."""
    sources = "".join(source.read_text(encoding="utf-8") for source in (STEPS / step.name).rglob("*.cu"))
    return any(word in sources for word in ("gridDim", "multiprocessors_here", "best_choice", "cheapest"))


def most_memory() -> int:
    """Bytes that the largest process held which this one has started."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executable", help="build/steps/NN_name")
    parser.add_argument("--sim", action="store_true", help="in the simulator instead of on a GPU")
    asked = parser.parse_args()
    step = Step(asked.executable)
    if not asked.sim:
        require_gpu(step.arch)
        return step.check([case for variant in step.held for case in gpu_cases(variant)]).returncode
    default = next(variant for variant in step.variants if variant.default)
    cases = [case for variant in step.variants for case in simulated_cases(variant, default)]
    code = step.check(cases, ["--sim"]).returncode
    few = few_multiprocessors(step)
    on_few = {"PTXSIM_MULTIPROCESSORS": few}
    if counts_multiprocessors(step):
        print(f"with multiprocessors: {few}", flush=True)
        cases = [case for variant in step.variants for case in few_multiprocessors_cases(variant)]
        code = code or step.check(cases, ["--sim"], environment=on_few).returncode
    seeded = [one for one in step.variants if one.default or one.name in SEEDED_TOO.get(step.name, ())]
    for seed in SEEDS if copies_asynchronously(step) else ():
        print(f"with seed: {seed}", flush=True)
        cases = [case for variant in seeded for case in sanitized_cases(variant, SEEDED_SLICES)]
        cases = [
            replace(case, exact_alone=True) for case in cases
        ]  # an order shows in which numbers, not in how precise
        code = code or step.check(cases, ["--sim"], environment={**on_few, "PTXSIM_SEED": str(seed)}).returncode
    if most_memory() > MOST_MEMORY:
        print(f"{step.name} takes {most_memory() >> 20} MiB in the simulator, more than {MOST_MEMORY >> 20}")
        code = code or 1
    return code


if __name__ == "__main__":
    sys.exit(main())
