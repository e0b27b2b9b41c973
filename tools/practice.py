"""`./gemm practice 08`: lays out a step for the reader to write, and grades what the reader has written."""

import argparse
import dataclasses
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from base import build, gpu, process, registry
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.languages import language, listed
from base.paths import PRACTICE, shown
from base.progress import say as print_line
from records import read
from tools import bound, diff, measured, practice_goals, practice_grade, practice_run, practice_tasks
from tools.practice_goals import SIZE, Goal
from tools.practice_grade import Verdict
from tools.practice_tasks import Task
from tools.practice_words import say
from tools.text_table import aligned

PROGRESS = PRACTICE / "progress.json"
MOST_LINES = 3  # of the source, named below a goal that is missed
COMPILERS_LINES = 40  # of its words that are shown
LOOK_EVERY_S = 0.3
GONE_FOR_S = 2.0  # an editor that replaces a file takes it away for a moment
GPU_SIZE = 4096


@dataclass(frozen=True)
class Plan:
    """What is asked of which task, and in which language."""

    task: Task | None  # None: show all
    wants: str  # grade, watch, hint, solution, list
    spoken: str
    ladder: list[registry.Step]


def plan(parsed: argparse.Namespace) -> Plan:
    """Reads the command line."""
    ladder = registry.steps()
    spoken = language(parsed.zh)
    wants = next((name for name in ("watch", "hint", "solution") if getattr(parsed, name)), "grade")
    if parsed.step is None:
        if wants != "grade":
            raise UserError(f"--{wants} needs a step: ./gemm practice 02 --{wants}")
        return Plan(None, "list", spoken, ladder)
    task = practice_tasks.find(registry.find(parsed.step, ladder), ladder)
    return Plan(task, "list" if parsed.list else wants, spoken, ladder)


def needs_build(chosen: Plan) -> bool:
    """Whether something is compiled: nothing is for words, nor where a task is only laid out."""
    to_grade = chosen.wants == "grade" and chosen.task is not None and chosen.task.file.exists()
    return to_grade or chosen.wants == "watch"


def run(chosen: Plan, setup: bool) -> None:
    """Does what is asked."""
    if chosen.wants == "list" or chosen.task is None:
        _print_tasks(chosen)
    elif chosen.wants == "hint":
        _print_hint(chosen.task, chosen.spoken)
    elif chosen.wants == "solution":
        _print_solution(chosen.task, chosen.spoken)
    else:
        begun = chosen.task.file.exists()
        if not begun:
            _lay_out(chosen.task, chosen.spoken)
        if chosen.wants == "watch":
            _watch(chosen.task, _prepared(chosen.task, setup), chosen.spoken)
        elif begun and not _grade(chosen.task, _prepared(chosen.task, setup), chosen.spoken):
            raise Failure()


def _lay_out(task: Task, spoken: str) -> None:
    """Writes the file that the reader begins with. One that is there is never written over."""
    text = task.start(spoken)
    folder = task.file.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with task.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"{shown(task.file)} cannot be written: {error.strerror}") from None
    for line in practice_tasks.wrapped(task.task[spoken]):
        print_line(f"  {line}")
    print_line(say(spoken, "laid out", file=shown(task.file), number=_number(task)))


def _prepared(task: Task, setup: bool) -> Environment:
    """The build environment, with what a kernel is linked and run with built."""
    environment = ensure_build(setup)
    build.configure(environment)
    practice_run.prepare(environment, task.step)
    return environment


def _grade(task: Task, environment: Environment, spoken: str) -> bool:
    """Compiles, runs and judges the reader's kernel, and says what came of it. Whether the task is done."""
    begun = time.monotonic()
    try:
        executable = practice_run.compiled(task, environment)
    except practice_run.NotCompiled as refusal:
        for line in refusal.words.splitlines()[:COMPILERS_LINES]:
            print_line(f"  {line}")
        print_line(say(spoken, "not compiled", problem=refusal))
        return False
    compiling = time.monotonic() - begun
    verdict = practice_grade.graded(task, executable, task.file, environment, spoken)
    if verdict.right_at:
        print_line(say(spoken, "right at", sizes=listed(spoken, verdict.right_at)))
    if verdict.goals:
        for line in goal_table(task, verdict.goals, spoken):
            print_line(line)
        for line in _bounds(task, executable, environment, spoken):
            print_line(line)
    if verdict.done:
        verdict = _on_gpu(task, executable, verdict, environment, spoken)
    print_line(say(spoken, "seconds", all=time.monotonic() - begun, compiling=compiling))
    print_line(verdict.line)
    if verdict.reports:
        print_line(say(spoken, "also reported"))
    for report in verdict.reports:
        print_line(f"  {report}")
    if verdict.done:
        _note(task, done=date.today().isoformat())
    return verdict.done


