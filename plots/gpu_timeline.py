"""What recorded timelines of a product on two GPUs tell of the transfers that run beside it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from records import Record


@dataclass(frozen=True)
class Transfers:
    """NCCL's kernels beside the products of one call; milliseconds."""

    wait: float  # from the end of a chunk's last product to its transfer, in the mean over all chunks but the last
    lasts: float  # a transfer that runs beside products
    last: float  # the transfer of the last chunk, beside which nothing runs
    lost: float  # by so much each of the former delays the end of the products
    blocks: int
    threads: int
    registers: int
    shared_bytes: int


def of(rows: Sequence[Record], layout: str, way: str, product: str) -> Transfers | None:
    """The transfers of the call that was recorded, or nothing; each chunk is computed by as many products."""
    call = [r for r in rows if (r["layout"], r["way"], r["product"]) == (layout, way, product)]
    products, moved = ([r for r in call if r["kernel"] == kind] for kind in ("product", "collective"))
    if len(moved) < 2:
        return None
    ends = [r["start_us"] + r["us"] for r in products]
    of_chunk = len(products) // len(moved)
    ready = [ends[of_chunk * (number + 1) - 1] for number in range(len(moved))]
    waits = [r["start_us"] - at for r, at in zip(moved, ready, strict=True)][:-1]
    alone = [end for end in ends if end < moved[0]["start_us"]]
    period = (alone[-1] - alone[0]) / (len(alone) - 1)
    late = ends[-1] - (ends[0] + period * (len(ends) - 1))
    return Transfers(
        wait=statistics.mean(waits) / 1000,
        lasts=statistics.mean(r["us"] for r in moved[:-1]) / 1000,
        last=moved[-1]["us"] / 1000,
        lost=late / (len(moved) - 1) / 1000,
        **{key: moved[0][key] for key in ("blocks", "threads", "registers", "shared_bytes")},
    )
