"""What was built: links and anchors lead somewhere, and nothing weighs more than it may."""

import gzip
import posixpath
import re
from urllib.parse import unquote, urldefrag

import pytest

from base import process
from tests.site.reader import SITE
from tools.site import EXPLORABLES

MOST_GZIP, MOST_BROTLI = 550_000, 450_000  # bytes of the WebAssembly, compressed
MOST_PAGE = 1_000_000  # bytes of a page with its scripts, styles and pictures, without the simulator
TARGET = re.compile(r'\b(?:href|src)="?([^"\s>]+)')
ANCHOR = re.compile(r'\b(?:id|name)="?([^"\s>]+)')
LOADED = re.compile(r'<(?:img|script|link rel="?stylesheet"?)[^>]*? (?:href|src)="?([^"\s>]+)')
ELSEWHERE = re.compile(r"[a-z]+:|//")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Each page's text by its path."""
    return {file.relative_to(SITE).as_posix(): file.read_text(encoding="utf-8") for file in SITE.rglob("*.html")}


def named(anchor: str) -> str:
    """The anchor that a link names; none where a script reads it."""
    name = unquote(anchor)
    return "" if "?" in name or name.startswith("__") else name


def test_every_link_and_anchor_leads_to_something(texts):
    anchors = {name: {unquote(each) for each in ANCHOR.findall(text)} for name, text in texts.items()}
    wrong = []
    for name, text in texts.items():
        if name == "404.html":
            continue  # its links hold at the address of the site alone
        for target in set(TARGET.findall(text)):
            path, anchor = urldefrag(target.replace("&amp;", "&"))
            if ELSEWHERE.match(path):
                continue
            to = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
            there = to if (SITE / to).is_file() else f"{to}/index.html".removeprefix("./")
            unnamed = there in anchors and named(anchor) not in anchors[there] | {""}
            if unnamed or not (SITE / there).is_file():
                wrong.append(f"{name}: {target}")
    assert not wrong


def test_no_page_is_too_heavy(texts):
    heavy = {}
    for name, text in texts.items():
        page = SITE / name
        loaded = {(page.parent / unquote(path)).resolve() for path in LOADED.findall(text) if not ELSEWHERE.match(path)}
        weight = len(text.encode()) + sum(file.stat().st_size for file in loaded if file.is_file())
        if weight > MOST_PAGE:
            heavy[name] = weight
    assert not heavy


def test_the_simulator_is_not_too_heavy():
    wasm = EXPLORABLES / "ptxsim.wasm"
    assert len(gzip.compress(wasm.read_bytes(), 9, mtime=0)) <= MOST_GZIP
    script = "console.log(require('zlib').brotliCompressSync(require('fs').readFileSync(process.argv[1])).length)"
    code, text = process.output(["node", "-e", script, wasm])
    assert code == 0, text
    assert int(text) <= MOST_BROTLI
