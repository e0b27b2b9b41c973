"""Which part of the Python may know which other, and where records lie."""

import ast
import json
import tomllib
import venv as python_venv

import pytest
from programs import ran

from base import venv
from base.paths import ROOT
from records import moved, read

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["course"]
# Each part, from the ground up, and those that it stands on. Records and their makers know no one who draws them, who
# draws knows no one who makes them, and neither knows what a reader types.
STANDS_ON = {
    "base": set(),
    "records": {"base"},
    "lab": {"base", "records"},
    "plots": {"base", "records"},
    "tools": {"base", "records", "lab", "plots"},
}


def imported(source):
    """The names of the modules that a source imports, wherever in it; of relative imports, none."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_the_project_names_its_parts_and_what_they_need():
    assert list(STANDS_ON) == PROJECT["packages"]
    assert {ROOT / name for name in PROJECT["requires"]} == set(ROOT.glob("requirements*.in"))
    assert all((ROOT / name).with_suffix(".txt").is_file() for name in PROJECT["requires"])


def test_the_venvs_python_finds_the_parts_from_anywhere(tmp_path, monkeypatch):
    python_venv.create(tmp_path / "venv")
    monkeypatch.setattr(venv, "VENV", tmp_path / "venv")
    venv.know_the_course()
    code = "import base.errors, records, lab, plots, tools; print(lab.__file__)"
    done = ran(tmp_path / "venv" / "bin" / "python", "-c", code, cwd=tmp_path)
    assert done.stdout.strip() == str(ROOT / "lab" / "__init__.py"), done.stderr


@pytest.mark.parametrize("part", STANDS_ON)
def test_a_part_imports_only_what_it_stands_on(part):
    allowed = STANDS_ON[part] | {part}
    wrong = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in sorted((ROOT / part).rglob("*.py"))
        for module in imported(file.read_text(encoding="utf-8"))
        if module.split(".")[0] in STANDS_ON.keys() - allowed
    ]
    assert not wrong


def test_no_program_of_the_course_bends_the_path():
    files = (file for part in (*STANDS_ON, "tests") for file in (ROOT / part).rglob("*.py"))
    bent = "sys." + "path"
    assert not [str(file) for file in files if bent in file.read_text(encoding="utf-8")]


def line(variant, ms):
    return json.dumps({"step": "01_naive", "variant": variant, "m": 8, "n": 8, "k": 8, "ms": ms}) + "\n"


def test_records_in_the_old_place_are_moved_and_said(tmp_path, capsys):
    old, new = tmp_path / "plots" / "data" / "rtx4090", tmp_path / "records" / "rtx4090"
    (old / "bottlenecks").mkdir(parents=True)
    new.mkdir(parents=True)
    (old / "01_naive.jsonl").write_text(line("a", 1) + line("b", 2))
    (old / "bottlenecks" / "01_naive.jsonl").write_text(line("c", 3))
    (new / "01_naive.jsonl").write_text(line("b", 4))  # was measured again since
    moved.bring_over(tmp_path)
    assert capsys.readouterr().out == "The records of rtx4090 were moved from plots/data/ to records/\n"
    assert {(r["variant"], r["ms"]) for r in read(new / "01_naive.jsonl")} == {("a", 1), ("b", 4)}
    assert [r["ms"] for r in read(new / "bottlenecks" / "01_naive.jsonl")] == [3]
    assert not (tmp_path / "plots" / "data").exists()
    moved.bring_over(tmp_path)
    assert capsys.readouterr().out == ""