def _bounds(task: Task, executable: Any, environment: Environment, spoken: str) -> list[str]:
    """The kernel's bounds beside the step's; none of a kernel that does not take the sizes at which they are counted."""
    theirs = practice_goals.recorded_work(task)
    if theirs is None:
        return []
    try:
        mine = bound.counted(executable, task.step, task.variant, environment.variables)
    except UserError:
        return []
    return bound.beside(task.step, mine, theirs, spoken)


def goal_table(task: Task, goals: Sequence[Goal], spoken: str) -> list[str]:
    """The goals: yours, the step before, the step; below a goal that is missed, the lines that miss it."""
    before = [say(spoken, "step", number=task.before.number)] if task.before else []
    size = "×".join(map(str, SIZE))
    head = [say(spoken, "at size", size=size), say(spoken, "yours"), *before]
    rows = [[*head, say(spoken, "step", number=task.step.number), say(spoken, "goal")]]
    for goal in goals:
        values = [goal.yours, *([goal.before] if task.before else []), goal.wanted]
        state = "reached" if goal.reached else "goal missed"
        state = state if goal.binding else "not comparable"
        told = ["–" if value is None else f"{value:,}" for value in values]
        rows.append([goal.quantity.names[spoken], *told, say(spoken, state)])
    lines = []
    for at, line in enumerate(aligned(rows, right=range(1, len(rows[0]) - 1))):
        lines.append(f"  {line}")
        if at > 0 and not goals[at - 1].reached:
            lines += _guilty(task, goals[at - 1], spoken)
    return [*lines, "  " + say(spoken, "to spare", number=task.step.number)]


def _guilty(task: Task, goal: Goal, spoken: str) -> list[str]:
    """The lines of the reader's file that a missed goal is due to: those with the largest counts."""
    source = task.file.read_text(encoding="utf-8", errors="replace").splitlines()
    return [
        "      " + say(spoken, "line", line=line, count=f"{count:,}", text=source[line - 1].strip())
        for line, count in goal.lines[:MOST_LINES]
        if not goal.quantity.at_least and 0 < line <= len(source)
    ]


def _on_gpu(task: Task, executable: Any, verdict: Verdict, environment: Environment, spoken: str) -> Verdict:
    """Where there is a GPU that can run the step: the kernel has to be right there, too, and its speed is shown."""
    here = gpu.detect()
    if isinstance(here, gpu.NoGpu) or not (here.capability and task.step.runs_on(here.capability)):
        return verdict
    file = executable.with_suffix(".jsonl")
    file.unlink(missing_ok=True)
    options = [f"--size={GPU_SIZE}", "--baseline=none", f"--json={file}"]
    code, words = process.output([executable, *options], environment.variables)
    if code != 0 or not file.is_file():
        problem = (words.splitlines() or [f"exit code {code}"])[-1]
        return Verdict(False, say(spoken, "failed", size=f"{GPU_SIZE} ({here.name})", problem=problem))
    (record,) = read(file)
    print_line(say(spoken, "on gpu", gpu=here.name, tflops=record["tflops"]))
    records = measured.load()
    for step in filter(None, (task.before, task.step)):
        timed = measured.at_figure_size(records, here.folder, step.name) if here.folder in records.timings else None
        print_line(f"  {step.name}: {measured.in_words(timed, spoken)}")
    return verdict


