"""The practice: every task can be solved, and none is solved already when it begins; what a reader sees of a
verdict; and `./gemm practice` as a reader types it: laying out, hints, solutions, bad input."""

import json
import os
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from programs import built, program

from base import cuda, gpu
from base.environment import Environment
from base.errors import UserError
from base.languages import CHINESE, ENGLISH
from base.paths import BUILD, SIMULATOR
from base.registry import steps
from tools import cli, practice, practice_goals, practice_grade, practice_run, practice_tasks
from tools.practice_goals import Goal, recorded_counts, recorded_facts
from tools.practice_grade import Verdict
from tools.text_table import columns

TASKS = practice_tasks.tasks(steps())
NAMED = {task.step.number: task for task in TASKS}
CONFLICTS = NAMED[8]
AT_EVERY_SIZE = (3, 11, 17, 24, 29)
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
def test_the_steps_own_kernel_reaches_every_goal(task, monkeypatch):
    if task.step.number not in AT_EVERY_SIZE:  # of the others the size of the goals; at more the suite runs every step
        cases = practice_grade.cases
        monkeypatch.setattr(practice_grade, "cases", lambda *asked: islice(cases(*asked), 1))
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


@pytest.fixture
def gemm(monkeypatch, capsys):
    """Runs ./gemm practice in this process, compiling nothing, with a folder of its own and in the C locale."""

    def start(folder: Path, *arguments: str, locale: str = "C.UTF-8") -> CompletedProcess[str]:
        monkeypatch.setenv("LC_ALL", locale)
        monkeypatch.setattr(practice_tasks, "PRACTICE", folder)
        monkeypatch.setattr(practice, "PROGRESS", folder / "progress.json")
        capsys.readouterr()
        code = cli.main(["practice", *arguments])
        return CompletedProcess(arguments, code, *capsys.readouterr())

    return start


def test_a_task_is_laid_out_once_and_never_written_over(gemm, tmp_path):
    file = tmp_path / "08_conflict_free" / "kernel.cu"
    done = gemm(tmp_path, "8")
    assert done.returncode == 0 and str(file) in done.stdout
    text = file.read_text(encoding="utf-8")
    assert text == NAMED[8].start("en") and text.endswith(NAMED[7].step.kernel.read_text(encoding="utf-8"))
    file.write_text("half an id", encoding="utf-8")
    for option in ("--hint", "--solution", "--list"):
        assert gemm(tmp_path, "8", option).returncode == 0
        assert file.read_text(encoding="utf-8") == "half an id"


def test_hints_come_one_at_a_time(gemm, tmp_path):
    hints = NAMED[2].hints["en"]
    for number in range(1, len(hints) + 1):
        said = gemm(tmp_path, "2", "--hint").stdout
        assert said.startswith(f"Hint {number} of {len(hints)}: ") and said.count("Hint ") == 1
    said = gemm(tmp_path, "2", "--hint").stdout
    assert said.count("Hint ") == len(hints) and "--solution" in said


def test_the_solution_is_the_step_beside_what_was_written(gemm, tmp_path):
    gemm(tmp_path, "8")
    file = tmp_path / "08_conflict_free" / "kernel.cu"
    said = gemm(tmp_path, "8", "--solution").stdout
    assert "tile_col + BN / 2" in said and "The idea" not in said
    line = next(line for line in said.splitlines() if "[tile_col + BN / 2]" in line)
    number = int(re.search(r"(\d+) +float4_at\(&b_frag\[4\]\)", line.rpartition("|")[2])[1])
    assert "tile_col + BN / 2" in NAMED[8].step.kernel.read_text(encoding="utf-8").splitlines()[number - 1]
    file.write_text(NAMED[8].step.kernel.read_text(encoding="utf-8"), encoding="utf-8")
    assert len(gemm(tmp_path, "8", "--solution").stdout.splitlines()) == 1  # no difference is left


def test_all_tasks_are_listed_with_what_is_done(gemm, tmp_path):
    gemm(tmp_path, "3")
    (tmp_path / "progress.json").write_text('{"02_coalesced": {"done": "2026-11-22"}}', encoding="utf-8")
    lines = {line.split()[0]: line for line in gemm(tmp_path).stdout.splitlines()}
    assert lines["02_coalesced"].endswith("done") and lines["03_smem_tiling"].endswith("begun")
    assert re.search(r"a skeleton +–$", lines["14_wmma_naive"]) and "step 20" in lines["21_mma_persistent"]


@pytest.mark.parametrize(("option", "locale"), [(["--zh"], "C.UTF-8"), ([], "zh_CN.UTF-8")], ids=["--zh", "LC_ALL"])
def test_it_speaks_chinese(gemm, tmp_path, option, locale):
    done = gemm(tmp_path, "14", *option, locale=locale)
    assert "里有起点和任务" in done.stdout
    text = (tmp_path / "14_wmma_naive" / "kernel.cu").read_text(encoding="utf-8")
    assert text.startswith("// 练习 14：") and "// 在这里写 kernel。" in text
