"""How fast the simulator is in a page: `python -m tools.site.speed`, after ./gemm site.

The same runs in headless Chromium and then natively, on one thread, with checks, on the same machine.
"""

import json
import os
import subprocess
import sys

from base import registry
from base.paths import BUILD, ROOT
from tools.site import FOLDER, kernels

STEPS = ("03", "09", "20", "26")
TIMES = 3


def native(name: str, size: tuple[int, int, int]) -> float:
    """Million warp instructions per second of a run without a page, the fastest of three."""
    step_name, variant = name.split(".")
    step = registry.find(step_name[:2], registry.steps())
    arguments = [word for letter, side in zip("mnk", size, strict=True) for word in (f"--{letter}", str(side))]
    rates = []
    for _ in range(TIMES):
        run = kernels.recorded_run(BUILD / "steps" / step_name, step, variant, arguments, FOLDER / "work")
        if run is None:
            raise SystemExit(f"{name} does not run")
        of = run.launches["summary"]["kernels"]
        rates.append(sum(each["counts"]["instructions"] for each in of) / sum(each["seconds"] for each in of) / 1e6)
    return max(rates)


def main() -> None:
    """Prints a table."""
    names = (FOLDER / "explorables" / "variants.txt").read_text(encoding="utf-8").split()
    chosen = [next(name for name in names if name.startswith(number)) for number in STEPS]
    line = ["node", "--experimental-websocket", ROOT / "tests" / "site" / "speed.js", FOLDER / "site", "--steps"]
    before = os.getloadavg()[0]
    done = subprocess.run([*line, ",".join(chosen)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    for name in chosen:
        text = (FOLDER / "kernels" / f"{name}.js").read_text(encoding="utf-8")
        last = json.loads(text[text.index("(") + 1 : text.rindex(")")])["runs"][-1]
        size = (last["m"], last["n"], last["k"])
        alone, page = native(name, size), found["speeds"][name]
        shown = "×".join(map(str, size))
        print(f"{name} {shown}: native {alone:.2f}, in Chromium {page:.2f} million per second, {page / alone:.2f}")
    print(f"step 03's first result after {', '.join(f'{ms:.0f}' for ms in found['first_result_ms'])} ms")
    print(f"load of the machine before: {before:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    sys.exit(main())
