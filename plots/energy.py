"""What a main loop costs in joules: energy per FLOP of a record, and a model of it by the bytes that a stage receives.

At the power limit every loop draws the same watts, so the time that work takes says what energy it takes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from records import Record

UNIT = (128, 256, 64)  # the work that energies are told for: a stage of the smaller tile
UNIT_MFLOP = 2 * UNIT[0] * UNIT[1] * UNIT[2] * 1e-6
FITTED_TILE = f"{UNIT[0]}x{UNIT[1]}"
BUSY = 0.95  # of the work per cycle that a loop without copies does: below, tensor cores wait


def per_flop(record: Record) -> float:
    """Picojoules per FLOP: watts by TFLOPS."""
    return record["power_w"] / record["tflops"]


def per_unit(record: Record) -> float:
    """Microjoules for the work of a stage of 128×256×64."""
    return per_flop(record) * UNIT_MFLOP


def kilobytes(loop: Record) -> float:
    """KB that a block reads per unit of work, out of L2 or of memory; what its partner reads for both is not among it."""
    told = loop["options"]
    m, n = map(int, told["tile"].split("x"))
    return (told["l2_kb"] + told["dram_kb"]) * UNIT[0] * UNIT[1] / (m * n)


def per_ghz(record: Record) -> float:
    """TFLOPS per GHz: how much of the time the tensor cores are at work. 0 where the clock is not known."""
    return 1000 * record["tflops"] / record["sm_mhz"] if record.get("sm_mhz") else 0.0


def of_bf16(loops: Iterable[Record]) -> list[Record]:
    """The loops in BF16 on random data, whatever they receive."""
    return [r for r in loops if r["a"] == "bf16" and "tile" in r["options"] and r["options"]["zeros"] == 0]


def same_loop(one: Record, other: Record) -> bool:
    """Whether two records are of the same instruction in the same loop, be it on two GPUs."""
    return all(one.get(key) == other.get(key) for key in ("limit", "a", "acc", "options"))


def resident(loop: Record) -> bool:
    """Whether it receives nothing: wgmma alone."""
    return "tile" in loop["options"] and loop["options"]["received_kb"] == 0


def waits(loop: Record, loops: Iterable[Record]) -> bool:
    """Whether its tensor cores do less per cycle than without any copies: its time is no measure of the bytes' energy."""
    return per_ghz(loop) < BUSY * max(per_ghz(r) for r in of_bf16(loops) if resident(r))


@dataclass(frozen=True)
class Model:
    """Microjoules per unit of work: of the products, and per KB that comes from L2."""

    products: float
    per_kb: float

    def energy(self, loop: Record) -> float:
        """What the model says for a loop, in microjoules per unit of work."""
        return self.products + self.per_kb * kilobytes(loop)

    def tflops(self, loop: Record) -> float:
        """The speed that follows at the power that the loop drew."""
        return loop["power_w"] * UNIT_MFLOP / self.energy(loop)


def fit(loops: Iterable[Record]) -> Model | None:
    """The line that fits the loops of the smaller tile best, without a partner or memory; None with fewer than two."""
    used = [r for r in of_bf16(loops) if (r["options"]["tile"], r["options"]["cluster"]) == (FITTED_TILE, 1)]
    points = {kilobytes(r): per_unit(r) for r in used if r["options"]["dram_kb"] == 0}
    if len(points) < 2:
        return None
    slope, products = statistics.linear_regression(list(points), list(points.values()))
    return Model(products, slope)


def pick(loops: Iterable[Record], tile: str, cluster: int, received: bool = True) -> Record | None:
    """The loop in BF16 of a tile that receives all of its stages out of L2, or nothing."""
    full = sum(map(int, tile.split("x"))) * UNIT[2] * 2 // 1024 if received else 0
    for loop in of_bf16(loops):
        told = loop["options"]
        if (told["tile"], told["cluster"], told["dram_kb"], told["received_kb"]) == (tile, cluster, 0, full):
            return loop
    return None
