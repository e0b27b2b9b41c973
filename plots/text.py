"""Counts words, rows of tables and figures of each page and fails where one exceeds its limit: `python -m plots.text`.

The limits and the pages that are exempt stand in docs/text.toml. Exit code 1 names what is too long, 2 is bad input.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.paths import ROOT

LIMITS = Path("docs") / "text.toml"
CHARACTERS_PER_WORD = 1.7  # in Chinese
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
_ROW = re.compile(r"^\s*\|")
_RULE = re.compile(r"^[\s|:-]+$")


@dataclass(frozen=True)
class Counted:
    """What a page holds: visible words, rows of tables, figures per 100 words of prose, folded words."""

    words: int
    rows: int
    figures: float
    folded: int


def visible(text: str) -> str:
    """What a reader sees of Markdown, but for code: no comments, pictures, targets of links or tags."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"^\s*(```|~~~).*?^\s*\1\s*$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^    .*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[((?:[^]`]|`[^`]*`)*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"<[^>\n]+>", "", text)


def words(text: str) -> int:
    """Words: what stands between blanks and bars and is not only signs; Chinese by its characters."""
    chinese = len(_CHINESE.findall(text))
    others = _CHINESE.sub(" ", text).replace("|", " ").split()
    return round(chinese / CHARACTERS_PER_WORD) + sum(bool(re.search(r"\w", word)) for word in others)


def count(text: str) -> Counted:
    """Counts one page."""
    folded = " ".join(visible(part) for part in _FOLDED.findall(text))
    seen = visible(_FOLDED.sub("", text))
    lines = seen.splitlines()
    rows = [line for line in lines if _ROW.match(line) and not _RULE.match(line)]
    prose = "\n".join(line for line in lines if not _ROW.match(line))
    figures = re.findall(r"(?<![\w.`])\d[\d,.]*", re.sub(r"`[^`\n]*`", " x ", prose), re.ASCII)
    return Counted(words(seen), len(rows), 100 * len(figures) / max(1, words(prose)), words(folded))


def pages(root: Path, limits: Mapping[str, Any]) -> list[tuple[str, Path, Mapping[str, Any]]]:
    """The pages of the course: name, file and limit, English before Chinese; one of docs/ may have no limit."""
    found: list[tuple[str, Path, Mapping[str, Any]]] = []
    for ending in ("", ".zh-CN"):
        found.append(("README", root / f"README{ending}.md", limits["front"]))
    for opener in sorted((root / "docs" / "parts").glob("*.md")):
        found.append((f"part {opener.name[0]}", opener, limits["part"]))
    of_docs = {name: limits[each] for each in ("read", "prose") for name in limits.get(each, {}).get("pages", ())}
    unnamed = sorted({file.name.partition(".")[0] for file in (root / "docs").glob("*.md")} - of_docs.keys())
    for name, limit in (of_docs | {name: {} for name in unnamed}).items():
        found += [(name, root / "docs" / f"{name}{ending}.md", limit) for ending in ("", ".zh-CN")]
    for folder in sorted((root / "steps").glob("[0-9][0-9]_*")):
        limit = limits["long"] if folder.name[:2] in limits["long"]["steps"] else limits["chapter"]
        found += [(folder.name[:2], folder / f"README{ending}.md", limit) for ending in ("", ".zh-CN")]
    return [(name, path, limit) for name, path, limit in found if path.is_file()]


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Count words, rows and figures of each page, and hold their limits.")
    parser.add_argument("--root", type=Path, default=ROOT, help="repository to look at")
    root = parser.parse_args(arguments).root.resolve()
    try:
        limits = tomllib.loads((root / LIMITS).read_text(encoding="utf-8"))
        counted = pages(root, limits)
        exempt = limits["exempt"]["pages"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        print(f"text.py: {LIMITS}: {error}", file=sys.stderr)
        return 2
    if unknown := set(exempt) - {name for name, *_ in counted}:
        print(f"text.py: {LIMITS}: exempt is no page: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    failed = []
    print(f"{'page':42}{'words':>12}{'rows':>10}{'figures/100':>14}{'folded':>12}")
    for name, path, limit in counted:
        found = count(path.read_text(encoding="utf-8"))
        told = str(path.relative_to(root))
        cells = []
        for key, width in (("words", 12), ("rows", 10), ("figures", 14), ("folded", 12)):
            value, most = getattr(found, key), limit.get(key)
            shown = f"{value:.1f}" if key == "figures" else str(value)
            over = most is not None and value > most
            cells.append(f"{shown + ('*' if over else ' '):>{width}}")
            if over and name not in exempt:
                failed.append(f"{told}: {shown} {key}, at most {most}")
        print(f"{told:42}{''.join(cells)}{'  exempt' if name in exempt else ''}".rstrip())
    print("* exceeds its limit")
    for line in failed:
        print(f"text.py: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
