"""What is loaded when: a program in a process of its own."""

import collections
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from products import run

import gemm_steps
from gemm_steps import _load

PRODUCT = "import gemm_steps, numpy; a = numpy.ones((64, 64), 'f'); print(gemm_steps.matmul(a, a, step=1)[0, 0])"
SIMULATED = {"GEMM_STEPS_SIMULATOR": "1"}


def last_line(done):
    assert done.returncode == 1, done
    return done.stderr.splitlines()[-1]


def real_runtime():
    """The toolkit's CUDA runtime, which the modules name in their RUNPATH."""
    nvcc = shutil.which("nvcc")
    home = Path(os.environ.get("CUDA_HOME") or (Path(nvcc).resolve().parent.parent if nvcc else "/usr/local/cuda"))
    for folder in ("lib64", "lib"):
        if (home / folder / _load.RUNTIME).exists():
            return home / folder / _load.RUNTIME
    return None


@pytest.mark.skipif(real_runtime() is None, reason="the toolkit's CUDA runtime was not found")
def test_a_runtime_that_is_loaded_already_is_named():
    runtime = real_runtime()
    done = run(f"import ctypes; ctypes.CDLL('{runtime}'); {PRODUCT}", **SIMULATED)
    assert last_line(done) == (
        "RuntimeError: GEMM_STEPS_SIMULATOR is set, and the simulator cannot take the place of"
        f" {runtime.resolve()}, which is loaded already: call gemm_steps before what loads that (PyTorch, CuPy), or in"
        " a process of its own"
    )


def test_without_a_gpu_and_without_the_simulator_one_line_says_so(tmp_path):
    shutil.copytree(
        _load.HERE, tmp_path / "gemm_steps", ignore=shutil.ignore_patterns("*.p", "*.a", "step_*.so", _load.RUNTIME)
    )
    assert last_line(run(PRODUCT, tmp_path, **SIMULATED)) == (
        "RuntimeError: GEMM_STEPS_SIMULATOR is set, and this package was built without the simulator; run on a machine"
        " with a GPU"
    )


def test_importing_the_package_loads_no_framework_and_no_cuda():
    done = run("import gemm_steps, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))")
    assert not {"torch", "cupy", "jax", "numpy"} & set(done.stdout.split())
    done = run("import gemm_steps; gemm_steps.steps(); print(open('/proc/self/maps').read())")
    assert "libcudart" not in done.stdout and "libcuda.so" not in done.stdout


def test_a_steps_name_is_one_target_of_the_build():
    """So that `meson compile -C build 07_thread_tile_8x8` knows what is meant."""
    targets = json.loads((_load.HERE.parents[1] / "meson-info" / "intro-targets.json").read_text(encoding="utf-8"))
    names = collections.Counter(target["name"] for target in targets)
    assert {names[step.name] for step in gemm_steps.steps()} == {1}


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm")
@pytest.mark.parametrize("step", gemm_steps.steps(), ids=lambda step: step.name)
def test_a_steps_module_shows_one_symbol(step):
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", _load.HERE / f"step_{step.name}.so"], capture_output=True, text=True, check=True
    )
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["gemm_step_module"]
