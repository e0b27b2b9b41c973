"""Meson and Ninja: they show their own progress and their own errors."""

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from base import gpu, packages, process
from base.environment import Environment
from base.errors import Failure, UserError
from base.paths import BUILD, ROOT, shown
from base.progress import say

SIMULATOR_TARGET = "subprojects/sim/libcudart.so.13"
STAMP = BUILD / ".configured-by-gemm"
COMPILERS = BUILD / "compilers.ini"  # tells Meson which nvcc it is: it knows no environment variable for that


def configure(environment: Environment) -> None:
    """Runs `meson setup`, unless that was done with these very tools. A folder set up by hand is used as it is."""
    toolkit = environment.toolkit
    wanted = f"{toolkit.nvcc} {toolkit.version}\n{environment.meson}\n{gpu.detect()}\n"
    ready = (BUILD / "build.ninja").exists()
    if ready and (not STAMP.exists() or STAMP.read_text() == wanted):
        return
    say(f"Setting up {shown(BUILD)} with CUDA {toolkit.version} ({toolkit.nvcc})")
    if (BUILD / "meson-private").exists():
        shutil.rmtree(BUILD)
    BUILD.mkdir(exist_ok=True)
    # A Python list of plain strings is a list to Meson, too. Meson looks for ccache only where no compiler is named.
    command = [*filter(None, [shutil.which("ccache")]), str(toolkit.nvcc)]
    COMPILERS.write_text(f"[binaries]\ncuda = {command}\n")
    command = [environment.meson, "setup", BUILD, ROOT, "--native-file", COMPILERS]
    code, text = process.output(command, env=environment.variables)
    if code != 0:
        errors = [line for line in text.splitlines() if "ERROR" in line] or text.splitlines()[-1:]
        absent = packages.missing()
        remedy = f"; these packages seem to be missing: {packages.by_hand(absent)}" if absent else ""
        log = f"{shown(BUILD)}/meson-logs/meson-log.txt"
        raise UserError(f"meson setup failed: {' '.join(errors[-1:])} (all of it: {log}){remedy}")
    STAMP.write_text(wanted)


def compile_targets(environment: Environment, targets: Sequence[str] = ()) -> None:
    """Builds some targets, named by their paths in the build directory, or everything; silent where all is built."""
    if "no work to do" in process.output([environment.ninja, "-C", BUILD, "-n", *targets], environment.variables)[1]:
        return
    variables = {**environment.variables, "NINJA_STATUS": "[%f/%t, %w] "}
    if process.run([environment.ninja, "-C", BUILD, *targets], variables) != 0:
        raise Failure("the build failed; the compiler's words are above")


def variants(program: str | Path, environment: Environment | None = None) -> list[dict[str, Any]]:
    """What a built step, by its path within the build directory, says of its variants."""
    program = BUILD / program
    if not program.is_file():
        raise UserError(f"{program.name} is not built: meson compile -C {shown(BUILD)} {program.name}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "variants.jsonl"
        code, text = process.output([program, "--list", f"--json={file}"], environment and environment.variables)
        if code != 0:
            raise UserError(f"{program.name} --list failed: {text[:200]}")
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
