"""The pictures: the geometry they show is the kernels', every text is legible, and each is on some page."""

import re
from functools import cache
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

import pytest

from plots import markers
from plots.figures import gallery, geometry, layout, serpentine, traces
from plots.figures.svg import Canvas
from plots.figures.text import LANGUAGES, is_wide

ROOT = Path(__file__).resolve().parents[2]


KERNELS = {kernel.name: kernel for kernel in geometry.kernels()}
DRAWINGS = dict(gallery.drawings())


@cache
def drawing(name: str, language: str) -> Canvas:
    return DRAWINGS[name](language)


@pytest.mark.parametrize(
    ("step", "rows", "cols"),
    [("01_naive", 1, 1), ("06_thread_tile_4x4", 4, 4), ("08_conflict_free", 8, 8), ("11_warp_tiling", 16, 8)],
)
def test_each_lane_of_a_warp_computes_a_tile_of_its_own(step, rows, cols):
    warp = KERNELS[step].computes[:32]
    for cells in warp:
        assert (len({row for row, _ in cells}), len({col for _, col in cells})) == (rows, cols)
        assert len(cells) == rows * cols
    assert len({cell for cells in warp for cell in cells}) == 32 * rows * cols


def test_the_warps_of_step_11_compute_the_block_tile():
    kernel = KERNELS["11_warp_tiling"]
    cells = sorted(cell for cells in kernel.computes for cell in cells)
    assert cells == [(row, col) for row in range(kernel.bm) for col in range(kernel.bn)]


@pytest.mark.parametrize(
    ("step", "a", "b"),
    [
        ("01_naive", 32, 1),
        ("02_coalesced", 1, 4),
        ("03_smem_tiling", 4, 4),
        ("07_thread_tile_8x8", 16, 16),
        ("10_cp_async", 4, 16),
    ],
)
def test_sectors_of_a_warps_request(step, a, b):
    for matrix, expected in ((traces.A, a), (traces.B, b)):
        counted, lanes = traces.requests(step, matrix)[0]
        assert counted == len(geometry.sectors(lanes, KERNELS[step].leading)) == expected


@pytest.mark.parametrize(
    ("step", "wavefronts"),
    [
        ("04_smem_padding", [32, 1, 1, 1]),  # unpadded store, padded store, the reads
        ("07_thread_tile_8x8", [1, 4, 2, 8]),  # the read of Bs at stride 8: twice its 4
        ("08_conflict_free", [2, 1, 8, 4]),  # without and with the pad; as in step 07 and split 4 + 4
        ("11_warp_tiling", [2, 4, 2, 2]),
    ],
)
def test_wavefronts_of_a_steps_accesses(step, wavefronts):
    assert [one.access.wavefronts for one in KERNELS[step].shared] == wavefronts


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


def test_the_ring_of_step_17_fills_the_stage_that_was_read_last():
    read, copies = traces.stages("17_wmma_stages")
    assert read == [0, 1, 2, 0, 1, 2, 0, 1]
    assert [stage for stage, _ in copies] == read  # slice by slice
    assert [turn for _, turn in copies] == [-1, -1, 0, 1, 2, 3, 4, 5]  # two slices ahead
    assert all(stage == read[turn - 1] for stage, turn in copies if turn > 0)


def test_the_serpentine_keeps_an_operand_at_every_move():
    walks = [serpentine.walk(16, 8, back) for back in (False, True)]
    assert sorted(walks[0]) == sorted(walks[1]) == [(row, col) for row in range(16) for col in range(8)]
    assert [serpentine.kept(walk) for walk in walks] == [(112, 0, 15), (112, 15, 0)]


def test_a_line_that_is_not_in_the_trace_is_named():
    with pytest.raises(LookupError, match=r"no line of 08_conflict_free that contains 'Cs\['"):
        traces.shared("08_conflict_free", "Cs[")


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_picture_is_whole_and_legible(name, language):
    canvas = drawing(name, language)
    assert canvas.problems() == []
    svg = canvas.svg()
    ElementTree.fromstring(svg)
    assert len(svg.encode()) < 200_000


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_phone_shows_every_text_readably(name, language):
    """A page there is 380 pixels wide, and a text under 7 pixels is not read."""
    picture = ElementTree.fromstring(drawing(name, language).svg())
    width = float(picture.get("viewBox").split()[2])
    sizes = [float(each.get("font-size")) for each in picture.iter() if each.get("font-size")]
    assert sizes and min(sizes) * 380 / width >= 7


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
    """A text's size, colour, anchor, weight and font."""
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


def test_every_step_has_the_picture_of_its_idea():
    for kernel in KERNELS:
        assert kernel in DRAWINGS


def test_each_picture_is_on_some_page():
    shown = {path.name for path in markers.shown(ROOT, ROOT / "docs" / "figures")}
    assert shown == {f"{name}{language}.svg" for name in DRAWINGS for language in ("", ".zh-CN")}


def test_a_text_over_another_is_noticed():
    canvas = Canvas(200, 100, "t")
    canvas.text(10, 50, "first text")
    canvas.text(40, 52, "second")
    canvas.text(150, 90, "far too long for this")
    problems = canvas.problems()
    assert "'first text' covers 'second'" in problems
    assert "'far too long for this' leaves the panel" in problems
