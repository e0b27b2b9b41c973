"""The page that `./gemm profile` prints: what ncu, the harness and the simulator say of one kernel, as lines of text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base.languages import percent
from base.paths import shown
from records.metrics import SECTOR_BYTES
from tools import profile_ncu as ncu
from tools.profile_words import resources, say, waits_for
from tools.text_table import GAP, aligned

MOST_REASONS = 3
COUNTERS = (
    "shared_load_wavefronts",
    "shared_store_wavefronts",
    "wgmma_wavefronts",
    "shared_load_conflicts",
    "shared_store_conflicts",
    "shared_conflicts",
)
UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


@dataclass(frozen=True)
class Counts:
    """What was counted in shared memory at one square size: on the GPU and, where it was run, in the simulator."""

    size: int
    gpu: Mapping[str, Any]
    simulator: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Profile:
    """All that is known of one launch."""

    title: str  # step, variant, sizes, GPU
    size: int  # m = n = k
    figures: Mapping[str, float]  # by ncu's name of the metric
    timed: Mapping[str, Any]  # the harness's record of a run without ncu
    report: Path
    lines: Mapping[str, Sequence[ncu.Line]] = field(default_factory=dict)  # by stall reason
    counts: Sequence[Counts] = ()
    not_compared: str = ""  # why the simulator's counts are missing; "" where they are there
    lacking: Sequence[str] = ()  # metrics that this GPU does not have


def page(profile: Profile, spoken: str) -> list[str]:
    """The page, line by line. What was not counted is left out."""
    lines = [profile.title]
    for heading, rows in (
        ("time", _time(profile, spoken)),
        ("use", _use(profile.figures, spoken)),
        ("occupancy", _occupancy(profile.figures, spoken)),
        ("bytes", _bytes(profile.figures, spoken)),
    ):
        lines += ["", say(spoken, heading), *_indented(rows)] if rows else []
    lines += _stalls(profile, spoken)
    lines += _shared(profile, spoken)
    lines.append("")
    if profile.not_compared:
        lines.append(say(spoken, "not compared", problem=profile.not_compared))
    if profile.lacking:
        lines.append(say(spoken, "lacks", names=", ".join(profile.lacking)))
    lines.append(say(spoken, "kept", file=shown(profile.report)))
    return lines


def _time(profile: Profile, spoken: str) -> list[list[str]]:
    rows = []
    if duration := profile.figures.get(ncu.DURATION):
        speed = {"ms": duration * 1e-6, "tflops": 2 * profile.size**3 / duration * 1e-3}
        rows.append([say(spoken, "under ncu"), say(spoken, "speed", **speed)])
    timed = profile.timed
    if "ms" in timed:
        rows.append([say(spoken, "settled"), say(spoken, "speed", ms=timed["ms"], tflops=timed["tflops"])])
    if "power_w" in timed:
        watts = say(spoken, "watts", watts=timed["power_w"], mhz=timed.get("sm_mhz", "?"))
        rows.append([say(spoken, "power"), watts])
    return rows


def _use(figures: Mapping[str, float], spoken: str) -> list[list[str]]:
    wanted = (("tensor", ncu.TENSOR_PIPE), ("fma", ncu.FMA_PIPE), ("issue", ncu.ISSUE_SLOTS))
    return [
        [say(spoken, key), say(spoken, "percent", value=figures[metric])] for key, metric in wanted if metric in figures
    ]


def _occupancy(figures: Mapping[str, float], spoken: str) -> list[list[str]]:
    rows = []
    if ncu.REGISTERS in figures:
        rows.append([say(spoken, "registers"), f"{figures[ncu.REGISTERS]:.0f}"])
    if fitting := ncu.blocks_per_sm(figures):
        blocks, limits = fitting
        limited = say(spoken, "limited", blocks=blocks, resources=resources(spoken, limits))
        rows.append([say(spoken, "blocks"), limited])
    if ncu.WAVES in figures:
        rows.append([say(spoken, "waves"), f"{figures[ncu.WAVES]:.2f}"])
    if ncu.WARPS in figures:
        rows.append([say(spoken, "warps"), say(spoken, "percent", value=figures[ncu.WARPS])])
    return rows


def _bytes(figures: Mapping[str, float], spoken: str) -> list[list[str]]:
    """Level by level, from the threads to DRAM."""
    crossed = figures.get(ncu.COALESCER_SECTORS)
    ratio = figures.get(ncu.COALESCER_RATIO)
    levels: list[tuple[str, float | None, Callable[[str], str]]] = [
        ("L1", figures.get(ncu.L1_BYTES), _with("hits", spoken, hits=figures.get(ncu.L1_HITS))),
        ("received", figures.get(ncu.SM_RECEIVED), str),
        ("sent", figures.get(ncu.SM_SENT), str),
        ("coalescer", None if crossed is None else crossed * SECTOR_BYTES, _with("delivered", spoken, ratio=ratio)),
        ("L2", figures.get(ncu.L2_BYTES), _with("hits", spoken, hits=figures.get(ncu.L2_HITS))),
        ("dram read", figures.get(ncu.DRAM_READ), str),
        ("dram written", figures.get(ncu.DRAM_WRITTEN), str),
    ]
    return [[say(spoken, key), told(amount(count))] for key, count, told in levels if count is not None]


def _with(key: str, spoken: str, **extra: float | None) -> Callable[[str], str]:
    """How an amount is told together with one more figure; alone where that is missing."""
    if None in extra.values():
        return str
    return lambda told: say(spoken, key, bytes=told, **extra)


def amount(count: float) -> str:
    """A number of bytes in a unit that leaves few digits: 12.9 GB."""
    unit, name = next((one for one in UNITS if count >= one[0]), UNITS[-1])
    return f"{count / unit:.4g} {name}"


def _stalls(profile: Profile, spoken: str) -> list[str]:
    """The largest reasons, each with the source lines at which most warps were seen waiting."""
    every = ncu.stalls(profile.figures)
    largest = [(reason, value) for reason, value in every.items() if value and reason != "selected"][:MOST_REASONS]
    if not largest:
        return []
    whole = sum(every.values())
    rows = [
        [
            reason.replace("_", " "),
            say(spoken, "stall", value=value, share=100 * value / whole),
            waits_for(spoken, reason),
        ]
        for reason, value in largest
    ]
    lines = ["", say(spoken, "stalls")]
    for (reason, _), row in zip(largest, _indented(rows), strict=True):
        lines.append(row)
        lines += [f"    {_at(line, spoken)}" for line in profile.lines.get(reason, ())]
    if not any(profile.lines.get(reason) for reason, _ in largest):
        lines.append(f"    {say(spoken, 'no lines')}")
    return lines


def _at(line: ncu.Line, spoken: str) -> str:
    """A source line with its share of a reason's samples."""
    try:
        text = line.file.read_text(encoding="utf-8", errors="replace").splitlines()[line.number - 1].strip()
    except (OSError, IndexError):
        text = ""
    share = percent(spoken, line.share, 0)
    return f"{share:>5}  {line.file.name}:{line.number}  {text}".rstrip()


def _shared(profile: Profile, spoken: str) -> list[str]:
    """Wavefronts and conflicts: a column per size on the GPU, and one of the simulator beside its size."""
    table: list[tuple[str, Mapping[str, Any]]] = []
    for counts in profile.counts:
        table.append((say(spoken, "gpu at", size=counts.size), counts.gpu))
        if counts.simulator is not None:
            table.append((say(spoken, "simulator at", size=counts.size), counts.simulator))
    names = [name for name in COUNTERS if any(counts.gpu.get(name) is not None for counts in profile.counts)]
    if not names:
        return []
    rows = [[say(spoken, "shared"), *(heading for heading, _ in table)]]
    for name in names:
        cells = (column.get(name) for _, column in table)
        rows.append([f"  {say(spoken, name)}", *("–" if cell is None else f"{cell:,.0f}" for cell in cells)])
    return ["", *aligned(rows, right=range(1, len(rows[0])))]


def _indented(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table below its heading."""
    return [GAP + line for line in aligned(rows)]
