"""The pictures on a dark page: every colour that is drawn has one, and is seen there as well as on a light page."""

import itertools
import re

import pytest

from base.paths import ROOT
from plots import dark, style

PICTURES = sorted([*(ROOT / "plots" / "charts").glob("*.svg"), *(ROOT / "docs" / "figures").glob("*.svg")])
COLOUR = re.compile(r'(?:fill|stroke)(?:="|: ?)(#[0-9a-fA-F]{3,8}|[a-z]+)')
RULE = re.compile(r'^\[(?:fill="|stroke="|style\*="fill: |style\*="stroke: )(#[0-9a-f]{6})"\]', re.MULTILINE)
NONE = {"none", "freeze"}


def test_two_colours_have_the_contrast_that_they_have_on_a_light_page():
    tones = [
        tone for of in (style.A, style.B, style.C, style.THREAD) for tone in (of.strong, of.middle, of.pale, of.ink)
    ]
    for one, other in itertools.combinations([*tones, style.INK, style.MUTED, style.PANEL, style.RED, "#ffffff"], 2):
        light = max(style.contrast(one, other), style.contrast(other, one))
        turned = max(style.contrast(dark.dark(one), dark.dark(other)), style.contrast(dark.dark(other), dark.dark(one)))
        assert turned == pytest.approx(light, rel=0.06), (one, other)


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_each_colour_of_a_picture_has_one_for_dark_pages(path):
    text = path.read_text(encoding="utf-8")
    block = re.search(r"@media \(prefers-color-scheme:dark\)\{\n(.*?)\n\}\n</style>", text, re.DOTALL)
    assert block, "no colours for dark pages"
    drawn = set(COLOUR.findall(text.replace(block[0], ""))) - NONE
    assert drawn and drawn <= set(RULE.findall(block[1]))
