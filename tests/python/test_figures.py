"""The pictures: every text is legible, both languages show the same, each is on some page; and what of their geometry is written
down a second time is the kernels'. Of those that move the still one is whole, reduced motion is respected, and there is no
script. What is drawn from traces is held by these, and by test_plots: committed pictures are fresh."""

import re
from collections import Counter
from functools import cache
from itertools import groupby
from xml.etree import ElementTree

import pytest

from base.paths import ROOT
from plots import glossary, markers
from plots.figures import (
    cluster_ring,
    clusters,
    gallery,
    geometry,
    hopper,
    idea_map,
    layout,
    motion,
    sass_loop,
    swizzle,
    traces,
)
from plots.figures.svg import Canvas
from plots.figures.text import LANGUAGES, is_wide
from records import read

KERNELS = {kernel.name: kernel for kernel in geometry.kernels()}
DRAWINGS = dict(gallery.drawings())
REDUCED = re.compile(r"@media \(prefers-reduced-motion:no-preference\)\{\n(.*?)\n\}", re.DOTALL)


@cache
def drawing(name: str, language: str) -> Canvas:
    return DRAWINGS[name](language)


def formulas():
    """The accesses whose formula names nothing but the thread, by step."""
    for kernel in KERNELS.values():
        for one in kernel.shared:
            indices = re.findall(r"\[([^]]*)\]", one.formula)
            if all(re.fullmatch(r"t[xy]|k|st|[t\d%/*]+", index) for index in indices):
                yield pytest.param(kernel, one, id=f"{kernel.name}-{one.formula}-{one.access.addresses[1]}")


