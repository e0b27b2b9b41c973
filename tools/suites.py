"""`./gemm test`: every test there is, and one line that counts them."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from base import build, gpu, process
from base.environment import ensure_build
from base.errors import Failure
from base.paths import BUILD, ROOT
from base.progress import say

LOGS = BUILD / "meson-logs"
SANITIZE = ROOT / "tests" / "gpu" / "sanitize.py"
BY_PYTEST = "pytest"  # Meson's suite of tests that write a file of their own, in which each case is counted


def run(setup: bool) -> None:
    """Builds everything, runs every test, prints the count as the last line; fails if anything did."""
    environment = ensure_build(setup)
    build.configure(environment)
    build.compile_targets(environment)
    for old in LOGS.glob("*.xml"):
        old.unlink()
    here = gpu.detect()
    without = ["--no-suite", "gpu"] if isinstance(here, gpu.NoGpu) else []
    command = [environment.meson, "test", "-C", BUILD, "--no-rebuild", "--print-errorlogs", *without]
    code = process.run(command, environment.variables)
    if isinstance(here, gpu.NoGpu):
        say(f"The tests of the suite gpu are left out: {here.reason}")
    passed, failed, skipped = count(LOGS)
    failed = failed or int(code != 0)
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed or not passed:
        raise Failure()


def sanitize(setup: bool, steps: list[str]) -> None:
    """Runs the variants of some steps, or of all, under compute-sanitizer."""
    environment = ensure_build(setup)
    build.configure(environment)
    build.compile_targets(environment)
    code = process.run([sys.executable, SANITIZE, BUILD, *steps], environment.variables)
    if code != 0:
        raise Failure(code=code if code > 0 else 1)


def count(logs: Path) -> tuple[int, int, int]:
    """How many cases passed, failed and were skipped, by the JUnit files of Meson and of pytest."""
    found = [0, 0, 0]
    for file in sorted(logs.glob("*.xml")):
        for suite in ET.parse(file).getroot().iter("testsuite"):
            for case in suite.findall("testcase"):
                children = {child.tag for child in case}
                skipped = "skipped" in children or case.get("status") == "notrun"
                if not suite.get("name", "").endswith(f":{BY_PYTEST}"):  # the cases of those are in files of their own
                    found[1 if children & {"failure", "error"} else 2 if skipped else 0] += 1
    return found[0], found[1], found[2]
