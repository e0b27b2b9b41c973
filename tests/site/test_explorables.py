"""The explorables, used with mouse and keyboard in both languages; their numbers are the native simulator's."""

import json
import re
from urllib.parse import urlencode

import pytest

from base.paths import ROOT
from tests.site.reader import SITE, button, data, native, said, until_said

STEP = re.compile(r"\d+")
# Of a tile of numbers the sum that the tensor core makes of it.
DIGITS = [
    # Two ones beside 2^24 count where they are added at once, which FP32 one by one loses.
    ("bf16", "16777216 1 1", 16777218),
    ("f16", "1 2 3", 6),
    ("f16", "2048 1 1 0.1 -2048", 2.0999755859375),
    # FP8 keeps 13 bits below the largest: 2^-5 beside 2^8 is kept, 2^-6 is not, however many of them there are.
    ("e4m3", "256 1 0.03125 0.015625 0.015625", 257.03125),
    ("e5m2", "256 1 0.03125 0.015625 0.015625", 257.03125),
    # 0.1 is 209715 · 2^-21 where 3 decides on the power of two.
    ("digits", "1 0.1 -3", -1.9000000953674316),
]
UNKNOWN = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry f()\n{\nfrobnicate.u32 1;\nret;\n}\n"


def there(tree: str, step: str) -> str:
    """A step's page; some are in one language alone."""
    where = f"{tree}steps/{step}/index.html"
    if not (SITE / where).is_file():
        pytest.skip(f"there is no {where}")
    return where


def run(page) -> None:
    """Predicts 1.5 and runs, by keyboard."""
    page.locator("#explore-run tr[data-line]").first.wait_for()
    page.click("#explore-run input[inputmode=decimal]")
    page.keyboard.type("1.5")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    data(page, "run", "counts")


