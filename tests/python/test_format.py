"""Every source is as the formatters and the linter want it. `./gemm format` puts most of it right."""

import re
import subprocess
from pathlib import Path

import pytest

from lab import format as formatting
from tools import venv
from tools.paths import ROOT

TEXT_SUFFIXES = {".py", ".cpp", ".h", ".cu", ".md", ".build", ".options", ".toml", ".txt", ".json", ".jsonl", ".csv"}
HABIT_FILES = ("gemm", ".ci/run", ".gitignore", ".clang-format", ".editorconfig", "LICENSE")


def sources() -> list[Path]:
    """Every text of the project: what git tracks, or would."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("this is no git checkout")
    files = [ROOT / line for line in done.stdout.splitlines()]
    return [
        file
        for file in files
        if file.is_file() and (file.suffix in TEXT_SUFFIXES or str(file.relative_to(ROOT)) in HABIT_FILES)
    ]


@pytest.mark.parametrize(
    "command", formatting.commands(check=True), ids=lambda command: " ".join(command[:2]).split("/")[-1]
)
def test_formatters_and_linter_find_nothing(command):
    if venv.tool(Path(command[0]).name) is None:
        pytest.skip(f"there is no {command[0]}")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def test_texts_end_their_lines_as_editorconfig_says():
    wrong = []
    for file in sources():
        text = file.read_bytes()
        name = file.relative_to(ROOT)
        if b"\r" in text:
            wrong.append(f"{name}: carriage return")
        if text and not text.endswith(b"\n"):
            wrong.append(f"{name}: no newline at the end")
        if text.endswith(b"\n\n"):
            wrong.append(f"{name}: blank line at the end")
        for number, line in enumerate(text.split(b"\n"), 1):
            if line != line.rstrip():
                wrong.append(f"{name}:{number}: space at the end")
            if b"\t" in line:
                wrong.append(f"{name}:{number}: tab")
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            wrong.append(f"{name}: not UTF-8")
    assert not wrong


def test_sources_are_no_wider_than_editorconfig_says():
    widest = int(re.search(r"^max_line_length = (\d+)", (ROOT / ".editorconfig").read_text(), re.MULTILINE)[1])
    assert f"ColumnLimit: {widest}" in (ROOT / ".clang-format").read_text()
    assert f"line-length = {widest}" in (ROOT / "pyproject.toml").read_text()
    wide = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sources()
        if file.suffix in {".py", ".cpp", ".h", ".cu", ".build"}
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > widest
    ]
    assert not wide


def test_nothing_is_left_to_be_done_later():
    """A comment that promises work, or a kernel kept as a comment, has no place in a course."""
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    left = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sources()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if file.suffix in {".py", ".cpp", ".h", ".cu", ".build", ".md"} and marks.search(line)
    ]
    assert not left
