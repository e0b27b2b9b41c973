"""Modules of PTX, kernels, launches and what they came to."""

from __future__ import annotations

import contextlib
import ctypes
import json
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _library
from ._library import LaunchAttribute, LaunchConfig, library

Size = int | Sequence[int]
LAUNCH_FAILED = 719
MOST = 2**31 - 1  # blocks, threads or bytes that a launch may ask for


class PtxError(ValueError):
    """PTX that is not well formed, or that needs something that is not simulated: one line, with its place."""


class LaunchError(RuntimeError):
    """A launch that a GPU would refuse, or a kernel that is not simulated."""


@dataclass(frozen=True)
class Finding:
    """One mistake, at one pair of lines."""

    kind: str
    kernel: str
    message: str
    lines: tuple[str, ...] = ()
    times: int = 1
    rule: str = ""  # of PTX or CUDA, the one that an error breaks; a warning breaks none

    def __str__(self) -> str:
        """As it is printed."""
        return f"{self.kind} in {self.kernel}: {self.message}"


@dataclass(frozen=True)
class Result:
    """What a launch did and found."""

    counts: dict[str, Any] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)  # counts by source line: file, line, counts
    findings: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def check(self) -> Result:
        """Raises AssertionError where there are findings, with all of them."""
        if self.findings:
            raise AssertionError("\n".join(map(str, self.findings)))
        return self


class Interrupted(KeyboardInterrupt):
    """Ctrl-C has ended a launch: `result` is what it did and found until then; the arrays are as before it."""

    def __init__(self, result: Result) -> None:
        """With the launch's result."""
        super().__init__(f"a launch was interrupted, with {len(result.findings)} findings until then")
        self.result = result


@dataclass(frozen=True)
class Settings:
    """How launches run within `using`."""

    seed: int = 0  # of another order of blocks, warps and copies; 0: in order


def seed(number: int) -> None:
    """Draws the order of blocks, warps and copies by lot from now on, the same for the same number; 0: in order."""
    library().gemmSimSeed(ctypes.c_ulonglong(number))


@contextlib.contextmanager
def using(settings: Settings) -> Iterator[None]:
    """Launches within it run with these settings."""
    seed(settings.seed)
    try:
        yield
    finally:
        seed(0)


def _why(code: int) -> str:
    said = library().gemmSimWhy()
    if said:
        return said.decode(errors="backslashreplace")  # PTX is quoted as it was given
    name = ctypes.c_char_p()
    library().cuGetErrorString(code, ctypes.byref(name))
    return (name.value or b"unknown error").decode()


def _check(code: int, error: type[Exception] = LaunchError) -> None:
    if code != 0:
        raise error(_why(code))


def _whole(number: Any, least: int) -> bool:
    return isinstance(number, (int, np.integer)) and least <= number <= MOST


def _three(size: Size, what: str) -> tuple[int, int, int]:
    numbers = tuple(size) if isinstance(size, Iterable) else (size,)
    if not 1 <= len(numbers) <= 3 or not all(_whole(each, 1) for each in numbers):
        raise ValueError(f"{what} should be one to three whole numbers from 1 to {MOST}, not {size!r}")
    return (*map(int, numbers), *(1,) * (3 - len(numbers)))  # type: ignore[return-value]


class Module:
    """PTX text; its kernels by name."""

    def __init__(self, ptx: str | bytes) -> None:
        """Reads the text: PtxError where it is wrong, with the line."""
        text = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
        self._text = text.decode(errors="replace")
        self._handle = ctypes.c_void_p()
        _check(library().cuModuleLoadData(ctypes.byref(self._handle), ctypes.c_char_p(text)), PtxError)

    def kernel(self, name: str) -> Kernel:
        """A kernel by its name in the PTX."""
        handle = ctypes.c_void_p()
        if library().cuModuleGetFunction(ctypes.byref(handle), self._handle, name.encode()) != 0:
            raise KeyError(f"there is no kernel {name} in this PTX")
        return Kernel(name, handle, _parameter_types(self._text, name))


