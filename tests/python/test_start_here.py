"""The bounds that charts draw and start-here explains, against the records, the simulator and the chapters."""

import re

import pytest

import records
from base import registry
from base.paths import DATA, ROOT
from plots import bounds_charts, count_charts
from plots.course import Course
from plots.figures import waves
from plots.figures.text import LANGUAGES

ENDING = {"en": "", "zh-CN": ".zh-CN"}
COURSE, RECORDS = Course(ROOT, DATA), records.load(DATA, ROOT)
COUNTED = [
    step for step in COURSE.steps if COURSE.load_store_per_instruction(step) and step.ladder in bounds_charts.FLOP
]
ON_CUDA_CORES = [step for step in COUNTED if step.ladder in ("fp32", "fp16")]
ON_TENSOR_CORES = [step for step in COUNTED if step.ladder in bounds_charts.TENSOR]


@pytest.mark.parametrize("step", ON_CUDA_CORES, ids=lambda step: step.name)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_chapter_has_the_count_that_the_bounds_chart_draws(step, language):
    """step.toml repeats one figure of each chapter's "By hand"; the two have to be the same."""
    page = (step.folder / f"README{ENDING[language]}.md").read_text(encoding="utf-8")
    by_hand = re.search(r"^## (?:By hand|手算)$(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    assert re.search(rf"(?<![\d.]){COURSE.load_store_per_instruction(step):g}(?![\d.]\d)", by_hand)


@pytest.mark.parametrize("step", ON_TENSOR_CORES, ids=lambda step: step.name)
def test_wavefronts_per_hmma_are_those_of_the_simulator(step):
    """The count also has the store of C, which WMMA's kernels make through shared memory: up to 0.25 at K = 256."""
    counted = count_charts.counts_as_at_4096(COURSE, RECORDS, step)
    keys = ("shared_load_wavefronts", "shared_store_wavefronts", "cp_async_shared_wavefronts")
    hmmas = count_charts.fmas(counted) / 2048
    per_hmma = sum(counted["counts"].get(key, 0) for key in keys) / hmmas
    by_hand = COURSE.load_store_per_instruction(step)
    assert by_hand <= per_hmma <= by_hand + 0.25 or (step.number == 14 and per_hmma == 0)  # step 14: look-ups alone


@pytest.mark.parametrize("step", COURSE.ladder("hopper"), ids=lambda step: step.name)
def test_wavefronts_on_hopper_are_those_of_the_simulator(step):
    """What products read and TMA writes, per 4096 FLOP. 4096³ takes the tile `large` of step 27, in step 29 as well."""
    counts = RECORDS.counts_of(step.name, "large" if step.number in (27, 29) else None)["counts"]
    wavefronts = counts.get("wgmma_wavefronts", 0) + counts["shared_load_wavefronts"]
    hmmas = counts["tensor_ops"]
    if "wgmma_wavefronts" in counts:  # each of four warps has executed it: 64 rows of A, BN columns of B, 32 bytes each
        products = counts["tensor_ops"] / 4
        columns = (counts["wgmma_wavefronts"] / products * 128 - 64 * 32) / 32
        hmmas = products * 2 * 64 * columns * 16 / 4096
    counted = (wavefronts + counts["tma"]["shared_bytes"] / 128) / hmmas
    assert COURSE.load_store_per_instruction(step) == pytest.approx(counted, abs=0.0005)


def test_the_bounds_are_those_of_the_chapters():
    step = registry.find("07", COURSE.steps)
    assert bounds_charts.load_store_bound(COURSE, "h200", step) == pytest.approx(45.6, abs=0.05)
    assert bounds_charts.issue_bound(COURSE, RECORDS, "h200", step) == pytest.approx(61.2, abs=0.05)
    hopper = registry.find("25", COURSE.steps)
    assert bounds_charts.load_store_bound(COURSE, "h200", hopper) == pytest.approx(1071, abs=1)


@pytest.mark.parametrize("step", COUNTED, ids=lambda step: step.name)
def test_no_step_is_faster_than_its_bounds(step):
    speed = RECORDS.default_at("h200", step.name, bounds_charts.SIZE)["tflops"]
    assert speed < bounds_charts.load_store_bound(COURSE, "h200", step)
    if step in ON_CUDA_CORES:
        assert speed < bounds_charts.issue_bound(COURSE, RECORDS, "h200", step)


def test_a_wave_holds_as_many_tiles_as_there_are_sms():
    assert [waves.tiles(size) for size in waves.SHOWN] == [121, 144, 256]
    assert [round(waves.used(size), 2) for size in (1024, 2816, 3072, 4096)] == [0.12, 0.92, 0.55, 0.97]
    assert waves.used(256 * 11 + 128) < waves.used(256 * 11)
