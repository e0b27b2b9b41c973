"""`./gemm record`: the complete recorded set of one GPU, on one or several of its kind, in pieces."""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lab import record_files, recorded_set
from lab.recorded_set import Task
from tools import build, gpu, process, registry
from tools.environment import Environment, ensure_build
from tools.errors import Failure, UserError
from tools.paths import BUILD, DATA, shown
from tools.progress import Meter, meter, say

STATE = BUILD / "recorded.json"
PARTIAL = BUILD / "recording"  # each run's own records, until all are done
LONGEST_SHOWN = 10

Show = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to record, where to, and on which GPUs."""

    tasks: list[Task]
    folder: Path
    time_limit: float | None
    again: bool
    devices: tuple[str, ...]  # as CUDA_VISIBLE_DEVICES names them; "": the one that is there


@dataclass
class Progress:
    """What the GPUs share: what is to be done, what is done, and what came of it."""

    waiting: list[Task]
    started: float
    done: dict[str, str]
    total: int = 0
    finished: dict[Task, float] = field(default_factory=dict)  # seconds
    failed: list[str] = field(default_factory=list)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


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
    tasks = _tasks(arguments)
    if arguments.dry_run:
        for task in tasks:
            say(task.title)
        return None
    here = gpu.detect()
    if isinstance(here, gpu.NoGpu):
        raise UserError(f"recording takes a GPU: {here.reason}")
    devices = _devices(arguments.devices, here.count)
    return Plan(tasks, data / here.folder, arguments.time_limit, arguments.again, devices)


def _tasks(arguments: argparse.Namespace) -> list[Task]:
    """The part of the recorded set that was asked for."""
    ladder = registry.steps()
    chosen = registry.find_many(arguments.steps, ladder) if arguments.steps else ladder
    tasks = [task for step in chosen for task in recorded_set.tasks_of(step)]
    if not arguments.steps or arguments.only == "limits":
        tasks.append(recorded_set.limits())
    tasks = [task for task in tasks if arguments.only in (None, task.part)]
    if not tasks:
        raise UserError(f"the recorded set has no {arguments.only} of these steps")
    timing = [
        f"--{name}={value}" for name in ("min-time", "rounds") if (value := vars(arguments)[name.replace("-", "_")])
    ]
    return [
        task
        if task.part == "limits"
        else Task(task.part, task.program, task.file, (*task.options, *timing), task.names)
        for task in tasks
    ]


def _devices(asked: str | None, count: int) -> tuple[str, ...]:
    """The names that CUDA_VISIBLE_DEVICES takes, of the GPUs that the reader numbers from 0."""
    if asked is None:
        return ("",)
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    visible = visible or [str(number) for number in range(count)]
    chosen = [part.strip() for part in asked.split(",")] if asked != "all" else [str(i) for i in range(len(visible))]
    for number in chosen:
        if not (number.isascii() and number.isdigit() and int(number) < len(visible)):
            raise UserError(f"--devices {asked}: there is no GPU '{number}'; there are 0 to {len(visible) - 1}")
    if len(set(chosen)) < len(chosen):
        raise UserError(f"--devices {asked}: each GPU once")
    return tuple(visible[int(number)] for number in chosen)


def run(chosen: Plan, setup: bool) -> None:
    """Measures what is not measured yet by these very executables."""
    environment = ensure_build(setup)
    build.configure(environment)
    programs = list(dict.fromkeys(task.program for task in chosen.tasks))
    build.compile_targets(environment, programs, title="Building the steps")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    done = {} if chosen.again else _read_state()
    waiting = [task for task in chosen.tasks if done.get(_key(chosen, task)) != _fingerprint(task, chosen)]
    if len(waiting) < len(chosen.tasks):
        say(
            f"{len(chosen.tasks) - len(waiting)} of {len(chosen.tasks)} runs are recorded already; --again repeats them"
        )
    progress = Progress(waiting, time.monotonic(), done, len(waiting))
    with meter("Recording", len(waiting)) as bar:
        workers = [
            threading.Thread(target=_work, args=(environment, chosen, progress, device, bar), daemon=True)
            for device in chosen.devices
        ]
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join()
        finally:
            with progress.lock:
                progress.stopped = True  # Ctrl-C: nothing more is started
                _keep_what_was_begun(chosen, progress)
                shutil.rmtree(PARTIAL, ignore_errors=True)
            signal.signal(signal.SIGTERM, before)
    _sum_up(chosen, progress)


def _work(environment: Environment, chosen: Plan, progress: Progress, device: str, bar: Meter) -> None:
    """One GPU's part: takes tasks until none is left."""
    mark = f"[GPU {device}] " if len(chosen.devices) > 1 else ""

    def show(text: str) -> None:
        with progress.lock:
            bar.print(mark + text)

    variables = dict(os.environ if environment.variables is None else environment.variables)
    if device:
        variables["CUDA_VISIBLE_DEVICES"] = device
    while (task := _next(chosen, progress, device)) is not None:
        show(f"── {task.title}")
        started = time.monotonic()
        try:
            ended = f"exit code {_measure(task, _folder(task), variables, show)}"
        except (OSError, ValueError, KeyError) as error:
            ended = str(error)
        seconds = time.monotonic() - started
        show(f"   {seconds:.0f} s for {task.title}")
        with progress.lock:
            progress.finished[task] = seconds
            _put_among_the_others(chosen, progress, task)
            if ended == "exit code 0":
                progress.done[_key(chosen, task)] = _fingerprint(task, chosen)
                _write_state(progress.done)
            else:
                progress.failed.append(f"{task.title} ({ended})")
            bar.show(len(progress.finished), detail=task.title)