@pytest.mark.parametrize(("kernel", "shared"), list(formulas()))
def test_a_formula_finds_the_traced_addresses(kernel, shared):
    """The pitch of a row is not in the formula: it is the one that fits the first lane in another row."""
    indices = re.findall(r"\[([^]]*)\]", shared.formula)[-2:]
    code = [index.replace("/", "//") for index in indices]
    places = [tuple(eval(each, {"t": t, "tx": t % 32, "ty": t // 32, "k": 0}) for each in code) for t in range(32)]
    offsets = [address - shared.access.addresses[0] for address in shared.access.addresses]
    pitches = {
        (offset - 4 * (col - places[0][1])) / (row - places[0][0])
        for offset, (row, col) in zip(offsets, places, strict=True)
        if row != places[0][0]
    }
    assert len(pitches) <= 1
    pitch = min(pitches, default=0)
    assert offsets == [pitch * (row - places[0][0]) + 4 * (col - places[0][1]) for row, col in places]


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_picture_is_whole_and_legible(name, language):
    canvas = drawing(name, language)
    assert canvas.problems() == []
    svg = canvas.svg()
    assert len(svg.encode()) < 200_000
    picture = ElementTree.fromstring(svg)
    width = float(picture.get("viewBox").split()[2])
    sizes = [float(each.get("font-size")) for each in picture.iter() if each.get("font-size")]
    assert sizes and min(sizes) * 380 / width >= 9, "a phone's page is 380 pixels wide, and under 9 pixels nobody reads"


def elements(canvas):
    return ElementTree.fromstring(f"<g>{''.join(canvas.parts)}</g>")


def strokes(path):
    """A path's commands, each of its lines relative to the line's own start, so that only its form counts."""
    found, x, y = [], 0.0, 0.0
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        at = [float(number) for number in re.findall(r"-?[\d.]+", numbers)]
        if command == "M":
            x, y = at
        origin = {"M": (x, y), "L": (x, y), "V": (y,), "H": (x,)}.get(command, (0.0,) * len(at))
        found.append((command, *(round(value - zero, 1) for value, zero in zip(at, origin, strict=True))))
    return found


def form(shape):
    """What a shape is, apart from its place: a card as wide as the picture grows with the lines of text in it."""
    kept = {key: value for key, value in shape.items() if key not in ("x", "y", "cx", "cy", "d")}
    if kept.get("width") == str(int(layout.INNER)):
        del kept["height"]
    return shape.tag, kept, strokes(shape.get("d", ""))


def look(text):
    return [text.get(key) for key in ("font-size", "fill", "text-anchor", "font-weight", "font-family")]


@pytest.mark.parametrize("name", DRAWINGS)
def test_both_languages_draw_the_same_picture(name):
    """The same shapes and looks of text in the same order; one is higher only where its words take more rows."""
    english, chinese = (drawing(name, language) for language in LANGUAGES)
    assert english.width == chinese.width
    shapes, looks = [], []
    for canvas in (english, chinese):
        shapes.append([form(each) for each in elements(canvas) if each.tag != "text"])
        looks.append([kind for kind, _ in groupby(look(each) for each in elements(canvas) if each.tag == "text")])
    assert shapes[0] == shapes[1]
    assert looks[0] == looks[1]
    rows = [len({box.bottom for box in canvas.boxes}) for canvas in (english, chinese)]
    higher = english.height - chinese.height
    assert higher == 0 or higher * (rows[0] - rows[1]) > 0
    assert any(is_wide(char) for box in chinese.boxes for char in box.text)
    assert not any(is_wide(char) for box in english.boxes for char in box.text)


def test_every_step_has_the_picture_of_its_idea_and_each_picture_is_on_some_page():
    assert set(KERNELS) <= set(DRAWINGS)
    shown = {path.name for path in markers.shown(ROOT, ROOT / "docs" / "figures")}
    assert shown == {f"{name}{language}.svg" for name in DRAWINGS for language in ("", ".zh-CN")}


def test_the_swizzle_of_128_byte_rows_is_that_of_step_20():
    matrices = traces.shared("20_mma_warp_swizzle", "ldmatrix_x4(a_frag")
    for lane, address in enumerate(matrices.addresses):
        assert divmod(address, 128) == (lane % 16, 16 * swizzle.place(lane % 16, lane // 16, 128))
    copies = traces.shared("20_mma_warp_swizzle", "cp_async_16(to")
    for lane, address in enumerate(copies.addresses):
        assert divmod(address, 128) == (lane // 8, 16 * swizzle.place(lane // 8, lane % 8, 128))


def test_each_wgmma_of_a_slice_reads_the_two_chunks_of_a_that_hold_its_k():
    seen = set()
    for step, places in enumerate(hopper.read_of_a()):
        assert {hopper.chunk_at(row, place) for row, place in places} == {2 * step, 2 * step + 1}
        assert not places & seen
        seen |= places
    assert seen == {(row, place) for row in range(hopper.ROWS_OF_A) for place in range(hopper.CHUNKS)}


def test_the_bytes_of_a_clusters_slice_are_those_that_were_counted():
    of = clusters.of_the_kernel()
    recorded = read(ROOT / "records" / "simulator" / f"{clusters.STEP}.jsonl")
    counted = next(r for r in recorded if r["variant"] == "bf16" and r["n"] == 256)
    stages = of.cluster * counted["k"] // of.bk  # one pair of tiles covers this C
    tma = counted["counts"]["tma"]
    assert tma["shared_bytes"] == stages * of.received_bytes
    assert tma["multicast_saved_bytes"] == stages * (of.received_bytes - of.read_bytes)


def test_no_half_of_a_lands_in_a_stage_that_either_block_of_a_cluster_still_reads():
    of = clusters.of_the_kernel()
    found = cluster_ring.turns(of)
    assert len(found) == 2 * of.stages  # every stage is filled again
    for before, after in zip(found, found[of.stages :], strict=False):
        assert min(after.asked) >= before.empty == max(before.read(block) for block in range(of.cluster))


def test_a_text_over_another_is_noticed():
    canvas = Canvas(200, 100, "t")
    canvas.text(10, 50, "first text")
    canvas.text(40, 52, "second")
    canvas.text(150, 90, "far too long for this")
    problems = canvas.problems()
    assert "'first text' covers 'second'" in problems
    assert "'far too long for this' leaves the panel" in problems


def tree(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/2000/svg"', ""))


def styles(text: str) -> str:
    return tree(text).findtext("style") or ""


MOVING = [name for name in DRAWINGS if styles(drawing(name, "en").svg())]


@pytest.mark.parametrize("name", MOVING)
@pytest.mark.parametrize("language", LANGUAGES)
def test_without_motion_the_picture_is_whole(name, language, monkeypatch):
    """What the motion adds cannot be seen when it stands still, and what it moves is not moved."""
    moving = tree(drawing(name, language).svg())
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
    text = styles(drawing(name, "en").svg())
    inside = "\n".join(REDUCED.findall(text))
    outside = [line for line in REDUCED.sub("", text).splitlines() if line]
    assert outside and all(line.startswith("@keyframes ") for line in outside)
    used = set(re.findall(r"animation:([a-z-]+)", inside))
    assert used == {line.split("{")[0].removeprefix("@keyframes ") for line in outside}
    shown = {part.get("class") for part in tree(drawing(name, "en").svg()).iter() if part.get("class")}
    assert shown == set(re.findall(r"^\.([a-z-]+)\{", inside, re.MULTILINE))


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_picture_runs_a_script_or_asks_for_a_file(name):
    for part in tree(drawing(name, "en").svg()).iter():
        assert part.tag not in {"script", "foreignObject", "image", "use", "a"} and not part.tag.startswith("animate")
        assert not [key for key in part.attrib if key.startswith("on") or key.endswith("href")]
    assert not re.search(r"@import|url\(", drawing(name, "en").svg())


def test_the_techniques_of_the_ladders_map_enter_in_its_order_and_where_the_glossary_lets_them():
    """Each name of the map is a term that the pages have met by the step that brings it, and its code is in some kernel."""
    entries = [idea_map.entry(name) for name in idea_map.CODE]
    assert entries == sorted(entries)
    first = {term.id: term.first for term in glossary.load(ROOT)}
    for name in idea_map.CODE.keys() - idea_map.TILES.keys():
        assert first[name] == glossary.START or int(first[name]) <= idea_map.entry(name)


def test_the_squares_of_the_loop_are_the_instructions_that_were_counted():
    counted = {kind: count for kind, count in sass_loop.recorded()["loop"].items() if kind in sass_loop.COLOURS}
    assert Counter(sass_loop.issued()) == counted
    assert sass_loop.recorded()["by_hand"]["load_shared"] == counted["load_shared"], "each loads 16 bytes"
