"""`./gemm test --site`: the site is built, its links hold, the simulator in WebAssembly equals the native one, what runs
in the pages is used in headless Chromium, and the pages are looked at: by axe-core, and beside pictures of them."""

import gzip
import posixpath
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urldefrag

from base import packages, process, registry, venv
from base.errors import Failure, UserError
from base.paths import ROOT
from base.progress import say
from tools import site
from tools.site import EXPLORABLES, FOLDER, explorable, pictures, simulator

SIX = ("03", "09", "16", "20", "24", "26")  # kernels that the short form does again in Node
TWO = ("03", "20")  # steps whose pages it opens
BROKEN = ("03", "22")  # steps that it breaks: with errors, and with a warning
TESTS = ROOT / "tests" / "site"
PICTURES = FOLDER / "pictures"
AXE = FOLDER / "axe"  # where axe-core is installed
MOST_GZIP, MOST_BROTLI = 550_000, 450_000  # bytes of the WebAssembly, compressed
MOST_PAGE = 1_000_000  # bytes of a page with its scripts, styles and pictures, without the simulator
_TARGET = re.compile(r'\b(?:href|src)="?([^"\s>]+)')
_ANCHOR = re.compile(r'\b(?:id|name)="?([^"\s>]+)')
_LOADED = re.compile(r'<(?:img|script|link rel="?stylesheet"?)[^>]*? (?:href|src)="?([^"\s>]+)')
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Those of the reference pictures, by Debian's packages.
_FONTS = {"fonts-noto-cjk": "Noto Sans CJK SC", "fonts-liberation": "Liberation Sans"}


def run(setup: bool, how: str) -> None:
    """Builds the site and tests it; fails where anything does. Nothing is installed without `setup`.

    `how`: "short" does a few of each; "pictures" makes the pictures that are taken the references.
    """
    chromium = _chromium(setup)
    if how != "short":
        _fonts(setup)
    axe = _axe(setup)
    if not simulator.prepare(setup):
        raise UserError("the pages cannot be tested without emscripten and node")
    site.run(serve=False)
    short = how == "short"
    if how == "pictures":
        looked = look(chromium, axe, short=False)
        pictures.keep(PICTURES)
        parts = [("the pages as axe sees them", looked)]
    else:
        parts = _parts(chromium, axe, short)
    failed = [name for name, passed in parts if not passed]
    if failed:
        raise Failure(f"failed: {', '.join(failed)}")
    say("The site passes")


def _parts(chromium: str, axe: Path, short: bool) -> list[tuple[str, bool]]:
    parts = [
        ("links", not _say_all(broken_links(FOLDER / "site"))),
        ("sizes", not too_large(FOLDER / "site")),
        ("the kernels in Node", in_node(short)),
        ("the explorables in Chromium", in_chromium(chromium, short)),
        ("the pages as axe sees them", look(chromium, axe, short)),
    ]
    return parts if short else [*parts, ("pictures", pictures.compare(PICTURES))]


def _axe(setup: bool) -> Path:
    """The script of axe-core, which is installed where allowed."""
    script = AXE / "axe_playwright_python" / "axe.min.js"
    pins = TESTS / "axe.txt"
    stamp = AXE / ".pins"
    there = (
        script.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == pins.read_text(encoding="utf-8")
    )
    if not there and not setup:
        raise UserError("there is no axe-core: leave out --no-setup")
    if not there:
        say("Installing axe-core …")
        shutil.rmtree(AXE, ignore_errors=True)
        options = ["--no-deps", "--require-hashes", "--target", AXE, "-r", pins]
        if process.run([venv.PYTHON, "-m", "pip", "install", "--quiet", *venv.PIP_OPTIONS, *options]) != 0:
            raise UserError(f"pip could not install {pins.name}, see above; see to the network")
        stamp.write_text(pins.read_text(encoding="utf-8"), encoding="utf-8")
    return script


def _chromium(setup: bool) -> str:
    found = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if found is None and setup:
        packages.install(["chromium", *_FONTS])
        found = next(filter(None, map(shutil.which, _CHROMIUM)), None)
    if found is None:
        raise UserError("there is no Chromium: install chromium, or leave out --no-setup")
    return found


def _fonts(setup: bool) -> None:
    """Sees to the fonts of the reference pictures: with others, texts have other lines."""
    missing = [package for package, family in _FONTS.items() if not process.output(["fc-list", family])[1].strip()]
    if missing and not setup:
        raise UserError(f"pictures need the fonts of {', '.join(missing)}: install them, or leave out --no-setup")
    if missing:
        packages.install(missing)


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
    if short:
        broken = [step for step in broken if step[:2] in BROKEN]
    line += ["--steps", ",".join(steps), "--broken", ",".join(broken)]
    rings = [name.split(".")[0] for name in names if name.endswith(f".{explorable.RINGS}")]
    line += ["--rings", "24_warp_specialised" if short else ",".join(rings)]
    return process.run(line) == 0


def look(chromium: str, axe: Path, short: bool) -> bool:
    """A page of each kind and the explorables, as axe-core sees them; all but the short form take pictures."""
    line = [
        "node",
        "--experimental-websocket",
        TESTS / "pages.js",
        FOLDER / "site",
        "--browser",
        chromium,
        "--axe",
        axe,
    ]
    if short:
        return process.run([*line, "--short"]) == 0
    shutil.rmtree(PICTURES, ignore_errors=True)
    return process.run([*line, "--pictures", PICTURES]) == 0


def too_large(folder: Path) -> list[str]:
    """What weighs more than it may: the WebAssembly, and pages with all that they load at once."""
    wasm = EXPLORABLES / "ptxsim.wasm"
    module, brotli = len(gzip.compress(wasm.read_bytes(), 9, mtime=0)), by_brotli(wasm)
    lines = [f"the WebAssembly has {module} bytes by gzip"] * (module > MOST_GZIP)
    lines += [f"the WebAssembly has {brotli} bytes by brotli"] * (brotli > MOST_BROTLI)
    heaviest = ""
    most = 0
    for page in folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = {
            (page.parent / unquote(target)).resolve()
            for target in _LOADED.findall(text)
            if not re.match(r"[a-z]+:|//|#", target)
        }
        weight = len(text.encode()) + sum(file.stat().st_size for file in loaded if file.is_file())
        if weight > most:
            heaviest, most = page.relative_to(folder).as_posix(), weight
        lines += [f"{page.relative_to(folder)} weighs {weight} bytes"] * (weight > MOST_PAGE)
    for line in lines:
        say(f"too large: {line}")
    compressed = f"{module / 1000:.0f} KB by gzip, {brotli / 1000:.0f} by brotli"
    say(f"Sizes: the WebAssembly {compressed}; the heaviest page {most / 1000:.0f} KB ({heaviest})")
    return lines


def by_brotli(file: Path) -> int:
    """The bytes that a file has by brotli, which Node compresses by."""
    script = "console.log(require('zlib').brotliCompressSync(require('fs').readFileSync(process.argv[1])).length)"
    code, text = process.output(["node", "-e", script, file])
    if code != 0:
        raise Failure(f"node could not compress {file.name}: {text.strip()}")
    return int(text)


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
