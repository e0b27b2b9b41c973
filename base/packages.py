"""The system packages that the build needs: found by what they bring, installed where that is allowed."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from base import process
from base.errors import UserError
from base.progress import say

# Debian's package -> the program or the header that it brings
PROGRAMS = {"g++": "g++", "pkg-config": "pkg-config"}
HEADERS = {
    "libcli11-dev": "CLI/CLI.hpp",
    "nlohmann-json3-dev": "nlohmann/json.hpp",
    "libgtest-dev": "gtest/gtest.h",
}
# Where the system installs something of its own at this moment, apt-get waits for it.
INSTALL = ("apt-get", "install", "-q", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300")


def missing() -> list[str]:
    """The packages that are not there."""
    programs = [package for package, program in PROGRAMS.items() if shutil.which(program) is None]
    if "g++" in programs:
        return [*programs, *HEADERS]
    asked = "".join(f"#if !__has_include(<{header}>)\nmissing {name}\n#endif\n" for name, header in HEADERS.items())
    done = subprocess.run(
        ["g++", "-E", "-P", "-x", "c++", "-"], input=asked, capture_output=True, text=True, check=False
    )
    return programs + [line.split()[1] for line in done.stdout.splitlines() if line.startswith("missing ")]


def ensure() -> None:
    """Installs the packages that are missing, or says in one line how to."""
    if packages := missing():
        install(packages)
        if still := missing():
            raise UserError(f"apt-get installed {', '.join(still)}, and what they bring is not found")


def install(packages: Sequence[str]) -> None:
    """Installs Debian packages with apt-get; where that is not possible, says what has to be done."""
    if shutil.which("apt-get") is None:
        wanted = ", ".join({**PROGRAMS, **HEADERS}.get(package, package) for package in packages)
        raise UserError(f"the build needs {wanted}: install them with this system's package manager")
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if as_root and process.output([*as_root, "true"])[0] != 0:
        raise UserError(f"system packages are missing, and installing them takes rights; run: {by_hand(packages)}")
    say(f"Installing system packages: {', '.join(packages)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    process.run([*as_root, "apt-get", "update", "-q"], env)  # an old list may still do, so only the install decides
    if process.run([*as_root, *INSTALL, *packages], env) != 0:
        raise UserError(f"apt-get failed, see above; put that right and run: {by_hand(packages)}")


def by_hand(packages: Sequence[str]) -> str:
    """The line that installs Debian packages."""
    return f"sudo apt-get update && sudo apt-get install {' '.join(packages)}"
