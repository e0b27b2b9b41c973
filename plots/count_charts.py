"""Chart of what the simulator counted: bank conflicts; and counts per multiply-add."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from records import Record, Records

from . import findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

SECTOR_BYTES = 32


def counted(course: Course, records: Records, name: str) -> list[tuple[Step, Record]]:
    """The ladder's steps that the simulator has counted, each with the tile that it has at 4096."""
    rows = [(step, counts_as_at_4096(course, records, step)) for step in course.ladder(name)]
    found = [(step, record) for step, record in rows if record]
    if not found:
        raise Missing(f"no simulator counts of the {name} ladder")
    return found


def counts_as_at_4096(course: Course, records: Records, step: Step) -> Record | None:
    """A step's counts; of a default that chooses by size those of the tile that it takes at 4096."""
    variant = course.at_4096(step)
    return (records.counts_of(step.name, variant) if variant else None) or records.counts_of(step.name)


def chosen(rows: Sequence[tuple[Step, Record]], language: str) -> str:
    """A remark for the note of a chart: of which steps another variant is shown than the default."""
    names = ", ".join(f"{step.number:02d}: {r['variant']}" for step, r in rows if not r.get("default"))
    return say(language, f"; the tile that 4096³ takes ({names})", f"；取 4096³ 所用的分块（{names}）") if names else ""


def fmas(record: Record) -> int:
    """Multiply-adds that the problem needs."""
    return record["m"] * record["n"] * record["k"]


def read_sectors(record: Record) -> int:
    """Global sectors read, by loads and by asynchronous copies."""
    return record["counts"].get("global_load_sectors", 0) + record["counts"].get("cp_async_global_sectors", 0)


def read_requests(record: Record) -> int:
    """Global read requests, loads and asynchronous copies together."""
    return record["counts"].get("global_load_requests", 0) + record["counts"].get("cp_async_requests", 0)


def sectors_per_request(record: Record) -> float | None:
    """Sectors per global read request."""
    return read_sectors(record) / read_requests(record) if read_requests(record) else None


def flop_per_byte(record: Record) -> float | None:
    """FLOP per byte that the kernel asks of global memory (reads, before any cache)."""
    sectors = read_sectors(record)
    return 2 * fmas(record) / (sectors * SECTOR_BYTES) if sectors else None


def shared_parts(record: Record) -> tuple[float, float, float, float]:
    """Shared-memory wavefronts per 1000 FMAs: loads and stores, each without conflicts and their conflicts."""
    counts, scale = record["counts"], 1000 / fmas(record)
    load_conflicts = counts.get("shared_load_conflicts", 0)
    store_conflicts = counts.get("shared_store_conflicts", 0)
    copies = counts.get("cp_async_shared_wavefronts", 0)
    return (
        (counts.get("shared_load_wavefronts", 0) - load_conflicts) * scale,
        load_conflicts * scale,
        (counts.get("shared_store_wavefronts", 0) - store_conflicts + copies) * scale,
        store_conflicts * scale,
    )


def _size(rows: Sequence[tuple[Step, Record]]) -> str:
    sizes = {(r["m"], r["n"], r["k"]) for _, r in rows}
    return ", ".join(f"{m}³" if m == n == k else f"{m}×{n}×{k}" for m, n, k in sorted(sizes))


# The parts of a bar as shared_parts gives them: colour, English, Chinese.
PARTS = (
    (style.BLUE, "loads", "读"),
    (style.RED, "bank conflicts of loads", "读的 bank 冲突"),
    ("#7fb0e6", "stores and asynchronous copies", "写与异步拷贝"),
    ("#e79a8e", "bank conflicts of stores", "写的 bank 冲突"),
)


def bank_conflicts(course: Course, records: Records, name: str, language: str) -> Figure:
    """Shared-memory wavefronts per 1000 multiply-adds: what loads and stores need, and what conflicts add to each."""
    found = [(s, r) for s, r in counted(course, records, name) if sum(shared_parts(r))]
    if not found:
        raise Missing(f"no shared-memory access counted in the {name} ladder")
    conflicts = [(s, sum(shared_parts(r)[1::2])) for s, r in found]
    texts = Texts(
        findings.conflicts_of_ladder(name.upper(), conflicts, language),
        say(
            language,
            f"shared-memory wavefronts per 1000 multiply-adds, counted at {_size(found)}; in brackets: the share of conflicts",
            f"每 1000 次乘加的共享内存 wavefront 数，模拟器计数，{_size(found)}；括号内为冲突所占比例",
        )
        + chosen(found, language),
        [("box", colour, say(language, english, chinese)) for colour, english, chinese in PARTS],
    )
    drawn, (ax,) = layout.page(texts, [Panel(0.27 * len(found), below=0.3)], layout.NAMES, 0.3)
    for row, (_, record) in enumerate(found):
        parts = shared_parts(record)
        at = panels.stacked_bar(ax, row, zip(parts, (colour for colour, *_ in PARTS), strict=True))
        extra = sum(parts[1::2])
        panels.bar_text(ax, at, row, style.number(at) + (f"  ({extra / at:.0%})" if extra else ""))
    ax.set_xlim(0, 1.25 * max(sum(shared_parts(record)) for _, record in found))
    panels.named_rows(ax, [step.short for step, _ in found])
    return drawn
