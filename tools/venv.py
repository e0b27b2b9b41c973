"""The .venv folder: the pinned Python tools, installed once and again only when the pins change."""

import hashlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from tools import packages, process
from tools.errors import UserError
from tools.paths import CUDA_REQUIREMENTS, REQUIREMENTS, ROOT, VENV
from tools.progress import meter, say

PYTHON = VENV / "bin" / "python"
PIP_OPTIONS = ("--no-input", "--disable-pip-version-check", "--progress-bar", "off")
BY_HAND = "or install them by hand and use --no-setup"


def running_inside() -> bool:
    """Is this very process the .venv's Python?"""
    return Path(sys.prefix).resolve() == VENV.resolve()


def site_packages() -> Path:
    """Where the .venv keeps its packages."""
    return VENV / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def ensure() -> None:
    """Makes .venv and installs the Python tools, unless that has been done for these very pins."""
    _ensure_python()
    _ensure_requirements(REQUIREMENTS, "Installing the Python tools into .venv")


def ensure_cuda() -> None:
    """Installs the CUDA compiler and cuBLAS into .venv, unless they are there."""
    _ensure_requirements(CUDA_REQUIREMENTS, "Installing the CUDA compiler and cuBLAS into .venv (0.8 GB)")


def _ensure_python() -> None:
    """Makes the environment itself; makes it again when it was moved or its Python has changed."""
    stamp = VENV / ".made"
    wanted = f"{VENV} {sys.version_info[0]}.{sys.version_info[1]}\n"
    if running_inside() or (PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted):
        return
    if not _can_make():
        if sys.executable == "/usr/bin/python3" and shutil.which("apt-get"):  # Debian has it in a package of its own
            packages.install(["python3-venv"])
            importlib.invalidate_caches()
        if not _can_make():
            raise UserError(f"this Python cannot make a .venv: install its venv and ensurepip modules, {BY_HAND}")
    say("Making .venv …")
    code, text = process.output([sys.executable, "-m", "venv", "--clear", VENV])
    if code != 0:
        raise UserError(f"python -m venv failed: {_last_line(text)}")
    stamp.write_text(wanted)


def _can_make() -> bool:
    """Has this Python what it takes to make an environment with pip in it?"""
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def _ensure_requirements(requirements: Path, title: str) -> None:
    """Runs pip for one file of pins; a stamp with the file's hash says that it is done."""
    stamp = VENV / f".installed-{requirements.stem}"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    pins = [line for line in requirements.read_text().splitlines() if "==" in line]
    seen: list[str] = []
    with meter(title, len(pins)) as shown:
        done = 0

        def on_line(line: str) -> None:
            nonlocal done
            seen.append(line)
            if line.startswith(("Collecting ", "Requirement already satisfied: ")):
                done = min(done + 1, len(pins))
                shown.show(done, detail=line.split(" ")[1] if line.startswith("Coll") else "")
            elif line.startswith("Installing collected packages"):
                shown.show(done, detail="unpacking")

        code = process.follow(
            [PYTHON, "-m", "pip", "install", *PIP_OPTIONS, "-r", requirements],
            on_line,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    if code != 0:
        errors = [line for line in seen if line.startswith("ERROR:")] or seen[-1:]
        raise UserError(
            f"pip could not install {requirements.name}: {' '.join(errors[-1:])}; see to the network, {BY_HAND}"
        )
    stamp.write_text(wanted)


def restart_inside(arguments: list[str]) -> None:
    """Starts ./gemm again with the .venv's Python, so that what is installed there can be imported."""
    if running_inside():
        return
    sys.stdout.flush()
    os.execv(PYTHON, [str(PYTHON), str(ROOT / "gemm"), *arguments])


def tool(name: str) -> str | None:
    """The path of a tool: the .venv's, else the one on PATH."""
    return shutil.which(name, path=f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}")


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
