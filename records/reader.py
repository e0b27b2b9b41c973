"""The one reader of the records: JSON Lines of timings, simulator counts, instruction mixes, limits, profiles and so on.

A record that cannot be trusted is refused by file and line; nothing is guessed or skipped.
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from base import registry
from base.errors import UserError
from base.paths import DATA, ROOT
from records.names import (
    ALONE_FILE,
    BASELINES,
    BOTTLENECK_DIR,
    CHOSEN_FROM,
    CUBLAS,
    CUTLASS,
    ERRORS_FILE,
    GUARD_FILE,
    LATENCY_FILE,
    LIMITS_FILE,
    MAIN_LOOP_FILE,
    MIX_DIR,
    PASSES_FILE,
    PROFILE_FILE,
    PROGRAMS_FILE,
    SEVERAL_FILE,
    SIMULATOR_DIR,
    STREAM_K_FILE,
    TIMELINE_FILE,
    VARIANTS_FILE,
)
from records.schema import Record, checked


class RecordError(UserError):
    """A record that is no JSON object or lacks what a chart needs; the text names file and line."""


@dataclass
class Records:
    """Everything recorded: by GPU timings, those beside CUTLASS apart from the others, limits, latencies, profiles,
    bottlenecks, main loops of wgmma, defaults that were run alone, for their power, step 27 in turn with stream-K, and
    products on several GPUs, when their kernels ran, errors on kinds of data, what step 33's guard chose of them, and what it costs, programs that use it; counts, instruction mixes, what is covered."""

    timings: dict[str, list[Record]] = field(default_factory=dict)
    beside_cutlass: dict[str, list[Record]] = field(default_factory=dict)  # few, and from a run of their own
    limits: dict[str, list[Record]] = field(default_factory=dict)
    latencies: dict[str, list[Record]] = field(default_factory=dict)
    profiles: dict[str, list[Record]] = field(default_factory=dict)
    bottlenecks: dict[str, list[Record]] = field(default_factory=dict)
    main_loops: dict[str, list[Record]] = field(default_factory=dict)
    alone: dict[str, list[Record]] = field(default_factory=dict)
    stream_k: dict[str, list[Record]] = field(default_factory=dict)
    several: dict[str, list[Record]] = field(default_factory=dict)
    timelines: dict[str, list[Record]] = field(default_factory=dict)
    errors: dict[str, list[Record]] = field(default_factory=dict)
    guard: dict[str, list[Record]] = field(default_factory=dict)
    passes: dict[str, list[Record]] = field(default_factory=dict)
    programs: dict[str, list[Record]] = field(default_factory=dict)
    counts: list[Record] = field(default_factory=list)
    mixes: list[Record] = field(default_factory=list)
    variants: list[Record] = field(default_factory=list)
    launched: dict[str, str] = field(default_factory=dict)  # by step: the variant that a default launches from 4096 on
    shown: frozenset[str] | None = None  # the GPUs whose records charts and tables show; None: all
    _by_step: dict[str, dict[str, list[Record]]] = field(default_factory=dict, init=False, repr=False)  # of each GPU
    _steps_of: dict[str, Counter[str]] = field(default_factory=dict, init=False, repr=False)  # its timings of each step
    _by_size: dict[tuple[str, str], dict[tuple[int, int, int], list[Record]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def gpus(self, steps: Iterable[str]) -> list[str]:
        """The GPUs that are shown, with at least one timing of one of the steps; most records first, then by name."""
        wanted = set(steps)
        for gpu, rows in self.timings.items():
            if gpu not in self._steps_of:
                self._steps_of[gpu] = Counter(r["step"] for r in rows)
        seen = {gpu: sum(self._steps_of[gpu][step] for step in wanted) for gpu in self.timings if self.shows(gpu)}
        return sorted((gpu for gpu, count in seen.items() if count), key=lambda gpu: (-seen[gpu], gpu))

    def shows(self, gpu: str) -> bool:
        """Do charts and tables show this GPU's records? Those that compare GPUs show them all."""
        return self.shown is None or gpu in self.shown

    def most(self, by_gpu: Mapping[str, list[Record]]) -> str | None:
        """Of the GPUs that are shown, the one with most of these records; the first by name where several have."""
        return max(filter(self.shows, sorted(by_gpu)), key=lambda gpu: len(by_gpu[gpu]), default=None)

    def _plain(self, gpu: str, step: str, size: tuple[int, int, int]) -> list[Record]:
        """Of these timings the ones at one size, without options."""
        if (gpu, step) not in self._by_size:
            sizes = self._by_size[gpu, step] = {}
            for r in self.of_step(gpu, step):
                if not r.get("options"):
                    sizes.setdefault((r["m"], r["n"], r["k"]), []).append(r)
        return self._by_size[gpu, step].get(size, [])

    def of_step(self, gpu: str, step: str) -> list[Record]:
        """All timings of one step on one GPU with alpha = 1 and beta = 0."""
        if gpu not in self._by_step:  # once: pages and charts ask a hundred thousand times
            steps = self._by_step[gpu] = {}
            for r in filter(_product_alone, self.timings.get(gpu, [])):
                steps.setdefault(r["step"], []).append(r)
        return self._by_step[gpu].get(step, [])

    def default_at(
        self, gpu: str, step: str, m: int, n: int | None = None, k: int | None = None, baseline: str | None = None
    ) -> Record | None:
        """The default variant's timing at one size (square when only m is given), without options.

        Against the baseline asked for; where none is, against cuBLAS if there is one. Where a default that chooses
        another variant by the size was not timed itself, that variant's timing stands for it at large square sizes.
        """
        size = (m, m if n is None else n, m if k is None else k)
        at_size = self._plain(gpu, step, size)
        rows = [r for r in at_size if r.get("default")]
        if not rows and min(size) >= CHOSEN_FROM and len(set(size)) == 1:
            rows = [r for r in at_size if r["variant"] == self.launched.get(step)]
        rows = [r for r in rows if baseline in (None, r.get("baseline"))]
        return min(rows, key=lambda r: r.get("baseline") != CUBLAS, default=None)

    def default_beside(self, gpu: str, step: str, size: int, baseline: str) -> Record | None:
        """The default variant's timing at a square size beside this baseline; beside another where there is none."""
        beside = self.default_at(gpu, step, size, baseline=baseline)
        return beside or self.default_at(gpu, step, size)

    def square_sizes(self, gpu: str, steps: Iterable[str]) -> list[int]:
        """Square sizes at which a default variant of one of the steps was timed without options, or what it launches."""
        rows = [(step, r["m"]) for step in steps for r in self.of_step(gpu, step) if r["m"] == r["n"] == r["k"]]
        return sorted({size for step, size in set(rows) if self.default_at(gpu, step, size)})

    def baseline_at(
        self,
        gpu: str,
        steps: Iterable[str],
        m: int,
        n: int | None = None,
        k: int | None = None,
        baseline: str = CUBLAS,
    ) -> float | None:
        """A baseline's TFLOPS at one size: the median of what it did beside each default variant."""
        if baseline == CUTLASS:
            size, wanted = (m, m if n is None else n, m if k is None else k), set(steps)
            rows = [r for r in self.beside_cutlass.get(gpu, []) if r["step"] in wanted and r.get("default")]
            rows = [r for r in rows if (r["m"], r["n"], r["k"]) == size]
        else:
            rows = [self.default_at(gpu, step, m, n, k, baseline) for step in steps]
        found = [r["baseline_tflops"] for r in rows if r and r.get("baseline_tflops")]
        return statistics.median(found) if found else None

    def beside(self, gpu: str, steps: Iterable[str]) -> list[str]:
        """The libraries' calls that timings of these steps were taken beside; cuBLAS where there is none."""
        wanted = set(steps)
        seen = {r.get("baseline") for r in self.timings.get(gpu, []) if r["step"] in wanted}
        return [b for b in BASELINES if b in seen] or [CUBLAS]

    def covers(self, step: str) -> dict[str, list[str]]:
        """The published kernels that each variant of a step covers, in the order of its variants."""
        return {r["variant"]: r["covers"] for r in self.variants if r["step"] == step}

    def swizzled(self, gpu: str, step: str) -> list[Record]:
        """Timings of a step with a swizzle stride given, cuBLAS as baseline where there is one."""
        rows = [r for r in self.of_step(gpu, step) if (r.get("options") or {}).get("swizzle_stride")]
        return sorted(rows, key=lambda r: r.get("baseline") != CUBLAS)

    def limit(self, gpu: str, a: str, acc: str, instruction: str) -> Record | None:
        """The limit measured for elements and accumulator of these types: of mma, of wgmma, or of neither ("")."""
        alone = [
            r for r in self.main_loops.get(gpu, []) if r["options"].get("received_kb") == r["options"].get("zeros") == 0
        ]
        rows = [r for r in self.limits.get(gpu, []) + alone if (r["a"], r["acc"]) == (a, acc)]
        rows = [r for r in rows if _tensor_instruction(r["limit"]) == instruction]
        return max(rows, key=lambda r: r["tflops"], default=None)

    def gpu_name(self, gpu: str) -> str:
        """The GPU's own name as its records give it."""
        return next((r["gpu"] for r in self.timings.get(gpu, []) if r.get("gpu")), gpu)

    def counts_of(self, step: str, variant: str | None = None) -> Record | None:
        """The simulator's counts of a step's default or a variant: at 256^3 where recorded, else the largest size."""
        rows = [r for r in self.counts if r["step"] == step]
        rows = [r for r in rows if (r["variant"] == variant if variant else r.get("default"))]
        rows = [r for r in rows if r.get("alpha", 1) == 1 and r.get("beta", 0) == 0]
        rows.sort(key=lambda r: ((r["m"], r["n"], r["k"]) != (256, 256, 256), -r["m"] * r["n"] * r["k"]))
        return rows[0] if rows else None

    def counted_variants(self, step: str) -> list[Record]:
        """The simulator's counts of every variant of a step at the size of the default's, default first."""
        default = self.counts_of(step)
        if default is None:
            return []
        size = tuple(default[key] for key in ("m", "n", "k"))
        found: dict[str, Record] = {default["variant"]: default}
        for record in self.counts:
            if record["step"] == step and tuple(record[key] for key in ("m", "n", "k")) == size:
                found.setdefault(record["variant"], record)
        return list(found.values())

    def mixes_of(self, step: str, level: str, default_only: bool = True) -> list[Record]:
        """Instruction mixes of a step at one level (ptx or sass)."""
        rows = [r for r in self.mixes if r["step"] == step and r["level"] == level]
        return [r for r in rows if r.get("default")] if default_only else rows


def _tensor_instruction(limit: str) -> str:
    """`mma` for the limit `mma.sync.m16n8k16`, `wgmma` for `wgmma.m64n256k16`, "" for one of CUDA cores."""
    return next((name for name in ("mma", "wgmma") if limit.startswith(name)), "")


def load(data: Path = DATA, root: Path = ROOT) -> Records:
    """Reads every record under `data`; paths in errors are relative to `root`. Raises RecordError."""
    records = Records()
    if not data.is_dir():
        return records
    records.variants = read(data / VARIANTS_FILE, root, "covers")
    if (ladder := root / "steps" / "meson.build").is_file():
        records.launched = {step.name: step.at_4096 for step in registry.steps(ladder) if step.at_4096}
    for folder in sorted(p for p in data.iterdir() if p.is_dir()):
        if folder.name == SIMULATOR_DIR:
            records.counts = _read_folder(folder, root, "counts")
        elif folder.name == MIX_DIR:
            records.mixes = _read_folder(folder, root, "mix")
        else:
            _read_gpu(records, folder, root)
    return records


def _read_gpu(records: Records, folder: Path, root: Path) -> None:
    """A GPU's folder: a file of timings per step, and apart from them limits, profiles, bottlenecks and so on."""
    apart = {
        LIMITS_FILE: (records.limits, "limit"),
        PROFILE_FILE: (records.profiles, "profile"),
        MAIN_LOOP_FILE: (records.main_loops, "main_loop"),
        ALONE_FILE: (records.alone, "alone"),
        LATENCY_FILE: (records.latencies, "latency"),
        STREAM_K_FILE: (records.stream_k, "stream_k"),
        SEVERAL_FILE: (records.several, "several"),
        TIMELINE_FILE: (records.timelines, "timeline"),
        ERRORS_FILE: (records.errors, "error"),
        GUARD_FILE: (records.guard, "guard"),
        PASSES_FILE: (records.passes, "stream_k"),
        PROGRAMS_FILE: (records.programs, "program"),
    }
    timings = []
    for path in sorted(folder.glob("*.jsonl")):
        if path.stem in apart:
            into, kind = apart[path.stem]
            into[folder.name] = read(path, root, kind)
        else:
            timings += read(path, root, "timing")
    if beside := [r for r in timings if r.get("baseline") == CUTLASS and _product_alone(r) and not r.get("options")]:
        records.beside_cutlass[folder.name] = beside
    if timings := [r for r in timings if r.get("baseline") != CUTLASS]:
        records.timings[folder.name] = timings
    if bottlenecks := _read_folder(folder / BOTTLENECK_DIR, root, "bottleneck"):
        records.bottlenecks[folder.name] = bottlenecks


def _product_alone(record: Record) -> bool:
    """Is it C = A·B that was computed, with alpha = 1 and beta = 0?"""
    return record.get("alpha", 1) == 1 and record.get("beta", 0) == 0


def _read_folder(folder: Path, root: Path, kind: str) -> list[Record]:
    return [record for path in sorted(folder.glob("*.jsonl")) for record in read(path, root, kind)]


def read(path: Path, root: Path = ROOT, kind: str = "") -> list[Record]:
    """The records of a file, each of this kind; none where there is no file. Raises RecordError."""
    if not path.exists():
        return []
    name = path.relative_to(root) if path.is_relative_to(root) else path
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{name}: cannot be read: {error}") from error
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(checked(json.loads(line), kind))
            except (ValueError, TypeError) as error:
                raise RecordError(
                    f"{name}:{number}: corrupt record: {error}; delete the line or record it again"
                ) from None
    return rows
