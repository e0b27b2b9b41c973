"""CUTLASS as a baseline: which headers -Dcutlass finds, and how its records are shown."""

import subprocess
import sys
from pathlib import Path

import plots_course
import pytest

import records
from plots import catalogue, style, tables
from plots.course import Course

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


def test_nothing_is_looked_for_where_cutlass_is_not_asked_for(tmp_path):
    said = configured(tmp_path, "no")
    assert "ERROR" not in said and "CUTLASS" not in said


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

LAST = plots_course.STEPS[-1]
CHOSEN = "256x128x8, 5 stages"


@pytest.fixture
def course(tmp_path):
    """A course whose last step was timed beside CUTLASS as well: two sizes of the default, one of another variant."""
    root = plots_course.make(tmp_path)
    beside = {"baseline": "cutlass", "baseline_tflops": 40.0, "baseline_kernel": CHOSEN, "date": "2026-11-22"}
    rows = records.read(root / "records" / "h200" / f"{LAST}.jsonl", root)
    ratios = {"ratio": 1.3, "ratio_p20": 1.294, "ratio_p80": 1.31}
    rows += [plots_course.timing(LAST, 52.0, (s, s, s), **beside, **ratios) for s in (8192, 4096)]
    rows.append(plots_course.timing(LAST, 44.0, variant="other", default=False, **beside, ratio=1.1))
    plots_course.write(root / "records" / "h200" / f"{LAST}.jsonl", rows)
    style.apply()
    return Course(root, root / "records"), records.load(root / "records", root)


def test_the_table_has_every_timing_with_the_share_of_the_library_beside_it(course):
    text = tables.table(*course, "cutlass", "en")
    where, _, head, _, *rows = text.splitlines()
    assert where.startswith("**NVIDIA H200**, CUDA 13.0, driver 580.159, 2026-11-22; the library: cuBLAS")
    assert "| of CUTLASS | 20–80 % | of the library | its kernel |" in head
    step = f"[{LAST}](steps/{LAST}/)"
    assert rows == [
        f"| {step} `other` | FP32 | 4096 | 44.0 | 40.0 | 110.0% | – | 90.0% | {CHOSEN} |",
        f"| {step} `plain` | FP32 | 4096 | 52.0 | 40.0 | 130.0% | 129.4–131.0% | 104.0% | {CHOSEN} |",
        f"| {step} `plain` | FP32 | 8192 | 52.0 | 40.0 | 130.0% | 129.4–131.0% | 104.0% | {CHOSEN} |",
    ]
    assert "| 相对 CUTLASS | 20–80 % | 相对库 | 它的 kernel |" in tables.table(*course, "cutlass", "zh-CN")


def test_the_ladders_have_it_as_a_line_and_the_steps_have_no_column_for_it(course):
    for name in ("fp32-ladder", "fp32-sizes", f"{LAST}-variants"):
        assert "CUTLASS" in style.to_svg(catalogue.find(*course, name)("en")), name
    assert "CUTLASS 40.0" in style.to_svg(catalogue.find(*course, "fp32-ladder")("en"))
    last_row = tables.table(*course, "ladder-fp32", "en").splitlines()[-1]
    assert last_row.startswith("| CUTLASS |  | 40.0 |  |")
    for name in ("ladder-fp32", f"step:{LAST}", f"variants:{LAST}"):
        assert "of CUTLASS" not in tables.table(*course, name, "en"), name


def test_without_a_timing_beside_it_nothing_speaks_of_it(tmp_path):
    root = plots_course.make(tmp_path)
    course, recorded = Course(root, root / "records"), records.load(root / "records", root)
    style.apply()
    assert "CUTLASS" not in style.to_svg(catalogue.find(course, recorded, "fp32-ladder")("en"))
    with pytest.raises(style.Missing, match="no timing beside CUTLASS"):
        tables.table(course, recorded, "cutlass", "en")
