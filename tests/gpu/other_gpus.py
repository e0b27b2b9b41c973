"""Checks in the simulator that every step runs on the GPUs that have its instructions, with the shared memory that a
block may have there: its default or what stands in for it, what runs on sizes that no tile divides, each variant.

    python3 tests/gpu/other_gpus.py build/steps/20_mma_warp_swizzle build/steps/22_tma

A variant that does not fit has to be refused by name, and a step that needs other instructions refused at all.
"""

import sys
from collections.abc import Sequence

from sizes import size_of
from step import Case, Step, Variant, fits

# With 99 KB per block, 163, 99 with TMA, 227 with TMA; each with its compute capability.
DEVICES = {"rtx4090": 89, "a100": 80, "rtx5090": 120, "h100": 90}
RAGGED = ("--m", "40", "--n", "72", "--k", "24")  # multiples of 8: so much has to lie side by side
TILES, SLICES = (1, 2), 3
REFUSED_EXIT_CODE = 2


def cases_of(step: Step) -> list[Case]:
    """What has to run on this GPU, each on its smallest size, and what has to be refused."""
    default = next(variant for variant in step.variants if variant.default)
    cases = [Case("", _size(default))]
    if any(variant.any_size and variant.layout == default.layout for variant in step.held):
        cases.append(Case("", RAGGED))
    cases += [Case(variant.name, _size(variant), exact_alone=True) for variant in step.held]
    too_large = [variant for variant in step.variants if not variant.fits]
    return cases + [Case(variant.name, (), f"takes {variant.shared_bytes} bytes of shared") for variant in too_large]


def _size(variant: Variant) -> tuple[str, ...]:
    return tuple(f"--{name}={edge}" for name, edge in zip("mnk", size_of(variant, SLICES, TILES), strict=True))


def check(executable: str, device: str) -> bool:
    environment = {"PTXSIM_DEVICE": device}
    step = Step(executable, ("--sim",), environment=environment)
    print(f"{device}: {step.name}", flush=True)
    if fits(step.arch, DEVICES[device]):
        return step.check(cases_of(step), ("--sim",), environment=environment).returncode == 0
    done = step.run(("--sim",), environment=environment, capture_output=True)
    if done.returncode != REFUSED_EXIT_CODE or "this step needs a GPU" not in done.stderr:
        print(f"it had to be refused, with exit code {REFUSED_EXIT_CODE}:\n{done.stdout}{done.stderr}")
        return False
    return True


def main(executables: Sequence[str]) -> int:
    wrong = [(device, one) for device in DEVICES for one in executables if not check(one, device)]
    for device, executable in wrong:
        print(f"FAILED on {device}: {executable}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
