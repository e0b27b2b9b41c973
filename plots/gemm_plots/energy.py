"""What a main loop costs in joules: energy per FLOP of a record, and a model of it by the bytes that a stage receives.

At the power limit every loop draws the same watts, so the time that work takes says what energy it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .records import Record

UNIT = (128, 256, 64)  # the work that energies are told for: a stage of the smaller tile
UNIT_MFLOP = 2 * UNIT[0] * UNIT[1] * UNIT[2] * 1e-6
FITTED_TILE = f"{UNIT[0]}x{UNIT[1]}"
PARTS = ("l2", "partner", "dram")  # where a stage's bytes come from


def per_flop(record: Record) -> float:
    """Picojoules per FLOP: watts by TFLOPS."""
    return record["power_w"] / record["tflops"]


def per_unit(record: Record) -> float:
    """Microjoules for the work of a stage of 128×256×64."""
    return per_flop(record) * UNIT_MFLOP


def kilobytes(loop: Record) -> dict[str, float]:
    """KB that come into a block's shared memory per unit of work: from L2, from the partner's loads, from memory."""
    told = loop["options"]
    m, n = map(int, told["tile"].split("x"))
    units = m * n / (UNIT[0] * UNIT[1])
    read = {"l2": told["l2_kb"], "dram": told["dram_kb"]}
    read["partner"] = told["received_kb"] - sum(read.values())
    return {part: read[part] / units for part in PARTS}


def of_bf16(loops: Iterable[Record]) -> list[Record]:
    """The loops in BF16 on random data, whatever they receive."""
    return [r for r in loops if r["a"] == "bf16" and "tile" in r["options"] and r["options"]["zeros"] == 0]


def resident(loop: Record) -> bool:
    """Whether it receives nothing: wgmma alone."""
    return "tile" in loop["options"] and loop["options"]["received_kb"] == 0


def bound_by_memory(loop: Record) -> bool:
    """Whether all that it reads comes from memory, whose bandwidth it then waits for."""
    return loop["options"]["dram_kb"] > 0 and loop["options"]["l2_kb"] == 0


@dataclass(frozen=True)
class Model:
    """Microjoules per unit of work: of the products, and per KB by where it comes from."""

    products: float
    per_kb: dict[str, float]

    def energy(self, loop: Record) -> float:
        """What the model says for a loop, in microjoules per unit of work."""
        come = kilobytes(loop)
        return self.products + sum(self.per_kb[part] * come[part] for part in PARTS)

    def tflops(self, loop: Record) -> float:
        """The speed that follows at the power that the loop drew."""
        return loop["power_w"] * UNIT_MFLOP / self.energy(loop)


def fit(loops: Sequence[Record]) -> Model | None:
    """The model that fits the loops of the smaller tile best, by least squares; None where they do not determine it."""
    used = [r for r in of_bf16(loops) if r["options"]["tile"] == FITTED_TILE and not bound_by_memory(r)]
    rows = np.array([[1.0, *(kilobytes(r)[part] for part in PARTS)] for r in used])
    if len(used) <= len(PARTS) or np.linalg.matrix_rank(rows) <= len(PARTS):
        return None
    products, *per_kb = np.linalg.lstsq(rows, np.array([per_unit(r) for r in used]), rcond=None)[0]
    return Model(float(products), dict(zip(PARTS, map(float, per_kb), strict=True)))


def pick(loops: Iterable[Record], tile: str, cluster: int, received: bool = True) -> Record | None:
    """The loop in BF16 of a tile that receives all of its stages out of L2, or nothing."""
    full = sum(map(int, tile.split("x"))) * UNIT[2] * 2 // 1024 if received else 0
    for loop in of_bf16(loops):
        told = loop["options"]
        if (told["tile"], told["cluster"], told["dram_kb"], told["received_kb"]) == (tile, cluster, 0, full):
            return loop
    return None
