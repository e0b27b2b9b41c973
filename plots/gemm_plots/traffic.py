"""What a step's blocks received by TMA, and what crossed from L2 for that: Nsight Compute's counts, by step and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lab import l2_traffic, ncu

from .records import Records

Counted = dict[str, float]  # by metric


def counted(records: Records, gpu: str, steps: Iterable[str]) -> dict[tuple[int, str, str], Counted]:
    """What was counted at each square size, then by step in the order asked, then by variant as they come; only
    launches with every metric."""
    names = list(steps)
    found: dict[tuple[int, str, str], Counted] = {}
    for r in records.profiles.get(gpu, []):
        if r["step"] in names and r["metric"] in l2_traffic.METRICS and r["m"] == r["n"] == r["k"]:
            found.setdefault((r["m"], r["step"], r["variant"]), {})[r["metric"]] = r["value"]
    whole = {key: values for key, values in found.items() if len(values) == len(l2_traffic.METRICS)}
    return dict(sorted(whole.items(), key=lambda item: (item[0][0], names.index(item[0][1]))))


def _gigabytes(metric: str, each: int = 1) -> Callable[[Counted], str]:
    return lambda counts: f"{counts[metric] * each / 1e9:.2f}" if counts[metric] else "–"


def _ratio(metric: str) -> Callable[[Counted], str]:
    return lambda counts: f"{counts[metric]:.2f}" if counts[metric] else "–"


COLUMNS: tuple[tuple[str, str, Callable[[Counted], str]], ...] = (
    ("received by TMA, GB", "TMA 收到，GB", _gigabytes(ncu.TMA_RECEIVED)),
    ("of it by multicast", "其中经多播", _gigabytes(l2_traffic.MULTICAST)),
    ("crossed from L2, GB", "从 L2 传出，GB", _gigabytes(ncu.COALESCER_SECTORS, ncu.SECTOR_BYTES)),
    ("received ÷ crossed", "收到 ÷ 传出", _ratio(ncu.COALESCER_RATIO)),
    ("merged by hardware", "硬件合并", _ratio(l2_traffic.MERGED)),
    ("by multicast", "多播", _ratio(l2_traffic.SHARED)),
    ("read from DRAM, GB", "从显存读，GB", _gigabytes(ncu.DRAM_READ)),
)
