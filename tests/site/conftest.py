"""The built site in headless Chromium, as a reader has it: `./gemm test --site` starts these tests.

The site is served below a folder, as on GitHub Pages, so that a link from the root leads nowhere.
"""

import functools
import http.server
import threading
from collections import Counter

import pytest
from playwright.sync_api import sync_playwright

from tests.site.reader import SITE, Visit, recorded
from tools.site import EXPLORABLES, check, explorable

FOLDER = "/course/"
SHORT_CASES = 2  # of a test, for each language


def pytest_addoption(parser):
    """The options of these tests."""
    parser.addoption("--short", action="store_true", help="one step's page, and of each test two cases")
    parser.addoption("--keep", action="store_true", help="the pictures that are taken become the references")


def pytest_generate_tests(metafunc):
    """Cases by the names of a test's arguments: each language's pages, the recorded files, and the steps whose pages have
    an explorable to run, to break, with a ring, or to follow elements."""
    short = metafunc.config.getoption("short")
    names = (EXPLORABLES / "variants.txt").read_text(encoding="utf-8").split()
    cases = {
        "tree": ["", "zh/"],
        "kernel": names,
        "runs": recorded()[: 1 if short else None],
        "breaks": recorded("mistakes"),
        "rings": recorded("rings"),
        "follows": [step for step in explorable.FOLLOWED if step in recorded()],
    }
    for name in metafunc.fixturenames:
        if name in cases:
            metafunc.parametrize(name, cases[name], ids=lambda case: {"": "en", "zh/": "zh"}.get(case, case))


def pytest_collection_modifyitems(config, items):
    """In the short form, of each test the first cases of each language."""
    if not config.getoption("short"):
        return
    taken, left_out = [], []
    seen = Counter()
    for item in items:
        case = (item.function, item.callspec.params.get("tree") if hasattr(item, "callspec") else None)
        seen[case] += 1
        (left_out if "kernel" not in item.fixturenames and seen[case] > SHORT_CASES else taken).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = taken


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
