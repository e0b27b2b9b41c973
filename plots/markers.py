"""What the pages ask for: the pictures that they show, the tables between `<!-- table:NAME -->` and `<!-- /table -->`, the
figures in sentences, `<!-- figure:KEY -->9.20<!-- /figure -->`, and the loops of kernels, `<!-- loop:NAME …-->` (loops.py)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

_OPEN = re.compile(r"^ {0,3}<!-- table:(?P<name>[\w:.-]+) -->\s*$")
_CLOSE = re.compile(r"^ {0,3}<!-- /table -->\s*$")
_FIGURE = re.compile(r"<!-- figure:(?P<key>.+?) -->(?P<value>[^<]*)<!-- /figure -->")
_LOOP = re.compile(r"^<!-- loop:(?P<name>[\w./]+)(?P<closed> -->)?\s*$")
_LOOP_CLOSE = "<!-- /loop -->"
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


def rewrite(
    path: Path,
    text: str,
    make: Callable[[str], str],
    tell: Callable[[str], str | None] = lambda key: None,
    loop: Callable[[str, list[str]], str] = lambda name, lines: "",
) -> str:
    """The text with every loop, table and figure made anew. Markers inside fenced code are left alone.

    `tell` gives the figure of a key, or None where nothing is recorded yet: what stands there stays. Raises MarkerError.
    """
    lines = _with_loops(path, text.split("\n"), loop)
    result: list[str] = []
    fence: str | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        result.append(line if fence else _with_figures(f"{path}:{at + 1}", line, tell))
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


def _with_figures(place: str, line: str, tell: Callable[[str], str | None]) -> str:
    """A line with its figures made anew. A figure in code stays as it is."""
    parts = re.split(r"(`[^`]*`)", line)  # every second one is code
    if not any("<!-- figure:" in part for part in parts[::2]) or line.startswith("    "):
        return line
    if line.lstrip().startswith("<!-- figure:"):
        raise MarkerError(f"{place}: a line must not begin with a figure: Markdown takes all of it for HTML")
    if any(len(_FIGURE.findall(part)) != part.count("<!-- figure:") for part in parts[::2]):
        raise MarkerError(f"{place}: a figure is not closed by <!-- /figure -->")

    def told(found: re.Match[str]) -> str:
        try:
            value = tell(found["key"])
        except KeyError as why:
            raise MarkerError(f"{place}: there is no figure '{found['key']}': {why.args[0]}") from None
        return found[0] if value is None else f"<!-- figure:{found['key']} -->{value}<!-- /figure -->"

    parts[::2] = (_FIGURE.sub(told, part) for part in parts[::2])
    return "".join(parts)


def _with_loops(path: Path, lines: list[str], loop: Callable[[str, list[str]], str]) -> list[str]:
    """The lines with what stands between `<!-- loop:NAME … -->` and `<!-- /loop -->` made anew."""
    result: list[str] = []
    at = 0
    while at < len(lines):
        opened = _LOOP.match(lines[at])
        result.append(lines[at])
        at += 1
        if opened is None:
            continue
        start, asked = at, []
        while not opened["closed"] and at < len(lines) and lines[at].strip() != "-->":
            asked.append(lines[at])
            at += 1
        head_ends = at if opened["closed"] else at + 1
        end = next((i for i in range(head_ends, len(lines)) if lines[i] == _LOOP_CLOSE or _LOOP.match(lines[i])), None)
        if end is None or lines[end] != _LOOP_CLOSE:
            raise MarkerError(f"{path}:{start}: loop:{opened['name']} is not closed by {_LOOP_CLOSE}")
        try:
            made = loop(opened["name"], asked)
        except KeyError as why:
            raise MarkerError(f"{path}:{start}: loop:{opened['name']}: {why.args[0]}") from None
        result += [*lines[start:head_ends], "", *made.split("\n"), "", _LOOP_CLOSE]
        at = end + 1
    return result
