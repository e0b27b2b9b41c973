"""Every chart at 380 px, the width of a phone: letters of at least 9 px, dark enough, none outside the chart or over another.
And every picture on a dark page: each colour has one there, and is seen as well as on a light page."""

import re
from itertools import combinations, product
from math import cos, degrees, radians, sin
from xml.etree import ElementTree

import pytest

from base.paths import ROOT
from plots import dark, layout, style
from plots.figures.svg import TextBox

PHONE = 380  # px
LEAST = 9.0  # px of the smallest letters there
ASCENT, DESCENT = 0.72, 0.2  # of a letter's size, above and below its baseline
CHARTS = sorted((ROOT / "plots" / "charts").glob("*.svg"))
PICTURES = sorted([*(ROOT / "plots" / "charts").glob("*.svg"), *(ROOT / "docs" / "figures").glob("*.svg")])
COLOUR = re.compile(r'(?:fill|stroke)(?:="|: ?)(#[0-9a-fA-F]{3,8}|[a-z]+)')
RULE = re.compile(r'^\[(?:fill="|stroke="|style\*="fill: |style\*="stroke: )(#[0-9a-f]{6})"\]', re.MULTILINE)
NONE = {"none", "freeze"}
SVG = "{http://www.w3.org/2000/svg}"


def declared(element, name):
    found = re.search(rf"(?:^|;)\s*{name}:\s*([^;]+)", element.get("style", ""))
    return found[1] if found else ""


def size_of(text):
    """The size of a text's letters in units of the picture; none of the charts scales a text."""
    assert "scale" not in text.get("transform", ""), "a text is scaled: its size is not what its style says"
    return float(declared(text, "font-size").removesuffix("px"))


def boxes_of(text):
    """Where a text lies. A slanted one has a box per letter: one around all of it would be far larger."""
    words, size = "".join(text.itertext()), size_of(text)
    em = size * (style.BOLD if declared(text, "font-weight") == "700" else 1)
    x, y = float(text.get("x")), float(text.get("y"))
    wide = style.em(words) * em
    at = {"start": 0.0, "middle": -wide / 2, "end": -wide}[declared(text, "text-anchor") or "start"]
    turn = re.search(r"rotate\((\S+)", text.get("transform", ""))
    angle = radians(float(turn[1])) if turn else 0.0
    found = []
    for piece in [words] if degrees(angle) % 90 == 0 else words:
        end = at + style.em(piece) * em
        corners = [
            (x + across * cos(angle) - down * sin(angle), y + across * sin(angle) + down * cos(angle))
            for across in (at, end)
            for down in (-ASCENT * size, DESCENT * size)
        ]
        xs, ys = zip(*corners, strict=True)
        found.append(TextBox(words, min(xs), min(ys), max(xs), max(ys)))
        at = end
    return found


def is_pale(text):
    """Whether letters on the panel lack contrast. White ones stand on a bar or in a dark cell."""
    colour = declared(text, "fill") or "#000000"
    return colour != "#ffffff" and style.contrast(colour) < style.READABLE


def problems(svg):
    """What a reader with a phone could not read in a chart."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.get("viewBox").split())
    texts = [text for text in root.iter(f"{SVG}text") if "".join(text.itertext()).strip()]
    lie = [boxes_of(text) for text in texts]
    found = [
        f"'{boxes[0].text}' has letters of {size * PHONE / width:.1f} px"
        for text, boxes in zip(texts, lie, strict=True)
        if (size := size_of(text)) * PHONE / width < LEAST
    ]
    found += [
        f"'{boxes[0].text}' leaves the chart"
        for boxes in lie
        if any(box.left < 0 or box.top < 0 or box.right > width or box.bottom > height for box in boxes)
    ]
    found += [f"'{boxes[0].text}' is too pale" for text, boxes in zip(texts, lie, strict=True) if is_pale(text)]
    return found + [
        f"'{one[0].text}' lies over '{other[0].text}'"
        for one, other in combinations(lie, 2)
        if any(a.covers(b) for a, b in product(one, other))
    ]


@pytest.mark.parametrize("path", CHARTS, ids=lambda path: path.name.removesuffix(".svg"))
def test_a_chart_is_readable_on_a_phone(path):
    assert problems(path.read_text(encoding="utf-8")) == []


def drawing(*texts, width=PHONE, fill="#1f2733", turn=0):
    """A picture with texts of a size at a place, all turned by an angle."""
    lines = [
        f'<text style="font-size: {size}px; text-anchor: start; fill: {fill}" x="{x}" y="{y}" transform="rotate({-turn} {x} {y})">{words}</text>'
        for words, size, x, y in texts
    ]
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 100">{"".join(lines)}</svg>'


def test_what_cannot_be_read_is_noticed():
    assert problems(drawing(("peak", 9, 10, 50), ("cuBLAS", 9, 60, 50))) == []
    assert problems(drawing(("peak", 9, 10, 50), width=390)) == ["'peak' has letters of 8.8 px"]
    assert problems(drawing(("peak", 9, 10, 50), fill="#dd8418")) == ["'peak' is too pale"]
    assert problems(drawing(("peak", 9, 370, 50))) == ["'peak' leaves the chart"]
    assert problems(drawing(("peak", 9, 10, 50), ("cuBLAS", 9, 20, 52))) == ["'peak' lies over 'cuBLAS'"]
    assert problems(drawing(("peak", 9, 10, 50), ("cuBLAS", 9, 14, 48), turn=45)) == ["'peak' lies over 'cuBLAS'"]
    assert problems(drawing(("peak of FP32", 9, 10, 80), ("cuBLAS", 9, 34, 80), turn=45)) == []
    assert problems(drawing(("peak", 9, 370, 50), turn=45)) == ["'peak' leaves the chart"]


@pytest.mark.parametrize("ems", range(4, 24))
def test_no_line_begins_or_ends_with_the_wrong_punctuation(ems):
    text = "每一步的默认变体，以及各阶梯的参照；括号内（绿色：超过 cuBLAS）为同一次运行中的比例，取 60%：“整步”是什么？"
    lines = layout.wrap(text, ems * layout.SMALL / 72, layout.SMALL)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "") and len(lines) > 1
    assert not [line for line in lines if line[0] in "，。；：、）”？%" or line[-1] in "（“"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("21 mma persistent：125 种尺寸里有 4 种不低于 cuBLAS，平均 ×0.765", ["21 mma persistent：125 种尺寸里有 4 种不低于 cuBLAS，", "平均 ×0.765"]),
        ("A load takes 32 cycles from L1, 280 from L2 and 668 from DRAM", ["A load takes 32 cycles from L1,", "280 from L2 and 668 from DRAM"]),
        ("The instruction's limit is lower than shared memory's bound", ["The instruction's limit is lower", "than shared memory's bound"]),
    ],
)  # fmt: skip
def test_a_titles_lines_end_where_clauses_end(text, lines):
    """Where that takes no more of them."""
    assert layout.wrap(text, layout.WIDTH, layout.TITLE, bold=True) == lines


def test_two_colours_have_the_contrast_that_they_have_on_a_light_page():
    tones = [
        tone for of in (style.A, style.B, style.C, style.THREAD) for tone in (of.strong, of.middle, of.pale, of.ink)
    ]
    for one, other in combinations([*tones, style.INK, style.MUTED, style.PANEL, style.RED, "#ffffff"], 2):
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
