"""The steps' kernels for the pages: PTX of one kernel each, and what its launches were given, recorded in the simulator.

For each step and some of its variants a file of JavaScript, which a page loads when a reader asks for it: a page that was
opened as a file may load scripts, and nothing else.
"""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from base import build, registry
from base.paths import BUILD, ROOT
from base.progress import say

MOST_VARIANTS = 2  # of a step, the default first
LARGER = 2  # by how much the second size is larger, in each dimension
MOST_INSTRUCTIONS = 20_000_000  # of a run in a page; a larger one takes minutes there
LABEL = ROOT / "tools" / "site" / "explorables" / "label.js"
_SIZE = re.compile(r" m (\d+) n (\d+) k (\d+)")
_BODY = re.compile(r"^(?:\.visible |\.weak |\.extern )*\.(entry|func)\b", re.MULTILINE)
_NAME = re.compile(r"[\w$]+")


@dataclass(frozen=True)
class Recorded:
    """One run of a step: its variant and size, and the file of JSON that the simulator wrote."""

    step: registry.Step
    variant: str
    size: tuple[int, int, int]
    launches: dict

    @property
    def counts(self) -> dict:
        """What the kernel counted that was the last to change an array; where none did, the last one."""
        launches = self.launches["launches"]
        last = ([each["kernel"] for each in launches if each["results"]] or [launches[-1]["kernel"]])[-1]
        return next(each["counts"] for each in self.launches["summary"]["kernels"] if each["symbol"] == last)


