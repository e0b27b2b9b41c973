"""Programs in place of compiled ones and of other people's, for the tests of what starts them; and projects of a part of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from base.paths import BUILD, ROOT

TOOLS = Path(sys.executable).parent  # Meson among them


def program(file: Path, text: str) -> Path:
    """A script with this text; without a first line of its own, one for the shell."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def built(*files: Path) -> Path:
    """The first of these files of the build; skips the test where one is missing."""
    for file in files:
        if not file.is_file():
            pytest.skip(f"{file.name} is not built; run: meson compile -C {BUILD.name}")
    return files[0]


def ran(*command: object, env: dict[str, str] | None = None, **how) -> subprocess.CompletedProcess[str]:
    """A program that ended, and what it said, with these variables beside those that there are."""
    how = {"capture_output": True, "text": True, "check": False, "timeout": 120, **how}
    return subprocess.run([*map(str, command)], env={**os.environ, **(env or {})}, **how)


def printing(file: Path, text: str) -> Path:
    """A program that prints this, whatever it is asked."""
    return program(file, f"cat <<'END'\n{text}\nEND")


def configured(folder: Path, text: str, *options: str, path: Path = TOOLS, **environment: str) -> str:
    """What Meson says of a project with this text and the course's options."""
    (folder / "meson.build").write_text(f"project('part', version: '1')\n{text}", encoding="utf-8")
    (folder / "meson.options").write_text((ROOT / "meson.options").read_text(encoding="utf-8"), encoding="utf-8")
    command = [TOOLS / "meson", "setup", *options, folder / "build", folder]
    variables = {"PATH": f"{path}:{TOOLS}:/usr/bin:/bin", **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    return done.stdout + done.stderr
