"""Runs variants under compute-sanitizer, each on a small size. Exit code 77 without a GPU or without the sanitizer.

    python3 tests/gpu/sanitize.py build                          every variant of every step, memcheck and racecheck;
                                                                 from sm_90 on initcheck and synccheck as well
    python3 tests/gpu/sanitize.py build 07 20 --tool synccheck   two steps, another tool
    python3 tests/gpu/sanitize.py build --jobs 8                 so many at a time (default 4)

A process for each variant and tool. What came out clean is written to build/sanitized.json and not run again until the
executable changes, so that it can be stopped at any time and goes on from there.
"""

import argparse
import contextlib
import hashlib
import json
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from sizes import sanitized_cases
from step import Step, Variant, capabilities, fits, skip

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
USUAL_TOOLS = TOOLS[:2]
ORDERED_BY_PHASES = 90  # from this architecture on, barriers in memory order a kernel: every tool looks at it
USUAL_PLACES = [f"/usr/local/cuda/{folder}/compute-sanitizer" for folder in ("bin", "compute-sanitizer")]
FOUND_SOMETHING = 99  # an exit code of no step
LONGEST_SECONDS = 900
CLEAN = "clean"


@dataclass(frozen=True)
class Run:
    """One variant under one tool."""

    step: Step
    digest: str  # of the executable
    variant: Variant
    tool: str

    @property
    def name(self) -> str:
        """Its key in the state."""
        return f"{self.step.name} {self.variant.name} {self.tool}"


def clean_before(file: Path) -> dict[str, str]:
    """The executable's digest of each run that came out clean; none where the file cannot be read: all are run again."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads(file.read_text(encoding="utf-8"))
    return {}


def sanitizer() -> str:
    for place in (shutil.which("compute-sanitizer"), *USUAL_PLACES):
        if place and Path(place).exists():
            return str(place)
    skip("compute-sanitizer was not found; it comes with the CUDA Toolkit")


def executables(build: Path, asked: list[str]) -> list[Path]:
    """The steps that are meant: names or their beginnings; all without any."""
    built = sorted(path for path in (build / "steps").glob("[0-9]*") if path.is_file())
    for name in asked:
        if not any(path.name.startswith(name) for path in built):
            sys.exit(f"sanitize: no step '{name}' is built in {build}")
    return [path for path in built if not asked or path.name.startswith(tuple(asked))]


def runs_of(step: Step, asked: list[str] | None) -> list[Run]:
    """Every variant of a step under every tool that was asked for; else under the usual ones, or those it needs."""
    digest = hashlib.sha256(step.executable.read_bytes()).hexdigest()[:16]
    tools = asked or (TOOLS if int(step.arch.rstrip("a")) >= ORDERED_BY_PHASES else USUAL_TOOLS)
    return [Run(step, digest, variant, tool) for variant in step.held for tool in tools]


def steps_that_run(found: list[Path], here: int) -> list[Step]:
    steps = [Step(path) for path in found]
    for step in steps:
        if not fits(step.arch, here):
            print(f"{step.name} is left out: it needs an sm_{step.arch}, and this GPU is an sm_{here}")
    return [step for step in steps if fits(step.arch, here)]


def sanitized(run: Run, program: str, slices: int) -> tuple[str, float]:
    prefix = (program, "--tool", run.tool, "--error-exitcode", str(FOUND_SOMETHING))
    start = time.monotonic()
    try:
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = run.step.check(sanitized_cases(run.variant, slices), prefix=prefix, timeout=LONGEST_SECONDS, **both)
    except subprocess.TimeoutExpired:
        return f"it had not ended after {LONGEST_SECONDS} s", LONGEST_SECONDS
    said = "\n    ".join(done.stdout.strip().splitlines()[:30])
    result = CLEAN if done.returncode == 0 else f"exit code {done.returncode}\n    {said}"
    return result, time.monotonic() - start


def run_all(left: list[Run], file: Path, jobs: int, program: str, slices: int) -> list[str]:
    clean, failed = clean_before(file), []
    with ThreadPoolExecutor(jobs) as pool:
        started = {pool.submit(sanitized, run, program, slices): run for run in left}
        try:
            for at, future in enumerate(as_completed(started), 1):
                run = started[future]
                result, seconds = future.result()
                clean.pop(run.name, None)
                if result == CLEAN:
                    clean[run.name] = run.digest
                part = file.with_suffix(".part")
                part.write_text(json.dumps(clean, indent=1) + "\n", encoding="utf-8")
                part.replace(file)
                print(f"[{at}/{len(left)}] {run.name}: {result} ({seconds:.1f} s)", flush=True)
                if result != CLEAN:
                    failed.append(run.name)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            sys.exit("sanitize: stopped; the same command goes on from here")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build directory")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="a step's name or its beginning (default: all)")
    parser.add_argument("--jobs", type=int, default=4, help="processes at a time (default 4)")
    default = "may be given again (default: memcheck, racecheck; from sm_90 on all)"
    parser.add_argument("--tool", action="append", choices=TOOLS, help=default)
    parser.add_argument("--slices", type=int, default=3, help="slices of K (default 3: prologue, middle, tail)")
    parser.add_argument("--again", action="store_true", help="those that came out clean, too")
    asked = parser.parse_args()
    if asked.jobs < 1 or asked.slices < 1:
        parser.error("--jobs and --slices take a number from 1")
    found = executables(asked.build, asked.steps)
    here = capabilities()[0]
    program = sanitizer()
    steps = steps_that_run(found, here)
    every = [run for step in steps for run in runs_of(step, asked.tool)]
    file = asked.build / "sanitized.json"
    clean = clean_before(file)
    left = [run for run in every if asked.again or clean.get(run.name) != run.digest]
    print(
        f"{len(every)} runs of {len(steps)} steps, {len(every) - len(left)} clean already; {asked.jobs} at a time",
        flush=True,
    )
    failed = run_all(left, file, asked.jobs, program, asked.slices)
    print(f"{len(every) - len(failed)} clean, {len(failed)} failed")
    for name in failed:
        print(f"FAILED {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
