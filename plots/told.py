"""Figures that a page tells in a sentence, by key: `03:tflops`, `04.unpadded@8192:ratio`, `26@16384/25@16384:faster`.

A key is SUBJECT:QUANTITY, and :N behind it asks for N decimals.

A subject is a step's number, with `.VARIANT` where it is not the default and `@SIZE` where it is not 4096³, or
`@16384k512` where K is another; several sizes (`@4096,8192`) ask for `min-` or `max-` in front of the quantity. Two
subjects with `/` between them are compared; `25/24:apart` tells of all their pairs of variant and size. A kind in front
says that other records are meant: `cutlass 27@8192`, `alone 26`, `l2 26@8192`, `launch 20.only_xor`,
`gpus row.copied.27`, `passes 33@8192`, `loop 256x192.40`, `latency load.8192`, `memory 14@8192`, `without 16.no_copies`, `large`,
`error uniform.30.cut`, `ways turns.512`, `chooser loss`, `sweep 29.8192`, `library hopper@8192`. `steps all:count`,
`steps hopper:first` and `steps sm90:last` tell of the ladder itself: of all steps, of one ladder's, or of those that need
this compute capability. Percents are numbers without the sign, which the page's language writes.

A GPU in front of all that, `h100 27@8192:tflops`, asks for its record beside the library that its table has; two of them,
`h100/h200 27@8192:tflops`, for the quotient. `min-`, `max-` and what two GPUs tell of many pairs take several steps, too:
`h100/h200 12-13,15-27@4096,8192:apart`.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable

from records import BEST_LIBRARY, REFERENCE_GPU, Record, Records, costs, metrics

from . import (
    bottleneck_charts,
    bounds_charts,
    count_charts,
    energy,
    gpu_tables,
    gpu_timeline,
    latencies,
    panels,
    passes,
    stream_k,
    traffic,
)
from .course import Course, Step
from .style import Missing, number, say
from .sweep_charts import HGEMM125, geometric_mean

DEFAULT_SIZE = 4096
MANY_ZEROS = 0.75
FLOP_PER_CYCLE = 4096  # of a multiprocessor's tensor cores, in 16 bits
SMALLEST = 1024 * 2048  # elements of C: up to here, an early launch counts most
_SUBJECT = re.compile(r"(?P<step>\d\d)(?:\.(?P<variant>\w+))?(?:@(?P<sizes>\d+(?:,\d+)*)(?:k(?P<depth>\d+))?)?$")
_LOADS = ("l2", "latency", "memory")
_KINDS = (
    "cutlass",
    "alone",
    "launch",
    "busy",
    "passes",
    "timeline",
    "gpus",
    "loop",
    "large",
    "without",
    "error",
    "ways",
    "chooser",
    "sweep",
    "library",
    "steps",
    *_LOADS,
)
_EXTREME = re.compile(r"(min|max)-(.+)")
Value = tuple[float, int | None]  # a number, and its decimals where it has not three digits that count


class UnknownFigure(Exception):
    """A key that names nothing; the text says which part of it."""


def figure(course: Course, records: Records, key: str, language: str = "en") -> str:
    """The figure of that key as a page shows it. Raises UnknownFigure, or Missing where nothing is recorded yet."""
    gpus, rest = _gpus(records, key)
    kind, space, behind = rest.partition(" ")
    if space:
        rest = behind
    else:
        kind = "large" if rest.startswith("large:") else ""
    if kind and kind not in _KINDS:
        known = ", ".join([*_KINDS, *records.timings])
        raise UnknownFigure(f"'{kind}' is no kind of record and no GPU: {known}")
    subject, *others = rest.split(":")
    if not others:
        raise UnknownFigure(f"'{key}' has no quantity: SUBJECT:QUANTITY")
    quantity, decimals = others[0], others[1] if len(others) > 1 else ""
    if len(others) > 2 or (decimals and not decimals.isdecimal()):
        raise UnknownFigure(f"'{key}': behind the quantity only a number of decimals may follow")
    if kind == "steps":
        return _of_the_ladder(course, subject, quantity)
    if len(gpus) == 2:
        pair = _Pair(course, records, gpus)
        if quantity.endswith("-steps"):
            return _listed(pair.steps(kind, subject, quantity.removesuffix("-steps")), language)
        value, usual = pair.one(kind, subject, quantity)
        return _shown(value, decimals, usual)
    teller = _Teller(course, records, *gpus)
    value, usual = teller.compared(kind, subject, quantity) if "/" in subject else teller.one(kind, subject, quantity)
    return _shown(value, decimals, usual)


def _shown(value: float, decimals: str, usual: int | None) -> str:
    places = int(decimals) if decimals else usual
    text = (
        number(value) if places is None else f"{value:,.{places}f}" if abs(value) >= 10_000 else f"{value:.{places}f}"
    )
    return text.replace("-", "−")


def _gpus(records: Records, key: str) -> tuple[list[str], str]:
    """The GPUs that a key names in front, and the rest of it."""
    word, space, rest = key.partition(" ")
    gpus = word.split("/")
    if not space or len(gpus) > 2 or not all(gpu in records.timings for gpu in gpus):
        return [], key
    return gpus, rest


def _listed(steps: list[int], language: str) -> str:
    """Numbers of steps in a sentence."""
    *others, last = [f"{number:02d}" for number in steps] or [say(language, "none", "没有")]
    return say(language, " and ", "、").join([say(language, ", ", "、").join(others), last] if others else [last])


def _expanded(subject: str) -> list[str]:
    """Single subjects: `12-13,15@4096,8192` are six."""
    steps, at, sizes = subject.partition("@")
    numbers: list[str] = []
    for part in steps.split(","):
        span = re.fullmatch(r"(\d\d)-(\d\d)", part)
        numbers += [f"{n:02d}" for n in range(int(span[1]), int(span[2]) + 1)] if span else [part]
    return [f"{step}{at}{size}" for step in numbers for size in sizes.split(",")]


def _of_the_ladder(course: Course, subject: str, quantity: str) -> str:
    """How many steps there are, or the number of the first or the last: of all, a ladder, or a compute capability."""
    least = subject.removeprefix("sm")
    steps = [s for s in course.steps if subject in ("all", s.ladder) or s.arch.rstrip("a") == least]
    if not steps:
        raise UnknownFigure(f"'{subject}' is neither all, nor {', '.join(course.ladders)}, nor an sm that a step needs")
    told = {"count": f"{len(steps)}", "first": f"{steps[0].number:02d}", "last": f"{steps[-1].number:02d}"}
    if quantity not in told:
        raise UnknownFigure(f"there is no quantity '{quantity}' of steps: {', '.join(told)}")
    return told[quantity]


class _Teller:
    """Finds records by the parts of a key."""

    def __init__(self, course: Course, records: Records, gpu: str = "") -> None:
        self.course = course
        self.records = records
        self.gpu = gpu or REFERENCE_GPU
        self.as_in_tables = bool(gpu)

    def compared(self, kind: str, subjects: str, quantity: str) -> Value:
        """Two subjects: their quotient, or by how many percent the first is faster."""
        first, _, second = subjects.partition("/")
        if quantity == "faster":
            return 100 * self.compared(kind, subjects, "tflops")[0] - 100, 0
        if not kind and quantity in ("pairs", "apart", "overlap", "least-gain", "most-gain"):
            return self._every_pair(first, second, quantity)
        above, below = (self.one(kind, subject, quantity)[0] for subject in (first, second))
        return above / below, 2

    def _every_pair(self, first: str, second: str, quantity: str) -> Value:
        """Two steps at every square size and in every variant that both were timed in; `25@8192/24@8192` at one size."""
        (new, variant, _), (old, *_) = self.step_of(first), self.step_of(second)
        sizes = [self.step_of(first)[2]] if "@" in first else self.records.square_sizes(self.gpu, [new.name])
        timed = [
            {(r["variant"], r["m"]): r for r in self.records.of_step(self.gpu, step.name)
             if r["m"] == r["n"] == r["k"] and r["m"] in sizes and variant in (None, r["variant"])
             and not r.get("options") and not r.get("beta")}
            for step in (new, old)
        ]  # fmt: skip
        pairs = [(timed[0][key], timed[1][key]) for key in timed[0].keys() & timed[1].keys()]
        if not pairs:
            raise UnknownFigure(f"'{first}' and '{second}' have no variant and size in common")
        gains = [100 * one["tflops"] / other["tflops"] - 100 for one, other in pairs]
        apart = sum(panels.apart(*pair) for pair in pairs)
        values: dict[str, Value] = {
            "pairs": (len(pairs), 0), "apart": (apart, 0), "overlap": (len(pairs) - apart, 0),
            "least-gain": (min(gains), 0), "most-gain": (max(gains), 0),
        }  # fmt: skip
        return values[quantity]

    def one(self, kind: str, subject: str, quantity: str) -> Value:
        """One subject; of several sizes the least or the most."""
        if kind in ("", "cutlass", "alone") and (found := _EXTREME.match(quantity)):
            values = [self.one(kind, each, found[2]) for each in _expanded(subject)]
            return (min if found[1] == "min" else max)(values)
        if kind in ("", "cutlass"):
            return self.of_step(kind, subject, quantity)
        of_kind: dict[str, Callable[[str, str], Value]] = {
            "alone": self._alone,
            "l2": self._l2,
            "launch": self._launch,
            "busy": self._busy,
            "passes": self._passes,
            "gpus": self._several,
            "timeline": self._timeline,
            "loop": self._loop,
            "latency": self._latency,
            "memory": self._memory,
            "without": self._without,
            "error": self._error,
            "large": self._large,
            "ways": self._ways,
            "chooser": self._chooser,
            "sweep": self._sweep,
            "library": self._library,
        }
        return of_kind[kind](subject, quantity)

    def step_of(self, subject: str) -> tuple[Step, str | None, int]:
        """The step, variant (None: the default) and size of a subject."""
        found = _SUBJECT.match(subject)
        if not found:
            raise UnknownFigure(f"'{subject}' is no step: NN, NN.variant, NN@size or NN.variant@size")
        step = next((s for s in self.course.steps if s.name.startswith(found["step"])), None)
        if step is None:
            raise UnknownFigure(f"there is no step {found['step']}")
        if found["sizes"] and "," in found["sizes"]:
            raise UnknownFigure(f"'{subject}' has several sizes: ask for min- or max- of the quantity")
        return step, found["variant"], int(found["sizes"] or DEFAULT_SIZE)

    def of_step(self, kind: str, subject: str, quantity: str) -> Value:
        """A step's timing, count or instruction mix."""
        step, variant, size = self.step_of(subject)
        family, _, which = quantity.partition(".")
        if family in ("count", "fma") and which:
            return self._count(step, variant, family, which)
        if (family in ("sass", "ptx") and which) or quantity == "registers":
            return self._mix(step, variant, family, which)
        if quantity in ("bound", "issue") and not variant:
            bound = (bounds_charts.load_store_bound(self.course, self.gpu, step) if quantity == "bound"
                     else bounds_charts.issue_bound(self.course, self.records, self.gpu, step))  # fmt: skip
            if bound is None:
                raise UnknownFigure(f"step {step.number:02d} has no {quantity}")
            return bound, None
        if quantity == "best":  # percent of the best library call
            rows = [r for r in self.records.of_step(self.gpu, step.name) if r.get("baseline") == BEST_LIBRARY]
            rows = [r for r in rows if not r.get("options") and r["m"] == r["n"] == r["k"] == size]
            rows = [r for r in rows if (r["variant"] == variant if variant else r["default"])]
            if not rows:
                raise UnknownFigure(f"no best library call beside {step.name} {variant or ''} at {size}³")
            return 100 * rows[0]["ratio"], 0
        found = _SUBJECT.match(subject)
        depth = int(found["depth"]) if found and found["depth"] else size
        record = self._timing(kind, step, variant, size) if depth == size else self._deep(step, variant, size, depth)
        if kind == "cutlass" and quantity == "faster":
            return 100 * record["ratio"] - 100, 0
        return self._of_timing(step, record, quantity)

    def _timing(self, kind: str, step: Step, variant: str | None, size: int) -> Record:
        if kind == "cutlass":
            rows = [r for r in self.records.beside_cutlass.get(self.gpu, []) if r["step"] == step.name]
        else:
            rows = [r for r in self.records.of_step(self.gpu, step.name) if not r.get("options")]
        rows = [r for r in rows if r["m"] == r["n"] == r["k"] == size]
        if variant is None and kind != "cutlass":
            found = self.records.default_at(self.gpu, step.name, size)
            if self.as_in_tables:
                found = self.records.default_beside(self.gpu, step.name, size, self.course.yardstick(step.ladder))
        else:
            rows = [r for r in rows if (r["variant"] == variant if variant else r["default"])]
            found = min(rows, key=lambda r: r.get("baseline") != "cublas", default=None)
        if found is None:
            known = {r["variant"] for r in self.records.of_step(self.gpu, step.name)}
            if variant and known and variant not in known:
                raise UnknownFigure(f"step {step.number:02d} has no variant '{variant}'")
            if known:
                raise UnknownFigure(f"no timing of {step.name} {variant or ''} at {size}³")
            raise Missing(f"no timing of {step.name}")
        return found

    def _deep(self, step: Step, variant: str | None, size: int, depth: int) -> Record:
        """A timing whose K is not its M and N, beside cuBLAS where that was measured."""
        rows = [r for r in self.records.of_step(self.gpu, step.name) if not r.get("options") and not r.get("beta")]
        rows = [r for r in rows if (r["m"], r["n"], r["k"]) == (size, size, depth)]
        rows = [r for r in rows if (r["variant"] == variant if variant else r["default"])]
        if not rows:
            raise UnknownFigure(f"no timing of {step.name} {variant or ''} at {size}×{size}×{depth}")
        return min(rows, key=lambda r: r.get("baseline") != "cublas")

    def _of_timing(self, step: Step, record: Record, quantity: str) -> Value:
        speed, size = record["tflops"], record["m"]
        if found := re.fullmatch(r"of-([\d.]+)", quantity):  # of a bound that the page works out by hand
            return 100 * speed / float(found[1]), 0
        if quantity in ("gain", "faster"):
            before = self.course.before(step)
            old = self.records.default_at(self.gpu, before.name, size) if before else None
            if old is None:
                raise UnknownFigure(f"there is nothing before {step.name} at {size}³ to compare it with")
            return (speed / old["tflops"], 2) if quantity == "gain" else (100 * speed / old["tflops"] - 100, 0)
        if quantity in ("of-bound", "of-issue"):
            bound = self.of_step("", f"{step.number:02d}", quantity.removeprefix("of-"))[0]
            return 100 * speed / bound, 0
        plain: dict[str, Callable[[], Value]] = {
            "tflops": lambda: (speed, None),
            "slow": lambda: (speed * record["ms"] / record["ms_p80"], None),
            "fast": lambda: (speed * record["ms"] / record["ms_p20"], None),
            "ms": lambda: (record["ms"], 2),
            "us": lambda: (1000 * record["ms"], 2),
            "ratio": lambda: (record["ratio"], 3),
            "share": lambda: (100 * record["ratio"], 0),
            "library": lambda: (record["baseline_tflops"], None),
            "of-peak": lambda: (100 * speed / self._peak(step), 0),
            "error": lambda: (100 * record["error"], 2),  # percent: the norm of C's error by that of C
            "watts": lambda: (record["power_w"], 0),
            "pj": lambda: (record["power_w"] / speed, 2),
            "mhz": lambda: (record["sm_mhz"], 0),
            "per-ghz": lambda: (1000 * speed / record["sm_mhz"], 0),
        }
        if quantity not in plain:
            raise UnknownFigure(f"there is no quantity '{quantity}' of a step: {', '.join(plain)}, gain, bound, …")
        try:
            return plain[quantity]()
        except KeyError as field:
            raise UnknownFigure(f"the record of {step.name} at {size}³ has no {field}") from None

    def _peak(self, step: Step) -> float:
        peak = self.course.peak(self.gpu, step)
        if peak is None:
            raise UnknownFigure(f"no peak is known for {step.name}")
        return peak

    def _count(self, step: Step, variant: str | None, family: str, which: str) -> Value:
        """What the simulator counts, whole or per warp-wide FMA."""
        counted = (self.records.counts_of(step.name, variant) if variant
                   else count_charts.counts_as_at_4096(self.course, self.records, step))  # fmt: skip
        if counted is None:
            raise Missing(f"no simulator counts of {step.name} {variant or ''}")
        counts = counted["counts"]
        special: dict[str, Callable[[Record], float | None]] = {
            "sectors_per_request": count_charts.sectors_per_request,
            "flop_per_byte": count_charts.flop_per_byte,
        }
        if which in special:
            return special[which](counted) or 0.0, 2
        of_tma = counts.get("tma", {}).get(which.removeprefix("tma_")) if which.startswith("tma_") else None
        value = counts.get(which, counts.get("by_class", {}).get(which, of_tma))
        if value is None:
            raise UnknownFigure(f"the simulator counts no '{which}' in {step.name}")
        return (value / counts["by_class"]["fma"], 2) if family == "fma" else (value, 0)

    def _mix(self, step: Step, variant: str | None, level: str, which: str) -> Value:
        """Instructions of the main loop, and registers of a thread."""
        rows = self.records.mixes_of(step.name, "sass" if level == "registers" else level, default_only=not variant)
        row = next((r for r in rows if not variant or r["variant"] == variant), None)
        if row is None:
            raise Missing(f"no instruction mix of {step.name} {variant or ''}")
        if level == "registers":
            return row["registers"], 0
        if which not in row["loop"]:
            raise UnknownFigure(f"the loop of {step.name} has no '{which}': {', '.join(row['loop'])}")
        return row["loop"][which], 0

    def _alone(self, subject: str, quantity: str) -> Value:
        """A default that was run alone, for its power."""
        step, *_ = self.step_of(subject)
        record = gpu_tables.run_alone(self.records, self.gpu, step)
        if record is None:
            raise Missing(f"{step.name} was not run alone")
        return self._of_timing(step, record, quantity)

    def _l2(self, subject: str, quantity: str) -> Value:
        """What crossed from L2 (gb, kb per 128×256×64 of work), what was merged, and what DRAM delivered."""
        step, variant, size = self.step_of(subject)
        counted = traffic.counted(self.records, self.gpu, [step.name])
        default = self.records.default_at(self.gpu, step.name, size)
        counts = counted.get((size, step.name, variant or (default["variant"] if default else "")))
        if counts is None:
            raise Missing(f"no traffic of {step.name} {variant or ''} was counted at {size}³")
        crossed = counts[metrics.COALESCER_SECTORS] * metrics.SECTOR_BYTES
        values: dict[str, Value] = {
            "gb": (crossed / 1e9, 2),
            "kb": (crossed / 1024 / (size**3 / (128 * 256 * 64)), 1),
            "received": (counts[metrics.TMA_RECEIVED] / 1e9, 2),
            "served": (counts[metrics.COALESCER_RATIO], 2),
            "merged": (counts[metrics.MERGED], 2),
            "multicast": (counts[metrics.SHARED], 2),
            "dram": (counts[metrics.WARM + metrics.DRAM_READ] / 1e9, 2),
        }
        return _named(values, quantity, "what crosses from L2")

    def _launch(self, subject: str, quantity: str) -> Value:
        """One launch under ncu: GB that the SMs received and that crossed from L2, million requests to L2, thousand cycles."""
        step, variant, size = self.step_of(subject)
        default = self.records.default_at(self.gpu, step.name, size)
        name = variant or (default["variant"] if default else "")
        rows = [r for r in self.records.profiles.get(self.gpu, []) if (r["step"], r["variant"]) == (step.name, name)]
        counts = {r["metric"]: r["value"] for r in rows if r["m"] == r["n"] == r["k"] == size}
        if metrics.CYCLES not in counts:
            raise UnknownFigure(f"no launch of {step.name} {variant or ''} at {size}³ was counted")
        values: dict[str, Value] = {
            "received": (counts[metrics.RECEIVED_SECTORS] * metrics.SECTOR_BYTES / 1e9, 2),
            "crossed": (counts[metrics.COALESCER_SECTORS] * metrics.SECTOR_BYTES / 1e9, 2),
            "requests": (counts[metrics.L2_REQUESTS] / 1e6, 1),
            "dram": (counts[metrics.DRAM_READ] / 1e9, 2),
            "cycles": (counts[metrics.CYCLES] / 1e3, 0),
            "pipe": (counts[metrics.TENSOR_PIPE], 0),
        }
        return _named(values, quantity, "one launch")

    def _passes(self, subject: str, quantity: str) -> Value:
        """How much longer a step takes than the one before it, timed one after the other, or how much faster it is (per cent,
        microseconds); of both milliseconds, clock (MHz), watts and millijoules. `29.stream_k@8192`: beside step 27."""
        step, variant, size = self.step_of(subject)
        if variant and (default := self.course.step(stream_k.STEP)):
            found = passes.of_variant(self.records, self.gpu, size, default, step, variant)
        else:
            found = passes.beside(self.course, self.records, self.gpu, step)[1].get(size)
        if found is None:
            raise UnknownFigure(f"{step.name} {variant or ''} was not timed in passes at {size}³")
        values: dict[str, Value] = {}
        for place, end in ((0, "-before"), (1, "")):
            ms, mhz, watts = (found.medians(key)[place] for key in ("ms", "sm_mhz", "power_w"))
            values |= {f"mhz{end}": (mhz, 0), f"watts{end}": (watts, 0), f"mj{end}": (ms * watts, 1 if ms < 1 else 0)}
            values[f"ms{end}"] = ms, 3 if ms < 1 else 2
        earlier, now = found.medians("ms")
        more, faster = (statistics.median(each) for each in (found.more, found.faster))
        values |= {
            "more": (100 * more, 1),
            "faster": (100 * faster, 1),
            "faster-least": (100 * min(found.faster), 1),
            "faster-most": (100 * max(found.faster), 1),
            "ratio": (1 + faster, 2),
            "us": (1000 * (now - earlier), 0),
        }
        return _named(values, quantity, "passes")

    def _busy(self, subject: str, quantity: str) -> Value:
        """One call under ncu, ours or, as `library-…`, cuBLAS's beside it: the share of cycles in which the tensor cores
        worked, thousand cycles of the longest kernel and of the call, GB that the SMs received."""
        step, variant, size = self.step_of(subject)
        default = self.records.default_at(self.gpu, step.name, size)
        name = variant or (default["variant"] if default else "")
        if quantity.startswith("library-"):
            quantity, name = quantity.removeprefix("library-"), f"{name} {metrics.BESIDE_CUBLAS}"
        rows = [r for r in self.records.profiles.get(self.gpu, []) if (r["step"], r["variant"]) == (step.name, name)]
        counts = {r["metric"]: r["value"] for r in rows if r["m"] == r["n"] == r["k"] == size}
        if metrics.CALL_CYCLES not in counts:
            raise UnknownFigure(f"how busy {step.name} {name} is at {size}³ was not counted: python -m lab.pipes")
        values: dict[str, Value] = {
            "share": (counts[metrics.TENSOR_ANY], 0),
            "cycles": (counts[metrics.CYCLES] / 1e3, 0),
            "call": (counts[metrics.CALL_CYCLES] / 1e3, 0),
            "received": (counts[metrics.RECEIVED_SECTORS] * metrics.SECTOR_BYTES / 1e9, 1),
        }
        return _named(values, quantity, "how busy a call is")

    def _several(self, subject: str, quantity: str) -> Value:
        """One product on two GPUs: `row.copied.27`, the first record of it; `row.copied.27.8` in eight chunks;
        `row.chunked.27_alone.4@2`: of the second run. `serial`: of both layouts, what that way seems to hide."""
        if subject == "serial":
            rows = [r for layout in ("row", "column") for r in gpu_tables.several(self.records, self.gpu, layout)]
            hidden = [100 * r["hidden"] for r in rows if r["way"] == "serial" and r.get("run", 1) == 1]
            if not hidden:
                raise Missing("no product on several GPUs")
            return _named({"least-hidden": (min(hidden), 0), "most-hidden": (max(hidden), 0)}, quantity, "serial")
        subject, _, run = subject.partition("@")
        layout, way, product, *chunks = (*subject.split("."), "", "", "")[: 4 if subject.count(".") > 2 else 3]
        rows = [r for r in gpu_tables.several(self.records, self.gpu, layout) if r["gpus"] == 2 and r["way"] == way]
        rows = [r for r in rows if r["product"].replace(":", "_") == product and (not run or r.get("run") == int(run))]
        rows = [r for r in rows if not chunks or r["chunks"] == int(chunks[0])]
        if not rows:
            raise UnknownFigure(f"no record of several GPUs '{subject}': layout.way.product[.chunks][@run]")
        r = rows[0]
        values: dict[str, Value] = {
            "ms": (r["ms"], 2), "ms-fast": (r["ms_p20"], 2), "ms-slow": (r["ms_p80"], 2),
            "speed-up": (r["speed_up"], 2), "tflops": (r["tflops"], None), "exposed": (r["exposed_ms"], 2),
            "arithmetic": (r["arithmetic_ms"], 2), "one-gpu": (r["one_gpu_ms"], 2),
        }  # fmt: skip
        if r.get("speed_up_p20"):
            values |= {"speed-up-slow": (r["speed_up_p20"], 2), "speed-up-fast": (r["speed_up_p80"], 2)}
        if r.get("hidden") is not None:
            values["hidden"] = (100 * r["hidden"], 0)
        if r.get("communication_ms"):
            rate = r["bytes_sent"] / r["communication_ms"] / 1e6
            values |= {"communication": (r["communication_ms"], 2), "rate": (rate, 0), "of-links": (rate / 4.5, 0)}
        return _named(values, quantity, "several GPUs")

    def _timeline(self, subject: str, quantity: str) -> Value:
        """NCCL's transfers beside the products of one recorded call, `row.chunked.27`: what they wait, last and cost
        (milliseconds), and what a block of theirs takes."""
        layout, way, product = (*subject.split("."), "", "")[:3]
        rows = self.records.timelines.get(self.gpu, [])
        found = gpu_timeline.of(rows, layout, way, product.replace("_", ":"))
        if found is None:
            raise UnknownFigure(f"no timeline of several GPUs '{subject}': layout.way.product")
        values: dict[str, Value] = {key: (getattr(found, key), 2) for key in ("wait", "lasts", "last", "lost")}
        values |= {key: (getattr(found, key), 0) for key in ("blocks", "threads", "registers")}
        return _named(values | {"shared-kb": (found.shared_bytes / 1024, 0)}, quantity, "timelines")

    def _loop(self, subject: str, quantity: str) -> Value:
        """A main loop of wgmma in BF16: `256x192.40`, tile and KB per stage from L2; `128x256.0.100`: all data are zeros."""
        tile, kb, zeros = (*subject.split("."), "0", "0")[:3]
        if not (kb.isdecimal() and zeros.isdecimal()):
            raise UnknownFigure(f"'{subject}' is no main loop: tile.KB or tile.KB.percent")
        wanted = {"tile": tile, "zeros": int(zeros) / 100, "l2_kb": int(kb), "dram_kb": 0}
        rows = [r for r in self.records.main_loops.get(self.gpu, []) if r["a"] == "bf16"]
        row = next((r for r in rows if wanted.items() <= r["options"].items()), None)
        if row is None:
            raise UnknownFigure(f"no main loop '{subject}' in BF16: tile.KB or tile.KB.percent of zeros")
        return _named({"tflops": (row["tflops"], None), "watts": (row["power_w"], 0)}, quantity, "a main loop")

    def _latency(self, subject: str, quantity: str) -> Value:
        """`load.8192`: loads in a ring of so many KB; else the latency whose name begins so."""
        name, _, kb = subject.partition(".")
        rows = self.records.latencies.get(self.gpu, [])
        if name == "load":
            rows = [r for r in rows if r["latency"] == latencies.LOAD and str(r["options"]["ring_kb"]) == kb]
        else:
            rows = [r for r in rows if r["latency"].startswith(name)]
        if not rows:
            raise UnknownFigure(f"no latency '{subject}'")
        values: dict[str, Value] = {"cycles": (rows[0]["cycles"], 0), "ns": (rows[0]["nanoseconds"], 0)}
        values["ghz"] = (rows[0]["cycles"] / rows[0]["nanoseconds"], 2)
        return _named(values, quantity, "a latency")

    def _memory(self, subject: str, quantity: str) -> Value:
        """What one launch read from DRAM, as it was counted: gb, tbs by the time of the default, either `of-` a number."""
        step, _, size = self.step_of(subject)
        counted = gpu_tables.bytes_read(self.records, self.gpu, step.name, size)
        if not counted:
            raise Missing(f"what {step.name} reads from memory at {size}³ was not counted")
        read = {"gb": counted[1] / 1e9, "tbs": counted[1] / self._timing("", step, None, size)["ms"] / 1e9}
        if found := re.fullmatch(r"(gb|tbs)-of-([\d.]+)", quantity):
            return 100 * read[found[1]] / float(found[2]), 0
        return _named({"gb": (read["gb"], 1), "tbs": (read["tbs"], 1)}, quantity, "memory, gb-of-N, tbs-of-N")

    def _without(self, subject: str, quantity: str) -> Value:
        """A kernel that leaves work out beside the full one: `time` it takes and `saved`, in percent of the full one's."""
        step, variant, size = self.step_of(subject)
        rows = bottleneck_charts.left_out(self.records, self.gpu, step.name)
        found = next((r for r in rows.get(size, []) if r.record["variant"] == variant), None)
        if found is None:
            if rows:
                raise UnknownFigure(f"{step.name} has no '{variant}' at {size}³ that leaves work out")
            raise Missing(f"no kernel of {step.name} that leaves work out was timed")
        values: dict[str, Value] = {
            "gain": (found.gain, 2), "time": (100 / found.gain, 0), "saved": (100 - 100 / found.gain, 0),
            "tflops": (found.record["tflops"], None), "full": (found.full["tflops"], None),
            "in-turn": (found.record["ratio"] / found.full["ratio"], 2),
        }  # fmt: skip
        return _named(values, quantity, "a kernel that leaves work out")

    def _error(self, subject: str, quantity: str) -> Value:
        """Bits that are right at 4096, of `uniform.30.cut` or `normal.cublas.cublas`: relative to |A||B|, or the `result`;
        `percent`: the norm of the error by that of the result."""
        data, step, variant = (*subject.split("."), "", "")[:3]
        rows = [r for r in self.records.errors.get(self.gpu, []) if (r["data"], r["variant"]) == (data, variant)]
        found = next((r for r in rows if r["step"].startswith(step) and r["k"] == DEFAULT_SIZE), None)
        if found is None:
            raise UnknownFigure(f"no errors '{subject}': data.step.variant")
        kinds = {"bits": "rms", "largest": "largest", "result": "relative"}
        values: dict[str, Value] = {name: (-math.log2(found[key]), 1) for name, key in kinds.items() if found.get(key)}
        values["percent"] = (100 * found["relative"], 1)
        return _named(values, quantity, "errors")

    def _ways(self, subject: str, quantity: str) -> Value:
        """Step 29's kernels: `turns.512`, timed in turn, its time by that of `large` at this K where M and N are 4096 or
        more, the geometric mean; `two.512x512x8192`, one size, as it was timed beside the best library call, or `in-turn`,
        or as the launcher's costs have it; `large.once`, what 128×256 of C take besides the time that grows with K;
        `per-cycle` and `products` are of one multiprocessor that works."""
        way, _, shape = subject.partition(".")
        rows = [r for r in self._of_29() if not r.get("beta")]
        if shape == "once":
            return self._once_per_tile(way, costs.times_of(rows), quantity)
        if "x" in shape:
            return self._way_at(way, tuple(map(int, shape.split("x"))), rows, quantity)
        ratios = [
            each[way] / each["large"]
            for (m, n, k), each in costs.times_of(rows).items()
            if k == int(shape) and min(m, n) >= DEFAULT_SIZE and {way, "large"} <= each.keys()
        ]
        if not ratios:
            raise UnknownFigure(f"'{way}' was not timed in turn with 'large' at K = {shape}")
        mean = statistics.geometric_mean(ratios)
        return _named({"time": (mean, 2), "speed": (1 / mean, 2), "sizes": (len(ratios), 0)}, quantity, "a way")

    def _once_per_tile(self, name: str, times: costs.Times, quantity: str) -> Value:
        """Of a straight line through the times at K = 512 and 2048, what it has at K = 0: per wave, for 128×256 of C, in µs or
        in slices. The median of the sizes with M and N from 4096, where waves are many; `least` and `most` are of slices."""
        way = next((way for way in costs.WAYS if way.name == name), None)
        found = []
        for (m, n, k), each in times.items():
            deep = times.get((m, n, 4 * k), {})
            if way and k == 512 and min(m, n) >= DEFAULT_SIZE and name in each.keys() & deep.keys():
                waves = way.work((m, n, k), costs.MULTIPROCESSORS)[1]
                slice_, once = (deep[name] - each[name]) / (3 * k / costs.BK), (4 * each[name] - deep[name]) / 3
                found.append((once / waves * 128 * 256 / (way.bm * way.bn), once / slice_))
        if not found:
            raise UnknownFigure(f"'{name}' was not timed in turn at K = 512 and 2048")
        slices = [of_slices for _, of_slices in found]
        values: dict[str, Value] = {
            "us": (statistics.median(us for us, _ in found), 1), "slices": (statistics.median(slices), 1),
            "least": (min(slices), 1), "most": (max(slices), 1), "sizes": (len(found), 0),
        }  # fmt: skip
        return _named(values, quantity, "a way")

    def _way_at(self, name: str, size: tuple[int, ...], rows: list[Record], quantity: str) -> Value:
        m, n, k = size
        times = costs.times_of(rows)
        way = next((way for way in costs.WAYS if way.name == name), None)
        if way and quantity == "estimate":
            return costs.estimate(costs.fitted(times), way, (m, n, k)), 1
        if quantity == "in-turn" and name in times.get((m, n, k), {}):
            return times[m, n, k][name], 1
        beside = [r for r in rows if r["variant"] == name and r.get("baseline") == BEST_LIBRARY]
        found = next((r for r in beside if (r["m"], r["n"], r["k"]) == size), None)
        if way is None or found is None:
            raise UnknownFigure(f"'{name}' was not timed beside the library at {m}×{n}×{k}")
        values: dict[str, Value] = {
            "us": (1000 * found["ms"], 1), "library": (1000 * found["baseline_ms"], 1), "tflops": (found["tflops"], None),
            "best": (100 * found["ratio"], 0), "mhz": (found["sm_mhz"], 0),
            "tbs": (way.bytes_asked_for((m, n, k)) / found["ms"] / 1e9, 1),
        }  # fmt: skip
        cycles, slices = found["ms"] * 1e3 * found["sm_mhz"], way.work((m, n, k), costs.MULTIPROCESSORS)[0]
        # Of one multiprocessor: bytes of A and B that it asks for per cycle, and percent of the time in its products.
        values["per-cycle"] = (slices * (way.bm + way.bn) * costs.BK * 2 / cycles, 0)
        values["products"] = (100 * slices * 2 * way.bm * way.bn * costs.BK / FLOP_PER_CYCLE / cycles, 0)
        return _named(values, quantity, "one way")

    def _chooser(self, subject: str, quantity: str) -> Value:
        """Step 29's choice at the 125 sizes beside what was timed there: `loss`, by the costs fitted to all; `left-out`, by
        those fitted without the size in question; `large`, had it always been taken, by its estimate where it was not
        timed. Percents, and numbers of sizes. `cut`: the two launches for one C, at all sizes where they were timed."""
        times = costs.times_of(r for r in self._of_29() if not r.get("beta"))
        if subject == "large":
            fitted, large = costs.fitted(times), next(way for way in costs.WAYS if way.name == subject)
            taken = {s: times[s].get(subject) or costs.estimate(fitted, large, s) for s in HGEMM125.sizes if s in times}
            found = [time / min(times[s].values()) - 1 for s, time in taken.items()]
        elif subject in ("loss", "left-out"):
            found = [*costs.losses(times, HGEMM125.sizes, subject == "left-out").values()]
        elif subject == "cut":
            return self._cut(times, quantity)
        else:
            raise UnknownFigure(f"'{subject}' is nothing of the chooser: loss, left-out, large, cut")
        if not found:
            raise Missing("the kernels of step 29 were not timed in turn")
        values: dict[str, Value] = {
            "mean": (100 * statistics.mean(found), 1), "most": (100 * max(found), 0), "sizes": (len(found), 0),
            "fastest": (sum(one == 0 for one in found), 0), "over-3": (sum(one > 0.03 for one in found), 0),
        }  # fmt: skip
        return _named(values, quantity, "the chooser")

    def _cut(self, times: costs.Times, quantity: str) -> Value:
        """At how many sizes C was cut, was this the fastest, and does the launcher do it; percents that it gains and loses
        at most beside the fastest other way; what the launcher adds to the estimate, in microseconds."""
        fitted = costs.fitted(times)
        ratios = [
            of_size[costs.CUT] / min(time for name, time in of_size.items() if name != costs.CUT)
            for of_size in times.values()
            if costs.CUT in of_size
        ]
        if not ratios:
            raise Missing("no size was timed with two launches for one C")
        values: dict[str, Value] = {
            "sizes": (len(ratios), 0), "ahead": (sum(ratio < 1 for ratio in ratios), 0),
            "taken": (sum(costs.chosen(fitted, size) == costs.CUT for size in times), 0),
            "gain": (100 * (1 - min(ratios)), 0), "loss": (100 * (max(ratios) - 1), 0), "us": (fitted.cut, 0),
        }  # fmt: skip
        return _named(values, quantity, "the cut")

    def _of_29(self) -> list[Record]:
        return self.records.of_step(self.gpu, self.step_of("29")[0].name)

    def _sweep(self, subject: str, quantity: str) -> Value:
        """A default over the 125 sizes beside the best library call, `29`, or those with one K, `29.8192`."""
        name, _, k = subject.partition(".")
        rows = [r for r in self.records.timings.get(self.gpu, []) if r["step"] == self.step_of(name)[0].name]
        rows = [r for r in rows if r["default"] and r.get("baseline") == BEST_LIBRARY and not r.get("options")]
        rows = [r for r in rows if (r["m"], r["n"], r["k"]) in HGEMM125.sizes and k in ("", str(r["k"]))]
        plain, with_c = ([r for r in rows if bool(r.get("beta")) is scaled] for scaled in (False, True))
        if not plain:
            raise Missing(f"no sweep of step {name}")
        larger = [r for r in plain if r["m"] * r["n"] > SMALLEST]
        values: dict[str, Value] = {
            "mean": (geometric_mean(plain), 3), "sizes": (len(plain), 0),
            "above": (sum(r["ratio"] >= 1 for r in plain), 0),
            "mean-of-larger": (geometric_mean(larger), 3), "smallest": (len(plain) - len(larger), 0),
        }  # fmt: skip
        if with_c:
            values["mean-with-c"] = (geometric_mean(with_c), 3)
        return _named(values, quantity, "a sweep")

    def _library(self, subject: str, quantity: str) -> Value:
        """The best library call at a square size, the median of what it did beside a ladder's defaults: `hopper@8192`."""
        ladder, _, size = subject.partition("@")
        names = [step.name for step in self.course.ladder(ladder)]
        if not names or not size.isdecimal():
            raise UnknownFigure(f"'{subject}' is no ladder at a size: {', '.join(self.course.ladders)}, as hopper@8192")
        speed = self.records.baseline_at(self.gpu, names, int(size), baseline=BEST_LIBRARY)
        if speed is None:
            raise Missing(f"no library beside the {ladder} ladder at {size}")
        if found := re.fullmatch(r"of-([\d.]+)", quantity):
            return 100 * speed / float(found[1]), 0
        return _named({"tflops": (speed, None), "records": (len(names), 0)}, quantity, "the library, of-N")

    def _large(self, _: str, quantity: str) -> Value:
        """Of all products on tensor cores from step 15 on with M, N and K of 4096 or more: the middle clock."""
        rows = [*self.records.timings.get(self.gpu, []), *self.records.beside_cutlass.get(self.gpu, [])]
        rows = [r for r in rows if 15 <= int(r["step"][:2]) <= 27 and min(r["m"], r["n"], r["k"]) >= DEFAULT_SIZE]
        clocks = sorted(r["sm_mhz"] for r in rows if r.get("sm_mhz"))
        if not clocks:
            raise Missing("no clock of large products on tensor cores")
        return _named({"mhz-middle": (clocks[len(clocks) // 2], 0)}, quantity, "large products")


class _Pair:
    """The same on two GPUs: the first divided by the second, and how many of several pairs their spreads keep apart."""

    def __init__(self, course: Course, records: Records, gpus: list[str]) -> None:
        self.records = records
        self.gpus = gpus
        self.tellers = [_Teller(course, records, gpu) for gpu in gpus]

    def one(self, kind: str, subject: str, quantity: str) -> Value:
        """One quotient; of several the least or the most; or how many there are, and how many are apart."""
        if found := _EXTREME.match(quantity):
            values = [self._quotient(*pair, found[2]) for pair in self._pairs(kind, subject)]
            return (min if found[1] == "min" else max)(values)
        if kind in ("", "alone", "loop") and quantity in ("tflops", "faster", "watts"):
            return self._quotient(*self._pairs(kind, subject)[0], quantity)
        if quantity in ("pairs", "apart", "shares-apart", "shares-overlap"):
            pairs = self._pairs(kind, subject)
            apart = sum(
                (panels.shares_apart if quantity.startswith("shares") else panels.apart)(*pair) for pair in pairs
            )
            return {"pairs": len(pairs), "shares-overlap": len(pairs) - apart}.get(quantity, apart), 0
        above, below = (teller.one(kind, subject, quantity)[0] for teller in self.tellers)
        return above / below, 2

    def steps(self, kind: str, subject: str, which: str) -> list[int]:
        """Those whose spreads are apart, and the first GPU `faster` or `slower`; or `within` the spread."""
        found = []
        for one, other in self._pairs(kind, subject):
            verdict = (
                "within" if not panels.apart(one, other) else "faster" if one["tflops"] > other["tflops"] else "slower"
            )
            if which not in ("within", "faster", "slower"):
                raise UnknownFigure(f"there is no list '{which}-steps' of two GPUs: within, faster, slower")
            found += [int(one["step"][:2])] if verdict == which else []
        return found

    def _pairs(self, kind: str, subject: str) -> list[tuple[Record, Record]]:
        if kind == "loop":
            return self._loops(subject)
        if kind not in ("", "alone"):
            raise UnknownFigure(f"two GPUs have no pairs of '{kind}': steps, alone, loop")
        return [self._of_step(kind, each) for each in _expanded(subject)]

    def _of_step(self, kind: str, subject: str) -> tuple[Record, Record]:
        (step, variant, size), *_ = (teller.step_of(subject) for teller in self.tellers)
        if not kind:
            first, second = (teller._timing("", step, variant, size) for teller in self.tellers)
            return first, second
        alone = [gpu_tables.run_alone(self.records, gpu, step) for gpu in self.gpus]
        if not all(alone):
            raise Missing(f"{step.name} was not run alone")
        return alone[0], alone[1]

    def _loops(self, which: str) -> list[tuple[Record, Record]]:
        """Main loops in BF16 that both have: those that read from `dram`, or those with many `zeros`."""
        first, second = (self.records.main_loops.get(gpu, []) for gpu in self.gpus)
        pairs = [
            (one, other) for one in first for other in second if one["a"] == "bf16" and energy.same_loop(one, other)
        ]
        kinds = {
            "dram": lambda o: o.get("dram_kb"),
            "zeros": lambda o: o.get("zeros", 0) >= MANY_ZEROS,
        }
        if which not in kinds:
            raise UnknownFigure(f"two GPUs have no main loops '{which}': {', '.join(kinds)}")
        found = [pair for pair in pairs if kinds[which](pair[0]["options"])]
        if not found:
            raise Missing(f"no main loops '{which}' on {' and '.join(self.gpus)}")
        return found

    def _quotient(self, one: Record, other: Record, quantity: str) -> Value:
        field = {"tflops": "tflops", "faster": "tflops", "watts": "power_w"}.get(quantity)
        if field is None:
            raise UnknownFigure(f"there is no quantity '{quantity}' of pairs: tflops, faster, watts")
        ratio = one[field] / other[field]
        return (100 * ratio - 100, 0) if quantity == "faster" else (ratio, 2)


def _named(values: dict[str, Value], quantity: str, of_what: str) -> Value:
    if quantity not in values:
        raise UnknownFigure(f"there is no quantity '{quantity}' of {of_what}: {', '.join(values)}")
    return values[quantity]
