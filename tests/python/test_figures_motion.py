"""The pictures that move: the still one is whole, reduced motion is respected, there is no script."""

import re
from functools import cache
from xml.etree import ElementTree

import pytest

from plots.figures import gallery, motion
from plots.figures.text import LANGUAGES

DRAWINGS = dict(gallery.drawings())
REDUCED = re.compile(r"@media \(prefers-reduced-motion:no-preference\)\{\n(.*?)\n\}", re.DOTALL)


@cache
def svg(name: str, language: str = "en") -> str:
    return DRAWINGS[name](language).svg()


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def styles(text: str) -> str:
    return tree(text).findtext("style") or ""


MOVING = [name for name in DRAWINGS if styles(svg(name))]


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


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_picture_runs_a_script_or_asks_for_a_file(name):
    for part in tree(svg(name)).iter():
        assert part.tag not in {"script", "foreignObject", "image", "use", "a"} and not part.tag.startswith("animate")
        assert not [key for key in part.attrib if key.startswith("on") or key.endswith("href")]
    assert not re.search(r"@import|url\(", svg(name))