def _folder(task: Task) -> Path:
    """Where a run's own records are until all are done."""
    return PARTIAL / hashlib.sha256(task.title.encode()).hexdigest()[:16]


def _put_among_the_others(chosen: Plan, progress: Progress, task: Task) -> None:
    """Merges a run's records; where parts of the set hold the same measurement, the later part's stands."""
    for part in recorded_set.PARTS[recorded_set.PARTS.index(task.part) :]:
        for other in progress.finished:
            same = other.part == part and other.file == task.file and (other == task or part != task.part)
            if same and any(_folder(other).rglob("*.jsonl")):
                record_files.merge(_folder(other), chosen.folder)


def _keep_what_was_begun(chosen: Plan, progress: Progress) -> None:
    """Of runs that were cut off, the measurements that were made; those of finished runs stand above them."""
    finished = {_folder(task) for task in progress.finished}
    begun = [folder for folder in sorted(PARTIAL.glob("*")) if folder not in finished and any(folder.rglob("*.jsonl"))]
    for folder in begun:
        record_files.merge(folder, chosen.folder)
    for part in recorded_set.PARTS if begun else ():
        for task in progress.finished:
            if task.part == part and any(_folder(task).rglob("*.jsonl")):
                record_files.merge(_folder(task), chosen.folder)


def _next(chosen: Plan, progress: Progress, device: str) -> Task | None:
    """The next task for a GPU: the longest first; default variants at all sizes on the first GPU, to be comparable."""
    first = device == chosen.devices[0]
    with progress.lock:
        if progress.stopped or (
            chosen.time_limit is not None and time.monotonic() - progress.started > chosen.time_limit
        ):
            return None
        mine = [task for task in progress.waiting if first or task.part != "sizes"]
        if not mine:
            return None
        order = [*(["sizes"] if first and len(chosen.devices) > 1 else []), *recorded_set.PARTS]
        task = min(mine, key=lambda one: order.index(one.part))
        progress.waiting.remove(task)
        return task


def _measure(task: Task, folder: Path, variables: dict[str, str], show: Show) -> int:
    """Runs the task; its records go into a folder of its own, so that GPUs do not write to one file."""
    program = BUILD / task.program
    file = folder / task.file
    file.parent.mkdir(parents=True, exist_ok=True)
    options = [*task.options, f"--json={file}"]
    if task.names is not None:
        listing = folder / "variants.list"
        listed = subprocess.run([program, "--list", f"--json={listing}"], env=variables, check=False)
        if listed.returncode != 0:
            return listed.returncode
        variants = [json.loads(line) for line in listing.read_text(encoding="utf-8").splitlines()]
        named = [one["variant"] for one in variants if one["default"] or task.names.fullmatch(one["variant"])]
        options.append("--variant=" + ",".join(named))
    return process.follow([program, *options], show, env=variables)


def _sum_up(chosen: Plan, progress: Progress) -> None:
    """Says what was recorded, what took long, what failed and what is left."""
    longest = sorted(progress.finished.items(), key=lambda item: -item[1])[:LONGEST_SHOWN]
    for task, seconds in longest:
        say(f"{seconds:7.0f} s  {task.title}")
    together, elapsed = sum(progress.finished.values()), time.monotonic() - progress.started
    left = progress.total - len(progress.finished)
    say(
        f"{len(progress.finished) - len(progress.failed)} runs recorded in {shown(chosen.folder)}/, "
        f"{len(progress.failed)} failed, {left} left; {together:.0f} s of GPU time in {elapsed:.0f} s"
    )
    if left:
        say("The time limit is reached; the same command goes on from here")
    if progress.failed:
        raise Failure("these runs failed: " + "; ".join(progress.failed))


def _key(chosen: Plan, task: Task) -> str:
    return f"{chosen.folder}: {task.title}"


def _fingerprint(task: Task, chosen: Plan) -> str:
    """Changes with the executable, and when the file of records has gone."""
    if not (chosen.folder / task.file).exists():
        return "nothing recorded"
    return hashlib.sha256((BUILD / task.program).read_bytes()).hexdigest()[:16]


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
