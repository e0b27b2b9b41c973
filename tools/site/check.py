"""`./gemm test --site`: the site is built, its links hold, the simulator in WebAssembly equals the native one, and what
runs in the pages is used in headless Chromium."""

import posixpath
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urldefrag

from base import packages, process, registry
from base.errors import Failure, UserError
from base.paths import ROOT
from base.progress import say
from tools import site
from tools.site import FOLDER, explorable, simulator

SIX = ("03", "09", "16", "20", "24", "26")  # kernels that the short form does again in Node
TWO = ("03", "20")  # steps whose pages it opens
TESTS = ROOT / "tests" / "site"
PICTURES = FOLDER / "pictures"
_TARGET = re.compile(r'\b(?:href|src)="?([^"\s>]+)')
_ANCHOR = re.compile(r'\b(?:id|name)="?([^"\s>]+)')
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def run(setup: bool, short: bool) -> None:
    """Builds the site and tests it; fails where anything does. Nothing is installed without `setup`."""
    chromium = _chromium(setup)
    if not simulator.prepare(setup):
        raise UserError("the pages cannot be tested without emscripten and node")
    site.run(serve=False)
    failed = [name for name, passed in _parts(chromium, short) if not passed]
    if failed:
        raise Failure(f"failed: {', '.join(failed)}")
    say("The site passes")


def _parts(chromium: str, short: bool) -> list[tuple[str, bool]]:
    return [
        ("links", not _say_all(broken_links(FOLDER / "site"))),
        ("the kernels in Node", in_node(short)),
        ("the explorables in Chromium", in_chromium(chromium, short)),
    ]


def _chromium(setup: bool) -> str:
    found = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if found is None and setup:
        packages.install(["chromium", "fonts-noto-cjk"])
        found = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if found is None:
        raise UserError("there is no Chromium: install chromium, or leave out --no-setup")
    return found


def in_node(short: bool) -> bool:
    """The recorded runs once more in WebAssembly, in Node: the same C, counts and findings."""
    files = sorted(path for path in (FOLDER / "kernels").glob("*.js"))
    if short:
        first = [next(file for file in files if file.name.startswith(number)) for number in SIX]
        files = [_default(file) for file in first]
    return process.run(["node", TESTS / "node.js", FOLDER / "wasm" / "web", *files]) == 0


def _default(file: Path) -> Path:
    """The file of the same step's default variant."""
    step = file.name.split(".")[0]
    names = (FOLDER / "explorables" / "variants.txt").read_text(encoding="utf-8").split()
    return file.with_name(next(name for name in names if name.startswith(f"{step}.")) + ".js")


def in_chromium(chromium: str, short: bool) -> bool:
    """The explorables, used as a reader uses them."""
    names = (FOLDER / "explorables" / "variants.txt").read_text(encoding="utf-8").split()
    told = list(dict.fromkeys(name.split(".")[0] for name in names))
    broken = [name.split(".")[0] for name in names if name.endswith(".mistakes")]
    steps = [registry.find(number, registry.steps()).name for number in TWO] if short else told
    steps.sort(key=lambda step: step not in broken)  # the first is looked at more closely
    line = ["node", "--experimental-websocket", TESTS / "explorables.js", FOLDER / "site", "--browser", chromium]
    line += ["--steps", ",".join(steps), "--broken", ",".join(broken[:1] if short else broken)]
    rings = [name.split(".")[0] for name in names if name.endswith(f".{explorable.RINGS}")]
    line += ["--rings", "24_warp_specialised" if short else ",".join(rings)]
    return process.run(line if short else [*line, "--pictures", PICTURES]) == 0


def broken_links(folder: Path) -> list[str]:
    """What the pages link to within the site and is not there, anchors included."""
    texts = {file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8") for file in folder.rglob("*.html")}
    anchors = {name: {unquote(each) for each in _ANCHOR.findall(text)} for name, text in texts.items()}
    wrong = []
    for name, text in texts.items():
        if name == "404.html":
            continue  # its links hold at the address of the site alone
        for target in set(_TARGET.findall(text)):
            path, anchor = urldefrag(target.replace("&amp;", "&"))
            if re.match(r"[a-z]+:|//", path):
                continue
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
            there = to if (folder / to).is_file() else f"{to}/index.html".removeprefix("./")
            unnamed = there in anchors and _named(anchor) not in anchors[there] | {""}
            if unnamed or not (folder / there).is_file():
                wrong.append(f"{name}: {target}")
    return sorted(wrong)


def _named(anchor: str) -> str:
    """The anchor that a link names; none where a script reads it."""
    name = unquote(anchor)
    return "" if "?" in name or name.startswith("__") else name


def _say_all(lines: list[str]) -> list[str]:
    for line in lines[:40]:
        say(f"broken link: {line}")
    say(f"Links: {len(lines)} broken")
    return lines
