"""System packages: which are missing, and their installation where that is allowed."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from tools import process
from tools.errors import UserError
from tools.progress import meter

# Debian's package -> the program that it brings
PROGRAMS = {"g++": "g++", "pkg-config": "pkg-config"}
# Debian's package -> a header that it brings
HEADERS = {
    "libcli11-dev": "CLI/CLI.hpp",
    "nlohmann-json3-dev": "nlohmann/json.hpp",
    "libgtest-dev": "gtest/gtest.h",
}

INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


def missing() -> list[str]:
    """The Debian packages that the build needs and that are not there, found by what they bring."""
    programs = [package for package, program in PROGRAMS.items() if shutil.which(program) is None]
    if "g++" in programs:
        return [*programs, *HEADERS]
    question = "".join(
        f"#if !__has_include(<{header}>)\nmissing {package}\n#endif\n" for package, header in HEADERS.items()
    )
    code, text = _preprocess(question)
    if code != 0:
        raise UserError(f"g++ does not work: {text.strip().splitlines()[-1] if text.strip() else 'it said nothing'}")
    return programs + [line.split()[1] for line in text.splitlines() if line.startswith("missing ")]


def ensure() -> None:
    """Installs the system packages that are missing, or says in one line how to."""
    packages = missing()
    if not packages:
        return
    if shutil.which("apt-get") is None:
        wanted = ", ".join({**PROGRAMS, **HEADERS}[package] for package in packages)
        raise UserError(f"the build needs {wanted}: install them with this system's package manager")
    install(packages)
    if still := missing():
        raise UserError(f"apt-get installed {', '.join(still)}, and what they bring is not found")


def install(packages: Sequence[str]) -> None:
    """Installs Debian packages with apt-get; where that is not allowed, says which line does it."""
    as_root = _as_root()
    if as_root is None:
        raise UserError(f"system packages are missing, and installing them takes rights; run: {by_hand(packages)}")
    command = [*as_root, *INSTALL, *packages]
    _install([*as_root, "apt-get", "update"], command, by_hand(packages))


def by_hand(packages: Sequence[str]) -> str:
    """The line that installs Debian packages."""
    return f"sudo apt-get update && sudo {' '.join((*INSTALL, *packages))}"


def _install(update: Sequence[str], install: Sequence[str], line_by_hand: str) -> None:
    """Runs apt-get, showing its lines as they come."""
    said: list[str] = []
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with meter("Installing system packages") as shown:

        def on_line(line: str) -> None:
            said.append(line)
            shown.show(len(said), detail=line)

        process.follow(update, on_line, env=env)  # an old list may still do, so only the install decides
        code = process.follow(install, on_line, env=env)
    if code != 0:
        errors = [line for line in said if line.startswith("E: ")] or said[-1:]
        raise UserError(f"apt-get failed: {' '.join(errors[-1:])}; put that right and run: {line_by_hand}")


def _as_root() -> list[str] | None:
    """What to put before a command to run it as root: nothing, sudo, or None where neither works unasked."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and process.output(["sudo", "-n", "true"])[0] == 0:
        return ["sudo", "-n"]
    return None


def _preprocess(text: str) -> tuple[int, str]:
    """g++'s preprocessor on a few lines."""
    done = subprocess.run(
        ["g++", "-E", "-P", "-x", "c++", "-std=c++20", "-"], input=text, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr
