"""Checks one step on a GPU: every variant on every kind of size, and every refusal. Exit code 77 without a GPU.

With --sim the same in the simulator, on fewer sizes, and once more with a single multiprocessor, on which persistent
blocks have to get from tile to tile. One process checks all sizes (`--check`): it says what became of each variant, and
every case that failed as it can be run by hand.
"""

import argparse
import sys

from sizes import gpu_cases, one_multiprocessor_cases, simulated_cases
from step import Step, require_gpu

ONE_MULTIPROCESSOR = {"GEMM_SIM_MULTIPROCESSORS": "1"}


def main() -> int:
    """Runs the step named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("executable", help="build/steps/NN_name")
    parser.add_argument("--sim", action="store_true", help="in the simulator instead of on a GPU")
    asked = parser.parse_args()
    step = Step(asked.executable)
    if not asked.sim:
        require_gpu()
        return step.check([case for variant in step.variants for case in gpu_cases(variant)]).returncode
    code = step.check([case for variant in step.variants for case in simulated_cases(variant)], ["--sim"]).returncode
    print("with one multiprocessor:", flush=True)
    cases = [case for variant in step.variants for case in one_multiprocessor_cases(variant)]
    return code or step.check(cases, ["--sim"], environment=ONE_MULTIPROCESSOR).returncode


if __name__ == "__main__":
    sys.exit(main())
