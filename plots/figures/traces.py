"""What the simulator traced of the kernels: the only source of the pictures' addresses, banks and fragments.

records/simulator/traces holds the traces; `python -m lab.traces` records them, docs/simulator-reference.md describes them.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from base.paths import DATA

FOLDER = DATA / "simulator" / "traces"
A, B, C = range(3)  # the matrices, in the order of the kernels' parameters

Cell = tuple[int, int]  # row and column of a matrix
Place = tuple[int, int, int]  # lane, register, half


@dataclass(frozen=True)
class Group:
    """Lanes, both included, that an access to shared memory serves together, and in how many wavefronts."""

    first: int
    last: int
    wavefronts: int

    @property
    def lanes(self) -> range:
        """Their numbers."""
        return range(self.first, self.last + 1)


@dataclass(frozen=True)
class Access:
    """A warp's request to shared memory: bytes per lane, byte address by lane, and how it is served."""

    size: int
    addresses: tuple[int, ...]
    groups: tuple[Group, ...]
    wavefronts: int
    conflicts: int


@cache
def load(name: str) -> dict[str, Any]:
    """A recorded trace, by the name of its file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def _instructions(name: str, warp: int = 0) -> Iterator[dict[str, Any]]:
    for kernel in load(name)["kernels"]:
        if kernel["warp"] == warp:
            yield from kernel["instructions"]


def shared(name: str, source: str) -> Access:
    """The first access to shared memory of the line that contains `source`. Raises LookupError where no line does."""
    found = [
        (request["order"], request["shared"])
        for each in _instructions(name)
        for request in each["requests"]
        if source in each["source"] and "shared" in request
    ]
    if not found:
        raise LookupError(f"no line of {name} that contains '{source}' accesses shared memory")
    first = min(found, key=lambda one: one[0])[1]
    addresses = tuple(address for address in first["address"] if address is not None)
    groups = tuple(Group(*group) for group in first["groups"])
    return Access(first["bytes"], addresses, groups, first["wavefronts"], first["conflicts"])


def requests(name: str, matrix: int, warp: int = 0) -> list[tuple[int, list[list[Cell]]]]:
    """A warp's requests to a matrix in global memory, in their order: sectors, and the elements that each lane takes."""
    trace = load(name)
    size, leading = trace["element_bytes"], trace["leading"]
    found = []
    for each in _instructions(name, warp):
        for request in each["requests"]:
            place = request.get("global")
            if not place or place["allocation"] != matrix:
                continue
            lanes = [
                [divmod(address // size + i, leading) for i in range(place["bytes"] // size)]
                for address in place["address"]
            ]
            found.append((request["order"], place["sectors"], lanes))
    return [(sectors, lanes) for _, sectors, lanes in sorted(found, key=lambda one: one[0])]


def fragment(name: str, layout: str) -> dict[Cell, Place]:
    """A layout that a traced instruction has: lane, register and half of each element."""
    held = next(each for each in load(name)["fragments"] if each["name"] == layout)
    in_register = 32 // held["element_bits"]
    return {
        (row, col): (lane, *divmod(number, in_register))
        for lane, elements in enumerate(held["elements"])
        for number, (row, col) in enumerate(elements)
    }


def engines(name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What TMA copies and what wgmma reads, in their order: each `copy`, and each request with an `a` and a `b`."""
    found = sorted((request for each in _instructions(name) for request in each["requests"]), key=lambda r: r["order"])
    return [request["copy"] for request in found if "copy" in request], [one for one in found if "a" in one]


def stages(name: str) -> tuple[list[int], list[tuple[int, int]]]:
    """A ring of stages, as traced: by slice, the stage that is read, and (stage, turn) of its copy.

    Turn 0 is that in which slice 0 is read; copies that begin before it have turn -1.
    """
    events = sorted(
        (request["order"], each["kind"] == "cp.async", request["shared"]["address"][0])
        for each in _instructions(name)
        for request in each["requests"]
    )
    starts = sorted({address for _, _, address in events})
    read = [starts.index(address) for _, is_copy, address in events if not is_copy]
    copies, turn = [], -1
    for (_, is_copy, address), (_, copy_is_next, _) in itertools.pairwise([*events, (0, False, 0)]):
        if is_copy:
            turn += not copy_is_next  # the last copy before a read is of that read's turn
            copies.append((starts.index(address), turn))
    return read, copies
