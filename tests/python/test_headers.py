"""Which CUDA headers the build has read, by the dependencies that the compilers reported to Ninja."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from base import process, venv
from base.paths import BUILD, ROOT

COMMON = ROOT / "common"


def toolkit() -> Path:
    """The folder of the toolkit that Meson was told to use, as its compiler names it."""
    compilers = json.loads((BUILD / "meson-info" / "intro-compilers.json").read_text())
    nvcc = compilers["host"]["cuda"]["exelist"][-1]
    text = process.output([nvcc, "--dryrun", "-c", "-x", "cu", "/dev/null"])[1]
    return Path(next(line for line in text.splitlines() if line.startswith("#$ TOP=")).removeprefix("#$ TOP="))


def test_every_cuda_header_is_the_chosen_toolkits():
    """A header from elsewhere, such as a link in a compiler's default folder, is not there on other machines."""
    if not (BUILD / ".ninja_deps").exists():
        pytest.skip("nothing has been built")
    listed = subprocess.run([venv.tool("ninja"), "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True)
    read = {Path(os.path.normpath(BUILD / line.strip())) for line in listed.stdout.splitlines() if line.startswith(" ")}
    read = {path for path in read if not path.is_relative_to(COMMON)}  # the course has an mma.h, too
    root = toolkit()
    brought = {header.name for folder in ("include", "include/crt") for header in (root / folder).iterdir()}
    cuda = {path for path in read if path.name in brought and path.suffix in {".h", ".hpp"}}
    assert any(path.name == "cuda_runtime.h" for path in cuda)
    # The folder counts in which a compiler found it: a link in a default folder leads into the toolkit, too.
    chosen = root.resolve()
    assert sorted(str(path) for path in cuda if not path.parent.resolve().is_relative_to(chosen)) == []
