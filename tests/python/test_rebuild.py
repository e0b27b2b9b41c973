"""Touching a header that a .cu file includes builds it again: with the Meson that is pinned, in this very project."""

import os
import shutil
import subprocess
import time

import pytest

from tools import cuda, registry, venv
from tools.paths import BUILD, ROOT

PROJECT = """\
project('rebuild', ['cuda'], meson_version: '>=1.4.0')
static_library('kernel', 'kernel.cu')
"""
KERNEL = '#include "tile.h"\n__global__ void kernel(float* c) { c[threadIdx.x] = TILE; }\n'


def ninja(folder, *arguments: str) -> str:
    """What ninja says, run quietly."""
    tool = venv.tool("ninja")
    done = subprocess.run([tool, "-C", folder, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def toolkit():
    """A CUDA compiler: the one that ./gemm builds with."""
    found = cuda.find()
    if not isinstance(found, cuda.Toolkit):
        pytest.skip("there is no nvcc")
    return found


def test_a_touched_header_builds_the_kernel_again(tmp_path, toolkit):
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    (source / "meson.build").write_text(PROJECT)
    (source / "kernel.cu").write_text(KERNEL)
    header = source / "tile.h"
    header.write_text("#pragma once\nconstexpr float TILE = 32;\n")
    environment = {**os.environ, **toolkit.environment()}
    subprocess.run([venv.tool("meson"), "setup", build, source], env=environment, check=True, capture_output=True)

    assert "kernel.cu" in ninja(build)
    assert "no work to do" in ninja(build)

    future = time.time() + 5  # a file system may count whole seconds
    os.utime(header, (future, future))
    assert "kernel.cu" in ninja(build), "the header was touched, and the kernel was not compiled again"


def test_the_course_tracks_the_headers_of_its_kernels():
    """In the build directory of this run: every kernel's object depends on the harness's headers that it includes."""
    if not (BUILD / "build.ninja").exists() or shutil.which(venv.tool("ninja") or "ninja") is None:
        pytest.skip("nothing is built here")
    tracked = ninja(BUILD, "-t", "deps")
    blocks = dict(block.split(":", 1) for block in tracked.split("\n\n") if ":" in block)
    headers = {
        name.split("/")[1].removesuffix(".p"): text for name, text in blocks.items() if name.endswith("kernel.cu.o")
    }
    built = [step for step in registry.steps() if (BUILD / "steps" / step.name).exists()]
    if not built:
        pytest.skip("no step is built here")
    for step in built:
        assert step.name in headers, f"nothing is known of what {step.name} includes"
        included = {
            line.split('"')[1] for line in step.kernel.read_text().splitlines() if line.startswith('#include "')
        }
        missing = {header for header in included if header not in headers[step.name] and (ROOT / header).exists()}
        assert not missing, f"{step.name} includes {missing}, and ninja does not know"
