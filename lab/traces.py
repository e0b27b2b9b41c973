"""Records what the simulator traces of the steps: `python -m lab.traces`. The pictures of the chapters are drawn from it.

    python -m lab.traces              trace the steps that are drawn, and write records/simulator/traces
    python -m lab.traces --only 08    those whose name begins so
    python -m lab.traces --check      compare with what is recorded, write nothing; exit code 1 where something differs

The steps, the simulator and lab/micro/bank_patterns have to be built. A recorded trace is the simulator's own
(docs/simulator-reference.md), less what no picture shows: of a slice of K the first one, of other accesses to shared
memory the first of each line. Each instruction has the text of its line beside it, as `source`. No GPU is needed.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base import build, registry
from base.code import without_comments
from base.errors import UserError
from base.paths import BUILD, DATA, ROOT, SIMULATOR, shown
from lab.recorded_files import Files

FOLDER = DATA / "simulator" / "traces"
PATTERNS = "bank_patterns"  # of lab/micro
LEADING = 4096  # elements from row to row: the sectors of a request are those of a large matrix
SIZE = ("--m", "256", "--n", "256", *(word for ld in "abc" for word in (f"--ld{ld}", str(LEADING))))
A, B = 0, 1  # allocations, numbered as the kernels' parameters name them
ELEMENT_BYTES = {"f32": 4, "tf32": 4, "f16": 2, "bf16": 2}

Trace = dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """What is traced: a step's variant, or a program of lab/micro."""

    step: str
    variant: str = ""  # the default where none is named
    maps: bool = False  # what each thread copies and computes is drawn, too
    warps: int = 1  # of more than the first, what they compute
    k: int = 128
    every_slice: bool = False  # the first copy and the first read of each slice, not of the first slice alone
    engines: bool = False  # all that TMA copies and wgmma reads, not what the warp itself accesses

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return f"{self.step}-{self.variant}" if self.variant else self.step

    @property
    def is_step(self) -> bool:
        """Is it a step, and not a program without options?"""
        return self.step != PATTERNS


# What the steps' own files ask for, and the patterns.
RECORDINGS = (
    *(Recording(step.name, **asked) for step in registry.steps() for asked in step.traces),
    Recording(PATTERNS),
)


def simulated(recording: Recording, warp: int) -> Trace:
    """The whole trace of one warp."""
    program = BUILD / ("steps" if recording.is_step else "lab/micro") / recording.step
    if not program.is_file() or not SIMULATOR.is_file():
        absent = program if SIMULATOR.is_file() else SIMULATOR
        raise UserError(f"{shown(absent)} is not built: meson compile -C {shown(BUILD)} {absent.name}")
    words = [*SIZE, "--k", str(recording.k)] if recording.is_step else []
    words += ["--variant", recording.variant] if recording.variant else []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        settings = {"LD_LIBRARY_PATH": str(SIMULATOR.parent), "PTXSIM_TRACE": str(file)}
        settings |= {"PTXSIM_TRACE_WARP": str(warp), "PTXSIM_TRACE_REQUESTS": "16"}
        done = subprocess.run(
            [program, *words], capture_output=True, text=True, check=False, env={**os.environ, **settings}
        )
        if done.returncode != 0:
            raise UserError(f"{recording.name} failed in the simulator: {done.stderr.strip()}")
        return json.loads(file.read_text(encoding="utf-8"))


def recorded(recording: Recording) -> Trace:
    """What is kept of a step's traces."""
    found: Trace = {"step": recording.step}
    if recording.is_step:
        variants = build.variants(f"steps/{recording.step}")
        variant = next(one for one in variants if one["variant"] == (recording.variant or variants[0]["variant"]))
        found |= {"variant": variant["variant"], "tile": variant["block"], "leading": LEADING}
        found |= {"element_bytes": ELEMENT_BYTES[variant["a"]]}
    found["kernels"] = []
    for warp in range(recording.warps):
        trace = simulated(recording, warp)
        for kernel in trace["kernels"]:
            kept = [kept_of(each, recording, warp, found) for each in kernel["instructions"]]
            kernel["instructions"] = shown_of(kept, recording)
            found["kernels"].append(kernel)
        found["fragments"] = trace["fragments"]
    return found


