"""Grades a kernel: is it right, does the simulator report nothing, are the goals reached, and is it the reader's own?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base import build
from base.environment import Environment
from base.errors import UserError
from base.languages import listed
from base.paths import ROOT
from tools import practice_facts, practice_goals
from tools.practice_goals import SIZE, Goal
from tools.practice_run import Outcome, simulated
from tools.practice_tasks import Size, Task
from tools.practice_words import kind_of, say

OBLONG: Size = (256, 512, 64)  # which every step takes, whatever its tile
RAGGED: Size = (127, 129, 131)  # of steps that take any size
SCALED: Size = (512, 256, 128)
WIDER = 16  # elements that rows are longer than they need to be
REPORTED_IN = " in "  # "race in gemm_kernel(…): …"
WRONG_RESULT = "WRONG RESULT"
COURSES_OWN = (ROOT / "steps", ROOT / "common" / "harness")  # where kernels are that are not the reader's


@dataclass(frozen=True)
class Verdict:
    """What a kernel is worth. `line` says it in one line."""

    done: bool
    line: str
    right_at: list[str] = field(default_factory=list)  # sizes
    goals: list[Goal] = field(default_factory=list)
    reports: tuple[str, ...] = ()  # what else the simulator says at the size that the line is about


def cases(task: Task, spoken: str) -> Iterator[tuple[str, list[str]]]:
    """What a kernel has to be right for: in words, and as options. The first is the one whose counts are compared."""
    yield _named(SIZE), _options(SIZE)
    any_size = [RAGGED] if practice_goals.recorded_counts(task.step, RAGGED) else []
    for size in (OBLONG, *any_size, *task.sizes):
        yield _named(size), _options(size)
    _, n, k = SCALED
    scaled = ["--alpha=1.5", "--beta=-0.5", f"--lda={k + WIDER}", f"--ldb={n + WIDER}", f"--ldc={n + WIDER}"]
    yield f"{_named(SCALED)} ({say(spoken, 'scaled')})", [*_options(SCALED), *scaled]


def _named(size: Size) -> str:
    return "×".join(map(str, size))


def _options(size: Size) -> list[str]:
    return [f"--{name}={value}" for name, value in zip("mnk", size, strict=True)]


def graded(task: Task, executable: Path, source: Path, environment: Environment, spoken: str) -> Verdict:
    """Runs an executable of a task and judges it. `source`: what it was compiled from."""
    try:
        names = [one["variant"] for one in build.variants(executable, environment)]
    except UserError as error:
        return Verdict(False, say(spoken, "failed", size="--list", problem=error))
    variant = ["--variant", task.variant] if task.variant in names else []  # else the first of the table
    counted, right_at, failure, also = None, [], "", ()
    for size, options in cases(task, spoken):
        outcome = simulated(executable, [*variant, *options], environment.variables)
        if not failure:  # then it tells of those at that size
            also = tuple(line.replace(f"{source.parent}/", "") for line in outcome.also) or also
        counted = counted or outcome.record
        if outcome.record is not None:
            right_at.append(size)
            continue
        failure = failure or _failure(source, outcome, size, spoken)
        if counted is None:  # nothing to compare
            return Verdict(False, failure, reports=also)
    if cheat := foreign_work(task, source, counted, spoken):
        return Verdict(False, cheat, right_at)
    facts, failed = practice_facts.observed(executable, variant, practice_goals.facts_of(task), environment.variables)
    if failed:
        return Verdict(False, failure or _failure(source, failed[1], failed[0], spoken), right_at, reports=also)
    goals = practice_goals.judged(task, counted, facts, source, environment.toolkit.version)
    if failure:
        return Verdict(False, failure, right_at, goals, also)
    missed = [goal.quantity.names[spoken] for goal in goals if not goal.reached]
    if missed:
        names = listed(spoken, missed)
        return Verdict(
            False, say(spoken, "missed", missed=len(missed), all=len(goals), names=names), right_at, goals, also
        )
    return Verdict(True, say(spoken, "done"), right_at, goals, also)


def _failure(source: Path, outcome: Outcome, size: str, spoken: str) -> str:
    """A run that failed, in one line."""
    problem = outcome.problem.replace(f"{source.parent}/", "")
    if outcome.refused:
        return say(spoken, "refused", size=size, problem=problem)
    if problem.startswith(WRONG_RESULT):
        return say(spoken, "wrong", size=size, problem=problem.partition(": ")[2].partition(": ")[2])
    kind = problem.partition(": ")[0]
    if REPORTED_IN in kind and kind.partition(REPORTED_IN)[0].islower():
        return say(spoken, "reported", size=size, problem=problem, kind=kind_of(problem))
    return say(spoken, "failed", size=size, problem=problem)


def foreign_work(task: Task, source: Path, counted: dict[str, Any], spoken: str) -> str:
    """Why a right result is not the kernel's own work; "" where it is.

    Every product takes part of an instruction. A result that was copied, or computed by the host, has too few of them;
    one that another file's kernel has computed has them in that file.
    """
    if not counted["counts"]:
        return say(spoken, "no kernel")
    least, found = practice_goals.least_products(task), practice_goals.products(counted["counts"])
    if found < least:
        return say(spoken, "too few products", found=f"{found:,}", least=f"{least:,}")
    for line in counted["lines"]:
        file = practice_goals.source_of(line)
        foreign = file != source.resolve() and any(file.is_relative_to(folder) for folder in COURSES_OWN)
        if foreign and practice_goals.products(line["counts"]):
            return say(spoken, "computed elsewhere", file=file.relative_to(ROOT))
    return ""
