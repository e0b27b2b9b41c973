"""What a kernel's main loop asks of an SM: counted in the simulator at two depths of K, whose difference has no more
than the main loop, and read off its machine code."""

import json
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base import process
from base.errors import UserError
from base.paths import SIMULATOR, shown
from base.registry import Step
from lab import disassembly, instruction_mix
from records import Record

WARP, LINE, WORD, BANKS = 32, 128, 4, 32
SLICES = (8, 16)  # of K, at the least: more than a pipeline has stages
LEAST_K = 64  # so that no two rows of a matrix lie in one line
ELEMENT_BYTES = {"f32": 4, "tf32": 4, "s32": 4, "f22": 4, "f16": 2, "bf16": 2, "s8": 1, "e4m3": 1, "e5m2": 1}
WAVEFRONTS = ("shared_load_wavefronts", "shared_store_wavefronts", "cp_async_shared_wavefronts", "wgmma_wavefronts")
MOST_TRACED = 4096  # requests of one instruction

# FLOP of one instruction of a warp. The tensor cores' have their shape in the name, a warpgroup's is four warps'.
FMA_FLOP = {"FFMA": 64, "FFMA2": 128, "HFMA2": 128, "DFMA": 64}
_SHAPE = re.compile(r"^[A-Z]+\.(?:SP\.)?(\d+)x(\d+)x(\d+)")
_SHORT_SHAPE = re.compile(r"^[HI]MMA\.(16)(8)(\d+)")

MULTIPLY = ("fma", "tensor")  # the classes of instructions that do
_OF_VARIANT = ("variant", "block", "a", "b", "acc", "c")
_OF_LOOP = ("instructions", "flop", "collisions")

_MULTIPLIED = (("IGMMA", "s8"), ("QGMMA", "e4m3"), (".TF32", "tf32"))  # by an opcode of wgmma


@dataclass(frozen=True)
class Loop:
    """The main loop in machine code."""

    instructions: int
    flop: int
    registers: int | None
    counts: Mapping[str, int]
    opcodes: frozenset[str]
    collisions: int  # FMAs that fetch two operands from registers of one parity


@dataclass(frozen=True)
class Work:
    """A variant's main loop, per FLOP of the product, and its block."""

    variant: Mapping[str, Any]  # as --list tells of it
    threads: int
    wavefronts: float  # of shared memory, cycles of an SM
    look_ups: float  # of lines in L1, likewise
    loaded_bytes: float  # that blocks ask global memory for
    loop: Loop | None  # None: the machine code cannot be read here
    products: int = 1  # of the tensor cores for each of the matrix's: more where an element is multiplied in parts
    element: str = ""  # that the tensor cores multiply
    sms_per_tile: float = 1  # of a cluster that shares one, or of blocks that share its K
    joined: bool = False  # ptxas made fewer and wider loads of what PTX says

    @property
    def load_store(self) -> float:
        """Cycles of the load/store unit per FLOP."""
        return self.wavefronts + self.look_ups

    def recorded(self) -> Record:
        """All of it that bounds are worked out from, as a record; `of_record` reads it."""
        told = {name: value for name, value in vars(self).items() if name != "loop"}
        told["variant"] = {name: self.variant[name] for name in _OF_VARIANT if name in self.variant}
        if self.loop:
            multiply = {name: self.loop.counts.get(name, 0) for name in MULTIPLY}
            told["loop"] = {**{name: getattr(self.loop, name) for name in _OF_LOOP}, "counts": multiply}
        return told


def of_record(record: Record) -> Work:
    """A step's work as `python -m tools.practice_record` has recorded it."""
    loop = record.get("loop")
    return Work(**{**record, "loop": Loop(**loop, registers=None, opcodes=frozenset()) if loop else None})


