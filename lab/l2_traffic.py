"""`python -m lab.l2_traffic 25 26`: what a step's blocks received by TMA, and what crossed from L2 for that.

Starts the default variant (or --variant) once per size under Nsight Compute and puts what it counted among the records of
records/<gpu>/profile.jsonl, for the table of step 26. Needs a GPU with a request coalescer in front of L2 (H100, H200).
"""

import sys
from pathlib import Path

from lab import profile_records
from lab.ncu import launches, profiled
from records import Record
from records.metrics import L2_TRAFFIC, WARM

RECORDED_AS = {metric.removeprefix(WARM): metric for metric in L2_TRAFFIC}  # by what ncu is asked


def records(output: str, step: str) -> list[Record]:
    """One record per metric and launch, from what a step and ncu printed; the launches are of square products."""
    found = []
    for match, launch in launches(output, tuple(RECORDED_AS), step):
        of = {"step": step, "variant": match["variant"], **dict.fromkeys("mnk", int(match["m"]))}
        found += [
            {**of, "metric": RECORDED_AS[metric], "value": int(value) if value.is_integer() else value}
            for metric, value in launch.items()
        ]
    return found


def counted(step: Path, size: int, variant: str | None, ncu: str, limit: float) -> list[Record]:
    """What is counted of one launch. The caches stay as they are: in a long series they are warm as well."""
    warm = ("--cache-control", "none")
    work = ["--size", size, *(["--variant", variant] if variant else [])]
    return records(profiled(step, profile_records.KERNELS, work, ncu, tuple(RECORDED_AS), limit, warm), step.name)


def main() -> int:
    """Profiles steps; exit code 2 where that cannot be done."""
    parser = profile_records.arguments(__doc__, "that copy by TMA")
    parser.add_argument("--variant", help="that is launched (default: the step's default)")
    asked = parser.parse_args()
    return profile_records.record(
        "l2_traffic", asked, lambda step, size: counted(step, size, asked.variant, asked.ncu, asked.limit)
    )


if __name__ == "__main__":
    sys.exit(main())
