"""Compares the speed of two builds of the simulator: speed.py OLD NEW PROGRAM [ARGUMENT...]

OLD and NEW are folders with libcudart.so.13. The program runs in both by turns, on one core: what is told are warp
instructions per second of the process, the fastest of the runs. `program_speed` has a kernel for each kind of access,
and without an argument all of them are told; any other program will do as well.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RUNS = 5
KERNELS = ("arithmetic", "streaming", "rereading", "barriers", "volatile_scan", "counting")


def rate(library: str, command: list[str]) -> float:
    """Million warp instructions per second that the process spent outside of the system."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counts.json")
        settings = {"LD_LIBRARY_PATH": library, "PTXSIM_THREADS": "1", "PTXSIM_JSON": str(file)}
        with subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{command[0]} ended with code {process.returncode}")
        kernels = json.loads(file.read_text(encoding="utf-8"))["kernels"]
    return sum(kernel["counts"]["instructions"] for kernel in kernels) / usage.ru_utime / 1e6


def main() -> None:
    """Prints a line for each command."""
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    old, new, *command = sys.argv[1:]
    each = (
        [[*command, kernel] for kernel in KERNELS]
        if command[0].endswith("program_speed") and not command[1:]
        else [command]
    )
    print("million warp instructions per second and core: old, new")
    for run in each:
        pairs = [(rate(old, run), rate(new, run)) for _ in range(RUNS)]
        before, after = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
        print(f"{before:10.2f} {after:10.2f}  {100 * (after / before - 1):+6.1f} %  {' '.join(run[-1:])}", flush=True)


if __name__ == "__main__":
    main()
