"""What a program that puts Nsight Compute's counts among the records of a GPU takes, and its loop over steps and sizes."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from base import registry
from base.errors import UserError
from base.paths import BUILD, DATA, shown
from lab.ncu import Failed
from records import Record, files

SIZES = (4096, 8192, 16384)
KERNELS = ("gemm_kernel", "stream_k_kernel")


def arguments(description: str, steps: str) -> argparse.ArgumentParser:
    """What such a program is told; `steps` says which ones it takes."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="+", help=f"numbers or names of steps {steps}")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="square sizes (default 4096 8192 16384)")
    parser.add_argument("--gpu", default="h200", help="the GPU's folder in records/ (default h200)")
    parser.add_argument("--data", type=Path, default=DATA, help="where the GPUs' folders are")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program")
    parser.add_argument("--limit", type=float, default=120.0, help="most seconds of one start (default 120)")
    return parser


def record(name: str, asked: argparse.Namespace, counted: Callable[[Path, int], list[Record]]) -> int:
    """Keeps what `counted` returns of each step's program at each size, as it comes; 2 where that cannot be done."""
    file = asked.data / asked.gpu / "profile.jsonl"
    try:
        ladder = registry.steps()
        for step in [registry.find(given, ladder) for given in asked.steps]:
            for size in asked.sizes:
                found = counted(BUILD / "steps" / step.name, size)
                files.put(file, found)
                for one in found:
                    print(json.dumps(one), flush=True)
    except (Failed, UserError) as problem:
        print(f"{name}: {problem}", file=sys.stderr)
        return 2
    print(f"Written to {shown(file)}")
    return 0
