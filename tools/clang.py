"""`./gemm test --clang`: the simulator compiled by clang, the newest that is installed, and its own tests.

The ordinary build is GCC's. clang places conversions and changes of the rounding mode in other ways, so what is compared
with a GPU's recorded bits is worth comparing once more.
"""

import os
import re
import shutil
from pathlib import Path

from base import packages, process
from base.environment import ensure_build
from base.errors import Failure, UserError
from base.paths import BUILD, ROOT, shown
from base.progress import say

FOLDER = BUILD.with_name(f"{BUILD.name}-clang")
NAME = re.compile(r"clang\+\+(?:-(\d+))?$")


def run(setup: bool) -> None:
    """Builds the simulator and runs its tests; the next call builds only what has changed."""
    compiler = newest()
    if compiler is None and setup:
        packages.install(["clang"])
        compiler = newest()
    if compiler is None:
        raise UserError(f"there is no clang++: {packages.by_hand(['clang'])}")
    environment = ensure_build(setup)
    variables = {**environment.variables, "CXX": compiler}
    version = process.output([compiler, "--version"])[1].splitlines()[0]
    say(f"The simulator by {version}, in {shown(FOLDER)}")
    if not (FOLDER / "build.ninja").exists():
        headers = f"-Dheaders_of_cuda={environment.toolkit.root / 'include'}"
        code, text = process.output([environment.meson, "setup", FOLDER, ROOT / "sim", headers], variables)
        if code != 0:
            raise Failure(f"meson setup failed:\n{text}")
    if process.run([environment.ninja, "-C", FOLDER], variables) != 0:
        raise Failure("the build failed; the compiler's words are above")
    words = ("--no-rebuild", "--print-errorlogs", "--no-suite", "gpu", "--timeout-multiplier", "4")
    if process.run([environment.meson, "test", "-C", FOLDER, *words], variables) != 0:
        raise Failure("compiled by clang, the simulator fails tests")


def newest() -> str | None:
    """The clang++ of the highest version on PATH; one without a number in its name only where there is no other."""
    found = {}
    for folder in map(Path, os.environ.get("PATH", "").split(os.pathsep)):
        for file in folder.glob("clang++*") if folder.is_dir() else ():
            if (match := NAME.match(file.name)) and shutil.which(file):
                found.setdefault(int(match[1] or 0), str(file))
    return found[max(found)] if found else None
