"""`./gemm record`: the complete recorded set of one GPU, in pieces that can be stopped and gone on with."""

import argparse
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import build, gpu, process, record_files, registry
from tools.environment import Environment, ensure_build
from tools.errors import Failure, UserError
from tools.paths import BUILD, DATA, shown
from tools.progress import meter, say
from tools.registry import Step

STATE = BUILD / "recorded.json"
SIZES = (1024, 2048, 8192, 16384)  # 4096 comes with the variants, among which is the default
VARIANTS_SIZE = 4096
LAST_SLOW_STEP, SLOW_LIMIT = 4, 8192  # steps before register tiling: a size more would take minutes and tell nothing
SWEEPS = {"fp32": ("sgemm27", (9, 10, 11))}  # ladder: the sweep, and the steps that take it


@dataclass(frozen=True)
class Task:
    """One start of a step's executable."""

    step: Step
    part: str  # sizes, variants, sweep
    options: tuple[str, ...]

    @property
    def title(self) -> str:
        """What is run, for people and for the list of what is done."""
        return " ".join((self.step.name, *self.options))


@dataclass(frozen=True)
class Plan:
    """What to record, and where to."""

    tasks: list[Task]
    folder: Path
    time_limit: float | None
    again: bool


def tasks_of(step: Step) -> list[Task]:
    """Everything that the recorded set holds of one step. What is measured twice stands as measured last."""
    tasks = []
    sweep, steps = SWEEPS.get(step.ladder, ("", ()))
    if step.number in steps:
        tasks.append(Task(step, "sweep", (f"--sweep={sweep}",)))
    sizes = [size for size in SIZES if step.number > LAST_SLOW_STEP or size <= SLOW_LIMIT]
    tasks += [Task(step, "sizes", (f"--size={size}",)) for size in sizes]
    tasks.append(Task(step, "variants", ("--variant=all", f"--size={VARIANTS_SIZE}")))
    return tasks


def plan(arguments: argparse.Namespace) -> Plan | None:
    """Reads the command line. None: it asked for something that is done already."""
    data = Path(arguments.data).absolute() if arguments.data else DATA
    if data.exists() and not data.is_dir():
        raise UserError(f"--data {shown(data)}: that is not a folder")
    if arguments.merge:
        source = Path(arguments.merge).absolute()
        if not source.is_dir():
            raise UserError(f"--merge {shown(source)}: there is no such folder")
        say(f"{record_files.merge(source, data)} records of {shown(source)} are now in {shown(data)}")
        return None
    ladder = registry.steps()
    chosen = registry.find_many(arguments.steps, ladder) if arguments.steps else ladder
    tasks = [task for step in chosen for task in tasks_of(step) if arguments.only in (None, task.part)]
    if not tasks:
        raise UserError(f"the recorded set has no {arguments.only} of these steps")
    if arguments.dry_run:
        for task in tasks:
            say(task.title)
        return None
    here = gpu.detect()
    if isinstance(here, gpu.NoGpu):
        raise UserError(f"recording takes a GPU: {here.reason}")
    return Plan(tasks, data / here.folder, arguments.time_limit, arguments.again)


def run(chosen: Plan, setup: bool) -> None:
    """Measures what is not measured yet by these very executables."""
    started = time.monotonic()
    environment = ensure_build(setup)
    build.configure(environment)
    steps = list(dict.fromkeys(task.step.name for task in chosen.tasks))
    build.compile_targets(environment, [f"steps/{step}" for step in steps], title="Building the steps")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    done = {} if chosen.again else _read_state()
    waiting = [task for task in chosen.tasks if done.get(_key(chosen, task)) != _fingerprint(task, chosen)]
    if len(waiting) < len(chosen.tasks):
        say(
            f"{len(chosen.tasks) - len(waiting)} of {len(chosen.tasks)} runs are recorded already; --again repeats them"
        )

    failed: list[str] = []
    finished = 0
    with meter("Recording", len(waiting)) as progress:
        for task in waiting:
            if chosen.time_limit is not None and time.monotonic() - started > chosen.time_limit:
                break
            progress.show(finished, detail=task.title)
            code = _measure(environment, chosen, task, progress.print)
            finished += 1
            if code == 0:
                done[_key(chosen, task)] = _fingerprint(task, chosen)
                _write_state(done)
            else:
                failed.append(f"{task.title} (exit code {code})")
            progress.show(finished, detail=task.title)
    left = len(waiting) - finished
    say(f"{finished - len(failed)} runs recorded in {shown(chosen.folder)}/, {len(failed)} failed, {left} left")
    if left:
        say("The time limit is reached; the same command goes on from here")
    if failed:
        raise Failure("these runs failed: " + "; ".join(failed))


def _measure(environment: Environment, chosen: Plan, task: Task, show: Callable[[str], None]) -> int:
    show(f"── {task.title}")
    file = chosen.folder / f"{task.step.name}.jsonl"
    return process.follow(
        [BUILD / "steps" / task.step.name, *task.options, f"--json={file}"], show, env=environment.variables
    )


def _key(chosen: Plan, task: Task) -> str:
    return f"{chosen.folder}: {task.title}"


def _fingerprint(task: Task, chosen: Plan) -> str:
    """Changes with the executable, and when the file of records has gone."""
    if not (chosen.folder / f"{task.step.name}.jsonl").exists():
        return "nothing recorded"
    executable = BUILD / "steps" / task.step.name
    return hashlib.sha256(executable.read_bytes()).hexdigest()[:16]


def _read_state() -> dict[str, str]:
    try:
        state = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _write_state(state: dict[str, str]) -> None:
    temporary = STATE.with_suffix(".part")
    temporary.write_text(json.dumps(state, indent=1))
    temporary.replace(STATE)
