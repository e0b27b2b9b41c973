"""What the pages ask for: the pictures that they show, and the tables between `<!-- table:NAME -->` and `<!-- /table -->`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

_OPEN = re.compile(r"^ {0,3}<!-- table:(?P<name>[\w:.-]+) -->\s*$")
_CLOSE = re.compile(r"^ {0,3}<!-- /table -->\s*$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_PICTURE = re.compile(r"""(?:\]\(|(?:src|href)=")([^)\s"]+\.svg)""")
_SKIPPED = (".", "build", "node_modules")  # beginnings of folders without write-ups


class MarkerError(Exception):
    """A page asks for what there is not, or leaves a marker open; the text names file and line."""


def language_of(path: Path) -> str:
    """The language that a page or a picture is in, by its name."""
    return "zh-CN" if path.stem.endswith(".zh-CN") else "en"


def files(root: Path) -> Iterator[Path]:
    """Every write-up of the repository, in order."""
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(_SKIPPED)]
        found += [Path(folder, name) for name in names if name.endswith(".md")]
    return iter(sorted(found))


def shown(root: Path, folder: Path) -> dict[Path, str]:
    """The pictures of a folder that some page shows or links, each with the file and line that does so first."""
    found: dict[Path, str] = {}
    for page in files(root):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for target in _PICTURE.findall(line):
                path = Path(os.path.normpath(page.parent / target))
                if path.parent == folder:
                    found.setdefault(path, f"{page.relative_to(root)}:{number}")
    return dict(sorted(found.items()))


def rewrite(path: Path, text: str, make: Callable[[str], str]) -> str:
    """The text with every table made anew. Markers inside fenced code are left alone. Raises MarkerError."""
    lines = text.split("\n")
    result: list[str] = []
    fence: str | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        result.append(line)
        at += 1
        if mark := _FENCE.match(line):
            fence = None if fence == mark[1] else fence or mark[1]
        opened = None if fence else _OPEN.match(line)
        if opened is None:
            continue
        start = at
        while at < len(lines) and not _CLOSE.match(lines[at]):
            if _OPEN.match(lines[at]):
                break
            at += 1
        if at == len(lines) or not _CLOSE.match(lines[at]):
            raise MarkerError(f"{path}:{start}: table:{opened['name']} is not closed by <!-- /table -->")
        try:
            made = make(opened["name"])
        except KeyError:
            raise MarkerError(f"{path}:{start}: there is no table '{opened['name']}'") from None
        result += ["", made, "", lines[at]]
        at += 1
    return "\n".join(result)
