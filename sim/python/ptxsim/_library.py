"""The simulator's library, by ctypes: CUDA's driver interface, and what the simulator says beyond it."""

import ctypes
import os
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).resolve().parent


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        *((name, ctypes.c_uint) for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared")),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint),
    ]


class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: its value is a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_int), ("padding", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


CLUSTER_DIMENSION, COOPERATIVE = 4, 2  # CU_LAUNCH_ATTRIBUTE_…
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14  # CU_FUNC_ATTRIBUTE_…


def folder() -> Path:
    """Where the libraries are: in the wheel, or where PTXSIM_LIBRARY says that they were built."""
    named = os.environ.get("PTXSIM_LIBRARY")
    return Path(named) if named else HERE / "lib"


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The library, loaded at the first use."""
    file = folder() / "libcudart.so.13"
    if not file.exists():
        raise ImportError(f"the simulator's library is not at {file}; PTXSIM_LIBRARY names its folder")
    loaded = ctypes.CDLL(str(file))
    for name in ("gemmSimReport", "gemmSimWhy"):
        getattr(loaded, name).restype = ctypes.c_char_p
    loaded.gemmSimVersion()  # from here on the findings are ours to show
    loaded.gemmSimWhy()  # and so are refusals
    return loaded
