"""./gemm bound: bounds by the simulator's counts and by machine code, beside the chapters' own and the records."""

import os
import re
from dataclasses import replace

import pytest
from programs import built

from base import registry
from base.languages import CHINESE, ENGLISH
from base.paths import BUILD, SIMULATOR
from records import REFERENCE_GPU
from tools import bound, bound_counts, bound_limits, cli, measured, practice_goals, practice_tasks
from tools.bound_counts import Loop, Work

STEPS = {step.number: step for step in registry.steps()}
COUNTED = [step for step in STEPS.values() if "load_store_per_instruction" in step.by_hand]
WITHIN_15 = (1, 3, 4, 5, 6, 7, 11)  # percent; the others' chapters say what their bounds leave out
ON_CUDA_CORES = [step for step in COUNTED if not step.on_tensor_cores]
TASKS = {task.step.number: task for task in practice_tasks.tasks(registry.steps())}
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


@pytest.mark.parametrize("step", STEPS.values(), ids=lambda step: step.name)
def test_what_is_counted_is_what_is_recorded_and_what_the_chapter_counts_by_hand(step):
    executable = built(BUILD / "steps" / step.name, SIMULATOR)
    work = bound.counted(executable, step, step.own or step.at_4096, dict(os.environ))
    if work.loop is None and (step.number == 3 or step.instruction == "wgmma"):
        pytest.skip("there is no cuobjdump that shows how ptxas joins loads, or what is multiplied")
    by_hand = step.by_hand.get("load_store_per_instruction")
    if by_hand and not step.own and not bound.chooses(step):
        assert work.load_store * bound_limits.per_instruction(step) == pytest.approx(by_hand, rel=0.015)
    if step.number in TASKS:
        found, known = work.recorded(), practice_goals.recorded_work(TASKS[step.number]).recorded()
        assert {**found, "loop": {}} == {**known, "loop": {}}, "not as recorded: python -m tools.practice_record"


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


def beside(number, yours, spoken=ENGLISH):
    """The lines of a practice in which the reader's kernel does what step `yours` does."""
    mine, theirs = (practice_goals.recorded_work(TASKS[one]) for one in (yours, number))
    return bound.beside(STEPS[number], mine, theirs, spoken)


@pytest.mark.parametrize("number", TASKS)
def test_every_steps_bounds_stand_beside_a_readers(number):
    step = STEPS[number]
    lines = beside(number, number)
    units = {"": ["load/store unit", "issue slots"], "mma": ["load/store unit", "issue slots", "L2"]}
    for unit, line in zip(units.get(step.instruction, ["shared memory", "L2"]), lines, strict=False):
        found = re.fullmatch(
            rf"bound, {unit}: yours (.+), step {number:02d}'s (.+) TFLOPS: you need (\S+) .* per .*, it needs (.+)",
            line,
        )
        assert found and found[1] == found[2] and found[3] == found[4], line
    predicted = lines[-1].startswith("predicted at 4096³")
    assert predicted == bool(step.own or not bound.chooses(step))


def test_a_kernel_that_needs_more_is_told_what_the_step_needs():
    lines = beside(19, 18)
    assert "yours 306, step 19's 856 TFLOPS: you need 3.5 wavefronts and look-ups per HMMA, it needs 1.25" in lines[0]
    assert "you need 64 bytes per HMMA, it needs 32" in lines[2]
    assert lines[3].endswith(
        "waves included: yours 297 (load/store unit), step 19's 611 TFLOPS (tensor cores, measured)"
    )
    chinese = beside(19, 18, CHINESE)
    assert chinese[0].startswith("LSU 的上界：你的 306") and "由 LSU 决定" in chinese[3]
    unread = replace(practice_goals.recorded_work(TASKS[18]), loop=None)
    lines = bound.beside(STEPS[19], unread, practice_goals.recorded_work(TASKS[19]))
    assert "no cuobjdump" in lines[-1] and not any("issue slots:" in line for line in lines)


def test_tiles_that_reach_beyond_c_cost_their_share(recorded):
    work = practice_goals.recorded_work(TASKS[28])
    found = bound_limits.bounds(STEPS[28], work, H200, 4096, recorded)
    assert (found.tiles, f"{found.filled:.3f}", f"{found.inside:.3f}") == (704, "0.889", "0.970")
    assert found.predicted == pytest.approx(found.lowest.tflops * 0.889 * 0.970, rel=0.001)
    lines = bound.report(bound.plan(cli.parse(["bound", "28"])), {"variant": "v"}, found, None)
    assert any("97.0 % of the tiles' elements lie in C" in line for line in lines)
