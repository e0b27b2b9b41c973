"""`./gemm practice` as a reader types it: laying out, hints, solutions, bad input; nothing here compiles."""

import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from test_practice import NAMED

from tools import cli, practice, practice_tasks


@pytest.fixture
def gemm(monkeypatch, capsys):
    """Runs ./gemm practice in this process, with a folder of its own and in the C locale."""

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
