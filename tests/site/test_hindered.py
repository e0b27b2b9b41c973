"""What hinders a page: no JavaScript, no server, no mouse, a finger, no workers, no WebAssembly, no memory, a closed tab. It
is a book without scripts, works from files, and else says in a sentence what is wrong."""

import math
import re

import pytest
from playwright.sync_api import Page

from tests.site.reader import SITE, button, data, said, until_said

STEP = "steps/03_smem_tiling/index.html"
LONG = "steps/26_clusters/index.html"  # its run takes seconds
WAVES = "docs/start-here.html"
UNABLE = {"": "This browser has no WebAssembly", "zh/": "这个浏览器没有 WebAssembly"}
# Scripts that take from the browser what the simulator needs.
WITHOUT = {
    "WebAssembly": "delete window.WebAssembly",
    # It has it, but cannot compile the module: here a section of no known kind.
    "its features": """const get = window.fetch;
        window.fetch = async (what, ...rest) => /ptxsim\\.wasm$/.test(what)
          ? new Response(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 99, 0])) : get(what, ...rest)""",
    "workers": "delete window.Worker",
    "leave for workers": "window.Worker = class { constructor() { throw new DOMException('refused', 'SecurityError'); } }",
}
NO_MORE = "WebAssembly.Memory.prototype.grow = () => { throw new RangeError(); };"


def predict(page: Page, number: str = "2") -> None:
    """Writes a prediction for the step's run and presses the button."""
    page.locator("#explore-run tr[data-line]").first.wait_for()
    page.fill("#explore-run input[inputmode=decimal]", number)
    button(page, "run", "Predict and run", "先预测，再运行").click()


def is_over(page: Page) -> None:
    """Nothing turns on and on: the button can be pressed again."""
    page.wait_for_function("!document.querySelector('#explore-run .controls + p + .controls button').disabled")


@pytest.mark.parametrize("from_files", [False, True], ids=["served", "files"])
def test_without_javascript_it_is_a_book(visit, tree, from_files):
    root = SITE.as_uri() if from_files else visit.root
    for where in ("index.html", STEP, WAVES, "docs/glossary.html"):
        page = visit(f"{root}/{tree}{where}", java_script_enabled=False)
        assert page.locator("article h1").is_visible()
        assert len(page.locator("article").inner_text()) > 1000
        for picture in page.locator("article img").all():
            picture.scroll_into_view_if_needed()
            assert picture.bounding_box()["height"] > 10, f"{picture.get_attribute('src')} is not shown"
        for answer in page.locator("article details:visible").all():
            was = answer.bounding_box()["height"]
            answer.locator("summary").first.click()
            assert answer.bounding_box()["height"] > was, f"{answer.inner_text()[:60]} does not open"
        text = page.locator("body").inner_text()
        assert not re.search(r"loading( the|…| …|\.\.\.)|please wait|正在加载|请稍候", text, re.IGNORECASE)
        assert not page.locator("article :is(button, input, textarea, progress):visible").count()
    links = page.locator("article a[href]:not([href^='#']):visible")
    links.first.click()
    assert page.locator("article h1").is_visible(), "links lead on"


def test_a_step_runs_from_files(visit, tree):
    page = visit(f"{SITE.as_uri()}/{tree}{STEP}")
    predict(page)
    assert data(page, "run", "counts")
    assert data(page, "run", "same") == "true"


def waves(page: Page) -> int:
    """How many the chosen tile makes of 4096×4096 on 132 multiprocessors."""
    bm, bn = map(int, page.locator("#explore-waves select").first.input_value().split("x"))
    return math.ceil(4096 // bm * (4096 // bn) / 132)


def test_a_finger_taps_and_is_answered(visit, tree):
    page = visit(f"{tree}{WAVES}", width=380, has_touch=True)
    page.tap("#explore-waves input[inputmode=decimal]")
    page.keyboard.type("3")
    button(page, "waves", "Check", "检查").tap()
    assert int(data(page, "waves", "waves")) == waves(page)


def test_the_keyboard_alone_is_answered(visit, tree):
    page = visit(f"{tree}{WAVES}")

    def tab_to(selector: str) -> None:
        for _ in range(300):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        pytest.fail(f"Tab does not lead to {selector}")

    tab_to("#explore-waves select")
    before = page.locator("#explore-waves select").first.input_value()
    page.keyboard.press("ArrowUp")
    assert page.locator("#explore-waves select").first.input_value() != before
    tab_to("#explore-waves input[inputmode=decimal]")
    page.keyboard.type("3")
    tab_to("#explore-waves button")
    page.keyboard.press("Space")
    assert int(data(page, "waves", "waves")) == waves(page)


@pytest.mark.parametrize("what", WITHOUT)
def test_without_what_it_needs_a_page_says_so(visit, tree, what):
    page = visit(f"{tree}{STEP}", before=WITHOUT[what])
    predict(page)
    until_said(page, "run", UNABLE[tree])
    is_over(page)


@pytest.mark.parametrize(
    ("size", "refuses", "words"),
    [(3_000_000_000, "", "an array of 2861 MiB is too large"), (300_000_000, NO_MORE, "no more memory")],
    ids=["beyond the module", "beyond the tab"],
)
def test_a_size_too_large_for_the_memory_gets_a_sentence(visit, tree, size, refuses, words):
    page = visit(f"{tree}{STEP}")
    page.locator("#explore-run tr[data-line]").first.wait_for()
    page.evaluate(
        """async ([size, refuses]) => {
          const place = document.querySelector("#explore-run");
          const kernel = await explorables.recorded("kernels", place.dataset.step, place.dataset.variants.split(" ")[0]);
          kernel.runs[0].allocations[0] = size;
          await explorables.script("simulator.js");
          explorables.worker = refuses + explorables.worker;
        }""",
        [size, refuses],
    )
    predict(page)
    until_said(page, "run", words)
    is_over(page)


def test_a_kernel_that_does_not_arrive_gets_a_sentence(visit, tree):
    page = visit(f"{tree}{STEP}", service_workers="block")
    page.route("**/kernels/*.js", lambda route: route.abort())
    page.reload()
    until_said(page, "run", "kernels/03_smem_tiling")
    visit.problems[:] = [each for each in visit.problems if "ERR_FAILED" not in each]


def test_a_tab_closed_in_the_middle_does_no_harm(visit, tree):
    page = visit(f"{tree}{STEP}#explore-run?size=1")
    context = page.context
    predict(page)
    page.wait_for_function("document.querySelector('#explore-run progress').value > 0")
    where = page.url
    page.close(run_before_unload=True)
    if not page.is_closed():
        page.wait_for_event("close")
    again = context.new_page()
    visit.listen(again)
    again.goto(where)
    assert "guess=2" in where, "the address keeps the prediction"
    button(again, "run", "Predict and run", "先预测，再运行").click()
    assert data(again, "run", "same") == "true"
    assert said(again, "run")


def test_a_run_can_be_stopped(visit, tree):
    page = visit(f"{tree}{LONG}#explore-run?size=1")
    predict(page)
    page.wait_for_function("document.querySelector('#explore-run progress').value > 0")
    button(page, "run", "Stop", "停止").click()
    until_said(page, "run", {"": "Stopped.", "zh/": "已停止。"}[tree])
    is_over(page)
