"""`python -m lab.l2_traffic 25 26`: what a step's blocks received by TMA, and what crossed from L2 for that.

Starts the default variant once per size under Nsight Compute and puts what it counted among the records of
plots/data/<gpu>/profile.jsonl, for the table of step 26. Needs a GPU with a request coalescer in front of L2 (H100, H200).
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

RECEIVED = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"  # bytes, in all SMs
MULTICAST = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum"  # those of them that were shared
CROSSED = "lrc__lrc2xbar_sectors_op_read.sum"  # sectors of 32 bytes
DELIVERED = "lrc__average_xbar2gpc_sectors_op_read.ratio"  # sectors per sector that crossed: of all,
MERGED = "lrc__average_xbar2gpc_sectors_op_read_coalescing_achieved_type_hardware.ratio"  # without multicast,
SHARED = "lrc__average_xbar2gpc_sectors_op_read_coalescing_achieved_type_programmatic.ratio"  # by multicast
FROM_DRAM = "dram__bytes_read.sum"
METRICS = (RECEIVED, MULTICAST, CROSSED, DELIVERED, MERGED, SHARED, FROM_DRAM)
SIZES = (4096, 8192, 16384)


def records(output: str, step: str) -> list[dict]:
    """One record per metric and launch, from what a step and ncu printed; the launches are of square products."""
    printed, launches = list(PRINTED.finditer(output)), parse(output, list(METRICS))
    if len(printed) != len(launches):
        raise Failed(f"{step} made {len(printed)} launches, ncu saw {len(launches)}")
    found = []
    for match, launch in zip(printed, launches, strict=True):
        of = {"step": step, "variant": match["variant"], **dict.fromkeys("mnk", int(match["m"]))}
        found += [
            {**of, "metric": metric, "value": int(value) if value.is_integer() else value}
            for metric, value in launch.items()
        ]
    return found


def profiled(step: Path, size: int, ncu: str, limit: float) -> str:
    """What a step and ncu print of one launch. The caches stay as they are: in a long series they are warm as well."""
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    command += ["--cache-control", "none", "--kernel-name", "gemm_kernel", "--metrics", ",".join(METRICS)]
    return run([*command, step, "--size", size, *ONE_LAUNCH], limit)


def main() -> int:
    """Profiles steps; exit code 2 where that cannot be done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", help="numbers or names of steps that copy by TMA")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="square sizes (default 4096 8192 16384)")
    parser.add_argument("--gpu", default="h200", help="the GPU's folder in plots/data/ (default h200)")
    parser.add_argument("--data", type=Path, default=ROOT / "plots" / "data", help="where the GPUs' folders are")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program")
    parser.add_argument("--limit", type=float, default=120.0, help="most seconds of one start (default 120)")
    asked = parser.parse_args()
    file = asked.data / asked.gpu / "profile.jsonl"
    try:
        for name in asked.steps:
            step = registry.find(name, registry.steps()).name
            for size in asked.sizes:
                found = records(profiled(BUILD / "steps" / step, size, asked.ncu, asked.limit), step)
                record_files.put(file, found)
                for record in found:
                    print(json.dumps(record), flush=True)
    except (Failed, UserError) as problem:
        print(f"l2_traffic: {problem}", file=sys.stderr)
        return 2
    print(f"Written to {shown(file)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
