"""Compares the speed of two builds of the simulator: speed.py OLD NEW PROGRAM [ARGUMENT...]

OLD and NEW are folders with libcudart.so.13. The program runs in both by turns, on one core; of each kernel the fastest
of the runs counts. `tests/program_speed` has a kernel for each kind of access; any other program will do as well.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5


def rates(library: str, command: list[str]) -> dict[str, float]:
    """Million warp instructions per second, by kernel."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counts.json")
        settings = {"LD_LIBRARY_PATH": library, "PTXSIM_THREADS": "1", "PTXSIM_JSON": str(file)}
        subprocess.run(command, env=os.environ | settings, check=True, stdout=subprocess.DEVNULL)
        kernels = json.loads(file.read_text(encoding="utf-8"))["kernels"]
    return {kernel["name"]: kernel["counts"]["instructions"] / kernel["seconds"] / 1e6 for kernel in kernels}


def main() -> None:
    """Prints a line for each kernel."""
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    old, new, *command = sys.argv[1:]
    best: dict[str, list[float]] = {}
    for _ in range(RUNS):
        for place, library in enumerate((old, new)):
            for kernel, rate in rates(library, command).items():
                known = best.setdefault(kernel, [0.0, 0.0])
                known[place] = max(known[place], rate)
    print("million warp instructions per second and core: old, new")
    for kernel, (before, after) in best.items():
        print(f"{before:10.2f} {after:10.2f}  {100 * (after / before - 1):+6.1f} %  {kernel}")


if __name__ == "__main__":
    main()
