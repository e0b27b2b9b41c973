"""./gemm bound: bounds by the simulator's counts and by machine code, beside the chapters' own and the records."""

import os
import re

import pytest
from programs import built

from base import build, registry
from base.paths import BUILD, SIMULATOR
from records import REFERENCE_GPU
from tools import bound, bound_counts, bound_limits, cli, measured
from tools.bound_counts import Loop, Work

STEPS = {step.number: step for step in registry.steps()}
COUNTED = [step for step in STEPS.values() if "load_store_per_instruction" in step.by_hand]
WITHIN_15 = (1, 3, 4, 5, 6, 7, 11)  # percent; the others' chapters say what their bounds leave out
ON_CUDA_CORES = [step for step in COUNTED if not step.on_tensor_cores]
H200 = bound_limits.gpu(REFERENCE_GPU)


@pytest.fixture(scope="module")
def recorded():
    return measured.load()


def by_records(step, recorded):
    """The bounds of a step's default by its chapter's count by hand and by its recorded instruction mix."""
    mix = next(iter(recorded.mixes_of(step.name, "sass")))
    counts = {"fma": 0, "tensor": 0, **mix["loop"]}
    flop = bound_limits.per_instruction(step)
    loop = Loop(mix["loop"]["instructions"], counts["fma"] * flop, None, counts, frozenset(), 0)
    timed = recorded.default_at(REFERENCE_GPU, step.name, 4096)
    variant = {**{key: timed[key] for key in ("variant", "a", "b", "acc", "c")}, "block": [128, 128, 8]}
    work = Work(variant, 256, step.by_hand["load_store_per_instruction"] / flop, 0, 0, loop, element=timed["a"])
    return bound_limits.bounds(step, work, H200, 4096, recorded), timed["tflops"]


@pytest.mark.parametrize("step", ON_CUDA_CORES, ids=lambda step: step.name)
def test_each_bound_lies_above_the_speed_and_the_lowest_near_it(step, recorded):
    found, speed = by_records(step, recorded)
    assert all(one.tflops > speed for one in found.all if not one.fitted)
    if step.number in WITHIN_15:
        assert speed > bound.CLOSE * found.lowest.tflops


@pytest.mark.parametrize("step", COUNTED, ids=lambda step: step.name)
def test_what_is_counted_is_what_the_chapter_counts_by_hand(step):
    executable = built(BUILD / "steps" / step.name, SIMULATOR)
    if bound.chooses(step):
        pytest.skip("its default takes another tile at 4096")
    known = build.variants(executable)
    variant = next(one for one in known if (one["variant"] == step.at_4096 if step.at_4096 else one["default"]))
    work = bound_counts.of(executable, step, variant, H200.arch, dict(os.environ))
    if step.number == 3 and work.loop is None:
        pytest.skip("ptxas joins its loads, and there is no cuobjdump that shows it")
    by_hand = step.by_hand["load_store_per_instruction"]
    assert work.load_store * bound_limits.per_instruction(step) == pytest.approx(by_hand, rel=0.015)


@pytest.mark.parametrize("step", ON_CUDA_CORES, ids=lambda step: step.name)
@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_a_chapter_has_the_count_that_its_step_toml_repeats(step, page):
    text = (step.folder / page).read_text(encoding="utf-8")
    by_hand = re.search(r"^## (?:By hand|手算)$(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    assert re.search(rf"(?<![\d.]){step.by_hand['load_store_per_instruction']:g}(?![\d.]\d)", by_hand)


def test_wavefronts_of_wide_loads():
    assert bound_counts.wavefronts([0] * 32, 4) == 1
    assert bound_counts.wavefronts([0] * 32, 16) == 2  # measured: one address takes two
    assert bound_counts.wavefronts([16 * lane for lane in range(32)], 16) == 4
    assert bound_counts.wavefronts([128 * lane for lane in range(32)], 4) == 32
    assert bound_counts.wavefronts([16 * (lane // 2) for lane in range(32)], 16) == 2  # neighbours share an address


def test_a_gpu_by_its_numbers_has_the_bounds_that_follow_from_them(recorded):
    gpu = bound_limits.gpu("sms=10,clock_mhz=1000,capability=8.6,dram_tb_per_s=0.1")
    variant = {"variant": "v", "a": "f32", "acc": "f32", "c": "f32", "block": [64, 64, 8]}
    work = Work(variant, 256, 0.5 / 64, 0, 0, None)
    found = bound_limits.bounds(STEPS[7], work, gpu, 640, recorded)
    by_name = {one.name.english: one.tflops for one in found.all}
    assert by_name["load/store unit"] == pytest.approx(10 * 1e9 * 64 / 0.5 / 1e12)
    assert by_name["FMA units"] == pytest.approx(2.56)
    assert by_name["DRAM"] == pytest.approx(2 * 640 / 12 * 0.1)
    assert (found.tiles, found.filled) == (100, 1)
    assert found.predicted == pytest.approx(1.28)


@pytest.mark.parametrize("step", ON_CUDA_CORES, ids=lambda step: step.name)
def test_the_report_names_the_limit_the_record_and_what_is_left_out(step, recorded):
    found, speed = by_records(step, recorded)
    chosen = bound.plan(cli.parse(["bound", f"{step.number:02d}"]))
    lines = bound.report(chosen, {"variant": "v"}, found, speed)
    assert any(line.startswith("Predicted: ") and "recorded: " in line for line in lines)
    assert any("leave out waiting" in line for line in lines) == (step.number not in WITHIN_15)


def test_the_report_in_chinese(recorded):
    found, _ = by_records(STEPS[7], recorded)
    chinese = bound.plan(cli.parse(["bound", "07", "--zh"]))
    assert any(line.startswith("预测：") for line in bound.report(chinese, {"variant": "v"}, found, None))
