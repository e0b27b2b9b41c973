"""Runs one step on a GPU: every variant on every kind of size, and every refusal. Exit code 77 without a GPU.

With --sim the same in the simulator, which reports races and bad accesses besides. Persistent blocks have to get from
tile to tile: on a GPU some sizes have more tiles than blocks find room, in the simulator it has one multiprocessor.
"""

import argparse
import sys

from sizes import accepted, refused, several_tiles
from step import Step, Variant, check_all, require_gpu

BAD_INPUT = 2
ONE_MULTIPROCESSOR = {"GEMM_SIM_MULTIPROCESSORS": "1"}
MORE_THAN_FIT = (24, 12)  # tiles of C: 288, more than 132 multiprocessors hold at two blocks each
QUICK = ["--baseline", "none", "--min-time", "0", "--rounds", "1", "--warmup", "0"]


def failures(step: Step, variant: Variant, options: list[str], device: str = "") -> list[str]:
    """What went wrong with one variant; each line can be run by hand."""
    found = []
    runs = [(size, {}) for size in accepted(variant)]
    if "--sim" in options:
        runs += [(size, ONE_MULTIPROCESSOR) for size in several_tiles(variant)]
    else:
        runs += [(size, {}) for size in several_tiles(variant, MORE_THAN_FIT)]
    for size, environment in runs:
        done = step.run(["--variant", variant.name, *size.arguments, *options], device=device, environment=environment)
        if done.returncode != 0:
            shown = " ".join(f"{name}={value}" for name, value in environment.items())
            found.append(
                f"{shown} {variant.name}, {size}: exit code {done.returncode}\n    {done.stderr.strip()}".strip()
            )
    for size, words in refused(variant):
        done = step.run(["--variant", variant.name, *size.arguments, *options], device=device)
        one_line = done.stderr.count("\n") == 1 and not done.stdout
        if done.returncode != BAD_INPUT or words not in done.stderr or not one_line:
            found.append(
                f"{variant.name}, {size}: it had to say '{words}' and exit with {BAD_INPUT}; "
                f"exit code {done.returncode}\n    {done.stderr.strip()}"
            )
    return found


def main() -> int:
    """Runs the step named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("executable", help="build/steps/NN_name")
    parser.add_argument("--sim", action="store_true", help="in the simulator instead of on a GPU")
    parser.add_argument("--devices", default="", help="share the variants out over these GPUs: 0,1,2,3")
    asked = parser.parse_args()
    step = Step(asked.executable)
    if not asked.sim:
        require_gpu()
    options = [*QUICK, "--sim"] if asked.sim else QUICK

    def say(variant: Variant, wrong: list[str]) -> None:
        sizes, refusals = len(accepted(variant)), len(refused(variant))
        print(f"{step.name} {variant.name}: {sizes} sizes, {refusals} refusals, {len(wrong)} failures", flush=True)

    return check_all(step, asked.devices, lambda variant, device: failures(step, variant, options, device), say)


if __name__ == "__main__":
    sys.exit(main())