def of(executable: Path, step: Step, variant: Mapping[str, Any], arch: str, variables: Mapping[str, str]) -> Work:
    """What a variant of a built step asks for, where it is compiled for the GPU `arch`, such as 90."""
    shallow, deep = (_run(executable, variant, depth, variables) for depth in _depths(variant))
    m, n, most_k = deep.size
    flop = 2 * m * n * (most_k - shallow.size[2])
    differences = {name: deep.count(name) - shallow.count(name) for name in WAVEFRONTS}
    by_tma = deep.tma_bytes - shallow.tma_bytes
    wavefronts = (sum(differences.values()) + by_tma / LINE) / flop
    loop, ptx = machine_code(executable, step, deep.kernel["symbol"], arch)
    joined = bool(loop and ptx and _fewer_loads(loop, ptx))
    per_warp = flop * WARP / deep.threads / deep.blocks  # FLOP
    if joined:
        as_written = sum(_of_shared(deep.requests, shallow.requests, join=False))
        wavefronts += (sum(_of_shared(deep.requests, shallow.requests, join=True)) - as_written) / per_warp
    look_ups = sum(_look_ups(deep.requests, shallow.requests)) / per_warp
    sectors = sum(deep.count(name) - shallow.count(name) for name in ("global_load_sectors", "cp_async_global_sectors"))
    loaded = (sectors * 32 + deep.loaded_by_tma - shallow.loaded_by_tma) / flop
    products, element = 1, variant["a"]
    if loop and step.instruction == "wgmma":
        done = (deep.count("tensor_ops") - shallow.count("tensor_ops")) * loop.flop / max(loop.counts["tensor"], 1)
        products = max(1, round(done / flop))
        element = next((of for name, of in _MULTIPLIED if any(name in opcode for opcode in loop.opcodes)), element)
    bm, bn, _ = variant["block"]
    shared_by = max(1, deep.blocks * bm * bn / (m * n))
    return Work(variant, deep.threads, wavefronts, look_ups, loaded, loop, products, element, shared_by, joined)


@dataclass(frozen=True)
class _Run:
    """One run in the simulator, of which only the kernel that computes the product counts, with a trace of its warp 0."""

    size: tuple[int, int, int]
    kernel: Mapping[str, Any]
    requests: Sequence[Sequence[Mapping[str, Any]]]  # by instruction

    @property
    def threads(self) -> int:
        return math.prod(self.kernel["block"])

    @property
    def blocks(self) -> int:
        return math.prod(self.kernel["grid"])

    def count(self, name: str) -> int:
        return self.kernel["counts"].get(name, 0)

    @property
    def tma_bytes(self) -> int:
        return self.kernel["counts"].get("tma", {}).get("shared_bytes", 0)

    @property
    def loaded_by_tma(self) -> int:
        return self.kernel["counts"].get("tma", {}).get("load_bytes", 0)


def _products(kernel: Mapping[str, Any]) -> tuple[int, int]:
    """How much a kernel multiplies: others of a launch prepare its operands, or find nothing to do."""
    counts = kernel["counts"]
    return counts["tensor_ops"], counts["by_class"]["fma"]


