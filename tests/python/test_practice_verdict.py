"""What a reader sees of a verdict: the table, the lines that miss a goal, what is noted, and the GPU's part."""

import json

import pytest
from programs import program
from test_practice import NAMED, environment, graded

from base import gpu
from base.languages import ENGLISH
from tools import practice, practice_grade, practice_run, practice_tasks
from tools.practice_grade import Verdict

TASK = NAMED[8]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A practice folder in which step 08 was begun, with step 07's kernel alone, on a machine without a GPU."""
    monkeypatch.setattr(practice_tasks, "PRACTICE", tmp_path)
    monkeypatch.setattr(practice, "PROGRESS", tmp_path / "progress.json")
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("none"))
    TASK.file.parent.mkdir()
    TASK.file.write_text(TASK.before.kernel.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_the_table_shows_yours_the_step_before_and_the_step(folder):
    lines = practice.goal_table(TASK, graded(TASK, TASK.before).goals, ENGLISH)
    assert lines[0].split() == ["at", "256×256×256", "yours", "step", "07", "step", "08", "goal"]
    assert lines[1].split()[-4:] == ["65,536", "65,536", "0", "missed"]
    assert lines[2].strip().startswith("line ") and "32,768  float4_at(&b_frag[0])" in lines[2]
    assert lines[4].split()[-4:] == ["0", "0", "0", "reached"] and "line" not in lines[4]


def judged_as(monkeypatch, verdict: Verdict) -> bool:
    """Grades with a verdict that is given, so that nothing is compiled."""
    monkeypatch.setattr(practice_run, "compiled", lambda task, environment: task.file)
    monkeypatch.setattr(practice_grade, "graded", lambda *arguments: verdict)
    return practice._grade(TASK, environment(), ENGLISH)


def test_only_a_finished_task_is_noted(folder, monkeypatch, capsys):
    assert not judged_as(monkeypatch, Verdict(False, "not yet"))
    assert not (folder / "progress.json").exists() and capsys.readouterr().out.endswith("not yet\n")
    assert judged_as(monkeypatch, Verdict(True, "well done"))
    assert capsys.readouterr().out.endswith("well done\n")
    assert "done" in json.loads((folder / "progress.json").read_text(encoding="utf-8"))[TASK.step.name]


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
    record = json.dumps({"step": TASK.step.name, "variant": "mine", "tflops": 43.8})
    executable = program(folder / TASK.step.name / "program", script.replace("{}", record))
    verdict = practice._on_gpu(TASK, executable, Verdict(True, "done"), environment(), ENGLISH)
    assert verdict.done == done
    assert says in capsys.readouterr().out + verdict.line