@cache
def state() -> str:
    """What decides, beside an executable, on what is recorded: the simulator, and how it is asked."""
    simulator = BUILD / build.SIMULATOR_TARGET
    parts = [file.read_bytes() for file in (simulator, Path(__file__)) if file.is_file()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def variants(step: registry.Step) -> list[str]:
    """The names of the variants that a page offers: the default, and others that compute the whole."""
    told = [each for each in build.variants(f"steps/{step.name}") if not each.get("left_out")]
    return [each["variant"] for each in sorted(told, key=lambda each: not each["default"])]


def recorded_run(
    executable: Path,
    step: registry.Step,
    variant: str,
    arguments: Sequence[str],
    folder: Path,
    settings: Mapping[str, str] = MappingProxyType({}),
    size: tuple[int, int, int] | None = None,
) -> Recorded | None:
    """Runs a step once in the simulator and writes down its launches; None where that is refused.

    `settings`: further ones of the simulator. `size`: where it is known, a run whose launch fails is written down, too:
    the harness ends there, and prints none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".json") as launches:
        line = [executable, "--sim", "--fingerprint", "--verify", "off", *arguments]
        line += ["--variant", variant] if variant else []
        variables = {**os.environ, "PTXSIM_LAUNCHES": launches.name, "PTXSIM_THREADS": "1", **settings}
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=variables, timeout=600)
        found = _SIZE.search(done.stdout)
        text = Path(launches.name).read_text(encoding="utf-8")
    size = tuple(map(int, found.groups())) if found else size
    if not size or not text:
        return None
    return Recorded(step, variant, size, json.loads(text))


def only_random(recorded: dict) -> dict:
    """The launches of the run on random inputs: the harness runs the kernel on exact ones before."""
    launches = recorded["launches"]
    half = len(launches) // 2
    same = half and [each["kernel"] for each in launches[:half]] == [each["kernel"] for each in launches[half:]]
    if not same:
        return {**recorded, "launches": _last_of_its_kind(launches)}
    kept = [dict(each) for each in launches[half:]]
    written = {write["allocation"] for write in kept[0]["writes"]}
    earlier = {write["allocation"]: write for each in launches[:half] for write in each["writes"]}
    kept[0]["writes"] = [write for number, write in earlier.items() if number not in written] + kept[0]["writes"]
    return {**recorded, "launches": kept}


def _last_of_its_kind(launches: list[dict]) -> list[dict]:
    """The launches without the earlier ones of the last kernel; what was written for these is written for the next."""
    kept, earlier = [], {}
    for number, each in enumerate(launches, 1):
        if number < len(launches) and each["kernel"] == launches[-1]["kernel"]:
            earlier |= {write["allocation"]: write for write in each["writes"]}
            continue
        written = {write["allocation"] for write in each["writes"]}
        kept.append(
            {**each, "writes": [write for name, write in earlier.items() if name not in written] + each["writes"]}
        )
        earlier = {}
    return kept


def pruned(ptx: str, kernels: set[str]) -> str:
    """A module's text with these kernels alone, and the files' names relative to the course.

    >>> pruned(".version 8.0\\n.entry a()\\n{\\nret;\\n}\\n.entry b()\\n{\\nret;\\n}\\n", {"b"})
    '.version 8.0\\n.entry b()\\n{\\nret;\\n}\\n'
    """
    parts, at = [], 0
    for found in _BODY.finditer(ptx):
        if found.start() < at:
            continue
        parts.append(ptx[at : found.start()])
        end = _end(ptx, found.end())
        name = _NAME.search(re.sub(r"^\s*\(.*?\)", "", ptx[found.end() : end], count=1, flags=re.DOTALL))
        if found[1] == "func" or (name and name[0] in kernels):
            parts.append(ptx[found.start() : end])
        at = end
    text = "".join([*parts, ptx[at:]])
    text = re.sub(r"^\s*//.*\n|^\s*\n", "", text, flags=re.MULTILINE)
    return re.sub(
        r'^(\s*\.file\s+\d+\s+)"([^"]*)"', lambda file: f'{file[1]}"{_shown(file[2])}"', text, flags=re.MULTILINE
    )


def _end(text: str, at: int) -> int:
    """Behind the body or the semicolon that ends what begins before `at`."""
    depth = 0
    for found in re.finditer(r"[{};]", text[at:]):
        depth += {"{": 1, "}": -1, ";": 0}[found[0]]
        if depth == 0:
            end = at + found.end()
            return end + 1 if text[end : end + 1] == "\n" else end
    return len(text)


def _shown(path: str) -> str:
    """A source's path from the course's root, or its folder and name where it lies outside."""
    resolved = os.path.normpath(path)
    for folder in ("steps", "common", "lab"):
        cut = resolved.find(f"/{folder}/")
        if cut >= 0 and (ROOT / resolved[cut + 1 :]).is_file():
            return resolved[cut + 1 :]
    return "/".join(Path(resolved).parts[-2:])  # as reports name it


def compact(recorded: Recorded) -> dict:
    """What a page needs of a run."""
    made = only_random(recorded.launches)
    used = sorted({each["module"] for each in made["launches"]})
    kernels = {each["kernel"] for each in made["launches"]}
    modules = [pruned(made["modules"][number], kernels) for number in used]
    launches = []
    for each in made["launches"]:
        launch = {**each, "module": used.index(each["module"]), "file": _shown(each["file"])}
        launches.append(launch)
    m, n, k = recorded.size
    return {"variant": recorded.variant, "m": m, "n": n, "k": k, "instructions": recorded.counts["instructions"], "summary": _summary(recorded.launches["summary"]),
            "allocations": made["allocations"], "launches": launches, "modules": modules}  # fmt: skip


def _summary(summary: dict) -> dict:
    """What the native simulator counted and reported, for whoever compares: without times, with short paths."""
    kernels = [
        {**each, "seconds": 0, "lines": [{**line, "file": _shown(line["file"])} for line in each["lines"]]}
        for each in summary["kernels"]
    ]
    return {"kernels": kernels, "reports": summary["reports"], "warnings": summary["warnings"]}


def runs_of(step: registry.Step, variant: str, folder: Path) -> list[dict]:
    """The runs of one variant that a page offers: the smallest size that the step simulates, and a larger one."""
    executable = BUILD / "steps" / step.name
    smallest = recorded_run(executable, step, variant, (), folder)
    if smallest is None:
        return []
    made = [compact(smallest)]
    if smallest.counts["instructions"] * LARGER**3 <= MOST_INSTRUCTIONS:
        sizes = [
            word for name, size in zip("mnk", smallest.size, strict=True) for word in (f"--{name}", str(LARGER * size))
        ]
        larger = recorded_run(executable, step, variant, sizes, folder)
        made += [compact(larger)] if larger is not None else []
    return made


def write(folder: Path, work: Path, wasm: Path, only: Sequence[registry.Step] = ()) -> dict[str, list[str]]:
    """Writes the files of all steps that are built into `folder`; by step the variants that there are.

    `only`: of these steps, each one's default alone.
    """
    work.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    there = [step for step in only or registry.steps() if (BUILD / "steps" / step.name).is_file()]
    with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2)) as pool:
        return dict(
            pool.map(lambda step: (step.name, _of_step(step, folder, work, wasm, 1 if only else MOST_VARIANTS)), there)
        )


def _of_step(step: registry.Step, folder: Path, work: Path, wasm: Path, most: int) -> list[str]:
    executable = BUILD / "steps" / step.name
    stamp = folder / f"{step.name}.stamp"
    wanted = f"{executable.stat().st_mtime_ns} {state()} {most}"
    if stamp.is_file() and stamp.read_text().startswith(wanted + "\n"):
        return stamp.read_text().split("\n")[1].split()
    names = []
    for variant in variants(step):
        if len(names) == most:
            break
        if runs := runs_of(step, variant, work):
            write_one(folder / f"{step.name}.{variant}.js", step, variant, runs, wasm)
            names.append(variant)
    stamp.write_text(f"{wanted}\n{' '.join(names)}\n")
    say(f"  {step.name}: {', '.join(names)}")
    return names


def write_one(file: Path, step: registry.Step, variant: str, runs: list[dict], wasm: Path) -> None:
    """One file: the PTX and the source once, the runs with what their launches were given."""
    modules: list[str] = []
    # What the native simulator counted and reported is for the tests, and not for the pages.
    expected = [run.pop("summary") for run in runs]
    file.with_suffix(".expected.json").write_text(json.dumps(expected), encoding="utf-8")
    for run in runs:
        run.get("right", {}).pop("summary", None)
        numbers = []
        for text in run.pop("modules"):
            if text not in modules:
                modules.append(text)
            numbers.append(modules.index(text))
        for launch in [*run["launches"], *run.get("right", {}).get("launches", [])]:
            launch["module"] = numbers[launch["module"]]
    sources = {launch["file"] for run in runs for launch in run["launches"]}
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in sorted(sources) if (ROOT / name).is_file()}
    made = {"step": step.name, "variant": variant, "modules": modules, "sources": texts, "runs": runs}
    raw = file.with_suffix(".json")
    raw.write_text(json.dumps(made), encoding="utf-8")
    done = subprocess.run(["node", LABEL, wasm, raw], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{file.name}: {done.stderr.strip()}")
    file.write_text(f"explorables.kernel({done.stdout.strip()});\n", encoding="utf-8")
    raw.unlink()
