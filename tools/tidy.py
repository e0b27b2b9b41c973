"""`./gemm test --tidy`: clang-tidy's checks of .clang-tidy on the host's C++, in the files that Meson compiles."""

import json
import os
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from base import build, process, venv
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.paths import BUILD, ROOT, TIDY_REQUIREMENTS
from base.progress import say

FOLDER = BUILD / "tidy"
TIDY_GB = 0.2
OWN = ("common", "lab", "python", "sim", "subprojects", "tests")  # and what Meson writes to the build folder of these
# clang reads no headers that GCC has compiled, and every file includes what it needs.
GCCS_OWN = ("-fpch-preprocess", "-Winvalid-pch")
QUIET = ("--quiet", f"--header-filter={ROOT}/({'|'.join(OWN)})/")


def run(setup: bool) -> None:
    """Checks every file; prints what each finds."""
    environment = ensure_build(setup)
    if setup:
        venv.install(TIDY_REQUIREMENTS, "Installing clang-tidy into .venv", TIDY_GB)
    tool = venv.tool("clang-tidy")
    if tool is None:
        raise UserError(f"there is no clang-tidy: install {TIDY_REQUIREMENTS.name}, or leave out --no-setup")
    build.configure(environment)
    # Where a meson.build has changed, Ninja has Meson write the commands anew.
    code, text = process.output([environment.ninja, "-C", BUILD, "build.ninja"], environment.variables)
    if code != 0:
        raise Failure(text)
    files = _database()
    say(f"clang-tidy on {len(files)} files")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(lambda file: _checked(tool, environment, file), files) if text]
    for text in found:
        print(text)
    if found:
        raise Failure(f"clang-tidy found something in {len(found)} of {len(files)} files")
    say("clang-tidy found nothing")


def _checked(tool: str, environment: Environment, file: str) -> str:
    code, text = process.output([tool, "-p", FOLDER, *QUIET, file], environment.variables)
    return text if code != 0 else ""


def _database() -> list[str]:
    """Writes the compile commands of the host's C++ once more, as clang takes them; the files."""
    kept = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        file = Path(os.path.normpath(BUILD / entry["file"]))
        own = file.relative_to(BUILD if file.is_relative_to(BUILD) else ROOT) if file.is_relative_to(ROOT) else None
        if file.suffix != ".cpp" or own is None or own.parts[0] not in OWN:
            continue
        while "-include" in words:
            del words[words.index("-include") : words.index("-include") + 2]
        words = [word for word in words if word not in GCCS_OWN]
        first = next(at for at, word in enumerate(words) if word.startswith("-"))
        kept[file] = {**entry, "file": str(file), "command": shlex.join(["clang++", *words[first:]])}
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "compile_commands.json").write_text(json.dumps(list(kept.values()), indent=1), encoding="utf-8")
    return [str(file) for file in kept]