class Kernel:
    """A kernel, launched as kernel[grid, block](arguments…), or kernel[grid, block, shared_bytes](…)."""

    def __init__(self, name: str, handle: ctypes.c_void_p, types: Sequence[str] = ()) -> None:
        """Made by Module.kernel."""
        self.name = name
        self._types = types
        self._handle = handle
        self._sizes: list[int] | None = None

    @property
    def parameter_sizes(self) -> list[int]:
        """Bytes of each parameter."""
        if self._sizes is None:
            offset, size = ctypes.c_size_t(), ctypes.c_size_t()
            sizes: list[int] = []
            while True:
                code = library().cuFuncGetParamInfo(
                    self._handle, ctypes.c_size_t(len(sizes)), ctypes.byref(offset), ctypes.byref(size)
                )
                if code == 1:  # CUDA_ERROR_INVALID_VALUE: there are no more
                    break
                _check(code, PtxError)
                sizes.append(size.value)
            self._sizes = sizes
        return self._sizes

    def __getitem__(self, shape: tuple[Size, Size] | tuple[Size, Size, int]) -> _Launch:
        """The kernel with a grid, a block and, if need be, bytes of dynamic shared memory."""
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise TypeError("a kernel is launched as kernel[grid, block](…) or kernel[grid, block, shared_bytes](…)")
        grid, block = shape[0], shape[1]
        shared = shape[2] if len(shape) == 3 else 0
        if not _whole(shared, 0):
            raise ValueError(f"the bytes of shared memory should be a whole number from 0 to {MOST}, not {shared!r}")
        return _Launch(self, _three(grid, "the grid"), _three(block, "the block"), int(shared))


@dataclass(frozen=True)
class _Launch:
    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int

    def __call__(self, *arguments: Any, cluster: Size | None = None, cooperative: bool = False) -> Result:
        """Launches it: NumPy arrays are copied in and out, numbers are what the type of the parameter makes of them."""
        sizes = self.kernel.parameter_sizes
        if len(arguments) != len(sizes):
            raise TypeError(f"{self.kernel.name} takes {len(sizes)} arguments, not {len(arguments)}")
        types = self.kernel._types if len(self.kernel._types) == len(sizes) else [""] * len(sizes)
        memory: list[_Memory | None] = []
        try:
            for number, argument in enumerate(arguments):
                if isinstance(argument, np.ndarray) and argument.dtype.hasobject:
                    raise TypeError(f"argument {number + 1} is an array of Python's objects, which no kernel can read")
                memory.append(_Memory(argument) if isinstance(argument, np.ndarray) else None)
            packed = [
                _packed(number, argument, size, held, kind)
                for number, (argument, size, held, kind) in enumerate(zip(arguments, sizes, memory, types, strict=True))
            ]
            result = self._run(packed, cluster, cooperative)
            for held in memory:
                if held:
                    held.copy_back()
            return result
        finally:
            for held in memory:
                if held:
                    held.free()

    def _run(self, packed: list[bytes], cluster: Size | None, cooperative: bool) -> Result:
        buffers = [ctypes.create_string_buffer(each, len(each)) for each in packed]
        pointers = (ctypes.c_void_p * max(1, len(buffers)))(*(ctypes.addressof(each) for each in buffers))
        attributes = (LaunchAttribute * 2)()
        count = 0
        if cluster is not None:
            attributes[count].id = _library.CLUSTER_DIMENSION
            attributes[count].value[:3] = _three(cluster, "the cluster")
            count += 1
            library().cuFuncSetAttribute(self.kernel._handle, _library.NON_PORTABLE_CLUSTER, 1)
        if cooperative:
            attributes[count].id = _library.COOPERATIVE
            attributes[count].value[0] = 1
            count += 1
        if self.shared:
            code = library().cuFuncSetAttribute(self.kernel._handle, _library.MAX_DYNAMIC_SHARED, self.shared)
            _check(code)
        config = LaunchConfig(
            *self.grid, *self.block, self.shared, None, ctypes.cast(attributes, ctypes.c_void_p), count
        )
        library().gemmSimReset()
        interrupted = False
        library().gemmSimInterruptible(1)
        try:
            code = library().cuLaunchKernelEx(ctypes.byref(config), self.kernel._handle, pointers, None)
        except KeyboardInterrupt:  # as soon as the call has returned
            interrupted = True
        finally:
            interrupted |= bool(library().gemmSimInterruptible(0))
        result = _result()
        if interrupted:
            library().cudaDeviceReset()  # the next launch starts afresh
            raise Interrupted(result)
        if code == 0:
            code = library().cuCtxSynchronize()
            if code != 0:  # the findings say why; the next launch starts afresh
                library().cudaDeviceReset()
                code = 0 if result.findings else code
        if code != 0:
            said = result.findings or [each for each in result.warnings if each.kind == "bad launch"]
            raise LaunchError(said[0].message if said else _why(code))
        return result


