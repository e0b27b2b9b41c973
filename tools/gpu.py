"""Which GPU is here, asked of the driver itself, so that nothing has to be built or installed to know."""

import ctypes
import re
from dataclasses import dataclass

CUDA_SUCCESS = 0
NEEDED_CUDA = 13
# Words in a product's name that do not tell it from another one
NOISE = re.compile(r"nvidia|geforce|tesla|quadro|generation|gpu|\d+gb|hbm\d\w*|sxm\d?", re.IGNORECASE)


@dataclass(frozen=True)
class Gpu:
    """The first GPU that the driver shows, and how many there are."""

    name: str  # NVIDIA H200
    count: int = 1

    @property
    def folder(self) -> str:
        """The name of its folder of records: h200, rtx4090, a100sxm4."""
        return folder_name(self.name)


@dataclass(frozen=True)
class NoGpu:
    """There is none that can be used, and why."""

    reason: str


def folder_name(gpu_name: str) -> str:
    """The name of a folder of records for a GPU: `NVIDIA GeForce RTX 4090` gives rtx4090."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", gpu_name) if word and not NOISE.fullmatch(word)]
    return "".join(words).lower() or "gpu"


def detect() -> Gpu | NoGpu:
    """Asks the CUDA driver for its first GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return NoGpu("no NVIDIA driver is installed")
    if driver.cuInit(0) != CUDA_SUCCESS:
        return NoGpu("the NVIDIA driver finds no GPU")
    count = ctypes.c_int(0)
    if driver.cuDeviceGetCount(ctypes.byref(count)) != CUDA_SUCCESS or count.value == 0:
        return NoGpu("the NVIDIA driver shows no GPU")
    version = ctypes.c_int(0)
    if driver.cuDriverGetVersion(ctypes.byref(version)) == CUDA_SUCCESS and version.value // 1000 < NEEDED_CUDA:
        spoken = f"{version.value // 1000}.{version.value % 1000 // 10}"
        return NoGpu(f"the NVIDIA driver is too old: it speaks CUDA {spoken}, and {NEEDED_CUDA} is needed (driver 580)")
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(name, len(name), 0) != CUDA_SUCCESS:
        return NoGpu("the NVIDIA driver does not say which GPU it has")
    return Gpu(name.value.decode(errors="replace"), count.value)
