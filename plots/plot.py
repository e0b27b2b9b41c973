"""`python plots/plot.py`: the same as `python -m plots.draw`, from whatever folder it is started in."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    found_from = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    program = [sys.executable, "-P", "-m", "plots.draw", *sys.argv[1:]]
    os.execve(sys.executable, program, {**os.environ, "PYTHONPATH": found_from})
