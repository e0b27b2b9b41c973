"""Figures that a page tells in a sentence, by key: `03:tflops`, `04.unpadded@8192:ratio`, `26@16384/25@16384:faster`.

A key is SUBJECT:QUANTITY, and :N behind it asks for N decimals.

A subject is a step's number, with `.VARIANT` where it is not the default and `@SIZE` where it is not 4096³; several sizes
(`@4096,8192`) ask for `min-` or `max-` in front of the quantity. Two subjects with `/` between them are compared. A kind
in front says that other records are meant: `cutlass 27@8192`, `alone 26`, `l2 26@8192`, `gpus row.copied.27`,
`loop 256x192.40`, `latency load.8192`, `large`. Percents are numbers without the sign, which the page's language writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from records import REFERENCE_GPU, Record, Records, metrics

from . import bounds_charts, count_charts, gpu_tables, latencies, traffic
from .course import Course, Step
from .style import Missing, number

DEFAULT_SIZE = 4096
_SUBJECT = re.compile(r"(?P<step>\d\d)(?:\.(?P<variant>\w+))?(?:@(?P<sizes>\d+(?:,\d+)*))?$")
_KINDS = ("cutlass", "alone", "l2", "gpus", "loop", "latency", "large")
Value = tuple[float, int | None]  # a number, and its decimals where it has not three digits that count


class UnknownFigure(Exception):
    """A key that names nothing; the text says which part of it."""


def figure(course: Course, records: Records, key: str) -> str:
    """The figure of that key as a page shows it. Raises UnknownFigure, or Missing where nothing is recorded yet."""
    kind, space, rest = key.partition(" ")
    if not space:
        kind, rest = ("large" if key.startswith("large:") else "", key)
    if kind and kind not in _KINDS:
        raise UnknownFigure(f"'{kind}' is no kind of record: {', '.join(_KINDS)}")
    subject, *others = rest.split(":")
    if not others:
        raise UnknownFigure(f"'{key}' has no quantity: SUBJECT:QUANTITY")
    quantity, decimals = others[0], others[1] if len(others) > 1 else ""
    if len(others) > 2 or (decimals and not decimals.isdecimal()):
        raise UnknownFigure(f"'{key}': behind the quantity only a number of decimals may follow")
    teller = _Teller(course, records)
    value, usual = teller.compared(kind, subject, quantity) if "/" in subject else teller.one(kind, subject, quantity)
    places = int(decimals) if decimals else usual
    text = (
        number(value) if places is None else f"{value:,.{places}f}" if abs(value) >= 10_000 else f"{value:.{places}f}"
    )
    return text.replace("-", "−")


class _Teller:
    """Finds records by the parts of a key."""

    def __init__(self, course: Course, records: Records, gpu: str = REFERENCE_GPU) -> None:
        self.course = course
        self.records = records
        self.gpu = gpu

    def compared(self, kind: str, subjects: str, quantity: str) -> Value:
        """Two subjects: their quotient, or by how many percent the first is faster."""
        first, _, second = subjects.partition("/")
        if quantity == "faster":
            return 100 * self.compared(kind, subjects, "tflops")[0] - 100, 0
        above, below = (self.one(kind, subject, quantity)[0] for subject in (first, second))
        return above / below, 2

    def one(self, kind: str, subject: str, quantity: str) -> Value:
        """One subject; of several sizes the least or the most."""
        if kind in ("", "cutlass"):
            if found := re.match(r"(min|max)-(.+)", quantity):
                of_what, _, sizes = subject.partition("@")
                values = [self.of_step(kind, f"{of_what}@{size}", found[2]) for size in sizes.split(",")]
                return (min if found[1] == "min" else max)(values)
            return self.of_step(kind, subject, quantity)
        of_kind: dict[str, Callable[[str, str], Value]] = {
            "alone": self._alone,
            "l2": self._l2,
            "gpus": self._several,
            "loop": self._loop,
            "latency": self._latency,
            "large": self._large,
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
        record = self._timing(kind, step, variant, size)
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
            "ratio": lambda: (record["ratio"], 3),
            "share": lambda: (100 * record["ratio"], 0),
            "library": lambda: (record["baseline_tflops"], None),
            "of-peak": lambda: (100 * speed / self._peak(step), 0),
            "watts": lambda: (record["power_w"], 0),
            "mhz": lambda: (record["sm_mhz"], 0),
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
        value = counts.get(which, counts.get("by_class", {}).get(which))
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
            "dram": (counts[metrics.DRAM_READ] / 1e9, 2),
        }
        return _named(values, quantity, "what crosses from L2")

    def _several(self, subject: str, quantity: str) -> Value:
        """One product on two GPUs: `row.copied.27`, the first record of it; `row.copied.27.8` in eight chunks. `serial`:
        of both layouts, what that way seems to hide."""
        if subject == "serial":
            rows = [r for layout in ("row", "column") for r in gpu_tables.several(self.records, self.gpu, layout)]
            hidden = [100 * r["hidden"] for r in rows if r["way"] == "serial"]
            if not hidden:
                raise Missing("no product on several GPUs")
            return _named({"least-hidden": (min(hidden), 0), "most-hidden": (max(hidden), 0)}, quantity, "serial")
        layout, way, product, *chunks = (*subject.split("."), "", "", "")[: 4 if subject.count(".") > 2 else 3]
        rows = [r for r in gpu_tables.several(self.records, self.gpu, layout) if r["gpus"] == 2 and r["way"] == way]
        rows = [r for r in rows if r["product"].startswith(product) and (not chunks or r["chunks"] == int(chunks[0]))]
        if not rows:
            raise UnknownFigure(f"no record of several GPUs '{subject}': layout.way.product[.chunks]")
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

    def _loop(self, subject: str, quantity: str) -> Value:
        """A main loop of wgmma in BF16 on random data: `256x192.40`, tile and KB per stage from L2."""
        tile, _, kb = subject.partition(".")
        wanted = {"tile": tile, "zeros": 0.0, "l2_kb": int(kb or 0), "dram_kb": 0}
        rows = [r for r in self.records.main_loops.get(self.gpu, []) if r["a"] == "bf16"]
        row = next((r for r in rows if wanted.items() <= r["options"].items()), None)
        if row is None:
            raise UnknownFigure(f"no main loop '{subject}' in BF16: tile.KB")
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

    def _large(self, _: str, quantity: str) -> Value:
        """Of all products on tensor cores from step 15 on with M, N and K of 4096 or more: watts and clocks."""
        rows = [*self.records.timings.get(self.gpu, []), *self.records.beside_cutlass.get(self.gpu, [])]
        rows = [r for r in rows if 15 <= int(r["step"][:2]) <= 27 and min(r["m"], r["n"], r["k"]) >= DEFAULT_SIZE]
        watts, clocks = (sorted(r[key] for r in rows if r.get(key)) for key in ("power_w", "sm_mhz"))
        if not watts or not clocks:
            raise Missing("no power of large products on tensor cores")
        tenth = len(watts) // 10
        values: dict[str, Value] = {"watts-low": (watts[tenth], 0), "watts-high": (watts[-1 - tenth], 0)}
        values |= {"mhz-low": (clocks[0], 0), "mhz-high": (clocks[-1], 0), "mhz-middle": (clocks[len(clocks) // 2], 0)}
        return _named(values, quantity, "large products")


def _named(values: dict[str, Value], quantity: str, of_what: str) -> Value:
    if quantity not in values:
        raise UnknownFigure(f"there is no quantity '{quantity}' of {of_what}: {', '.join(values)}")
    return values[quantity]
