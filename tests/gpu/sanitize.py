"""Runs every variant of one step under compute-sanitizer: memcheck, then racecheck. Exit code 77 where it cannot."""

import argparse
import shutil
import sys
from pathlib import Path

from sizes import Size, one_less, smallest
from step import Step, Variant, check_all, require_gpu, skip

BAD_INPUT = 2
TOOLS = ("memcheck", "racecheck")
USUAL_PLACES = (
    Path("/usr/local/cuda/bin/compute-sanitizer"),
    Path("/usr/local/cuda/compute-sanitizer/compute-sanitizer"),
)
FOUND_SOMETHING = 99  # an exit code of no step
QUICK = ["--baseline", "none", "--min-time", "0", "--rounds", "1", "--warmup", "0"]


def sanitizer() -> str:
    """The path of compute-sanitizer; skips the test where there is none."""
    on_path = shutil.which("compute-sanitizer")
    if on_path:
        return on_path
    for place in USUAL_PLACES:
        if place.exists():
            return str(place)
    skip("compute-sanitizer was not found; it comes with the CUDA Toolkit")


def sizes_of(variant: Variant, slices: int) -> list[Size]:
    """The smallest size; one that no tile divides, too, where the variant takes it: that is where edges are."""
    size = smallest(variant, slices)
    return [size, one_less(variant, size)] if variant.any_size else [size]


def failures(step: Step, variant: Variant, slices: int, device: str = "") -> list[str]:
    """What the tools say of one variant."""
    found = []
    for tool in TOOLS:
        prefix = (sanitizer(), "--tool", tool, "--error-exitcode", str(FOUND_SOMETHING))
        for size in sizes_of(variant, slices):
            done = step.run(["--variant", variant.name, *size.arguments, *QUICK], prefix, device)
            if done.returncode != 0:
                said = "\n    ".join((done.stdout + done.stderr).strip().splitlines()[:30])
                found.append(f"{tool}: {variant.name}, {size}: exit code {done.returncode}\n    {said}")
    return found


def main() -> int:
    """Runs the step named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("executable", help="build/steps/NN_name")
    parser.add_argument("--slices", type=int, default=3, help="slices of K (default 3: prologue, middle, tail)")
    parser.add_argument("--devices", default="", help="share the variants out over these GPUs: 0,1,2,3")
    asked = parser.parse_args()
    if asked.slices < 1:
        parser.error("--slices takes a number from 1")
    step = Step(asked.executable)
    require_gpu()
    sanitizer()

    def say(variant: Variant, wrong: list[str]) -> None:
        print(f"{step.name} {variant.name}: {', '.join(TOOLS)}: {len(wrong)} failures", flush=True)

    return check_all(step, asked.devices, lambda variant, device: failures(step, variant, asked.slices, device), say)


if __name__ == "__main__":
    sys.exit(main())
