"""`python -m lab.hit_rate 20`: how often the L2 cache had what was asked of it, at each block-swizzle stride.

Starts the default variant once a size under Nsight Compute, a launch for each stride, and puts the share of sectors
found in L2 among the records of plots/data/<gpu>/profile.jsonl, for the chart of TFLOPS over the stride. The cache is
emptied before every launch, as ncu does unless told otherwise.
"""

import argparse
import json
import sys
from pathlib import Path

from lab import record_files
from lab.validate import ONE_LAUNCH, PRINTED, Failed, parse, run
from tools import registry
from tools.errors import UserError
from tools.paths import BUILD, ROOT, shown

METRIC = "lts__t_sector_hit_rate.pct"
SIZES = (4096, 8192, 16384)
STRIDES = (512, 1024, 2048, 4096, 8192)
KERNELS = "gemm_kernel"


def hit_rates(step: Path, size: int, strides: list[int], ncu: str, limit: float) -> list[dict]:
    """One record for each stride, all at one square size."""
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    command += ["--kernel-name", KERNELS, "--metrics", METRIC]
    asked = ["--size", size, "--swizzle-stride", ",".join(map(str, strides))]
    output = run([*command, step, *asked, *ONE_LAUNCH], limit)
    printed, launches = list(PRINTED.finditer(output)), parse(output, [METRIC])
    if not len(printed) == len(launches) == len(strides):
        raise Failed(
            f"{len(strides)} launches were asked for, {step.name} made {len(printed)}, ncu saw {len(launches)}"
        )
    return [
        {
            "step": step.name,
            "variant": match["variant"],
            **dict.fromkeys("mnk", size),
            "metric": METRIC,
            "value": round(launch[METRIC], 2),
            "swizzle_stride": stride,
        }
        for match, launch, stride in zip(printed, launches, strides, strict=True)
    ]


def main() -> int:
    """Profiles one step; exit code 2 where that cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", help="number or name of a step that takes --swizzle-stride")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="square sizes (default 4096 8192 16384)")
    parser.add_argument("--strides", type=int, nargs="+", default=STRIDES, help="rows of C")
    parser.add_argument("--gpu", default="h200", help="the GPU's folder in plots/data/ (default h200)")
    parser.add_argument("--data", type=Path, default=ROOT / "plots" / "data", help="where the GPUs' folders are")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program")
    parser.add_argument("--limit", type=float, default=120.0, help="most seconds of one start (default 120)")
    asked = parser.parse_args()
    file = asked.data / asked.gpu / "profile.jsonl"
    try:
        step = BUILD / "steps" / registry.find(asked.step, registry.steps()).name
        for size in asked.sizes:
            found = hit_rates(step, size, asked.strides, asked.ncu, asked.limit)
            record_files.put(file, found)
            for record in found:
                print(json.dumps(record), flush=True)
    except (Failed, UserError) as problem:
        print(f"hit_rate: {problem}", file=sys.stderr)
        return 2
    print(f"Written to {shown(file)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
