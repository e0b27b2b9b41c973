"""Finds the CUDA compiler, or installs it from the Python index."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tools import process, venv
from tools.errors import UserError
from tools.progress import say

NEEDED = 13
RELEASE = re.compile(r"release (\d+)\.(\d+)")
TOP = re.compile(r"^#\$ TOP=(.+)$", re.MULTILINE)
USUAL_PLACES = Path("/usr/local")


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit that can build the course."""

    nvcc: Path
    root: Path
    version: str  # 13.0
    in_venv: bool = False

    def environment(self) -> dict[str, str]:
        """What Meson and the programs that it builds have to be told, as environment variables."""
        found = {
            "PATH": f"{self.nvcc.parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "NVCC": str(self.nvcc),
            "CUDA_PATH": str(self.root),
        }
        if self.in_venv:  # elsewhere the system knows where its CUDA libraries are
            for variable in ("LIBRARY_PATH", "LD_LIBRARY_PATH"):
                before = os.environ.get(variable)
                found[variable] = str(self.root / "lib") + (f"{os.pathsep}{before}" if before else "")
        return found


@dataclass(frozen=True)
class Unsuitable:
    """An nvcc that was found and cannot be used, and why."""

    nvcc: Path
    reason: str


def find(with_cublas: bool = True) -> Toolkit | list[Unsuitable]:
    """The first toolkit that will do: from $CUDA_PATH, PATH or the usual place; else those that will not, and why."""
    rejected = []
    for nvcc in _candidates():
        examined = _examine(nvcc, with_cublas)
        if isinstance(examined, Toolkit):
            return examined
        rejected.append(examined)
    return rejected


def ensure(setup: bool) -> Toolkit:
    """A toolkit to build with. Where there is none, installs one into .venv, if `setup` allows it.

    Without `setup`, cuBLAS may be elsewhere on this machine, where only its owner knows.
    """
    found = find(with_cublas=setup)
    if isinstance(found, Toolkit):
        return found
    reasons = (
        "; ".join(f"{one.nvcc} {one.reason}" for one in found) or "there is no nvcc on PATH nor in /usr/local/cuda"
    )
    if not setup:
        raise UserError(f"{reasons}: install the CUDA Toolkit {NEEDED}, or leave out --no-setup to get it into .venv")
    installed = venv.site_packages() / "nvidia" / f"cu{NEEDED}"
    if not (installed / "bin" / "nvcc").exists():
        say(f"No CUDA compiler to build with ({reasons})")
    venv.ensure_cuda()
    complete_wheels(installed)
    toolkit = _examine(installed / "bin" / "nvcc", in_venv=True)
    if isinstance(toolkit, Unsuitable):
        raise UserError(f"the CUDA compiler in .venv cannot be used: {toolkit.reason}; delete .venv and try again")
    return toolkit


def complete_wheels(root: Path) -> None:
    """Makes the wheels' folder look like a toolkit's: `lib64`, and the `libX.so` names that a linker looks for."""
    lib64 = root / "lib64"
    if not lib64.exists():
        lib64.symlink_to("lib")
    for library in (root / "lib").glob("lib*.so.*"):
        plain = library.with_name(library.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(library.name)


def _candidates() -> list[Path]:
    """Every nvcc in sight, the likeliest first."""
    found = []
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if os.environ.get(variable):
            found.append(Path(os.environ[variable]) / "bin" / "nvcc")
    on_path = shutil.which("nvcc")
    if on_path:
        found.append(Path(on_path))
    found.append(USUAL_PLACES / "cuda" / "bin" / "nvcc")
    found += sorted(USUAL_PLACES.glob("cuda-*/bin/nvcc"), key=_version_in_path, reverse=True)
    return list(dict.fromkeys(nvcc for nvcc in found if os.access(nvcc, os.X_OK)))


def _version_in_path(nvcc: Path) -> tuple[int, ...]:
    """(13, 0) for /usr/local/cuda-13.0/bin/nvcc."""
    return tuple(int(number) for number in re.findall(r"\d+", nvcc.parent.parent.name))


def _examine(nvcc: Path, with_cublas: bool = True, in_venv: bool = False) -> Toolkit | Unsuitable:
    """Is this compiler new enough, and is cuBLAS with it?"""
    code, text = process.output([nvcc, "--version"])
    release = RELEASE.search(text)
    if code != 0 or release is None:
        return Unsuitable(nvcc, "does not start")
    version = f"{release[1]}.{release[2]}"
    if int(release[1]) != NEEDED:
        return Unsuitable(nvcc, f"is CUDA {version}, not {NEEDED}")
    # nvcc itself knows where its toolkit is, also when it is started through a link or a script
    top = TOP.search(process.output([nvcc, "--dryrun", "-x", "cu", "-c", os.devnull])[1])
    root = Path(top[1]).resolve() if top else nvcc.resolve().parent.parent
    headers = [root / "include", *root.glob("targets/*/include")]
    if with_cublas and not any((folder / "cublas_v2.h").exists() for folder in headers):
        return Unsuitable(nvcc, "comes without cuBLAS")
    inside = root / "bin" / "nvcc"
    return Toolkit(inside if inside.exists() else nvcc, root, version, in_venv)
