"""The terms of the course, from docs/glossary.toml and each step.toml, and the page that lists them in both languages."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from base import registry

from .figures.text import Words, say
from .style import Missing

FILE = Path("docs") / "glossary.toml"
START = "start-here"  # the page before the first step
GROUPS = {  # in the order of the page
    "work": Words("Threads and their work", "线程与分工"),
    "machine": Words("The machine", "硬件"),
    "memory": Words("Memory", "存储"),
    "code": Words("From source to machine code", "从源码到机器码"),
    "tiles": Words("Tiles", "分块"),
    "overlap": Words("Doing two things at once", "重叠"),
    "tensor": Words("16 bits and tensor cores", "16 位与 Tensor Core"),
    "hopper": Words("Hopper", "Hopper"),
    "precision": Words("Precision", "精度"),
    "measure": Words("Measuring", "测量"),
}


@dataclass(frozen=True)
class Term:
    """A term: how it is called and explained in both languages, where it is met first, what is not said for it."""

    id: str
    group: str
    en: str
    zh: str
    means_en: str
    means_zh: str
    first: str  # start-here, or the two digits of a step
    use_en: str | None = None
    use_zh: str | None = None
    not_zh: tuple[str, ...] = ()

    def use(self, language: str) -> re.Pattern[str] | None:
        """What counts as a use of the term in a language; nothing where it is too common a word to look for."""
        own = self.use_zh if language == "zh-CN" else self.use_en
        if own is None:
            own = self._named_zh if language == "zh-CN" else self._named_en
        return re.compile(own, re.IGNORECASE) if own else None

    @cached_property
    def _named_en(self) -> str:
        return r"\b(?:" + "|".join(map(re.escape, self.en.split(", "))) + r")s?\b"

    @cached_property
    def _named_zh(self) -> str:
        names = re.sub(r"（[^）]*）", "", self.zh).split("、")
        return "|".join(rf"\b{re.escape(n)}\b" if n.isascii() else re.escape(n) for n in names)


def load(root: Path) -> list[Term]:
    """The terms in the order of the file, then those of the steps' own files; Missing where there is no file."""
    file = root / FILE
    if not file.is_file():
        raise Missing(f"there is no {FILE}")
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["term"]
    if (ladder := root / "steps" / "meson.build").is_file():
        entries += [{**word, "first": step.name[:2]} for step in registry.steps(ladder) for word in step.words]
    return [Term(**{**entry, "not_zh": tuple(entry.get("not_zh", ()))}) for entry in entries]


def page(terms: list[Term], step_names: list[str], language: str) -> str:
    """Every group as a heading and a table: the term, its name in the other language, its meaning, where it is met."""
    by_number = {name[:2]: name for name in step_names}
    head = say(language, "| term | 中文 | meaning | first met in |", "| 术语 | English | 含义 | 首次出现 |")
    parts = []
    for group, words in GROUPS.items():
        rows = []
        for term in (t for t in terms if t.group == group):
            names = [term.en, term.zh] if language == "en" else [term.zh, term.en]
            meaning = say(language, term.means_en, term.means_zh)
            where = _link(term.first, by_number, language)
            rows.append(f'| <a id="{term.id}"></a>**{names[0]}** | {names[1]} | {meaning} | {where} |')
        parts.append("\n".join([f"## {words(language)}", "", head, "| --- | --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


def _link(first: str, by_number: dict[str, str], language: str) -> str:
    """The page where a term is met first, as a link from docs/."""
    if first == START:
        return say(language, "[start here](start-here.md)", "[从这里开始](start-here.zh-CN.md)")
    chapter = say(language, "README.md", "README.zh-CN.md")
    return f"[{first}](../steps/{by_number[first]}/{chapter})"
