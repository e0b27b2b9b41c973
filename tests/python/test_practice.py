"""The practice: every task can be solved, and none is solved already when it begins."""

import os
import re
from dataclasses import replace

import pytest
from programs import built

from base import cuda
from base.environment import Environment
from base.errors import UserError
from base.languages import CHINESE, ENGLISH
from base.paths import BUILD, SIMULATOR
from base.registry import steps
from tools import practice_goals, practice_grade, practice_tasks
from tools.practice_goals import Goal, recorded_counts, recorded_facts
from tools.text_table import columns

TASKS = practice_tasks.tasks(steps())
NAMED = {task.step.number: task for task in TASKS}
by_name = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.step.name)


def environment() -> Environment:
    """What the grader needs of an environment: the compiler's version and the variables."""
    toolkit = cuda.find(with_cublas=False)
    if isinstance(toolkit, str):
        pytest.skip(toolkit)
    return Environment("meson", "ninja", toolkit, {**os.environ, **toolkit.environment()})


def graded(task, step) -> practice_grade.Verdict:
    """A built step under a task's grader: nothing is compiled."""
    executable = built(BUILD / "steps" / step.name, SIMULATOR)
    return practice_grade.graded(task, executable, step.kernel, environment(), ENGLISH)


def test_every_step_that_changes_another_is_a_task():
    assert set(NAMED) == {step.number for step in steps()} - {1}
    from_skeletons = [task.step.number for task in TASKS if task.before is None]
    assert from_skeletons == [12, 14, 18, 22, 30, 31, 32, 33]


@by_name
def test_a_task_says_the_same_in_both_languages(task):
    assert all(task.task[language].strip() for language in (ENGLISH, CHINESE))
    assert len(task.hints[ENGLISH]) == len(task.hints[CHINESE]) >= 2
    for english, chinese in zip(task.hints[ENGLISH], task.hints[CHINESE], strict=True):
        names = set(re.findall(r"\w+_\w+", english))
        assert names <= set(re.findall(r"[a-zA-Z0-9_]+", chinese)) | names & {"__launch_bounds__"}, (english, chinese)


@pytest.mark.parametrize("task", [task for task in TASKS if task.before], ids=lambda task: task.step.name)
def test_what_a_task_starts_from_misses_a_goal(task):
    """By the records: of the step before, at the size at which the goals are compared. A skeleton computes nothing."""
    counts = [recorded_counts(step)["counts"] for step in (task.before, task.step)]
    facts = [recorded_facts(task, step) for step in (task.before, task.step)]
    goals = []
    for name in task.goals:
        one = practice_goals.quantity(name)
        before, wanted = (one.count(each) for each in counts) if one.count else (each[name] for each in facts)
        goals.append(Goal(one, before, before, wanted))
        assert Goal(one, wanted, before, wanted).reached
    assert not all(goal.reached for goal in goals)


@by_name
def test_the_steps_own_kernel_reaches_every_goal(task):
    verdict = graded(task, task.step)
    assert verdict.done, verdict.line
    for name, goal in zip(task.goals, verdict.goals, strict=True):
        if goal.quantity.count is None:
            assert goal.yours == goal.wanted, f"{name} is not as recorded: python -m tools.practice_record"


def test_the_step_before_is_graded_and_told_what_it_misses():
    verdict = graded(NAMED[8], NAMED[7].step)
    assert not verdict.done and len(verdict.right_at) == 3
    assert verdict.line.startswith("2 of 4 goals missed: bank conflicts of shared loads")
    text = NAMED[7].step.kernel.read_text(encoding="utf-8").splitlines()
    guilty = {text[line - 1].strip() for line, count in verdict.goals[0].lines if count}
    assert guilty == {
        "float4_at(&b_frag[0]) = float4_at(&Bs[k][tile_col]);",
        "float4_at(&b_frag[4]) = float4_at(&Bs[k][tile_col + 4]);",
    }


def test_a_tenth_is_to_spare_and_zero_is_zero():
    fewer, more = practice_goals.QUANTITIES["barriers"], practice_goals.QUANTITIES["k_ahead"]
    assert Goal(fewer, 110, None, 100).reached and not Goal(fewer, 111, None, 100).reached
    assert Goal(fewer, 0, None, 0).reached and not Goal(fewer, 1, None, 0).reached
    assert Goal(more, 90, None, 100).reached and not Goal(more, 89, None, 100).reached


def test_another_compilers_instructions_are_no_goal():
    executable_counts = recorded_counts(NAMED[5].step)
    counted = {"counts": {**executable_counts["counts"], "instructions": 10**9}, "lines": []}
    judge = lambda compiler: practice_goals.judged(NAMED[5], counted, {}, NAMED[5].file, compiler)  # noqa: E731
    assert [goal.reached for goal in judge(executable_counts["compiler"].rpartition(".")[0])] == [True] * 3 + [False]
    assert [goal.reached for goal in judge("99.0")] == [True] * 4


@pytest.mark.parametrize("task", [task for task in TASKS if task.before is None], ids=lambda task: task.step.name)
def test_a_skeleton_has_everything_but_the_kernels_body(task):
    start, whole = task.start(ENGLISH), task.step.kernel.read_text(encoding="utf-8")
    behind = start[start.index("gemm_kernel(") :]
    body = behind[: re.search(r"\blaunch\w*\(", behind).start()]
    assert "Write the kernel here." in body and "acc" not in body
    assert start.endswith(whole[whole.index("launch(") :])
    assert "{" not in body.replace("{\n  // Write the kernel here.\n}", "").replace("template <", "")


@by_name
def test_a_start_tells_its_task_in_lines_that_fit(task):
    for language in (ENGLISH, CHINESE):
        lines = task.start(language).splitlines()
        head = lines[: next(at for at, line in enumerate(lines) if line.startswith("// ----"))]
        assert all(columns(line) <= 102 for line in head)
        said = "".join(line.removeprefix("//") for line in head)
        assert "".join(task.task[language].split()) in "".join(said.split())


def test_a_broken_task_is_one_line(tmp_path):
    step = replace(NAMED[8].step, home=tmp_path)
    step.folder.mkdir()
    (step.folder / "practice.toml").write_text("goals = [", encoding="utf-8")
    with pytest.raises(UserError, match=r"practice.toml is no task"):
        practice_tasks.find(step, [step])
    with pytest.raises(UserError, match="'bariers' is no quantity"):
        practice_goals.quantity("bariers")
