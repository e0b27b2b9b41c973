"""The built site in headless Chromium, as a reader has it: `./gemm test --site` starts these tests.

The site is served below a folder, as on GitHub Pages, so that a link from the root leads nowhere.
"""

import functools
import http.server
import threading

import pytest
from playwright.sync_api import sync_playwright

from tests.site.reader import SITE, Visit, recorded
from tools.site import EXPLORABLES, check, explorable

FOLDER = "/course/"
SIX = ("03", "09", "16", "20", "24", "26")


def pytest_addoption(parser):
    """The options of these tests."""
    parser.addoption("--short", action="store_true", help="two steps' pages, six kernels")
    parser.addoption("--keep", action="store_true", help="the pictures that are taken become the references")


def pytest_generate_tests(metafunc):
    """`tree`: each language's pages. `kernel`: the recorded files. `runs`, `breaks`, `rings`, `follows`: the steps whose pages have that explorable."""
    if "tree" in metafunc.fixturenames:
        metafunc.parametrize("tree", ["", "zh/"], ids=["en", "zh"])
    if "kernel" in metafunc.fixturenames:
        metafunc.parametrize("kernel", kernels(metafunc.config.getoption("short")))
    followed = [step for step in explorable.FOLLOWED if step in recorded()]
    of = {
        "runs": (recorded(), ("03", "20")),
        "breaks": (recorded("mistakes"), ("03", "22")),  # with errors, and with a warning
        "rings": (recorded("rings"), ("24",)),
        "follows": (followed, ("03",)),
    }
    for name, (steps, few) in of.items():
        if name in metafunc.fixturenames:
            short = metafunc.config.getoption("short")
            metafunc.parametrize(name, [step for step in steps if not short or step[:2] in few])


def kernels(short: bool) -> list[str]:
    """The files with recorded runs; in the short form the default variants of six steps."""
    names = (EXPLORABLES / "variants.txt").read_text(encoding="utf-8").split()
    return [next(name for name in names if name.startswith(number)) for number in SIX] if short else names


@pytest.fixture(scope="session")
def short(pytestconfig) -> bool:
    """Whether only some are looked at."""
    return pytestconfig.getoption("short")


@pytest.fixture(scope="session")
def served():
    """The site's address on this machine."""

    class Server(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            inside = path.removeprefix(FOLDER)
            return str(SITE / "none") if inside == path else super().translate_path("/" + inside)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}{FOLDER.rstrip('/')}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """The distribution's Chromium, without a window."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=check.chromium(), args=["--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def visit(browser, served):
    """Opens pages of the site. In the end their consoles have said nothing, and nothing has come from elsewhere."""
    opened = Visit(browser, served)
    yield opened
    opened.end()
    assert not opened.problems
