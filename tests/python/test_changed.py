"""./gemm test --changed: which tests a change of a file can affect."""

import subprocess

import pytest

from base import registry
from base.paths import ROOT
from tools import changed

EVERY = {step.name for step in registry.steps()}
TESTS = [
    *(("gemm:simulator", f"{step} {kind}") for step in sorted(EVERY) for kind in ("simulated", "on other GPUs")),
    ("gemm:gpu", "07_thread_tile_8x8"),
    ("sim:simulator", "simulator"),
    ("gemm:harness", "harness"),
    ("gemm:pytest", "python package"),
    ("gemm:pytest", "charts"),
]


def test_a_kernel_affects_its_step_alone():
    found = changed.affected(["steps/07_thread_tile_8x8/kernel.cu"])
    assert found.steps == {"07_thread_tile_8x8"}
    assert {"test_kernel_rules", "test_mutants", "test_told"} <= found.python
    step = "gemm:07_thread_tile_8x8"
    assert set(found.meson(TESTS)) == {f"{step} simulated", f"{step} on other GPUs", "gemm:python package"}


def test_a_page_is_read_by_the_tests_of_pages():
    for page in ("steps/07_thread_tile_8x8/README.zh-CN.md", "docs/power.md", "README.md"):
        found = changed.affected([page])
        assert {"test_told", "test_glossary", "test_site"} <= found.python
        assert not found.steps
        assert not found.meson(TESTS)


def test_a_tool_affects_the_tests_that_import_it_or_start_it():
    found = changed.affected(["tools/diff.py"])
    assert {"test_cli_diff", "test_cli_refusals"} <= found.python and not {
        "test_told",
        "test_tensor_parallel",
    } & found.python
    assert "test_cli_refusals" in changed.affected(["gemm"]).python


def test_a_header_affects_the_steps_that_include_it():
    found = changed.affected(["common/device/ptx/wgmma.h"]).steps
    assert "23_wgmma" in found
    assert "07_thread_tile_8x8" not in found
    assert changed.affected(["common/device/gemm.h"]).steps == EVERY


def test_the_simulator_and_the_harness_affect_every_step():
    for path in ("sim/core/memory/atomics.cpp", "sim/devices.json", "common/harness/session.cpp"):
        found = changed.affected([path])
        assert found.steps == EVERY
        assert found.harness
    assert changed.affected(["sim/tests/test_tma.cpp"]).meson(TESTS) == ["sim:simulator"]


@pytest.mark.parametrize("path", ["meson.build", "requirements.txt", "base/build.py", "somewhere/new.txt"])
def test_what_is_not_known_affects_everything(path):
    assert changed.affected(["docs/power.md", path]).everything == path


def test_every_file_of_the_project_is_known():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no checkout")
    unknown = [path for path in listed.stdout.splitlines() if changed.affected([path]).everything == path]
    assert [path for path in unknown if not changed.EVERYTHING.fullmatch(path)] == []
