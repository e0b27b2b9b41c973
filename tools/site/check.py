"""`./gemm test --site`: the site is built, and tests/site opens it in headless Chromium and runs its kernels in Node."""

import shutil
import sys

from base import packages, process, registry
from base.errors import Failure, UserError
from base.paths import ROOT
from base.progress import say
from tools import site, suites
from tools.site import FOLDER, simulator

TESTS = ROOT / "tests" / "site"
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# Those of the reference pictures, by Debian's packages: with others, texts have other lines.
_FONTS = {"fonts-noto-cjk": "Noto Sans CJK SC", "fonts-liberation": "Liberation Sans"}
_SIX = ("03", "09", "16", "20", "24", "26")  # kernels of the short form
_HOW = {
    "all": [],
    "short": ["--short", "-k", "every_link or test_kernels or test_banks or counts_natively or bad_ptx"],
    "pictures": ["--keep", "-k", "test_the_head or was_used"],
}


def run(setup: bool, how: str) -> None:
    """Builds the site and tests it; the last line counts. Nothing is installed without `setup`.

    `how`: "short" does a few of each; "pictures" makes the pictures that are taken the references.
    """
    _install(setup, pictures=how != "short")
    few = [registry.find(number, registry.steps()) for number in _SIX] if how == "short" else []
    if not simulator.prepare(setup, few):
        raise UserError("the pages cannot be tested without emscripten and node")
    site.run(serve=False)
    logs = FOLDER / "logs"
    shutil.rmtree(logs, ignore_errors=True)
    options = ["-q", "--tb=short", "--durations=5", f"--junitxml={logs / 'site.xml'}", *_HOW[how]]
    code = process.run([sys.executable, "-m", "pytest", *options, TESTS])
    passed, failed, skipped = suites.count(logs)
    failed = failed or int(code != 0)
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed or not passed:
        raise Failure()


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