def test_a_step_runs_and_counts_what_it_counts_natively(visit, tree, runs):
    page = visit(there(tree, runs))
    page.locator("#explore-run tr[data-line]").first.wait_for()
    button(page, "run", "Predict and run", "先预测，再运行").click()
    assert len(said(page, "run")) > 5, "without a prediction nothing runs, and a sentence says so"
    run(page)
    variant = page.get_attribute("#explore-run", "data-variants").split()[0]
    symbol = page.evaluate(
        "([step, variant]) => explorables.recorded('kernels', step, variant)"
        ".then(({ runs }) => runs[0].launches[explorables.main(runs[0])].kernel)",
        [runs, variant],
    )
    kernel = next(each for each in native(f"{runs}.{variant}")[0]["kernels"] if each["symbol"] == symbol)
    assert json.loads(data(page, "run", "counts")) == kernel["counts"]
    assert data(page, "run", "same") == "true", "C is the native one"
    assert "guess=1.5" in page.url, "the address keeps the prediction"
    # A line's requests by one warp are as many wavefronts each as the line's counts say.
    for line in kernel["lines"]:
        wavefronts, requests = (line["counts"][f"shared_load_{of}"] for of in ("wavefronts", "requests"))
        if requests:
            page.click(f"#explore-run tr[data-line='{line['line']}'] button")
            first = json.loads(data(page, "run", "requests"))[0]
            assert wavefronts % requests or first.get("wavefronts") in (None, wavefronts // requests)
            break


def test_a_step_is_stepped_through_and_back(visit, tree):
    page = visit(there(tree, "03_smem_tiling"))
    run(page)
    button(page, "run", "Step through it", "单步执行").click()
    told = page.locator("#explore-run h3 ~ p[role=status]")
    told.wait_for()

    def steps_after(*words: str) -> int:
        before = told.text_content()
        button(page, "run", *words).click()
        page.wait_for_function(
            "before => document.querySelector('#explore-run h3 ~ p[role=status]').textContent !== before", arg=before
        )
        return int(STEP.search(told.text_content())[0])

    assert int(STEP.search(told.text_content())[0]) == 0
    assert steps_after("an instruction", "一条指令") == 1
    assert steps_after("until it waits", "直到它等待") > 1
    assert steps_after("back", "后退") == 1


@pytest.mark.parametrize(
    ("text", "words"), [(UNKNOWN, "frobnicate"), ("int main() {}", "entry")], ids=["unknown", "none"]
)
def test_bad_ptx_gets_a_sentence(visit, tree, text, words):
    page = visit(there(tree, "03_smem_tiling"))
    page.locator("#explore-run tr[data-line]").first.wait_for()
    page.click("#explore-run details summary")
    page.fill("#explore-run textarea", text)
    button(page, "run", "Run this PTX", "运行这段 PTX").click()
    until_said(page, "run", words)


def test_waves(visit, tree):
    # 512 tiles on 132 multiprocessors: four waves, of which 16 places, 3.0 %, stay empty.
    page = visit(f"{tree}docs/start-here.html#explore-waves?m=4096&n=4096&tile=128x256&sms=132&guess=3")
    page.locator("#explore-waves button").first.click()
    assert data(page, "waves", "waves") == "4"
    assert "3.0" in said(page, "waves")


@pytest.mark.parametrize(("type", "row", "total"), DIGITS, ids=[f"{type} {row}" for type, row, _ in DIGITS])
def test_digits(visit, tree, type, row, total):
    page = visit(f"{tree}docs/tensor-cores.html#explore-digits?{urlencode({'type': type, 'row': row, 'guess': 1})}")
    page.locator("#explore-digits button").first.click()
    assert float(data(page, "digits", "sum")) == total


def test_a_row_with_a_letter_gets_a_sentence(visit, tree):
    page = visit(f"{tree}docs/tensor-cores.html#explore-digits?row=1+x&guess=1")
    page.locator("#explore-digits button").first.click()
    until_said(page, "digits", "x")


def test_a_mistake_is_reported_as_natively(visit, tree, breaks):
    page = visit(there(tree, breaks))
    page.locator("#explore-break select").nth(1).select_option("report")
    page.click("#explore-break > button")
    data(page, "break", "outcome")
    report = native(f"{breaks}.mistakes")[0]["reports"][0]
    assert f"{report['kind']}:" in page.locator("#explore-break details").first.text_content()
    if report.get("unordered"):
        page.click("#explore-break button.order")
        page.locator("#explore-break svg.order").wait_for()
        assert json.loads(data(page, "break", "unordered")) == report["unordered"], "the clocks of both accesses"


def test_a_mistake_that_earns_a_warning_alone(visit, tree, breaks):
    found = native(f"{breaks}.mistakes")
    number = next((i for i, each in enumerate(found) if each["warnings"] and not each["reports"]), None)
    if number is None:
        pytest.skip(f"{breaks} has none")
    page = visit(f"{there(tree, breaks)}#explore-break?mistake={number}&guess=warned")
    page.locator("#explore-break pre").wait_for()
    page.click("#explore-break > button")
    assert data(page, "break", "outcome") == "warned"
    warning = found[number]["warnings"][0]
    shown = page.locator("#explore-break .warning").first.text_content()
    assert shown.endswith(f"{warning['kind']}: {warning['message']}")


def test_a_mistake_that_ends_the_launch(visit, tree, breaks):
    """It is reported as natively, and what the launch has left of C is compared."""
    page = visit(there(tree, breaks))
    number = page.evaluate(
        "step => explorables.recorded('kernels', step, 'mistakes')"
        ".then(({ runs }) => runs.findIndex(({ launches }) => launches.every(({ results }) => !results.length)))",
        breaks,
    )
    if number < 0:
        pytest.skip(f"{breaks} has none")
    page = visit(f"{there(tree, breaks)}#explore-break?mistake={number}&guess=both")
    page.locator("#explore-break pre").wait_for()
    page.click("#explore-break > button")
    assert data(page, "break", "outcome") == "both"
    shown = page.locator("#explore-break .problem").first.text_content()
    report = native(f"{breaks}.mistakes")[number]["reports"][0]
    assert shown == f"{report['kind']}: {report['message']}"


def native_events(step: str) -> list[dict]:
    """The events of a step as the native simulator recorded them (lab/events.py packs them)."""
    packed = json.loads((ROOT / "records" / "simulator" / "events" / f"{step}.json").read_text(encoding="utf-8"))
    shapes = packed["shapes"]
    return [{"kind": shapes[i][0], **dict(zip(shapes[i][1:], values, strict=False))} for i, *values in packed["events"]]


def same(event: dict) -> dict:
    """What of an event does not depend on who recorded it."""
    left_out = ("seq", "stamp", "site", "previous")
    return {key: value for key, value in event.items() if key not in left_out and value is not None}


def test_a_ring_plays_the_native_events(visit, tree, rings):
    page = visit(there(tree, rings))
    page.click("#explore-rings input[inputmode=numeric]")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    data(page, "rings", "events")
    got = page.evaluate("document.querySelector('#explore-rings').events")
    assert [same(event) for event in got] == [same(event) for event in native_events(rings)]


def test_without_an_arrival_a_ring_stands_still(visit, tree, rings):
    events = native_events(rings)
    arrivals = [i for i, each in enumerate(events) if each["kind"] == "mbarrier_arrive" and each["phase"] == 1]
    if not arrivals:
        pytest.skip(f"{rings} has no mbarrier")
    page = visit(f"{there(tree, rings)}#explore-rings?guess=3&at={arrivals[0] - 1}")
    # The slider obeys the keyboard, and the address keeps its place.
    page.focus("#explore-rings input[type=range]", timeout=120_000)
    page.keyboard.press("ArrowRight")
    page.locator("#explore-rings .take-away").wait_for()
    assert f"at={arrivals[0]}" in page.url
    page.locator("#explore-rings .ring-now select").select_option("deadlock")
    page.click("#explore-rings .take-away")
    assert data(page, "rings", "outcome") == "deadlock"
    page.locator("#explore-rings .problem", has_text="deadlock in").wait_for()
