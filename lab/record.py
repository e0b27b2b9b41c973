"""`./gemm record`: the complete recorded set of one GPU, on one or several of its kind, in pieces."""

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import signal
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from base import build, gpu, process, registry
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.paths import BUILD, DATA, ROOT, shown
from base.progress import Bar, Meter, meter, say
from lab import recorded_set
from lab.recorded_set import Task
from records import files, read
from records.sources import fingerprint

PARTIAL = BUILD / "recording"  # each run's own records, until it has ended
SOURCES = {".cu", ".h", ".cpp"}
WAKE = 0.2  # seconds: a signal may come just before a wait, which it then does not end
CUT_OFF = 124  # the exit code of `timeout` where the time was over


@dataclass(frozen=True)
class Plan:
    """What to record, where to, and on which GPUs."""

    tasks: list[Task]
    folder: Path
    state: Path  # which runs are done, of which sources
    time_limit: float | None
    again: bool
    devices: tuple[str, ...]  # as CUDA_VISIBLE_DEVICES names them; "": the one that is there


def plan(arguments: argparse.Namespace) -> Plan | None:
    """Reads the command line. None: it asked for something that is done already."""
    data = Path(arguments.data).absolute() if arguments.data else DATA
    if data.exists() and not data.is_dir():
        raise UserError(f"--data {shown(data)}: that is not a folder")
    if arguments.merge:
        source = Path(arguments.merge).absolute()
        if not source.is_dir():
            raise UserError(f"--merge {shown(source)}: there is no such folder")
        say(f"{files.merge(source, data)} records of {shown(source)} are now in {shown(data)}")
        return None
    ladder = registry.steps()
    chosen = registry.find_many(arguments.steps, ladder) if arguments.steps else ladder
    tasks = _tasks(arguments, chosen)
    if arguments.dry_run:
        for task in tasks:
            say(task.title)
        return None
    here = gpu.detect()
    if isinstance(here, gpu.NoGpu):
        raise UserError(f"recording takes a GPU: {here.reason}")
    if here.capability:
        fitting, left_out = registry.runnable(chosen, here.capability)
        if left_out and (arguments.steps or not fitting):
            raise UserError(left_out)
        if left_out:
            say(f"Left out: {left_out}")
            tasks = _tasks(arguments, fitting)
        tasks = [task for task in tasks if task.capability in ("", here.capability)]
    devices = _devices(arguments.devices, here.count)
    state = (BUILD if data == DATA else data) / "recorded.json"
    return Plan(tasks, data / here.folder, state, arguments.time_limit, arguments.again, devices)


def _tasks(arguments: argparse.Namespace, chosen: list[registry.Step]) -> list[Task]:
    """The part of the recorded set of these steps that was asked for."""
    given = {"min-time": arguments.min_time, "rounds": arguments.rounds}
    timing = tuple(f"--{name}={value}" for name, value in given.items() if value is not None)
    tasks = [task for step in chosen for task in recorded_set.tasks_of(step)]
    tasks = [
        task if task.part in ("power", "choice") else replace(task, options=task.options + timing) for task in tasks
    ]
    if not arguments.steps or "limits" in (arguments.only or ()):
        tasks += recorded_set.micro_benchmarks()
    tasks = [task for task in tasks if arguments.only is None or task.part in arguments.only]
    if not tasks:
        raise UserError(f"the recorded set has no {' and no '.join(arguments.only)} of these steps")
    return tasks


def _devices(asked: str | None, count: int) -> tuple[str, ...]:
    """The names that CUDA_VISIBLE_DEVICES takes, of the GPUs that the reader numbers from 0."""
    if asked is None:
        return ("",)
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    visible = visible or [str(number) for number in range(count)]
    chosen = asked.split(",") if asked != "all" else [str(number) for number in range(len(visible))]
    for number in chosen:
        if not (number.isascii() and number.isdigit() and int(number) < len(visible)):
            raise UserError(f"--devices {asked}: there is no GPU '{number}'; there are 0 to {len(visible) - 1}")
    if len(set(chosen)) < len(chosen):
        raise UserError(f"--devices {asked}: each GPU once")
    return tuple(visible[int(number)] for number in chosen)


def run(chosen: Plan, setup: bool) -> None:
    """Measures what is not measured yet of these very sources."""
    environment = ensure_build(setup)
    build.configure(environment)
    programs = list(dict.fromkeys(task.program for task in chosen.tasks))
    build.compile_targets(environment, programs)
    listed = {task.program: build.variants(task.program, environment) for task in chosen.tasks if task.variants}
    tasks = [piece for task in chosen.tasks for piece in recorded_set.pieces(task, listed.get(task.program, ()))]
    sources = {program: _fingerprint(program) for program in programs}
    recording = Recording(chosen, environment, tasks, sources)
    if done := len(tasks) - len(recording.waiting):
        say(f"{done} of {len(tasks)} runs are recorded already; --again repeats them")
    shutil.rmtree(PARTIAL, ignore_errors=True)
    with meter("Recording", len(recording.waiting)) as bar:
        workers = [
            threading.Thread(target=recording.work, args=(device, bar), daemon=True) for device in chosen.devices
        ]
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(WAKE)
        finally:
            recording.stop()
            signal.signal(signal.SIGTERM, before)
    recording.sum_up()


