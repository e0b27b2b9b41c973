"""The compiled part, loaded when it is first needed: on the real CUDA runtime where there is a GPU, else the simulator.

Modules of the steps ask for libcudart.so.13, and the loader gives them the library of that name that is loaded already.
"""

import ctypes
import functools
import importlib
import os
from pathlib import Path

from gemm_steps._registry import STEPS

HERE = Path(__file__).resolve().parent
RUNTIME = "libcudart.so.13"
SIMULATOR = HERE / RUNTIME
FORCE = "GEMM_STEPS_SIMULATOR"  # in the environment: the simulator although there is a GPU


@functools.cache
def core():
    """Return the compiled module. Raises RuntimeError where there is neither a GPU nor a simulator."""
    if os.environ.get(FORCE) or not gpus():
        load_simulator()
    try:
        module = importlib.import_module("gemm_steps._core")
    except ImportError as error:
        raise RuntimeError(f"the compiled part of gemm_steps cannot be loaded: {error}") from None
    for step in STEPS:
        module.add_step(step.name, str(HERE / f"step_{step.name}.so"))
    return module


def gpus() -> int:
    """How many GPUs the driver shows; 0 without a driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def load_simulator() -> None:
    """Puts the simulator where the steps' modules will look for the CUDA runtime."""
    why = f"{FORCE} is set" if os.environ.get(FORCE) else "no CUDA GPU was found"
    if loaded := loaded_runtime():
        if hasattr(loaded, "gemmSimVersion"):
            return
        raise RuntimeError(
            f"{why}, and the simulator cannot take the place of {runtime_file()}, which is loaded already:"
            " call gemm_steps before what loads that (PyTorch, CuPy), or in a process of its own"
        )
    if not SIMULATOR.exists():
        raise RuntimeError(f"{why}, and this package was built without the simulator; run on a machine with a GPU")
    ctypes.CDLL(str(SIMULATOR), mode=ctypes.RTLD_GLOBAL)


def loaded_runtime() -> ctypes.CDLL | None:
    """Return the CUDA runtime that this process has loaded already, if any."""
    try:
        return ctypes.CDLL(RUNTIME, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return None


def runtime_file() -> str:
    """The file that the loaded CUDA runtime came from."""
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    files = [line.split(maxsplit=5)[5] for line in maps if RUNTIME in line]
    return files[0] if files else RUNTIME
