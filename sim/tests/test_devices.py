"""Runs test_devices.cpp on every simulated GPU, and holds what is said of settings that nobody knows.

test_devices.py PROGRAM
"""

import json
import os
import subprocess
import sys
from pathlib import Path

TABLE = json.loads((Path(__file__).resolve().parent.parent / "devices.json").read_text(encoding="utf-8"))
KNOWN = sorted(key for key, gpu in TABLE["gpus"].items() if "capability" in gpu)
ASKED = ("a100", "rtx3090", "rtx4090", "rtx5090", "h100", "h200", "b200", "gb10", "orin")


def run(device: str, tests: str) -> tuple[int, str]:
    """The tests' exit code, and what they printed."""
    environment = {**os.environ, "PTXSIM_DEVICE": device}
    done = subprocess.run(
        [sys.argv[1], f"--gtest_filter={tests}", "--gtest_brief=1"],
        **{"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True},
        check=False,
    )
    return done.returncode, done.stdout


def main() -> int:
    """Prints what fails."""
    wrong = 0
    for device in ASKED:
        code, text = run(device, "Device.*")
        if code != 0 or "5 tests" not in text:
            wrong += 1
            print(f"{device}:\n{text}")
    said = f"simulator: PTXSIM_DEVICE: there is no device 'gtx480'; choose from: {', '.join(KNOWN)}\n"
    code, text = run("gtx480", "Device.*")
    if code != 2 or not text.endswith(said):
        wrong += 1
        print(f"an unknown device ends with {code} and says\n{text}instead of\n{said}")
    done = subprocess.run(
        [sys.argv[1], "--gtest_filter=Device.*"],
        env={**os.environ, "GEMM_SIM_SEED": "3"},
        capture_output=True,
        text=True,
        check=False,
    )
    if (done.returncode, done.stderr) != (2, "simulator: GEMM_SIM_SEED is now called PTXSIM_SEED\n"):
        wrong += 1
        print(f"a setting under its old name ends with {done.returncode} and says\n{done.stderr}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
