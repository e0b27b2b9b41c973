"""The .venv folder: the pinned Python tools, installed once and again only when the pins change."""

import hashlib
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from base import packages, process
from base.errors import UserError
from base.paths import CUDA_REQUIREMENTS, REQUIREMENTS, ROOT, VENV
from base.progress import say

PYTHON = VENV / "bin" / "python"
PIP_OPTIONS = ("--no-input", "--disable-pip-version-check", "--no-compile")  # Python compiles what it imports
TOOLS_GB, CUDA_GB = 0.3, 1.5  # what is installed, and some room to unpack it
BY_HAND = "or install them by hand and use --no-setup"


def running_inside() -> bool:
    """Is this very process the .venv's Python?"""
    return Path(sys.prefix).resolve() == VENV.resolve()


def site_packages() -> Path:
    """Where the .venv keeps its packages."""
    return VENV / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"


def ensure() -> None:
    """Makes .venv and installs the Python tools, unless that has been done for these very pins."""
    stamp = VENV / ".made"  # made anew when it was moved or its Python has changed
    wanted = f"{VENV} {sys.version_info[0]}.{sys.version_info[1]}\n"
    if not running_inside() and not (PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted):
        _make_room(TOOLS_GB)
        _make()
        stamp.write_text(wanted)
    know_the_course()
    install(REQUIREMENTS, "Installing the Python tools into .venv", TOOLS_GB)


def know_the_course() -> None:
    """Lets the .venv's Python find base, records, lab, plots and tools wherever it is started, as `pip install -e` would."""
    file = site_packages() / "course.pth"
    if not file.is_file() or file.read_text(encoding="utf-8") != f"{ROOT}\n":
        file.write_text(f"{ROOT}\n", encoding="utf-8")


def ensure_cuda() -> None:
    """Installs the CUDA compiler and cuBLAS into .venv, unless they are there."""
    install(CUDA_REQUIREMENTS, "Installing the CUDA compiler and cuBLAS into .venv (a download of 0.8 GB)", CUDA_GB)


def _make() -> None:
    if sys.executable == "/usr/bin/python3" and not _can_make() and shutil.which("apt-get"):
        packages.install(["python3-venv"])  # Debian has it in a package of its own
        importlib.invalidate_caches()
    if not _can_make():
        raise UserError(f"this Python cannot make a .venv: install its venv and ensurepip modules, {BY_HAND}")
    say("Making .venv …")
    code, text = process.output([sys.executable, "-m", "venv", "--clear", VENV])
    if code != 0:
        raise UserError(f"python -m venv failed: {' '.join(text.splitlines()[-1:])}")


def _can_make() -> bool:
    return all(importlib.util.find_spec(module) for module in ("venv", "ensurepip"))


def _make_room(needed_gb: float) -> None:
    """Refuses to start what the disk cannot hold: pip would end in the middle."""
    free_gb = shutil.disk_usage(VENV if VENV.exists() else VENV.parent).free / 1e9
    if free_gb < needed_gb:
        raise UserError(f"the disk has {free_gb:.2f} GB free, and .venv takes {needed_gb} GB more: make room first")


def install(requirements: Path, title: str, needed_gb: float) -> None:
    """Runs pip for one file of pins; a stamp with the file's hash says that it is done."""
    stamp = VENV / f".installed-{requirements.stem}"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    _make_room(needed_gb)
    say(f"{title} …")
    if process.run([PYTHON, "-m", "pip", "install", *PIP_OPTIONS, "--require-hashes", "-r", requirements]) != 0:
        raise UserError(
            f"pip could not install {requirements.name}, see above; see to the network and to room on the disk, {BY_HAND}"
        )
    stamp.write_text(wanted)


def restart_inside(arguments: list[str]) -> None:
    """Starts ./gemm again with the .venv's Python, so that what is installed there can be imported."""
    if not running_inside():
        sys.stdout.flush()
        os.execv(PYTHON, [str(PYTHON), str(ROOT / "gemm"), *arguments])


def tool(name: str) -> str | None:
    """The path of a tool: the .venv's, else the one on PATH."""
    return shutil.which(name, path=f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}")
