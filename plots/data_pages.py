"""The page of data in a step's folder, for chapters that link one: every table of the step, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

from .course import Course

NAMES = {"en": ("README.md", "data.md"), "zh-CN": ("README.zh-CN.md", "data.zh-CN.md")}
_NEW = {
    "en": "# {title}: the data\n\n[中文](data.zh-CN.md) | [the chapter](README.md)\n\n{about}\n\n{markers}\n",
    "zh-CN": "# {title}：数据\n\n[English](data.md) | [回到本章](README.zh-CN.md)\n\n{about}\n\n{markers}\n",
}
_ABOUT = {
    "en": "What was recorded and counted for this step. `./gemm plot` writes the tables.",
    "zh-CN": "这一步的全部实测记录与计数，表格由 `./gemm plot` 写出。",
}


def missing(course: Course) -> dict[Path, str]:
    """The pages of data that chapters link and that there are not yet, with what they begin with."""
    pages = {}
    for step in course.steps:
        for language, (chapter, name) in NAMES.items():
            path = step.folder / chapter
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if f"]({name}" in text and not (step.folder / name).exists():
                title = re.search(r"^# (.+)$", text, re.MULTILINE)
                markers = f"<!-- table:data:{step.name} -->\n<!-- /table -->"
                pages[step.folder / name] = _NEW[language].format(
                    title=title[1] if title else step.name, about=_ABOUT[language], markers=markers
                )
    return pages
