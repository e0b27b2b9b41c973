"""`./gemm test --site`: the site is built, and tests/site opens it in headless Chromium and runs its kernels in Node."""

import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from base import packages, process, registry
from base.errors import Failure, UserError
from base.paths import ROOT
from base.progress import say
from tools import site, suites
from tools.site import FOLDER, simulator

TESTS = ROOT / "tests" / "site"
LOGS = FOLDER / "logs"
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Those of the reference pictures, by Debian's packages: with others, texts have other lines.
_FONTS = {"fonts-noto-cjk": "Noto Sans CJK SC", "fonts-liberation": "Liberation Sans"}
_SIX = ("03", "09", "16", "18", "24", "26")  # kernels of the short form
_HOW = {
    "all": [],
    "short": ["--short", "-k", "every_link or test_banks or runs_and_counts or bad_ptx"],
    "pictures": ["--keep", "-k", "test_the_head or was_used"],
}


def run(setup: bool, how: str) -> None:
    """Builds the site and tests it; the last line counts. Nothing is installed without `setup`.

    `how`: "short" follows links, runs six kernels in Node and uses two explorables, in a simulator without optimisation;
    "pictures" makes the pictures that are taken the references.
    """
    _install(setup, pictures=how != "short")
    few = [registry.find(number, registry.steps()) for number in _SIX] if how == "short" else []
    if not simulator.ensure(setup):
        raise UserError("the pages cannot be tested without emscripten and node")
    simulator.try_compiler()
    simulator.prepare(setup, few)
    shutil.rmtree(LOGS, ignore_errors=True)
    codes = []
    with ThreadPoolExecutor() as beside:
        built = beside.submit(site.run, serve=False)
        if few:  # kernels in Node need no pages
            codes.append(_pytest("kernels", "--short", TESTS / "test_kernels.py"))
        built.result()
    codes.append(_pytest("site", *_HOW[how], TESTS))
    passed, failed, skipped = suites.count(LOGS)
    failed = failed or int(any(codes))
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed or not passed:
        raise Failure()


def _pytest(name: str, *options: str | Path) -> int:
    file = LOGS / f"{name}.xml"
    return process.run([sys.executable, "-m", "pytest", "-q", "--tb=short", f"--junitxml={file}", *options])


def chromium() -> str | None:
    """The distribution's browser."""
    return next(filter(None, map(shutil.which, _CHROMIUM)), None)


def _install(setup: bool, pictures: bool) -> None:
    """Chromium, and the fonts of the reference pictures."""
    missing = [] if chromium() else ["chromium"]
    if pictures:
        missing += [package for package, family in _FONTS.items() if not process.output(["fc-list", family])[1].strip()]
    if missing and setup:
        packages.install(missing)
    elif missing:
        raise UserError(f"the site's tests need {', '.join(missing)}: install them, or leave out --no-setup")
    empty = [chromium() or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "about:blank"]
    code, text = process.output(empty)
    if code != 0:
        raise UserError(f"Chromium does not start here: {' '.join(text.splitlines()[-1:])}")
