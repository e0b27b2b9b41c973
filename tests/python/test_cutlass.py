"""CUTLASS as a baseline: which headers -Dcutlass finds."""

from pathlib import Path

import pytest
from programs import configured

from base.paths import ROOT


def asked_for(folder: Path, option: str, modules: Path | None = None) -> str:
    """What that part of common/cutlass/meson.build says that looks for the headers."""
    looks = (ROOT / "common" / "cutlass" / "meson.build").read_text(encoding="utf-8").partition("\ncutlass_args")[0]
    text = f"fs = import('fs')\n{looks}\n"
    return configured(folder, text, f"-Dcutlass={option}", PYTHONPATH=str(modules or folder))


def headers(folder: Path) -> Path:
    (folder / "cutlass").mkdir(parents=True)
    (folder / "cutlass" / "version.h").touch()
    return folder


def test_the_headers_are_a_folder_or_that_of_a_checkout(tmp_path):
    there = headers(tmp_path / "checkout" / "include")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for project, named in (("one", there), ("two", there.parent)):
        assert f"CUTLASS: {there}\n" in asked_for(tmp_path / project, str(named))


def test_the_headers_of_the_package_are_found_without_importing_it(tmp_path):
    package = tmp_path / "modules" / "cutlass_library"
    there = headers(package / "source" / "include")
    (package / "__init__.py").write_text("raise ImportError('its own dependencies are missing')")
    (tmp_path / "project").mkdir()
    assert f"CUTLASS: {there}\n" in asked_for(tmp_path / "project", "package", tmp_path / "modules")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("/nowhere", "-Dcutlass=/nowhere: there is no cutlass/version.h in /nowhere"),
        ("package", "-Dcutlass=package: the Python package was not found; run: pip install --no-deps nvidia-cutlass"),
    ],
)
def test_headers_that_are_not_there_are_named(tmp_path, option, words):
    assert words in asked_for(tmp_path, option)