@dataclass
class Recording:
    """What the GPUs share: what is to be done, what is done, and what came of it."""

    chosen: Plan
    environment: Environment
    tasks: list[Task]
    sources: dict[str, str]  # by program
    started: float = field(default_factory=time.monotonic)
    seconds: dict[Task, float] = field(default_factory=dict)  # of the runs that have ended
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    gpu_of: dict[str, str] = field(default_factory=dict)  # by ladder: which one measures its defaults

    def __post_init__(self) -> None:
        self.done = {} if self.chosen.again else _read_state(self.chosen.state)
        self.waiting = [task for task in self.tasks if not self._is_done(task)]

    def _is_done(self, task: Task) -> bool:
        """Measured of these sources, and the file of records is still there."""
        there = (self.chosen.folder / task.file).exists()
        return there and self.done.get(f"{self.chosen.folder.name}: {task.title}") == self.sources[task.program]

    def work(self, device: str, bar: Bar | Meter) -> None:
        """One GPU's part: takes tasks until none is left."""
        mark = f"[GPU {device}] " if len(self.chosen.devices) > 1 else ""

        def show(text: str) -> None:
            with self.lock:
                bar.print(mark + text)

        variables = {**(self.environment.variables or os.environ)}
        if device:
            variables["CUDA_VISIBLE_DEVICES"] = device
        while (task := self._next(device)) is not None:
            show(f"── {task.title}")
            began = time.monotonic()
            file = _partial(task)
            file.parent.mkdir(parents=True, exist_ok=True)
            command = [BUILD / task.program, *task.options, f"--json={file}"]
            if (left := self._left()) is not None:
                command = ["timeout", "--foreground", str(left + 0.1), *command]  # 0 would be no limit
            try:
                code = process.follow(command, show, variables)
                with self.lock:
                    self._ended(task, code, time.monotonic() - began)
            except (OSError, UserError) as problem:
                with self.lock:
                    self.failed.append(f"{task.title} ({problem})")
            bar.show(len(self.seconds), task.title)

    def _left(self) -> float | None:
        """Seconds until the time limit."""
        if self.chosen.time_limit is None:
            return None
        return max(0.0, round(self.started + self.chosen.time_limit - time.monotonic(), 2))

    def _next(self, device: str) -> Task | None:
        """The next task: the longest first; a ladder's defaults at all sizes on one GPU, to be comparable.

        Of several GPUs each first measures the defaults of a ladder that no other has begun, and then of another one.
        """
        order = [*(["sizes"] if len(self.chosen.devices) > 1 else []), *recorded_set.PARTS]
        with self.lock:
            mine = [
                task for task in self.waiting if task.part != "sizes" or self.gpu_of.get(task.ladder, device) == device
            ]
            if not mine or self._left() == 0:
                return None
            task = min(mine, key=lambda one: (order.index(one.part), self.gpu_of.get(one.ladder) != device))
            if task.part == "sizes":
                self.gpu_of[task.ladder] = device
            self.waiting.remove(task)
            return task

    def _ended(self, task: Task, code: int, seconds: float) -> None:
        """Keeps what was measured, of a run that was cut off or failed, too."""
        self._collect(task)
        if code == CUT_OFF:
            self.waiting.append(task)
            return
        self.seconds[task] = seconds
        if code == 0:
            self.done[f"{self.chosen.folder.name}: {task.title}"] = self.sources[task.program]
            _write_state(self.chosen.state, self.done)
        else:
            self.failed.append(f"{task.title} (exit code {code})")

    def _collect(self, task: Task) -> None:
        """Puts a run's records among the others. Of a default variant at its own sizes the part `sizes` has them."""
        file = _partial(task)
        records = read(file)
        if task.part == "sweep":
            records = [one for one in records if not (one["m"] == one["n"] == one["k"] in recorded_set.SIZES)]
        if records:
            files.put(self.chosen.folder / task.file, records)
        file.unlink(missing_ok=True)

    def stop(self) -> None:
        """Starts nothing more; keeps what runs that are under way have measured."""
        with self.lock:
            self.waiting = []
            for task in self.tasks:
                self._collect(task)
            shutil.rmtree(PARTIAL, ignore_errors=True)

    def sum_up(self) -> None:
        """Says what was recorded, what failed and what is left."""
        left = sum(not self._is_done(task) for task in self.tasks) - len(self.failed)
        together, elapsed = sum(self.seconds.values()), time.monotonic() - self.started
        say(
            f"{len(self.seconds) - len(self.failed)} runs recorded in {shown(self.chosen.folder)}/, "
            f"{len(self.failed)} failed, {left} left; {together:.0f} s of GPU time in {elapsed:.0f} s"
        )
        if left:
            say("The time limit is reached; the same command goes on from here")
        if self.failed:
            raise Failure("these runs failed: " + "; ".join(self.failed))


def _partial(task: Task) -> Path:
    """A run's own records until it has ended."""
    return PARTIAL / hashlib.sha256(task.title.encode()).hexdigest()[:16] / Path(task.file).name


def _fingerprint(program: str) -> str:
    """Changes with the code of a program and of what every program is built from."""
    folders = (ROOT / "common", ROOT / (program if program.startswith("steps/") else Path(program).parent))
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.suffix in SOURCES)
    return fingerprint("\n".join(file.read_text(encoding="utf-8") for file in files))


def _read_state(file: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):  # none yet, or broken off: all is measured again
        return json.loads(file.read_text())
    return {}


def _write_state(file: Path, state: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_suffix(".part")
    temporary.write_text(json.dumps(state, indent=1))
    temporary.replace(file)