def _depths(variant: Mapping[str, Any]) -> Iterable[int]:
    least = max(variant["block"][2], variant["multiple_k"])
    once = -(-LEAST_K // (SLICES[0] * least)) * least
    return (slices * once for slices in SLICES)


def _run(executable: Path, variant: Mapping[str, Any], k: int, variables: Mapping[str, str]) -> _Run:
    m, n = (edge * -(-LINE // edge) * 2 for edge in variant["block"][:2])  # a line holds no two rows
    with tempfile.TemporaryDirectory() as folder:
        counted, traced = Path(folder) / "counts.json", Path(folder) / "trace.json"
        before = variables.get("LD_LIBRARY_PATH")
        library = f"{SIMULATOR.parent}{os.pathsep}{before}" if before else str(SIMULATOR.parent)
        settings = {"LD_LIBRARY_PATH": library, "PTXSIM_JSON": str(counted), "PTXSIM_TRACE": str(traced)}
        settings |= {"PTXSIM_TRACE_WARP": "0", "PTXSIM_TRACE_REQUESTS": str(MOST_TRACED)}
        command = [executable, f"--variant={variant['variant']}", f"--m={m}", f"--n={n}", f"--k={k}"]
        code, text = process.output(command, {**variables, **settings})
        if code != 0 or not counted.is_file():
            raise UserError(f"{shown(executable)} failed in the simulator: {(text.splitlines() or ['no message'])[-1]}")
        kernels, traces = (json.loads(file.read_text(encoding="utf-8"))["kernels"] for file in (counted, traced))
    main = max(kernels, key=_products)
    traced_of_it = [each for each in traces if each["symbol"] == main["symbol"]]
    return _Run((m, n, k), main, [each["requests"] for kernel in traced_of_it for each in kernel["instructions"]])


def _more(deep: Sequence[Sequence[Any]], shallow: Sequence[Sequence[Any]]) -> Iterable[tuple[Sequence[Any], int]]:
    """The requests of each instruction, and how many more there are in the deeper run."""
    return ((new, len(new) - len(old)) for new, old in zip(deep, shallow, strict=True) if len(new) > len(old))


def _look_ups(deep: Sequence[Sequence[Any]], shallow: Sequence[Sequence[Any]]) -> Iterable[float]:
    """Lines that the load/store unit looks up in L1, one in a cycle: those that a request touches."""
    for requests, more in _more(deep, shallow):
        lines = [_lines(each["global"]) for each in requests if "global" in each]
        if lines:
            yield more * sum(lines) / len(requests)


def _lines(place: Mapping[str, Any]) -> int:
    ends = (0, place["bytes"] - 1)
    return len({(at + end) // LINE for at in place["address"] if at is not None for end in ends})


def _of_shared(deep: Sequence[Sequence[Any]], shallow: Sequence[Sequence[Any]], join: bool) -> Iterable[float]:
    """Wavefronts of loads from shared memory: as PTX has them, or where neighbours are joined to 16 bytes."""
    loads = [
        (requests[len(requests) - 1]["shared"], more)
        for requests, more in _more(deep, shallow)
        if requests and "shared" in requests[-1] and "global" not in requests[-1] and _is_load(requests[-1])
    ]
    taken: set[int] = set()
    for at, (first, more) in enumerate(loads):
        if at in taken:
            continue
        if join and first["bytes"] == WORD and all(a is not None and a % (4 * WORD) == 0 for a in first["address"]):
            wanted = [[a + part * WORD for a in first["address"]] for part in (1, 2, 3)]
            others = [
                next((i for i, (o, m) in enumerate(loads) if o["address"] == w and m == more), None) for w in wanted
            ]
            if None not in others:
                taken |= set(others)
                yield more * wavefronts(first["address"], 4 * WORD)
                continue
        yield more * first["wavefronts"]


def _is_load(request: Mapping[str, Any]) -> bool:
    return not request["shared"].get("store", False)


def wavefronts(addresses: Sequence[int], size: int) -> int:
    """Wavefronts of a load from shared memory of `size` bytes by each lane of a whole warp: docs/bank-conflicts.md."""
    parts = max(1, size // WORD)
    lanes = WARP // parts
    pairs = any(all(addresses[lane] == addresses[lane ^ far] for lane in range(WARP)) for far in (1, 2))
    lanes *= 2 if parts > 1 and pairs else 1
    total = 0
    for first in range(0, WARP, lanes):
        words = {(a + at) // WORD for a in addresses[first : first + lanes] for at in range(0, size, WORD)}
        total += max(Counter(word % BANKS for word in words).values())
    return total


def machine_code(executable: Path, step: Step, symbol: str, arch: str) -> tuple[Loop | None, Loop | None]:
    """The main loop in machine code and in PTX; None where the tools for it are not there, or there is none."""
    try:
        levels = instruction_mix.levels(executable, int(arch), step, symbol)
    except UserError:
        return None, None
    found = []
    for level in reversed(levels):
        kernel = next((kernel for kernel in level.kernels if kernel.name == symbol), None)
        loop = disassembly.inner_loop(kernel) if kernel else None
        if loop is None or kernel is None:
            return None, None
        body = kernel.instructions[loop.first : loop.last + 1]
        flop = sum(flop_of(opcode, operands) for opcode, operands in body)
        opcodes = frozenset(opcode for opcode, _ in body)
        found.append(Loop(loop.instructions, flop, level.registers.get(symbol), loop.counts, opcodes, collisions(body)))
    return found[0], found[1]


def flop_of(opcode: str, operands: str = "") -> int:
    """FLOP of a machine instruction of a warp; 0 where it multiplies nothing."""
    if disassembly.classify(opcode, operands) not in ("fma", "tensor"):
        return 0
    if shape := _SHAPE.match(opcode) or _SHORT_SHAPE.match(opcode):
        m, n, k = map(int, shape.groups())
        return 2 * m * n * k // (4 if m == 64 else 1)
    return FMA_FLOP.get(opcode.split(".")[0], 0)


_OPERAND = re.compile(r"^-?\|?R(\d+)(\.reuse)?")


def collisions(body: Iterable[tuple[str, str]]) -> int:
    """FMAs of floats that have to fetch two operands from registers of one parity, after what the reuse cache holds."""
    kept: list[str | None] = [None] * 3
    total = 0
    for opcode, operands in body:
        found = [_OPERAND.match(word.strip()) for word in operands.split(",")[1:4]]
        if opcode.split(".")[0] == "FFMA":
            fetched = [int(one[1]) % 2 for one, held in zip(found, kept, strict=True) if one and one[1] != held]
            total += len(fetched) > len(set(fetched))
        kept = [one[1] if one and one[2] else None for one in found]
        kept += [None] * (3 - len(kept))
    return total


def _fewer_loads(loop: Loop, ptx: Loop) -> bool:
    """Whether the machine code loads less often from shared memory than PTX, for as many multiplications."""
    times = loop.counts["fma"] / ptx.counts["fma"] if ptx.counts["fma"] else 0
    return loop.counts["load_shared"] < times * ptx.counts["load_shared"]
