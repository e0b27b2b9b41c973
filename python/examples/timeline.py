"""When each kernel and each copy of a way runs on one GPU, as PyTorch's profiler sees it."""

import json
import math
import tempfile
from pathlib import Path

import in_turn
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

WARM_UPS, CALLS = 20, 12  # before the profiler looks, and while it looks: the middle one is kept
KINDS = {"ncclDev": "collective", "Memcpy": "copy", "elementwise": "sum"}  # by what their names hold; else a product


def of(way, problem) -> list[dict]:
    """A record per kernel and copy of one call on this GPU, in the order in which they begin; microseconds from the first
    one's beginning. All GPUs have to call this."""
    for _ in range(WARM_UPS):
        way()
    torch.cuda.synchronize()
    dist.barrier()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(CALLS):
            way()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(file))
        events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    return [in_turn.about(way, problem) | piece for piece in middle_call(events, CALLS)]


def middle_call(events: list[dict], calls: int) -> list[dict]:
    """Of a trace of equal calls, none of which begins before the one before has ended, what the middle one ran."""
    pieces = sorted((e for e in events if e.get("cat") in ("kernel", "gpu_memcpy")), key=lambda e: e["ts"])
    if not pieces or len(pieces) % calls:
        raise ValueError(f"{len(pieces)} kernels and copies are not those of {calls} equal calls")
    per_call = len(pieces) // calls
    found = pieces[calls // 2 * per_call :][:per_call]
    made = []
    for piece in found:
        kind = next((kind for part, kind in KINDS.items() if part in piece["name"]), "product")
        made.append({"kernel": kind, "start_us": piece["ts"] - found[0]["ts"], "us": piece["dur"]})
        if "grid" in piece["args"]:
            blocks, threads = (math.prod(piece["args"][key]) for key in ("grid", "block"))
            made[-1] |= {"blocks": blocks, "threads": threads, "registers": piece["args"]["registers per thread"]}
            made[-1] |= {"shared_bytes": piece["args"]["shared memory"]}
    return made
