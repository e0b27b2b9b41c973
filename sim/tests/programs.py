"""Runs the programs of programs/ in the simulator: each compares its own result with the host's.

    programs.py SIMULATOR_DIRECTORY BUILD_DIRECTORY PROGRAM...

Every program runs in order and under one seed. Those that must fail must say why.
"""

import os
import subprocess
import sys
from pathlib import Path

# Program and arguments: exit code, and what its output must hold.
EXPECTED_FAILURES = {
    ("print_and_assert", "fail"): (1, ["assertion 'areas[threadIdx.x] < limit' failed in thread (1,0,0)"]),
    ("refused",): (
        1,
        [
            "in kernel recursion at programs/refused.cu:4",
            "function 'fibonacci' calls itself",
            "in kernel allocates at programs/refused.cu:7",
            "function 'malloc' is not in the PTX",
            "in kernel calls_by_pointer at programs/refused.cu:12",
            "a call through a function pointer is not modelled",
            "a cooperative launch of 1048576 blocks, of which only",
            "in all 4 errors",
        ],
    ),
}


def run(build: Path, program: str, arguments: tuple[str, ...] = (), seed: int = 0) -> tuple[int, str]:
    """A program's exit code, and what it printed."""
    environment = {**os.environ, "LD_LIBRARY_PATH": sys.argv[1], "PTXSIM_SEED": str(seed)}
    command = [build / f"program_{program}", *arguments]
    finished = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    return finished.returncode, finished.stdout


def main() -> int:
    """Runs every program, and those that must fail."""
    build, programs = Path(sys.argv[2]), sys.argv[3:]
    wrong = []
    for program in programs:
        if (program,) in EXPECTED_FAILURES:
            continue
        for seed in (0, 1):
            code, output = run(build, program, seed=seed)
            print(output, end="")
            if code != 0 or f"{program}: correct" not in output:
                wrong.append(f"{program} (seed {seed}) exits with code {code}")
    for (program, *arguments), (expected_code, texts) in EXPECTED_FAILURES.items():
        code, output = run(build, program, tuple(arguments))
        missing = [text for text in texts if text not in output]
        if code != expected_code or missing:
            print(output, end="")
            wrong.append(f"{program} {' '.join(arguments)} exits with code {code}, without {missing}")
    for line in wrong:
        print("FAILED:", line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
