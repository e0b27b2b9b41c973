"""How fast the simulator is, and what counting and checking cost: every step's default variant at 256×256×256.

`python tests/sim/benchmark.py build` prints seconds and warp instructions per second, with all checks and without; exit
code 1 where a step takes longer than it may, or the checks cost more than they may.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

SIZE = "256"
MOST_SECONDS = 0.5  # on two cores, with all checks
MOST_COST = 4.0  # with all checks, against the execution alone
RUNS = 3
RESULT = re.compile(r"simulated in ([\d.]+) s, ([\d.]+) million warp instructions per second")


def measure(step: Path, watch: bool) -> tuple[float, float]:
    """Median seconds of a launch, and million warp instructions per second."""
    runs = []
    for _ in range(RUNS):
        environment = {**os.environ, "PTXSIM_WATCH": str(int(watch))}
        command = [str(step), "--sim", "--size", SIZE]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        found = RESULT.search(done.stdout)
        if done.returncode != 0 or not found:
            sys.exit(f"{step.name} failed in the simulator: {done.stderr.strip()}")
        runs.append((float(found[1]), float(found[2])))
    return statistics.median(seconds for seconds, _ in runs), statistics.median(rate for _, rate in runs)


def main() -> int:
    """Measures every step of a build directory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build directory, with the steps and the simulator built")
    asked = parser.parse_args()
    steps = (asked.build.resolve() / "steps").iterdir()
    slow = 0
    print(f"{'step':<22}{'seconds':>9}{'Minstr/s':>10}{'unchecked':>11}{'Minstr/s':>10}{'cost':>7}")
    for step in sorted(path for path in steps if path.is_file() and os.access(path, os.X_OK)):
        seconds, rate = measure(step, watch=True)
        bare, bare_rate = measure(step, watch=False)
        too_slow = seconds > MOST_SECONDS or seconds > MOST_COST * bare
        slow += too_slow
        line = f"{step.name:<22}{seconds:>9.3f}{rate:>10.1f}{bare:>11.3f}{bare_rate:>10.1f}{seconds / bare:>6.1f}x"
        print(line + ("  TOO SLOW" if too_slow else ""), flush=True)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
