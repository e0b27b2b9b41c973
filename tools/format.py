"""`./gemm format`: the formatters on every source, C++, CUDA and Python."""

from pathlib import Path

from base import process, venv
from base.errors import Failure, UserError
from base.paths import ROOT
from base.progress import say

C_SUFFIXES = {".cpp", ".h", ".cu", ".cuh", ".hpp"}
C_FOLDERS = ("common", "steps", "sim", "python", "tests", "lab")
PYTHON_SOURCES = ("gemm", "base", "records", "lab", "plots", "tools", "python", "sim", "tests")


def c_sources() -> list[Path]:
    """Every C++ and CUDA file of the project."""
    files = (file for folder in C_FOLDERS for file in sorted((ROOT / folder).rglob("*")))
    return [file for file in files if file.suffix in C_SUFFIXES]


def commands(check: bool) -> list[list[str]]:
    """The formatters' and the linter's command lines: to change the files, or only to say what is wrong."""
    ruff, clang_format = _needed("ruff"), _needed("clang-format")
    python = [source for source in PYTHON_SOURCES if (ROOT / source).exists()]
    sources = [str(file.relative_to(ROOT)) for file in c_sources()]
    return [
        [ruff, "format", *(["--check"] if check else []), *python],
        [ruff, "check", *([] if check else ["--fix"]), *python],
        [clang_format, *(["--dry-run", "-Werror"] if check else ["-i"]), *sources],
    ]


def run(check: bool) -> None:
    """Formats everything, or with `check` changes nothing and fails where a file is not as it would be."""
    failed = [command for command in commands(check) if process.run(command) != 0]
    if failed:
        names = ", ".join(Path(command[0]).name for command in failed)
        raise Failure(f"{names} found something" + ("; ./gemm format puts most of it right" if check else ""))
    say("Every source is as the formatters want it")


def _needed(tool: str) -> str:
    found = venv.tool(tool)
    if found is None:
        raise UserError(f"there is no {tool}: install requirements.txt, or leave out --no-setup")
    return found