def kept_of(instruction: Trace, recording: Recording, warp: int, found: Trace) -> Trace:
    """An instruction with the requests that a picture may show, and the text of its line."""
    file = Path(instruction["file"]).resolve()
    lines = file.read_text(encoding="utf-8").splitlines()
    named = {"file": str(file.relative_to(ROOT)), "source": lines[instruction["line"] - 1].strip()}
    requests = [
        one for one in instruction["requests"] if may_be_drawn(one, instruction["kind"], recording, warp, found)
    ]
    for place in (one[space] for one in requests for space in ("global", "shared") if space in one):
        place.pop("sector", None), place.pop("bank", None)  # they follow from the addresses
    return {**instruction, **named, "requests": requests}


def may_be_drawn(request: Trace, kind: str, recording: Recording, warp: int, found: Trace) -> bool:
    """Is this an access to shared memory, a copy of the first slice, a store of results, or an engine's work?"""
    if recording.engines:
        return "copy" in request or "a" in request
    if "global" not in request or not recording.maps:
        return warp == 0 and "shared" in request
    place = request["global"]
    if place["allocation"] not in (A, B):
        return kind == "store"
    first = min(address for address in place["address"] if address is not None) // found["element_bytes"]
    k = first % LEADING if place["allocation"] == A else first // LEADING
    return warp == 0 and k < found["tile"][2]


def shown_of(instructions: list[Trace], recording: Recording) -> list[Trace]:
    """What the pictures of a recording take from the instructions that are kept."""
    if recording.engines:
        return [each for each in instructions if each["requests"]]
    return slice_by_slice(instructions) if recording.every_slice else trimmed(instructions, recording.maps)


def trimmed(instructions: list[Trace], maps: bool) -> list[Trace]:
    """Of each line the first request and the first product; where threads are mapped, all that global memory sees."""

    def line(each: Trace) -> tuple:
        return each["file"], each["line"], each["kind"]

    first: dict[tuple, int] = {}
    for each in instructions:
        for request in each["requests"]:
            first[line(each)] = min(request["order"], first.get(line(each), request["order"]))
    kept, products = [], set()
    for each in instructions:
        requests = [one for one in each["requests"] if (maps and "global" in one) or one["order"] == first[line(each)]]
        is_product = not each["requests"] and "fragments" in each and line(each) not in products
        if is_product:
            products.add(line(each))
        if requests or is_product:
            kept.append({**each, "requests": requests})
    return kept


def slice_by_slice(instructions: list[Trace]) -> list[Trace]:
    """Of the copies those that begin in the first row of A, of the reads those of the instruction that comes first."""
    copies = [each for each in instructions if each["kind"] == "cp.async"]
    for each in copies:
        each["requests"] = [
            one
            for one in each["requests"]
            if one["global"]["allocation"] == A and one["global"]["address"][0] < LEADING  # bytes: half a row
        ]
    reads = [each for each in instructions if each["kind"] == "wmma.load"]
    return [*(each for each in copies if each["requests"]), min(reads, key=lambda one: one["requests"][0]["order"])]


def text_of(trace: Trace) -> str:
    """The file's text, one request or fragment on a line."""

    def written(value: Any, indent: str) -> str:
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            return "[" + ",".join(f"\n{indent} {written(one, indent + ' ')}" for one in value) + f"\n{indent}]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(key)}: {written(one, indent)}" for key, one in value.items()) + "}"
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    return written(trace, "") + "\n"


def essence(trace: Trace) -> list[str]:
    """What a recorded trace says of memory and fragments, whatever instructions the compiler makes of it, and whatever
    the comment beside a line says."""
    lines = [json.dumps(fragment) for fragment in trace["fragments"]]
    for kernel in trace["kernels"]:
        for each in kernel["instructions"]:
            code = " ".join(without_comments(each["source"]).split())
            for request in each["requests"]:
                access = {key: request[key] for key in ("global", "shared", "copy", "a", "b") if key in request}
                lines.append(f"{kernel['warp']} {code} {each['kind']} {json.dumps(access)}")
    return sorted(lines)


def load(name: str) -> Trace:
    """What is recorded."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def main() -> int:
    """The command; returns the exit code."""
    found = {one.name: one for one in RECORDINGS}
    files = Files("lab.traces", FOLDER, list(found), lambda name: recorded(found[name]), load, text_of, essence)
    return files.command(__doc__)


if __name__ == "__main__":
    sys.exit(main())
