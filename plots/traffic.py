"""What a step's blocks received by TMA, and what crossed from L2 for that: Nsight Compute's counts, by step and size."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from records import Records, metrics

Counted = dict[str, float]  # by metric


def counted(records: Records, gpu: str, steps: Iterable[str]) -> dict[tuple[int, str, str], Counted]:
    """What was counted at each square size, then by step in the order asked, then by variant as they come; only
    launches with every metric."""
    names = list(steps)
    found: dict[tuple[int, str, str], Counted] = {}
    for r in records.profiles.get(gpu, []):
        if r["step"] in names and r["metric"] in metrics.L2_TRAFFIC and r["m"] == r["n"] == r["k"]:
            found.setdefault((r["m"], r["step"], r["variant"]), {})[r["metric"]] = r["value"]
    whole = {key: values for key, values in found.items() if len(values) == len(metrics.L2_TRAFFIC)}
    return dict(sorted(whole.items(), key=lambda item: (item[0][0], names.index(item[0][1]))))


def _gigabytes(metric: str, each: int = 1) -> Callable[[Counted], str]:
    return lambda counts: f"{counts[metric] * each / 1e9:.2f}" if counts[metric] else "–"


def _ratio(metric: str) -> Callable[[Counted], str]:
    return lambda counts: f"{counts[metric]:.2f}" if counts[metric] else "–"


COLUMNS: tuple[tuple[str, str, Callable[[Counted], str]], ...] = (
    ("received by TMA, GB", "TMA 收到，GB", _gigabytes(metrics.TMA_RECEIVED)),
    ("of it by multicast", "其中经多播", _gigabytes(metrics.MULTICAST)),
    ("crossed from L2, GB", "从 L2 传出，GB", _gigabytes(metrics.COALESCER_SECTORS, metrics.SECTOR_BYTES)),
    ("received ÷ crossed", "收到 ÷ 传出", _ratio(metrics.COALESCER_RATIO)),
    ("merged by hardware", "硬件合并", _ratio(metrics.MERGED)),
    ("by multicast", "多播", _ratio(metrics.SHARED)),
    ("read from DRAM, GB", "从显存读，GB", _gigabytes(metrics.WARM + metrics.DRAM_READ)),
)
