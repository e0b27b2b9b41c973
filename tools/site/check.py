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
_FEW = "(every_link or test_banks or runs_and_counts or bad_ptx)"
# What pytest is told, for each run of it: the short form's two languages run side by side.
_HOW = {
    "all": {"site": []},
    "short": {
        f"site-{name}": ["--short", "-k", f"{_FEW} and {cases}"] for name, cases in {"zh": "zh", "en": "not zh"}.items()
    },
    "pictures": {"site": ["--keep", "-k", "test_the_head or was_used"]},
}


def run(setup: bool, how: str) -> None:
    """Builds the site and tests it; the last line counts. Nothing is installed without `setup`.

    `how`: "short" follows links, runs six kernels in Node and uses two explorables, in a simulator without optimisation;
    "pictures" makes the pictures that are taken the references.
    """
    few = [registry.find(number, registry.steps()) for number in _SIX] if how == "short" else []
    with ThreadPoolExecutor() as beside:
        generator = beside.submit(site.ensure_generator, setup)
        _install(setup, pictures=not few)
        tried = beside.submit(simulator.try_compiler)  # makes its libraries, the first time
        _try_browser()
        generator.result()
        tried.result()
        simulator.prepare(setup, few)
        shutil.rmtree(LOGS, ignore_errors=True)
        built = beside.submit(site.run, serve=False)
        codes = [_pytest("kernels", "--short", TESTS / "test_kernels.py")] if few else []  # in Node they need no pages
        built.result()
        codes += beside.map(lambda name: _pytest(name, *_HOW[how][name], TESTS), _HOW[how])
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
    """Chromium, emscripten and Node, and the fonts of the reference pictures."""
    missing = ([] if chromium() else ["chromium"]) + simulator.missing()
    if pictures:
        missing += [package for package, family in _FONTS.items() if not process.output(["fc-list", family])[1].strip()]
    if missing and setup:
        packages.install(missing)
    elif missing:
        raise UserError(f"the site's tests need {', '.join(missing)}: install them, or leave out --no-setup")


def _try_browser() -> None:
    empty = [chromium() or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", "about:blank"]
    code, text = process.output(empty)
    if code != 0:
        raise UserError(f"Chromium does not start here: {' '.join(text.splitlines()[-1:])}")
