"""CUTLASS as a baseline: which headers -Dcutlass finds, and how its records are shown."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


# ---- the option


def configured(folder: Path, option: str, modules: Path | None = None) -> str:
    """What Meson says of a project with that part of common/cutlass/meson.build alone that looks for the headers."""
    build = (ROOT / "common" / "cutlass" / "meson.build").read_text(encoding="utf-8")
    looks, _, _ = build.partition("\ncutlass_args")
    (folder / "cutlass").mkdir()
    (folder / "cutlass" / "meson.build").write_text(looks, encoding="utf-8")
    (folder / "meson.build").write_text(
        "project('cutlass', version: '1')\nfs = import('fs')\nsubdir('cutlass')\n", encoding="utf-8"
    )
    line = next(
        text
        for text in (ROOT / "meson.options").read_text(encoding="utf-8").split("option(")
        if text[:9] == "'cutlass'"
    )
    (folder / "meson.options").write_text("option(" + line, encoding="utf-8")
    command = [Path(sys.executable).parent / "meson", "setup", f"-Dcutlass={option}", folder / "build", folder]
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONPATH": str(modules or folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout + done.stderr


def headers(folder: Path) -> Path:
    """A folder as CUTLASS's headers lie in it."""
    (folder / "cutlass").mkdir(parents=True)
    (folder / "cutlass" / "version.h").touch()
    return folder


def test_the_headers_are_a_folder_or_that_of_a_checkout(tmp_path):
    there = headers(tmp_path / "checkout" / "include")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for project, named in (("one", there), ("two", there.parent)):
        assert f"CUTLASS: {there}\n" in configured(tmp_path / project, str(named))


def test_the_headers_of_the_package_are_found_without_importing_it(tmp_path):
    package = tmp_path / "modules" / "cutlass_library"
    there = headers(package / "source" / "include")
    (package / "__init__.py").write_text("raise ImportError('its own dependencies are missing')")
    (tmp_path / "project").mkdir()
    assert f"CUTLASS: {there}\n" in configured(tmp_path / "project", "package", tmp_path / "modules")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("/nowhere", "-Dcutlass=/nowhere: there is no cutlass/version.h in /nowhere"),
        ("package", "-Dcutlass=package: the Python package was not found; run: pip install --no-deps nvidia-cutlass"),
    ],
)
def test_headers_that_are_not_there_are_named(tmp_path, option, words):
    assert words in configured(tmp_path, option)


# ---- what is shown
