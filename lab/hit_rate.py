"""`python -m lab.hit_rate 20`: how often the L2 cache had what was asked of it, at each block-swizzle stride.

Starts the default variant once per size under Nsight Compute, a launch for each stride, and puts the share of sectors
found in L2 among the records of records/<gpu>/profile.jsonl, for the chart of TFLOPS over the stride. The cache is
emptied before every launch, as ncu does unless told otherwise.
"""

import sys
from pathlib import Path

from lab import profile_records
from lab.ncu import Failed, launches, profiled
from records import Record
from records.metrics import L2_HITS

STRIDES = (512, 1024, 2048, 4096, 8192)


def hit_rates(step: Path, size: int, strides: list[int], ncu: str, limit: float) -> list[Record]:
    """One record for each stride, all at one square size."""
    work = ["--size", size, "--swizzle-stride", ",".join(map(str, strides))]
    found = launches(profiled(step, profile_records.KERNELS, work, ncu, [L2_HITS], limit), [L2_HITS], step.name)
    if len(found) != len(strides):
        raise Failed(f"{len(strides)} launches were asked for, {step.name} made {len(found)}")
    return [
        {
            "step": step.name,
            "variant": match["variant"],
            **dict.fromkeys("mnk", size),
            "metric": L2_HITS,
            "value": round(launch[L2_HITS], 2),
            "swizzle_stride": stride,
        }
        for (match, launch), stride in zip(found, strides, strict=True)
    ]


def main() -> int:
    """Profiles steps; exit code 2 where that cannot be done."""
    parser = profile_records.arguments(__doc__, "that take --swizzle-stride")
    parser.add_argument("--strides", type=int, nargs="+", default=STRIDES, help="rows of C")
    asked = parser.parse_args()
    return profile_records.record(
        "hit_rate", asked, lambda step, size: hit_rates(step, size, asked.strides, asked.ncu, asked.limit)
    )


if __name__ == "__main__":
    sys.exit(main())
