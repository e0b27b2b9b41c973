"""Finds the CUDA compiler, or installs it from the Python index."""

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from base import process, venv
from base.errors import UserError
from base.progress import say

NEEDED = 13
USUAL_PLACE = Path("/usr/local/cuda")


@dataclass(frozen=True)
class Toolkit:
    """A CUDA toolkit that can build the course."""

    root: Path
    version: str  # 13.0

    @property
    def nvcc(self) -> Path:
        """Its compiler."""
        return self.root / "bin" / "nvcc"

    def environment(self) -> dict[str, str]:
        """What Meson and the programs that it builds have to be told, as environment variables."""

        def first(folder: Path, variable: str) -> str:
            return os.pathsep.join(filter(None, [str(folder), os.environ.get(variable)]))

        found = {"PATH": first(self.nvcc.parent, "PATH"), "CUDA_PATH": str(self.root)}
        if self.root.is_relative_to(venv.VENV):  # elsewhere the system knows where its CUDA libraries are
            found |= {name: first(self.root / "lib", name) for name in ("LIBRARY_PATH", "LD_LIBRARY_PATH")}
        return found


def find(with_cublas: bool = True) -> Toolkit | str:
    """The first toolkit that will do: $CUDA_PATH's, PATH's or the usual one; else why there is none."""
    places = [Path(os.environ[name]) for name in ("CUDA_PATH", "CUDA_HOME") if os.environ.get(name)]
    on_path = shutil.which("nvcc")
    places += [Path(on_path).resolve().parent.parent] if on_path else []
    rejected = []
    for root in dict.fromkeys([*places, USUAL_PLACE]):
        if os.access(root / "bin" / "nvcc", os.X_OK):
            examined = _examine(root.resolve(), with_cublas)
            if isinstance(examined, Toolkit):
                return examined
            rejected.append(examined)
    return "; ".join(rejected) or f"there is no nvcc on PATH nor in {USUAL_PLACE}"


def ensure(setup: bool) -> Toolkit:
    """A toolkit to build with. Where there is none, installs one into .venv, if `setup` allows it.

    Without `setup`, cuBLAS may be elsewhere on this machine, where only its owner knows.
    """
    found = find(with_cublas=setup)
    if isinstance(found, Toolkit):
        return found
    if not setup:
        raise UserError(f"{found}: install the CUDA Toolkit {NEEDED}, or leave out --no-setup to get it into .venv")
    root = venv.site_packages() / "nvidia" / f"cu{NEEDED}"
    if not (root / "bin" / "nvcc").exists():
        say(f"No CUDA compiler to build with ({found})")
    venv.ensure_cuda()
    complete_wheels(root)
    toolkit = _examine(root)
    if isinstance(toolkit, str):
        raise UserError(f"the CUDA compiler in .venv cannot be used: {toolkit}; delete .venv and try again")
    return toolkit


def complete_wheels(root: Path) -> None:
    """Makes the wheels' folder look like a toolkit's: `lib64`, and the `libX.so` names that a linker looks for."""
    if not (root / "lib64").exists():
        (root / "lib64").symlink_to("lib")
    for library in (root / "lib").glob("lib*.so.*"):
        plain = library.with_name(library.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(library.name)


def _examine(root: Path, with_cublas: bool = True) -> Toolkit | str:
    """The toolkit, where its compiler has the right version and cuBLAS is with it; else what is wrong."""
    nvcc = root / "bin" / "nvcc"
    code, text = process.output([nvcc, "--version"])
    release = re.search(r"release (\d+)\.(\d+)", text)
    if code != 0 or release is None:
        return f"{nvcc} does not start"
    root = _home(nvcc) or root
    if int(release[1]) != NEEDED:
        return f"{nvcc} is CUDA {release[1]}.{release[2]}, not {NEEDED}"
    headers = [root / "include", *root.glob("targets/*/include")]
    if with_cublas and not any((folder / "cublas_v2.h").exists() for folder in headers):
        return f"{nvcc} comes without cuBLAS"
    return Toolkit(root, f"{release[1]}.{release[2]}")


def _home(nvcc: Path) -> Path | None:
    """Where a compiler says that its toolkit is; a script named nvcc may start one that lies somewhere else."""
    text = process.output([nvcc, "--dryrun", "-c", "-x", "cu", os.devnull])[1]
    top = re.search(r"^#\$ TOP=(.+)$", text, re.MULTILINE)
    return Path(top[1]).resolve() if top and (Path(top[1]) / "bin" / "nvcc").exists() else None
