"""Meson and Ninja, with what they say turned into progress and into errors that can be read."""

import re
from collections.abc import Sequence

from tools import gpu, packages, process
from tools.environment import Environment
from tools.errors import Failure, UserError
from tools.paths import BUILD, ROOT, shown
from tools.progress import meter, say

STATUS = re.compile(r"^\[(?P<done>\d+)/(?P<total>\d+)\] (?P<what>.*)$")
NINJA_STATUS = "[%f/%t] "
STAMP = BUILD / ".configured-by-gemm"


def configure(environment: Environment) -> None:
    """Runs `meson setup`, unless that was done with these very tools. A folder set up by hand is used as it is."""
    wanted = _configuration(environment)
    ready = (BUILD / "build.ninja").exists()
    if ready and (not STAMP.exists() or STAMP.read_text() == wanted):
        _follow_changes(environment)
        return
    again = ready or (BUILD / "meson-private").exists()
    say(f"Setting up {shown(BUILD)} with CUDA {environment.toolkit.version} ({environment.toolkit.nvcc})")
    lines: list[str] = []
    code = process.follow(
        [environment.meson, "setup", BUILD, ROOT, *(["--wipe"] if again else [])],
        lines.append,
        env=environment.variables,
    )
    if code != 0:
        raise _refusal(lines)
    STAMP.write_text(wanted)


def _follow_changes(environment: Environment) -> None:
    """Lets Meson take in what has changed in its files, so that what we ask of build.ninja is asked of the new one."""
    lines: list[str] = []
    if process.follow([environment.ninja, "-C", BUILD, "build.ninja"], lines.append, env=environment.variables) != 0:
        raise _refusal(lines)


def _refusal(lines: Sequence[str]) -> UserError:
    """What Meson said when it could not go on, as one line."""
    errors = [line for line in lines if "ERROR" in line] or lines[-1:]
    absent = packages.missing()
    remedy = f"; these packages seem to be missing: {packages.by_hand(absent)}" if absent else ""
    return UserError(
        f"meson setup failed: {' '.join(errors[-1:])} (all of it: {shown(BUILD)}/meson-logs/meson-log.txt){remedy}"
    )


def compile_targets(environment: Environment, targets: Sequence[str] = (), title: str = "Building") -> None:
    """Builds some targets, named by their paths in the build directory, or everything. Compiler errors are shown."""
    said: list[str] = []
    with meter(title) as shown_progress:

        def on_line(line: str) -> None:
            status = STATUS.match(line)
            if status:
                # "Compiling Cuda object x.o", "Linking target y": the file is what tells; other lines are sentences
                compiling = status["what"].startswith(("Compiling", "Linking", "Generating"))
                what = status["what"].split(" ")[-1] if compiling else status["what"]
                shown_progress.show(int(status["done"]), int(status["total"]), what)
            else:
                said.append(line)

        code = process.follow(
            [environment.ninja, "-C", BUILD, *targets],
            on_line,
            env={**environment.variables, "NINJA_STATUS": NINJA_STATUS},
        )
    if code != 0:
        for line in _without_commands(said):
            say(line)
        raise Failure("the build failed; the compiler's words are above")
    for line in said:
        if "warning" in line:
            say(line)


def has_target(target: str) -> bool:
    """Does the configured build know how to make this file?"""
    try:
        text = (BUILD / "build.ninja").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(rf"^build (?:\S+ )*{re.escape(target)}[ :|]", text, re.MULTILINE) is not None


def _configuration(environment: Environment) -> str:
    """What the build directory depends on beside the sources."""
    here = gpu.detect()
    code, meson = process.output([environment.meson, "--version"])
    return "\n".join(
        [
            f"nvcc {environment.toolkit.nvcc} {environment.toolkit.version}",
            f"meson {meson.strip() if code == 0 else '?'}",
            f"gpu {here.name if isinstance(here, gpu.Gpu) else 'none'}",
            "",
        ]
    )


def _without_commands(lines: Sequence[str]) -> list[str]:
    """Ninja's words less the compiler's whole command line, which follows each FAILED and helps nobody."""
    kept, after_failed = [], False
    for line in lines:
        if after_failed:
            after_failed = False
            continue
        after_failed = line.startswith("FAILED:")
        if not line.startswith("ninja: Entering directory"):
            kept.append(line)
    return kept