class _Memory:
    """An array's bytes on the simulated GPU."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.address = ctypes.c_void_p()
        _check(library().cuMemAlloc_v2(ctypes.byref(self.address), ctypes.c_size_t(max(1, array.nbytes))))
        self._copy = np.array(array, order="C")  # in one piece, whatever the array's strides
        library().cuMemcpyHtoD_v2(self.address, self._pointer(), ctypes.c_size_t(self._copy.nbytes))

    def _pointer(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self._copy.ctypes.data)

    def copy_back(self) -> None:
        """What the kernel left there, into the array, unless that is read-only."""
        if not self._array.flags.writeable:
            return
        library().cuMemcpyDtoH_v2(self._pointer(), self.address, ctypes.c_size_t(self._copy.nbytes))
        self._array[...] = self._copy

    def free(self) -> None:
        """Gives the memory back."""
        library().cuMemFree_v2(self.address)


def _parameter_types(text: str, kernel: str) -> list[str]:
    """The type of each parameter, such as u64, as the kernel's declaration in the PTX has it; none in a binary."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    declared = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\(([^)]*)\)", text)
    return re.findall(r"\.([usfb]\d+)\b[^,]*", declared[1]) if declared else []


def _packed(number: int, argument: Any, size: int, memory: _Memory | None, kind: str) -> bytes:
    """An argument's bytes in its parameter, whose type (u64) is empty where it is not known."""

    def wrong(why: str) -> TypeError:
        return TypeError(f"argument {number + 1} {why}; the parameter has {size} bytes")

    if memory is not None:
        if size != 8:
            raise wrong("is an array, of which the kernel would get an address of 8")
        return struct.pack("<Q", memory.address.value or 0)
    if isinstance(argument, (float, np.float32)) and kind[:1] in ("u", "s"):
        raise TypeError(f"argument {number + 1} is {argument}; the parameter is a whole number (.{kind})")
    if isinstance(argument, np.generic):
        if argument.nbytes != size:
            raise wrong(f"is a {argument.dtype} of {argument.nbytes} bytes")
        return argument.tobytes()
    if isinstance(argument, (bytes, bytearray)):  # a structure
        if len(argument) != size:
            raise wrong(f"is a structure of {len(argument)} bytes")
        return bytes(argument)
    if isinstance(argument, int) and kind[:1] == "f":
        argument = float(argument)
    if isinstance(argument, (bool, int)) and size in (1, 2, 4, 8):
        if not -(1 << (8 * size - 1)) <= argument < 1 << 8 * size:
            raise wrong(f"is {argument}, which does not fit")
        return (int(argument) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if isinstance(argument, float) and size in (2, 4, 8):
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[size], argument)
    if argument is None and size == 8:
        return bytes(8)
    raise wrong(f"is a {type(argument).__name__}")


def _result() -> Result:
    seen = json.loads(library().gemmSimReport())

    def findings(key: str) -> list[Finding]:
        return [
            Finding(
                each["kind"],
                each["kernel"],
                each["message"],
                tuple(line for line in each["lines"] if line),
                each["times"],
                each.get("rule", ""),
            )
            for each in seen[key]
        ]

    kernel = seen["kernels"][0] if seen["kernels"] else {"counts": {}, "lines": []}
    return Result(kernel["counts"], kernel["lines"], findings("reports"), findings("warnings"))
