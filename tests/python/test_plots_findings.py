"""The titles of charts state what the records say, and no difference within the spread of their rounds."""

import pytest

import records
from base.paths import DATA, ROOT
from base.registry import Step, find
from plots import findings, panels
from plots.course import Course

STEP = Step("19_mma_stages", "80", "mma", "f16")


def timed(tflops, spread=0.01, **others):
    """A timing whose rounds spread by this share of its time to either side."""
    ms = 1000 / tflops
    return {"tflops": tflops, "ms": ms, "ms_p20": ms * (1 - spread), "ms_p80": ms * (1 + spread), **others}


@pytest.mark.parametrize(
    ("best", "spread", "says"),
    [
        (90, 0.01, "the default is the fastest, ×1.11 beside other"),
        (101, 0.01, "none of its types and layout is faster beyond the spread"),
        (110, 0.01, "other is 10 % faster than the default"),
        (110, 0.10, "none of its types and layout is faster beyond the spread"),
    ],
)
def test_a_variant_is_faster_only_beyond_the_spread(best, spread, says):
    rows = [timed(100, spread, variant="own", default=True), timed(best, spread, variant="other")]
    assert findings.among_variants(STEP, rows, rows, "en") == f"19 mma stages: {says}"


def test_a_variant_of_other_types_is_not_compared():
    rows = [timed(100, variant="own", default=True), timed(200, variant="fp8")]
    alike = [*rows[:1], timed(90, variant="other")]
    said = findings.among_variants(STEP, [*rows, *alike[1:]], alike, "en")
    assert said.endswith("the default is the fastest, ×1.11 beside other")
    assert "faster" not in findings.among_variants(STEP, rows, rows[:1], "en"), "there is nothing to compare with"


def test_the_number_of_stages_matters_only_beyond_the_spread():
    grid = {(2, 512): timed(100), (3, 512): timed(101), (3, 1024): timed(100)}
    assert "matter less than the spread" in findings.stages(STEP, {"w": grid}, "en")
    faster = grid | {(3, 2048): timed(120)}
    assert "more than 2 stages make w 20 % faster" in findings.stages(STEP, {"w": faster}, "en")
    both = findings.stages(STEP, {"v": grid, "w": faster}, "en")
    assert both.endswith("w 20 % faster, the other tiles at most 1 %")


def test_strides_are_compared_at_the_largest_size_without_the_steps_own():
    small, large = {512: timed(50), 1024: timed(100)}, {0: timed(200), 512: timed(100), 1024: timed(110)}
    assert "at 8192³ the best stride is 10 % faster" in findings.strides(STEP, {4096: small, 8192: large}, "en")
    assert "no stride differs by more than the spread" in findings.strides(
        STEP, {8192: {512: timed(100), 1024: timed(101)}}, "en"
    )


def test_the_fastest_step_may_change_with_the_size():
    first, second = Step("10_cp_async", "80", "fp32", "f32"), Step("11_warp_tiling", "80", "fp32", "f32")
    same = findings.fastest("FP32", {1024: (second, 1.0), 4096: (second, 2.0)}, "en")
    assert same == "FP32: step 11 is the fastest from 1024³ to 4096³"
    other = findings.fastest("FP32", {1024: (first, 1.0), 4096: (second, 2.0)}, "en")
    assert other == "FP32: step 10 is the fastest at 1024³, step 11 at 4096³"


@pytest.mark.parametrize(("number", "explained"), [("15", True), ("11", False), ("23", False)])
def test_a_library_above_the_limit_of_mma_sync_is_explained(number, explained):
    course, recorded = Course(ROOT, DATA), records.load(DATA, ROOT)
    step = find(number, course.steps)
    sizes = recorded.square_sizes("h200", [step.name])
    said = panels.above_the_limit(course, recorded, "h200", step, sizes, records.CUBLAS, "en")
    assert ("wgmma" in said) == explained
