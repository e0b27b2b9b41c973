"""Which GPU is here, asked of the driver itself, so that nothing has to be built or installed to know.

As a program it prints the compute capability of each GPU (90), a line each kind, and nothing where there is none.
"""

import ctypes
import re
from dataclasses import dataclass

CUDA_SUCCESS = 0
NEEDED_CUDA = 13
MAJOR, MINOR = 75, 76  # attributes of a device: its compute capability
# Words in a product's name that do not tell it from another one
NOISE = re.compile(r"nvidia|geforce|tesla|quadro|generation|gpu|\d+gb|hbm\d\w*|sxm\d?", re.IGNORECASE)


@dataclass(frozen=True)
class Gpu:
    """The first GPU that the driver shows, how many there are, and the compute capabilities of all."""

    name: str  # NVIDIA H200
    count: int = 1
    archs: tuple[str, ...] = ()  # 90

    @property
    def capability(self) -> str:
        """The compute capability of the first, on which steps run: 90. "" where the driver does not say."""
        return next(iter(self.archs), "")

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
    """Asks the CUDA driver for its GPUs."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return NoGpu("no NVIDIA driver is installed")

    def number(function: str, *arguments: int) -> int:
        """What a function of the driver writes to its first argument; 0 where it fails."""
        value = ctypes.c_int(0)
        return value.value if getattr(driver, function)(ctypes.byref(value), *arguments) == CUDA_SUCCESS else 0

    if driver.cuInit(0) != CUDA_SUCCESS:
        return NoGpu("the NVIDIA driver finds no GPU")
    count, version = number("cuDeviceGetCount"), number("cuDriverGetVersion")
    if count == 0:
        return NoGpu("the NVIDIA driver shows no GPU")
    if 0 < version // 1000 < NEEDED_CUDA:
        spoken = f"{version // 1000}.{version % 1000 // 10}"
        return NoGpu(f"the NVIDIA driver is too old: it speaks CUDA {spoken}, and {NEEDED_CUDA} is needed (driver 580)")
    name = ctypes.create_string_buffer(256)
    if driver.cuDeviceGetName(name, len(name), 0) != CUDA_SUCCESS:
        return NoGpu("the NVIDIA driver does not say which GPU it has")
    archs = [
        f"{number('cuDeviceGetAttribute', MAJOR, i)}{number('cuDeviceGetAttribute', MINOR, i)}" for i in range(count)
    ]
    return Gpu(name.value.decode(errors="replace"), count, tuple(dict.fromkeys(archs)))


if __name__ == "__main__":
    here = detect()
    print(*(here.archs if isinstance(here, Gpu) else ()), sep="\n")
