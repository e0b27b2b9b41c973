"""A new step touches its own folder and one line of order: a toy in a copy of the course is listed, built, simulated,
practised, and shown on its page with a chart, a table, a figure and a new word."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from programs import built

from base import registry
from base.paths import BUILD, ROOT, SIMULATOR

LIKE = "02_coalesced"  # the step whose kernel and practice the toy has
NUMBER = f"{registry.steps()[-1].number + 1:02d}"
NAME = f"{NUMBER}_toy"
STEP = """\
arch = "80"
ladder = "fp32"
types = "f32"

[idea]
en = "nothing new, in a folder of its own"
zh-CN = "没有新内容，只是单独一个文件夹"

[[word]]
id = "plaything"
group = "work"
en = "plaything"
zh = "小玩意"
means_en = "A step that teaches how to add one."
means_zh = "教人怎样新增步骤的一步。"
"""
PAGE = f"""\
# A toy

It reaches <!-- figure:{NUMBER}:tflops -->0<!-- /figure --> TFLOPS.

![The toy over size](../../plots/charts/{NAME}-sizesENDING.svg)

<!-- table:step:{NAME} -->
<!-- /table -->

<!-- table:counts:{NAME} -->
<!-- /table -->
"""
# Built once for all steps, so that of the copy only the toy is compiled.
ALREADY_BUILT = ("common", "sim", "subprojects", "meson-private", "meson-info")


def left_out(folder: str, names: list[str]) -> set[str]:
    """What the copy does not need: what tools made, and every page and picture but the glossary."""
    tools = ("__pycache__", "practice")
    made = {
        name
        for name in names
        if name.startswith(".") or name in tools or (Path(folder) / name / "build.ninja").exists()
    }
    return made | {name for name in names if name.endswith((".md", ".svg")) and not name.startswith("glossary")}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    built(BUILD / "common" / "harness" / "libharness.a", SIMULATOR)
    root = tmp_path_factory.mktemp("copy") / "course"
    shutil.copytree(ROOT, root, symlinks=True, ignore=left_out)
    for name in ALREADY_BUILT:
        only = shutil.ignore_patterns("tests", "recordings")
        shutil.copytree(BUILD / name, root / "build" / name, symlinks=True, ignore=only)
    for file in (BUILD / name for name in (".ninja_deps", ".ninja_log", "compile_commands.json")):
        shutil.copy2(file, root / "build")
    folder = root / "steps" / NAME
    folder.mkdir()
    order = root / "steps" / "meson.build"
    text = order.read_text(encoding="utf-8")
    order.write_text(re.sub(r"(step_names = \[.*?\n)\]", rf"\1  '{NAME}',\n]", text, count=1, flags=re.DOTALL))
    (folder / registry.FILE).write_text(STEP, encoding="utf-8")
    for name in ("kernel.cu", "practice.toml"):
        shutil.copy(root / "steps" / LIKE / name, folder)
    for ending in ("", ".zh-CN"):
        page = PAGE.replace("ENDING", ending)
        (folder / f"README{ending}.md").write_text(page, encoding="utf-8")
    timed = (ROOT / "records" / "h200" / f"{LIKE}.jsonl").read_text(encoding="utf-8").replace(LIKE, NAME)
    (root / "records" / "h200" / f"{NAME}.jsonl").write_text(timed, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GEMM_")}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=root, env={**environment, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        return done.stdout

    meson = str(Path(sys.executable).parent / "meson")
    run(meson if Path(meson).is_file() else "meson", "setup", "--reconfigure", "build", ".")
    for file in root.glob("build/**/*-unity?.c*"):  # Meson writes these sources anew, since they name the folder
        if file.suffix in (".cpp", ".cu"):
            os.utime(file, (1, 1))
    return SimpleNamespace(root=root, folder=folder, run=run, gemm=lambda *words: run(sys.executable, "gemm", *words))


def test_it_is_listed(course):
    (line,) = (line for line in course.gemm("list").splitlines() if line.startswith(NAME))
    assert "nothing new, in a folder of its own" in line and "sm_80" in line


def test_it_is_built_and_simulated(course):
    counted = course.root / "records" / "simulator" / f"{NAME}.jsonl"
    said = course.gemm("run", NUMBER, "--sim", "--no-setup", "--size", "256", f"--json={counted}")
    assert "in the simulator:" in said and (course.root / "build" / "steps" / NAME).is_file()
    assert json.loads(counted.read_text(encoding="utf-8").splitlines()[0])["step"] == NAME


def test_it_is_practised(course):
    course.gemm("practice", NUMBER, "--no-setup")
    file = course.root / "practice" / NAME / "kernel.cu"
    assert "nothing new, in a folder of its own" in file.read_text(encoding="utf-8")
    shutil.copy(course.folder / "kernel.cu", file)
    assert f"step {NUMBER}" in course.gemm("practice", NUMBER, "--no-setup")


def test_its_page_is_made(course):
    course.run(sys.executable, "plots/plot.py")
    for ending, idea, word in (("", "A step that teaches", "plaything"), (".zh-CN", "教人怎样新增", "小玩意")):
        page = (course.folder / f"README{ending}.md").read_text(encoding="utf-8")
        assert "-->0<!--" not in page and page.count("| 4096 |") >= 1 and "Nothing recorded" not in page
        assert (course.root / "plots" / "charts" / f"{NAME}-sizes{ending}.svg").is_file()
        glossary = (course.root / "docs" / f"glossary{ending}.md").read_text(encoding="utf-8")
        assert f'<a id="plaything"></a>**{word}**' in glossary and idea in glossary
        assert f"../steps/{NAME}/README{ending}.md" in glossary
