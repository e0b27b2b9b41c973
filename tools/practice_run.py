"""Compiles a reader's kernel as its step is compiled, and runs an executable of a step in the simulator."""

import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base import build, process
from base.environment import Environment
from base.errors import UserError
from base.paths import BUILD, SIMULATOR, shown
from base.registry import Step
from tools.practice_tasks import Task

MOST_INSTRUCTIONS = 1 << 20  # of a warp: 25 times what any step takes at these sizes
MOST_SECONDS = 10  # of a launch; the simulator foretells it, and gives up after half a second
MOST_SECONDS_IN_ALL = 60  # of a run, whose launcher may be what does not end
REFUSED = 2  # the exit code
REPORT = "simulator: "  # how the simulator begins a line of a launch that was given up
WARNING = "warning, "
A_REPORT = re.compile(r"(?:warning, )?[a-z][a-z. ]* in \S.*: ")  # "race in gemm_kernel(…): …"
HARNESS = ("harness_main", "step_arch_{arch}", "harness", "harness_cuda", "tensor_map", "compiled_once")
OUTPUTS = ("-MT", "-MF", "-MQ", "-o")  # options of a compiler's command with a value that is not wanted here
ONLY_FOR_OBJECTS = ("-c", "-MD", "-O3")  # -O3 is of the host's code: the launcher is fast enough without


class NotCompiled(Exception):
    """The compiler refuses the kernel. `line` says it in one line, `words` are all of the compiler's."""

    def __init__(self, line: str, words: str) -> None:
        super().__init__(line)
        self.words = words


@dataclass(frozen=True)
class Outcome:
    """What became of one run in the simulator."""

    record: dict[str, Any] | None  # counts, blocks, threads, lines; None unless the result is right
    refused: bool = False  # the variant does not take this size
    problem: str = ""  # why there is no record, in the program's own words
    also: tuple[str, ...] = ()  # what else the simulator reports, causes first, and its warnings


def prepare(environment: Environment, step: Step) -> None:
    """Builds what a kernel is linked and run with."""
    libraries = [f"common/harness/lib{name}.a" for name in _libraries(step)]
    build.compile_targets(environment, [*libraries, build.SIMULATOR_TARGET])


def _libraries(step: Step) -> list[str]:
    return [name.format(arch=step.arch) for name in HARNESS]


def compiled(task: Task, environment: Environment) -> Path:
    """Compiles and links the reader's kernel. Returns the executable; raises NotCompiled."""
    executable = BUILD / "practice" / task.step.name
    executable.parent.mkdir(parents=True, exist_ok=True)
    executable.unlink(missing_ok=True)
    libraries = [f"common/harness/lib{name}.a" for name in _libraries(task.step)]
    command = [*_compiler(task.step), str(task.file), *libraries, "-cudart", "shared", "-ldl", "-o", str(executable)]
    code, words = process.output(command, environment.variables, BUILD)
    if code != 0:
        raise NotCompiled(first_error(words, task.file), words)
    return executable


def _compiler(step: Step) -> list[str]:
    """The command that compiles the step's own kernel, without the names of its files."""
    database = BUILD / "compile_commands.json"
    try:
        commands = json.loads(database.read_text(encoding="utf-8"))
        command = next(one["command"] for one in commands if one["file"].endswith(f"steps/{step.name}/kernel.cu"))
    except (OSError, ValueError, StopIteration):
        raise UserError(f"{shown(database)} does not say how {step.name} is compiled: meson setup --wipe") from None
    kept, skip = [], False
    for word in shlex.split(command):
        if not (skip or word in (*OUTPUTS, *ONLY_FOR_OBJECTS) or word.endswith(".cu")):
            kept.append(word)
        skip = word in OUTPUTS
    return kept


def first_error(words: str, file: Path) -> str:
    """The first line of a compiler's words that names an error, short enough for one line."""
    lines = [line.strip() for line in words.splitlines()]
    chosen = next((line for line in lines if "error" in line), lines[-1] if lines else "the compiler says nothing")
    return chosen.replace(f"{file.parent}{os.sep}", "")


def simulated(executable: Path, options: Iterable[str], environment: dict[str, str], **settings: str) -> Outcome:
    """Runs a step's executable in the simulator. `settings`: of the simulator, as PTXSIM_TRACE=FILE."""
    before = environment.get("LD_LIBRARY_PATH")
    library = f"{SIMULATOR.parent}{os.pathsep}{before}" if before else str(SIMULATOR.parent)
    limits = {"PTXSIM_MAX_INSTRUCTIONS": str(MOST_INSTRUCTIONS), "PTXSIM_MAX_SECONDS": str(MOST_SECONDS)}
    variables = {**environment, **limits, **settings, "LD_LIBRARY_PATH": library}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts.jsonl"
        command = [executable, *options, f"--json={file}"]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                env=variables,
                stdin=subprocess.DEVNULL,
                timeout=MOST_SECONDS_IN_ALL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(None, problem=f"it did not end within {MOST_SECONDS_IN_ALL} s")
        if done.returncode == 0 and file.is_file():
            return Outcome(json.loads(file.read_text(encoding="utf-8")), also=told(done.stderr))
    if done.returncode < 0:
        return Outcome(None, problem=f"it was ended by signal {-done.returncode}")
    reports = told(done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in reports if not line.startswith(WARNING)]
    problem = next(iter([*errors, *lines]), f"it ended with exit code {done.returncode}")
    also = tuple(line for line in reports if line != problem)
    return Outcome(None, done.returncode == REFUSED, problem.removeprefix(f"{executable.name}: "), also)


def told(words: str) -> tuple[str, ...]:
    """The reports and warnings in an error stream, causes first; that it takes too long comes last."""
    lines = [line.removeprefix(REPORT) for line in words.splitlines()]
    reports = list(dict.fromkeys(line for line in lines if A_REPORT.match(line)))
    return tuple(sorted(reports, key=lambda line: line.startswith("too long")))
