"""The pictures: the geometry they show is the kernels', every text is legible, and each is on some page."""

import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gemm_plots import markers, records  # noqa: E402
from gemm_plots.figures import banks, gallery, geometry  # noqa: E402
from gemm_plots.figures.svg import Canvas  # noqa: E402
from gemm_plots.figures.text import LANGUAGES  # noqa: E402

KERNELS = {kernel.name: kernel for kernel in geometry.kernels()}
ALL = [*KERNELS.values(), geometry.warp_tiling(small=True)]  # what step 11's default chooses where C is small
DRAWINGS = dict(gallery.drawings())
COUNTS = records.load(ROOT / "plots" / "data", ROOT).counts


@cache
def drawing(name: str, language: str) -> Canvas:
    return DRAWINGS[name](language)


def label(kernel: geometry.Kernel) -> str:
    return f"{kernel.name}-{kernel.variant}".strip("-")


@pytest.mark.parametrize("kernel", ALL, ids=label)
def test_the_threads_of_a_block_compute_each_element_once(kernel):
    cells = sorted(cell for t in range(kernel.threads) for cell in kernel.computes(t))
    assert cells == geometry.block(range(kernel.bm), range(kernel.bn))


@pytest.mark.parametrize("kernel", [k for k in ALL if k.bk > 1], ids=label)
def test_the_threads_of_a_block_copy_each_float_once(kernel):
    a = sorted(cell for t in range(kernel.threads) for request in kernel.reads_a(t) for cell in request)
    b = sorted(cell for t in range(kernel.threads) for request in kernel.reads_b(t) for cell in request)
    assert a == geometry.block(range(kernel.bm), range(kernel.bk))
    assert b == geometry.block(range(kernel.bk), range(kernel.bn))


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
    kernel = KERNELS[step]
    assert len(geometry.sectors([kernel.reads_a(t)[0] for t in range(32)])) == a
    assert len(geometry.sectors([kernel.reads_b(t)[0] for t in range(32)])) == b


@pytest.mark.parametrize(
    ("step", "wavefronts"),
    [
        ("03_smem_tiling", [1, 1, 1, 1]),
        ("04_smem_padding", [32, 1, 1, 1]),  # unpadded store, padded store, the reads
        ("07_thread_tile_8x8", [1, 4, 2, 8]),  # the read of Bs at stride 8: twice its 4
        ("08_conflict_free", [2, 1, 8, 4]),  # without and with the pad; as in step 07 and split 4 + 4
        ("10_cp_async", [1, 4, 2, 2]),
        ("11_warp_tiling", [2, 4, 2, 2]),
    ],
)
def test_wavefronts_of_a_steps_accesses(step, wavefronts):
    assert [banks.serve(x.addresses(), x.size).wavefronts for x in KERNELS[step].shared] == wavefronts


@pytest.mark.parametrize("name", DRAWINGS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_picture_is_whole_and_legible(name, language):
    canvas = drawing(name, language)
    assert canvas.problems() == []
    svg = canvas.svg()
    ElementTree.fromstring(svg)
    assert len(svg.encode()) < 200_000


@pytest.mark.parametrize("name", DRAWINGS)
def test_both_languages_draw_the_same_picture(name):
    english, chinese = (drawing(name, language) for language in LANGUAGES)
    assert (english.width, english.height) == (chinese.width, chinese.height)
    assert any(ord(char) > 0x2E7F for box in chinese.boxes for char in box.text)
    assert not any(ord(char) > 0x2E7F for box in english.boxes for char in box.text)


@pytest.mark.parametrize("kernel", ALL, ids=label)
def test_the_geometry_reads_the_sectors_that_the_simulator_counted(kernel):
    rows = [row for row in COUNTS if row["step"] == kernel.name]
    rows = [row for row in rows if (row["variant"] == kernel.variant if kernel.variant else row["default"])]
    rows = [row for row in rows if row["m"] == row["n"] == row["k"] == 256]
    if not rows:
        pytest.skip(f"no counts of {kernel.name} at 256 are recorded")
    sectors = 0
    for warp in range(kernel.threads // 32):
        lanes = range(32 * warp, 32 * warp + 32)
        for reads in (kernel.reads_a, kernel.reads_b):
            for request in range(len(reads(0))):
                sectors += len(geometry.sectors([reads(t)[request] for t in lanes], 256))
    times = (256 // kernel.bm) * (256 // kernel.bn) * (256 // kernel.bk)
    counted = rows[0]["counts"]
    assert sectors * times == counted["global_load_sectors"] + counted.get("cp_async_global_sectors", 0)


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
