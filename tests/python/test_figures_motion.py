"""The pictures that move: the still one is whole, reduced motion is respected, there is no script."""

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from plots.figures import gallery, motion, overlap, timelines
from plots.figures.svg import Canvas
from plots.figures.text import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]


DRAWINGS = dict(gallery.drawings())
TIME_LINES = [
    *(f"{line.name}-timeline" for line in timelines.all_lines()),
    "double-buffering",
    "17_wmma_stages-ring",
    "21_mma_persistent-blocks",
    "24_warp_specialised-ring",
    "25_overlapped_store-timeline",
    "26_clusters-ring",
]
MOVING = ["03_smem_tiling", *TIME_LINES]
REDUCED = re.compile(r"@media \(prefers-reduced-motion:no-preference\)\{\n(.*?)\n\}", re.DOTALL)


@cache
def svg(name: str, language: str = "en") -> str:
    return DRAWINGS[name](language).svg()


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def styles(text: str) -> str:
    return tree(text).findtext("style") or ""


def test_the_pictures_in_which_time_is_the_idea_move_and_no_other():
    assert {name for name in DRAWINGS if styles(svg(name))} == set(MOVING)


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("language", LANGUAGES)
def test_without_motion_the_picture_is_whole(name, language, monkeypatch):
    """What the motion adds cannot be seen when it stands still, and what it moves is not moved."""
    moving = tree(svg(name, language))
    marks = {"slice-a", "slice-b"}  # of step 03: part of the still picture
    added = [part for part in moving if part.get("class") and part.get("class") not in marks]
    assert added and all(part.get("opacity") == "0" and part.tag != "text" for part in added)
    assert all(part.get("transform") is None for part in moving if part.get("class"))
    for function in ("sweep", "walk", "alternate"):
        monkeypatch.setattr(motion, function, lambda *_: None)
    still = tree(DRAWINGS[name](language).svg())
    kept = [part for part in moving if part.tag != "style" and part not in added]
    assert [ElementTree.tostring(part) for part in kept] == [ElementTree.tostring(part) for part in still]


@pytest.mark.parametrize("name", MOVING)
def test_reduced_motion_is_respected(name):
    """Outside the blocks for readers who have not asked for less motion, there are keyframes and nothing else."""
    text = styles(svg(name))
    inside = "\n".join(REDUCED.findall(text))
    outside = [line for line in REDUCED.sub("", text).splitlines() if line]
    assert outside and all(line.startswith("@keyframes ") for line in outside)
    used = set(re.findall(r"animation:([a-z-]+)", inside))
    assert used == {line.split("{")[0].removeprefix("@keyframes ") for line in outside}
    shown = {part.get("class") for part in tree(svg(name)).iter() if part.get("class")}
    assert shown == set(re.findall(r"^\.([a-z-]+)\{", inside, re.MULTILINE))


@pytest.mark.parametrize("name", MOVING)
def test_a_loop_lasts_as_long_as_it_is_told(name):
    seconds = {float(each) for each in re.findall(r" ([\d.]+)s (?:linear|steps)", styles(svg(name)))}
    assert max(seconds) == motion.SECONDS and 6 <= motion.SECONDS <= 10
    assert all(motion.SECONDS % each == 0 for each in seconds)  # all return to the start together


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_picture_runs_a_script_or_asks_for_a_file(name):
    for part in tree(svg(name)).iter():
        assert part.tag not in {"script", "foreignObject", "image", "use", "a"} and not part.tag.startswith("animate")
        assert not [key for key in part.attrib if key.startswith("on") or key.endswith("href")]
    assert not re.search(r"@import|url\(", svg(name))


@pytest.mark.parametrize("name", TIME_LINES)
def test_the_line_runs_over_all_that_takes_time(name):
    """The veil begins where the tracks begin, ends behind the last of them, and the line goes all the way."""
    parts = tree(svg(name))
    veils = [part for part in parts if part.get("class") == "later"]
    left = {float(veil.get("x")) for veil in veils}
    right = {float(veil.get("x")) + float(veil.get("width")) for veil in veils}
    assert len(left) == len(right) == 1
    bands = [(float(veil.get("y")), float(veil.get("y")) + float(veil.get("height"))) for veil in veils]
    for part in parts.findall("rect")[1:]:  # the first is the panel
        x, y, width = (float(part.get(key)) for key in ("x", "y", "width"))
        if part.get("class") is None and any(top <= y < bottom for top, bottom in bands):
            assert min(left) <= x and x + width <= max(right)
    line = next(part for part in parts if part.get("class") == "now").get("d")
    starts = re.findall(r"M([\d.]+) ", line)
    assert {float(x) for x in starts} == left and len(starts) == len(veils)
    assert f"translateX({max(right) - 2 - min(left):g}px)" in styles(svg(name))


def test_both_lines_of_step_25_share_one_time():
    """The line would tell two times at once if the step before were drawn on another scale."""
    veils = re.findall(r'<rect x="(\S+)" \S+ width="(\S+)" [^>]*class="later"', svg("25_overlapped_store-timeline"))
    assert veils == [(f"{overlap.LEFT:g}", f"{overlap.RIGHT + 2 - overlap.LEFT:g}")] * 2


def test_the_veil_ends_where_the_line_stands():
    """Both are linear between the same two moments, so that they are never more than the margin's 2 pixels apart."""
    canvas = Canvas(400, 100, "t")
    motion.sweep(canvas, 50, 350, [(20, 80)])
    later, now = canvas.styles[:2]
    assert re.findall(r"([\d.]+)%", later) == re.findall(r"([\d.]+)%", now)
    assert ".later{transform-origin:352px 0;" in "".join(canvas.styles)
    assert "scaleX(0)" in later and "translateX(300px)" in now
