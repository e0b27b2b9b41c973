"""The practice: every task can be solved, and none is solved already when it begins; and what a reader sees of a verdict."""

import json
import os
import re
from dataclasses import replace

import pytest
from programs import built, program

from base import cuda, gpu
from base.environment import Environment
from base.errors import UserError
from base.languages import CHINESE, ENGLISH
from base.paths import BUILD, SIMULATOR
from base.registry import steps
from tools import practice, practice_goals, practice_grade, practice_run, practice_tasks
from tools.practice_goals import Goal, recorded_counts, recorded_facts
from tools.practice_grade import Verdict
from tools.text_table import columns

TASKS = practice_tasks.tasks(steps())
NAMED = {task.step.number: task for task in TASKS}
CONFLICTS = NAMED[8]
by_name = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.step.name)


def environment() -> Environment:
    """What the grader needs of an environment: the compiler's version and the variables."""
    toolkit = cuda.find(with_cublas=False)
    if isinstance(toolkit, str):
        pytest.skip(toolkit)
    return Environment("meson", "ninja", toolkit, {**os.environ, **toolkit.environment()})


def graded(task, step) -> Verdict:
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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A practice folder in which step 08 was begun, with step 07's kernel alone, on a machine without a GPU."""
    monkeypatch.setattr(practice_tasks, "PRACTICE", tmp_path)
    monkeypatch.setattr(practice, "PROGRESS", tmp_path / "progress.json")
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("none"))
    CONFLICTS.file.parent.mkdir()
    CONFLICTS.file.write_text(CONFLICTS.before.kernel.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_the_table_shows_yours_the_step_before_and_the_step(folder):
    lines = practice.goal_table(CONFLICTS, graded(CONFLICTS, CONFLICTS.before).goals, ENGLISH)
    assert lines[0].split() == ["at", "256×256×256", "yours", "step", "07", "step", "08", "goal"]
    assert lines[1].split()[-4:] == ["65,536", "65,536", "0", "missed"]
    assert lines[2].strip().startswith("line ") and "32,768  float4_at(&b_frag[0])" in lines[2]
    assert lines[4].split()[-4:] == ["0", "0", "0", "reached"] and "line" not in lines[4]


def judged_as(monkeypatch, verdict: Verdict) -> bool:
    """Grades with a verdict that is given, so that nothing is compiled."""
    monkeypatch.setattr(practice_run, "compiled", lambda task, environment: task.file)
    monkeypatch.setattr(practice_grade, "graded", lambda *arguments: verdict)
    return practice._grade(CONFLICTS, environment(), ENGLISH)


def test_only_a_finished_task_is_noted(folder, monkeypatch, capsys):
    assert not judged_as(monkeypatch, Verdict(False, "not yet"))
    assert not (folder / "progress.json").exists() and capsys.readouterr().out.endswith("not yet\n")
    assert judged_as(monkeypatch, Verdict(True, "well done"))
    assert capsys.readouterr().out.endswith("well done\n")
    assert "done" in json.loads((folder / "progress.json").read_text(encoding="utf-8"))[CONFLICTS.step.name]


@pytest.mark.parametrize(
    ("script", "done", "says"),
    [
        ("for word; do case $word in --json=*) echo '{}' > ${word#--json=};; esac; done", True, "43.8 TFLOPS at 4096"),
        ("echo WRONG RESULT before timing >&2; exit 1", False, "It fails at 4096 (NVIDIA H200): WRONG RESULT before"),
    ],
    ids=["right", "wrong"],
)
def test_a_gpu_has_its_say(folder, monkeypatch, capsys, script, done, says):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA H200", 1, ("90",)))
    record = json.dumps({"step": CONFLICTS.step.name, "variant": "mine", "tflops": 43.8})
    executable = program(folder / CONFLICTS.step.name / "program", script.replace("{}", record))
    verdict = practice._on_gpu(CONFLICTS, executable, Verdict(True, "done"), environment(), ENGLISH)
    assert verdict.done == done
    assert says in capsys.readouterr().out + verdict.line
