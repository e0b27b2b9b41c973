"""The bank lab: its layout is dragged, by mouse, finger and keys; after a prediction its wavefronts are stepped through."""

import re

import pytest

from tests.site.reader import data, said

LAB = "#explore-banks"
PAGE = "docs/bank-conflicts.html"
COLUMN = "bytes=4&across=1&pitch=32&xor=0&store=no"  # of a tile of 32 words: 32 wavefronts
# What slides, by its label in either language: the key in the address, and the values in turn.
SLIDERS = {
    "bytes": (re.compile("Each lane takes|每个 lane 取"), [4, 8, 16]),
    "across": (re.compile("Lanes lie in|lane 排成"), [1, 2, 4, 8, 16, 32]),
    "pitch": (re.compile("From row to row|行距"), list(range(1, 129))),
    "xor": (re.compile("XOR with the row|与行号异或"), [0, 1, 2, 3]),
}


def lab(visit, tree, state, **options):
    """The page with the lab in this state."""
    page = visit(f"{tree}{PAGE}#explore-banks?{state}", **options)
    page.locator(f"{LAB} .bank-grid span.used").first.wait_for()
    page.locator(f"{LAB} .sliders").scroll_into_view_if_needed()
    return page


def state(page) -> dict[str, str]:
    """What the address says of the lab."""
    query = page.evaluate("location.hash").partition("?")[2]
    return dict(pair.split("=") for pair in query.split("&"))


def slider(page, key):
    """The slider of one key of the address."""
    return page.get_by_role("slider", name=SLIDERS[key][0])


def thumb(page, key, value) -> tuple[float, float]:
    """Where a slider's thumb stands for a value, at about the middle of its own width."""
    values = SLIDERS[key][1]
    box = slider(page, key).bounding_box()
    inset = 10  # the thumb stays within the track
    return box["x"] + inset + (box["width"] - 2 * inset) * values.index(value) / (len(values) - 1), box["y"] + box[
        "height"
    ] / 2


def touched(page, moves) -> None:
    """A finger that is put down at the first place, moved to the others, and lifted."""
    session = page.context.new_cdp_session(page)
    for kind, (x, y) in zip(["touchStart"] + ["touchMove"] * (len(moves) - 1), moves, strict=True):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def check(page, guess) -> None:
    """Predicts, and has it checked."""
    page.fill(f"{LAB} input[inputmode=numeric]", str(guess))
    page.locator(f"{LAB} button.check").click()
    data(page, "banks", "wavefronts")


@pytest.mark.parametrize(("key", "begins", "ends"), [("bytes", 4, 16), ("across", 1, 8), ("xor", 0, 3)])
def test_a_slider_is_dragged_by_mouse_and_finger(visit, tree, key, begins, ends):
    page = lab(visit, tree, COLUMN)
    page.mouse.move(*thumb(page, key, begins))
    page.mouse.down()
    page.mouse.move(*thumb(page, key, ends), steps=4)
    page.mouse.up()
    assert state(page)[key] == str(ends)
    narrow = lab(visit, tree, COLUMN, width=380, has_touch=True)
    from_x, y = thumb(narrow, key, begins)
    to_x, _ = thumb(narrow, key, ends)
    touched(narrow, [(from_x + (to_x - from_x) * i / 8, y) for i in range(9)])
    assert state(narrow)[key] == str(ends)


def test_a_slider_obeys_the_arrow_keys_and_says_what_it_means(visit, tree):
    page = lab(visit, tree, COLUMN)
    slider(page, "pitch").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["pitch"] == "33"
    assert re.fullmatch("33 words|33 个字", slider(page, "pitch").get_attribute("aria-valuetext"))
    page.keyboard.press("Home")
    assert state(page)["pitch"] == "1"
    slider(page, "bytes").focus()
    page.keyboard.press("End")
    assert state(page)["bytes"] == "16"
    assert state(page)["pitch"] == "4", "16 bytes are aligned to 16"


@pytest.mark.parametrize("finger", [False, True], ids=["mouse", "finger"])
def test_a_row_of_lanes_is_dragged_in_the_picture(visit, tree, finger):
    page = lab(visit, tree, COLUMN, **({"width": 380, "has_touch": True} if finger else {}))
    box = page.locator(f"{LAB} .bank-grid [data-lane='1']").bounding_box()
    grid = page.locator(f"{LAB} .bank-grid").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    moves = [(x + grid["width"] / 32 * i / 4, y) for i in range(13)]  # three banks to the right
    if finger:
        touched(page, moves)
    else:
        page.mouse.move(x, y)
        page.mouse.down()
        for place in moves:
            page.mouse.move(*place)
        page.mouse.up()
    assert state(page)["pitch"] == "35"
    assert slider(page, "pitch").get_attribute("aria-valuetext").startswith("35")


def test_wavefronts_are_stepped_through_after_a_prediction(visit, tree):
    page = lab(visit, tree, COLUMN)
    page.locator(f"{LAB} button.check").click()
    assert len(said(page, "banks")) > 5, "without a prediction nothing is shown, and a sentence says so"
    assert page.locator(f"{LAB} .now").count() == 0
    check(page, 32)
    for lane in range(32):
        assert page.locator(f"{LAB} .bank-grid .now").all_text_contents() == [str(lane)]
        assert state(page)["pass"] == str(lane + 1)
        sentence = page.locator(f"{LAB} .pass").text_content()
        assert re.search(rf"lane {lane} (gets words from|从) bank 0", sentence), sentence
        if lane < 31:
            page.locator(f"{LAB} button", has_text=re.compile("^(next wavefront|下一个 wavefront)$")).click()
    page.locator(f"{LAB} button", has_text=re.compile("^(back|后退)$")).click()
    assert state(page)["pass"] == "31"
    page.get_by_role("slider", name=re.compile("Step through|逐个看")).focus()
    page.keyboard.press("ArrowLeft")
    assert state(page)["pass"] == "30"


def test_an_address_with_a_wavefront_shows_it(visit, tree):
    page = lab(visit, tree, "bytes=16&across=8&pitch=32&xor=0&store=no&guess=4&pass=2")
    assert data(page, "banks", "wavefronts") == "4"
    assert data(page, "banks", "pass") == "2"
    # The second quarter-warp: a row of 8 chunks of 16 bytes.
    assert page.locator(f"{LAB} .bank-grid .now").count() == 32
    assert page.locator(f"{LAB} .bank-grid .served").count() == 32
    assert page.locator(f"{LAB} .bank-grid .used").count() == 64


def test_what_is_dragged_after_the_check_has_to_be_predicted_again(visit, tree):
    page = lab(visit, tree, COLUMN)
    check(page, 32)
    slider(page, "pitch").focus()
    page.keyboard.press("ArrowRight")
    assert "pass" not in state(page) or state(page)["pass"] == ""
    assert page.locator(f"{LAB} .now").count() == 0
    check(page, 1)
    assert data(page, "banks", "wavefronts") == "1"