def _watch(task: Task, environment: Environment, spoken: str) -> None:
    """Grades again whenever the file has changed, until Ctrl-C."""
    print_line(say(spoken, "watching", file=shown(task.file)))
    graded, seen = None, time.monotonic()
    while True:
        try:
            now = task.file.stat()
            seen = time.monotonic()
        except FileNotFoundError:
            if time.monotonic() - seen > GONE_FOR_S:
                raise UserError(say(spoken, "gone", file=shown(task.file), number=_number(task))) from None
        else:
            if (now.st_mtime_ns, now.st_size) != graded:
                graded = (now.st_mtime_ns, now.st_size)
                _grade(task, environment, spoken)
        time.sleep(LOOK_EVERY_S)


def _print_hint(task: Task, spoken: str) -> None:
    hints = task.hints[spoken]
    given = _progress().get(task.step.name, {}).get("hints", 0)
    if given >= len(hints):
        for at in range(len(hints)):
            _print_one_hint(task, at, spoken)
        print_line(say(spoken, "no more hints", number=_number(task)))
        return
    _print_one_hint(task, given, spoken)
    _note(task, hints=given + 1)


def _print_one_hint(task: Task, at: int, spoken: str) -> None:
    hints = task.hints[spoken]
    for line in practice_tasks.wrapped(say(spoken, "hint", number=at + 1, all=len(hints), text=hints[at])):
        print_line(line)


def _print_solution(task: Task, spoken: str) -> None:
    """What would turn the reader's kernel, or the starting point where there is none, into the step's."""
    yours = task.file.read_text(encoding="utf-8", errors="replace") if task.file.exists() else task.start(spoken)
    half = (max(diff.NARROWEST, shutil.get_terminal_size((160, 40)).columns) - 3) // 2
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print_line(say(spoken, "solution", file=shown(task.file), number=_number(task)))
    for line in diff.picture(
        diff.interesting(code_rows(yours, task.step.kernel.read_text(encoding="utf-8"))), half, colour
    ):
        print_line(line)


def code_rows(yours: str, solution: str) -> list[diff.Row]:
    """Two kernels side by side, without the comments that they begin with: these tell of different steps."""
    texts = [text.expandtabs(4).splitlines() for text in (yours, solution)]
    heads = [next((at for at, line in enumerate(text) if line.startswith("#")), 0) for text in texts]
    return [
        dataclasses.replace(
            row,
            old_number=row.old_number and row.old_number + heads[0],
            new_number=row.new_number and row.new_number + heads[1],
        )
        for row in diff.rows(*(text[head:] for text, head in zip(texts, heads, strict=True)))
    ]


def _print_tasks(chosen: Plan) -> None:
    """All tasks and what is done."""
    spoken, progress = chosen.spoken, _progress()
    rows = [[say(spoken, key) for key in ("task", "idea", "starts from", "state")]]
    for task in practice_tasks.tasks(chosen.ladder):
        noted = progress.get(task.step.name, {})
        state = "finished" if noted.get("done") else "begun" if task.file.exists() else "new"
        start = say(spoken, "step", number=task.before.number) if task.before else say(spoken, "skeleton")
        rows.append([task.step.name, task.step.idea(spoken), start, say(spoken, state)])
    for line in aligned(rows):
        print_line(line)
    print_line(say(spoken, "how"))


def _progress() -> dict[str, dict[str, Any]]:
    """By the step's name: the day on which it was done, and how many hints were given."""
    try:
        noted = json.loads(PROGRESS.read_text(encoding="utf-8"))
        if not isinstance(noted, dict) or not all(isinstance(one, dict) for one in noted.values()):
            raise ValueError("it is no list of tasks")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{shown(PROGRESS)} cannot be read: {error}; delete it to begin anew") from None
    return noted


def _note(task: Task, **what: object) -> None:
    """Keeps what was reached."""
    progress = _progress()
    progress.setdefault(task.step.name, {}).update(what)
    PROGRESS.parent.mkdir(parents=True, exist_ok=True)
    temporary = PROGRESS.with_suffix(f".part{os.getpid()}")
    temporary.write_text(json.dumps(progress, indent=1) + "\n", encoding="utf-8")
    temporary.replace(PROGRESS)


def _number(task: Task) -> str:
    return f"{task.step.number:02d}"
