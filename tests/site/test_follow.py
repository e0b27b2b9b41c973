"""'Where does this element go?': what the page shows is what the native simulator says of an element (tools/site/follow.py),
and back from C, a bank and a lane leads to the right elements of A and B."""

import json
from urllib.parse import urlencode

from tests.site.reader import data, native, said


def essence(answer: dict) -> dict:
    """What of an answer does not depend on the inputs, which are others in the native run, nor on where sources lay."""
    words = {(feed["allocation"], feed["offset"] + i >> 2) for feed in answer["feeds"] for i in range(feed["bytes"])}
    # The first byte that a mark touches counts, but not in a sum, where it is a number.
    marks = [
        {key: value for key, value in mark.items() if key != "first_byte" or not mark.get("sum")}
        for mark in answer["marks"]
    ]
    kept = {key: answer[key] for key in ("element", "clusters", "cluster", "blocks", "steps")}
    sites = {site: (each["instruction"], each["line"]) for site, each in answer["sites"].items()}
    return {**kept, "marks": marks, "sites": sites, "words of C": len(words)}


def link(tree: str, step: str, **state: object) -> str:
    """The address of a step's page in this state of the explorable."""
    return f"{tree}steps/{step}/index.html#explore-follow?{urlencode(state)}"


def shared(answer: dict) -> dict:
    """The first mark in shared memory."""
    return next(mark for mark in answer["marks"] if mark["kind"] == "shared")


def test_an_element_goes_where_it_goes_natively(visit, tree, follows):
    for asked in native(f"{follows}.follow"):
        page = visit(link(tree, follows, **{key: asked[key] for key in ("of", "row", "col")}))
        page.locator("#explore-follow .matrices svg").first.wait_for()
        page.click("#explore-follow input[inputmode=numeric]")
        page.keyboard.press("Enter")
        assert len(said(page, "follow")) > 5, "a sentence asks for a prediction"
        bank = shared(asked["followed"])["bank"]
        page.keyboard.type(str(bank))
        page.keyboard.press("Enter")
        data(page, "follow", "followed")
        answer = page.evaluate("document.querySelector('#explore-follow').followed")
        assert essence(answer) == essence(asked["followed"])
        assert "right" in said(page, "follow") or "正确" in said(page, "follow")
        assert f"guess={bank}" in page.url, "the address keeps the prediction"


def test_shared_memory_leads_back_to_the_element(visit, tree, follows):
    asked = native(f"{follows}.follow")[0]
    mark = shared(asked["followed"])
    back = f"shared:{mark['shared'] // 4 * 4}:{mark['step'] + 1}"
    page = visit(link(tree, follows, of=asked["of"], row=asked["row"], col=asked["col"], guess=1, back=back, count=1))
    (array, rows, first, cols, *_), *_ = json.loads(data(page, "follow", "back"))
    assert [array, rows, first, cols] == [0, 1, asked["row"], 4 / asked["followed"]["element"]["bytes"]]


def test_c_and_a_lane_lead_back_to_their_elements(visit, tree):
    asked = native("03_smem_tiling.follow")[0]
    where = {key: asked[key] for key in ("of", "row", "col")}
    page = visit(link(tree, "03_smem_tiling", **where, guess=1, back="c:9:11", count=1))
    made_of = json.loads(data(page, "follow", "back"))
    depth = made_of[0][3]
    assert made_of == [[0, 1, 9, depth, 0], [1, depth, 0, 1, 11]]
    # A lane by the keyboard: one that is pressed asks back.
    page.focus("#explore-follow .cells button.used")
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.inputMode === 'numeric' && location.hash.includes('back=lane')")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "before => document.querySelector('#explore-follow').dataset.back !== before",
        arg=json.dumps(made_of, separators=(",", ":")),
    )
    assert json.loads(data(page, "follow", "back")) == [[0, 1, asked["row"], 1, asked["col"]]]
