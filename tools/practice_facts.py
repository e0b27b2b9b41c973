"""Facts of a simulated run that no count tells: how many blocks are launched, how far the copies run ahead, whether C
is still being stored when the next tile is multiplied."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.practice_run import Outcome, simulated

FEW_TILES = ("--m", "512", "--n", "512", "--k", "128")
TRACED = ("--m", "256", "--n", "256", "--k", "512")
TRACED_K = 512
EVERY_REQUEST = "1000000"
FIRST_WARPS = (0, 4, 8)  # of the warpgroups: one of them multiplies
READS = ("load", "ldmatrix", "wmma.load")


def observed(
    executable: Path, options: Sequence[str], names: Sequence[str], environment: dict[str, str]
) -> tuple[dict[str, int], tuple[str, Outcome] | None]:
    """The facts of these names; if a run failed, that one with its size in words. `options`: the variant."""
    facts: dict[str, int] = {}
    if {"blocks", "threads"} & set(names):
        run = simulated(executable, [*options, *FEW_TILES], environment, PTXSIM_MULTIPROCESSORS="1")
        if run.record is None:
            return facts, ("512×512×128, 1 SM", run)
        facts |= {name: run.record[name] for name in ("blocks", "threads") if name in names}
    if "blocks_at_once" in names:
        run = simulated(executable, [*options, *FEW_TILES], environment)
        if run.record is None:
            return facts, ("512×512×128", run)
        facts["blocks_at_once"] = run.record["blocks"]
    if "k_ahead" in names:
        trace, run = traced(executable, [*options, *TRACED], environment)
        if trace is None:
            return facts, ("256×256×512", run)
        facts["k_ahead"] = k_ahead(trace)
    if "stored_behind_products" in names:
        for warp in FIRST_WARPS:
            settings = {"PTXSIM_MULTIPROCESSORS": "1", "PTXSIM_TRACE_WARP": str(warp)}
            trace, run = traced(executable, [*options, *FEW_TILES], environment, **settings)
            if trace is None:
                return facts, ("512×512×128, 1 SM", run)
            under_way = stores_at_products(trace)
            facts["stored_behind_products"] = int(any(under_way))
            if under_way:
                break
    return facts, None


def traced(
    executable: Path, arguments: Sequence[str], environment: dict[str, str], **settings: str
) -> tuple[dict[str, Any] | None, Outcome]:
    """The trace of a run with every request of its warp, and the run; None where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        settings |= {"PTXSIM_TRACE": str(file), "PTXSIM_TRACE_REQUESTS": EVERY_REQUEST}
        run = simulated(executable, arguments, environment, **settings)
        return (json.loads(file.read_text(encoding="utf-8")) if run.record else None), run


def stores_at_products(trace: dict[str, Any]) -> list[int]:
    """By product of wgmma, in order: how many stores by TMA its block had under way."""
    products = [
        (request["order"], request["stores_under_way"])
        for kernel in trace["kernels"]
        for instruction in kernel["instructions"]
        for request in instruction["requests"]
        if "stores_under_way" in request
    ]
    return [stores for _, stores in sorted(products)]


def k_ahead(trace: dict[str, Any]) -> int:
    """How many k the first warp's copies by cp.async had asked for when it first read shared memory.

    All its copies are those of TRACED_K k, so their share is a share of k, whatever the tile and the order.
    """
    copies, reads = [], []
    for kernel in trace["kernels"]:
        for instruction in kernel["instructions"]:
            for request in instruction["requests"]:
                if instruction["kind"] == "cp.async" and "shared" in request:
                    copies.append((request["order"], _bytes(request["shared"])))
                elif instruction["kind"] in READS and "shared" in request:
                    reads.append(request["order"])
    total = sum(moved for _, moved in copies)
    if total == 0 or not reads:
        return 0
    first = min(reads)
    return round(TRACED_K * sum(moved for order, moved in copies if order < first) / total)


def _bytes(access: dict[str, Any]) -> int:
    return access["bytes"] * sum(address is not None for address in access["address"])
