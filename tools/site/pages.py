"""Lays the repository's Markdown out as MkDocs wants it: one folder per language, links that hold, code as pages.

GitHub shows the same files; what differs between the two is changed here. Pages keep their place: docs/start-here.md is
en/docs/start-here.md, docs/start-here.zh-CN.md is zh/docs/start-here.md, a README.md is its folder's index.md. A link to
code becomes a link to a page of that code. Pages of code and of changes are the same in both languages and lie in en.
"""

import difflib
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path, PurePosixPath

from base import registry
from base.languages import CHINESE, ENGLISH, said
from base.paths import ROOT
from plots import glossary
from tools.site import explorable

TREES = {ENGLISH: "en", CHINESE: "zh"}
CODE = "code"  # the folder of the pages of code
CARD = "card.png"  # what a link to the site shows in a message; it lies beside the folder of pages (plots/card.py)
PICTURES = (".svg", ".png")
HIGHLIGHTED = {".cu": "cuda", ".h": "cuda", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".json": "json"}
_FENCE = re.compile(r"^\s*(```|~~~)")
_LINK = re.compile(r"(!?\[(?:[^][`]|`[^`]*`|\[[^]]*\])*\])\(([^()\s]+)\)")
_SWITCH = re.compile(r"^(?:English \| )?\[(?:中文|English)\]\([^)]*\)(?: \| (?:中文$)?)?", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BLOCK = re.compile(r"\s*(\||[-*+] |\d+[.)] )")
_NAMED = re.compile(r"(\[[^]]*\])\(([^)#\s]*glossary(?:\.zh-CN)?\.md)#([\w-]+)\)")


def lay_out(folder: Path, explorables: Path | None = None) -> None:
    """Writes all pages and pictures below `folder`; files that did not change are left, others that lie there go.

    `explorables`: the folder with what runs in the pages (tools/site/simulator.py); without, they are a book.
    """
    wanted: dict[Path, str | Path] = {}
    runs = explorable.Runs.found(explorables)
    linked: set[Path] = set()
    for source in sources():
        text, targets = page(source, runs)
        wanted[folder / place(source)] = text
        for target in targets:
            if target.suffix in PICTURES:
                wanted[folder / place(target)] = ROOT / target
            elif target.suffix != ".md":
                linked.add(target)
    for code in linked:
        wanted[folder / place(code)] = code_page(code)
    for old, new in pairwise(registry.steps()):
        wanted[folder / change_place(new.name)] = change_page(old.name, new.name)
    own = ROOT / "tools" / "site"
    for name in ("site.css", "worker.js"):
        wanted[folder / "en" / "assets" / name] = own / name
    if (folder.parent / CARD).is_file():
        wanted[folder / "en" / "assets" / CARD] = folder.parent / CARD
    wanted |= {folder / "en" / explorable.ASSETS / name: file for name, file in runs.files.items()}
    _write(folder, wanted)


def _write(folder: Path, wanted: dict[Path, str | Path]) -> None:
    for file, content in wanted.items():
        data = content.read_bytes() if isinstance(content, Path) else content.encode()
        if not (file.is_file() and file.read_bytes() == data):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file not in wanted:
            file.unlink()


def sources() -> Iterator[Path]:
    """The Markdown files of the course, relative to the repository."""
    patterns = ("README*.md", "CONTRIBUTING*.md", "docs/**/*.md", "steps/*/*.md", "{}/README*.md")
    folders = ("plots", "records", "sim", "sim/web")
    found = {ROOT / file for pattern in patterns[:-1] for file in ROOT.glob(pattern)}
    found |= {file for folder in folders for file in (ROOT / folder).glob("README*.md")}
    found |= {ROOT / "tools" / "site" / name for name in ("notices.md", "notices.zh-CN.md")}
    return (file.relative_to(ROOT) for file in sorted(found))


def language(source: Path) -> str:
    """The language of a page or picture, which its name tells."""
    return CHINESE if f".{CHINESE}." in source.name else ENGLISH


def in_language(source: Path, spoken: str) -> Path:
    """The same page or picture in another language, if there is one; else as it is."""
    plain = source.with_name(source.name.replace(f".{CHINESE}.", "."))
    twin = plain if spoken == ENGLISH else plain.with_name(f"{plain.stem}.{CHINESE}{plain.suffix}")
    return twin if (ROOT / twin).is_file() else source


@cache
def place(source: Path) -> str:
    """Where a page, a picture or code lies below the folder of pages.

    >>> place(Path("steps/01_naive/README.zh-CN.md"))
    'zh/steps/01_naive/index.md'
    >>> place(Path("common/device/half.h"))
    'en/code/common/device/half.h.md'
    """
    name = source.name.replace(f".{CHINESE}.", ".")
    tree = TREES[language(source)]
    if source.suffix in PICTURES:
        return str(PurePosixPath(tree, source.parent, name))
    if source.suffix != ".md":
        return str(PurePosixPath("en", CODE, f"{source}.md"))
    if source.parts[:2] == ("tools", "site"):
        return str(PurePosixPath(tree, name))
    return str(PurePosixPath(tree, source.parent, "index.md" if name == "README.md" else name))


def change_place(step: str) -> str:
    """Where the page lies that shows what a step changes in the kernel before it."""
    return f"en/steps/{step}/changes.md"


def page(source: Path, runs: explorable.Runs = explorable.NOTHING) -> tuple[str, set[Path]]:
    """One page as MkDocs wants it, and the pictures and code that it links to, relative to the repository."""
    text = (ROOT / source).read_text(encoding="utf-8")
    spoken = language(source)
    targets: set[Path] = set()
    text = _SWITCH.sub("", text, count=1)
    parts = [part if code else _prose(part, source, spoken, targets) for code, part in split(text)]
    text = "".join(parts) + runs.on(source) + _end(source, spoken)
    of_data = source.stem.startswith("data") or source.parent.name == "data"
    return _head(source, unsearched=of_data) + text, targets


def _head(source: Path | str, title: str = "", unsearched: bool = True) -> str:
    """What a page tells MkDocs: the file it is made of, its title, and whether the search leaves it out."""
    lines = [f"source: {source}"] + ["search:", "  exclude: true"] * unsearched
    lines += [f"title: {title}", "hide: [toc]"] * bool(title)
    return "\n".join(["---", *lines, "---", ""])


def split(text: str) -> Iterator[tuple[bool, str]]:
    """The text in turn without and with fences: whether it is code, and the lines."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        found = _FENCE.match(line)
        if not fence and found:
            yield False, "".join(lines)
            lines, fence = [line], found[1]
        elif fence and line.strip() == fence:
            yield True, "".join([*lines, line])
            lines, fence = [], ""
        else:
            lines.append(line)
    yield bool(fence), "".join(lines)


def _prose(text: str, source: Path, spoken: str, targets: set[Path]) -> str:
    text = _COMMENT.sub("", text)
    text = text.replace("<details>", '<details markdown="1">')
    text = _NAMED.sub(lambda found: _explained(found, spoken), text)
    text = _LINK.sub(lambda found: f"{found[1]}({_link(found[2], source, spoken, targets)})", text)
    return _apart(text)


def _explained(found: re.Match[str], spoken: str) -> str:
    """A link to the glossary, with the term's meaning as its title: the browser shows it where the mouse rests."""
    means = _meanings(spoken).get(found[3], "")
    return found[0] if not means else f'{found[1]}({found[2]}#{found[3]}){{title="{means}"}}'


@cache
def _meanings(spoken: str) -> dict[str, str]:
    terms = glossary.load(ROOT)
    plain = {term.id: said(spoken, term.means_en, term.means_zh) for term in terms}
    return {name: re.sub(r"[`*]|\]\([^)]*\)|\[", "", means).replace('"', "”") for name, means in plain.items()}


def _link(target: str, source: Path, spoken: str, targets: set[Path]) -> str:
    """A link as it is written on the site; what it leads to is noted in `targets`."""
    path, _, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return target
    found = Path(posixpath.normpath(str(PurePosixPath(source.parent, path))))
    if (ROOT / found).is_dir():
        found = found / "README.md" if (ROOT / found / "README.md").is_file() else found
    found = in_language(found, spoken)
    if not (ROOT / found).exists():
        return target  # a broken link, which MkDocs reports
    targets.add(found)
    here, there = place(source), place(found)
    # A page that both languages share appears in each tree, so a link never leaves the tree.
    relative = posixpath.relpath(there.split("/", 1)[1], posixpath.dirname(here.split("/", 1)[1]) or ".")
    if found.suffix not in (".md", *PICTURES):
        anchor = re.sub(r"^L(\d+).*", r"line-1-\1", anchor)
    return relative + (f"#{anchor}" if anchor else "")


def _apart(text: str) -> str:
    """A blank line between a paragraph and the table or list below it, which GitHub does not need."""
    lines = text.split("\n")
    out = lines[:1]
    for before, line in pairwise(lines):
        begins = _BLOCK.match(line)
        if begins and before.strip() and not _BLOCK.match(before) and not before.startswith((" ", "|", "#")):
            out.append("")
        out.append(line)
    return "\n".join(out)


def _end(source: Path, spoken: str) -> str:
    """What stands below a chapter: the page of what it changed."""
    names = [step.name for step in registry.steps()]
    step = source.parent.name
    if source.parent.parent.name != "steps" or not source.name.startswith("README") or step not in names[1:]:
        return ""
    number, before = step[:2], names[names.index(step) - 1][:2]
    words = said(
        spoken, f"What the kernel of {number} changes in that of {before}", f"{number} 的 kernel 相对 {before} 改了什么"
    )
    return f"\n\n[{words}](changes.md)\n"


def code_page(source: Path) -> str:
    """A page that shows a file of code, each line with its anchor; of a folder, the names of what it holds."""
    head = _head(source, source.name) + f"# `{source}`\n\n"
    if (ROOT / source).is_dir():
        return head + "".join(f"- `{name}`\n" for name in _tracked(source))
    text = (ROOT / source).read_text(encoding="utf-8")
    return head + fenced(text, HIGHLIGHTED.get(source.suffix, "text"), ' linenums="1"')


@cache
def _tracked(folder: Path) -> list[str]:
    return sorted(path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file())


def change_page(old: str, new: str) -> str:
    """A page with what changed between the kernels of two steps, whole, as `diff -u` prints it."""
    before, after = (
        (ROOT / "steps" / name / "kernel.cu").read_text(encoding="utf-8").splitlines() for name in (old, new)
    )
    lines = list(difflib.unified_diff(before, after, lineterm="", n=10_000))[3:]
    title = f"{old[:2]} → {new[:2]}"
    head = _head(f"steps/{new}/kernel.cu", title) + f"# {title}\n\n[{old}](../{old}/index.md) → [{new}](index.md)\n\n"
    return head + fenced("\n".join(lines), "diff")


def fenced(text: str, kind: str, more: str = "") -> str:
    """A block of code, fenced by more backticks than stand in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence}{kind}{more}\n{text.rstrip()}\n{fence}\n"
