"""The ladder that is measured against the best library call: its charts, its tables, its sweep, in both languages."""

import json
from pathlib import Path

import plots_course
import pytest

import records
from base.registry import Step
from plots import catalogue, step_charts, stream_k, style, sweep_charts, tables
from plots.course import Course

HERE = Path(__file__).resolve().parent


SPEEDS = {"22_tma": 420.0, "23_wgmma": 660.0}
CALLS = {"cublas": 650.0, "cublaslt": 640.0, "best_library": 650.0}
LIMITS = {"mma.sync.m16n8k16": 650.0, "wgmma.m64n256k16": 858.0}


def beside_all(step, tflops, size=(4096, 4096, 4096), **others):
    """A timing in BF16: one record per library, and one for the faster of them."""
    types = {"a": "bf16", "b": "bf16", "acc": "f32", "c": "bf16", "error": 1e-3, **others}
    return [
        plots_course.timing(step, tflops, size, **types, baseline=b, baseline_tflops=v, ratio=tflops / v)
        for b, v in CALLS.items()
    ]


@pytest.fixture(scope="module")
def hopper(tmp_path_factory):
    """A course with two steps of the hopper ladder and what is recorded of them."""
    root = tmp_path_factory.mktemp("course")
    (root / "steps").mkdir()
    lines = [
        f"  {{'name': '{name}', 'arch': '{arch}', 'ladder': 'hopper', 'types': 'bf16 f16'}},\n"
        for name, arch in zip(SPEEDS, ("90", "90a"), strict=True)
    ]
    (root / "steps" / "meson.build").write_text("step_list = [\n" + "".join(lines) + "]\n", encoding="utf-8")
    data = root / "records"
    for step, speed in SPEEDS.items():
        rows = [row for size in (4096, 8192) for row in beside_all(step, speed, (size, size, size))]
        rows += beside_all(step, speed - 10, variant="tn", default=False, layout="TN")
        if step == "23_wgmma":
            cubes = [(size, size, size) for size in (4096, 8192)]
            others = [size for size in sweep_charts.HGEMM125.sizes if size not in cubes]
            rows += [row for size in others for row in beside_all(step, 663.0, size)]
        plots_course.write(data / "h200" / f"{step}.jsonl", rows)
    limit = {"a": "bf16", "acc": "f32", "gpu": "NVIDIA H200"}
    limits = [{**limit, "limit": name, "tflops": value} for name, value in LIMITS.items()]
    plots_course.write(data / "h200" / "limits.jsonl", limits)
    style.apply()
    return Course(root, data), records.load(data, root)


def drawn(hopper, name, language):
    """A chart's text."""
    return plots_course.words_of(style.to_svg(catalogue.find(*hopper, name)(language)))


@pytest.mark.parametrize(
    ("language", "heading", "words"),
    [
        (
            "en",
            "HOPPER: from 65% to 102% of the best library call in 2 steps",
            "share of the best library call in the same run (green: ahead of it)",
        ),
        ("zh-CN", "HOPPER：2 步，从最快的库调用的 65% 到 102%", "相对最快的库调用的比例（绿色：超过最快的库调用）"),
    ],
)
def test_the_ladder_is_drawn_beside_the_best_library_call(hopper, language, heading, words):
    svg = drawn(hopper, "hopper-ladder", language)
    for text in (heading, words, "23 wgmma", "660  (102%)", "420  (65%)"):
        assert text in svg, text
    assert svg.count("cuBLAS 650") == 1 and svg.count("cublasLt 640") == 1, "each call is one line"
    assert "best library call 650" not in svg and "最快的库调用 650" not in svg


def test_the_limit_is_that_of_the_instruction_that_a_step_computes_with(hopper):
    course, recorded = hopper
    before = Step("21_mma_persistent", "80", "mma", "f16 bf16")
    assert [step.instruction for step in (before, *course.steps)] == ["mma", "mma", "wgmma"]
    found = {kind: recorded.limit("h200", "bf16", "f32", kind)["tflops"] for kind in ("mma", "wgmma")}
    assert found == {"mma": 650.0, "wgmma": 858.0}
    assert recorded.limit("h200", "bf16", "f32", "") is None, "CUDA cores have no limit in BF16 here"
    assert "wgmma limit 858" in drawn(hopper, "hopper-ladder", "en")


def test_the_table_of_the_ladder_has_the_share_of_cublas_and_of_the_best_call(hopper):
    text = tables.table(*hopper, "ladder-hopper", "en")
    head, _, first, second, *calls = text.split("\n\n")[1].splitlines()
    assert head.count("of cuBLAS") == head.count("of the best library call") == 2 and "of cublasLt" not in head
    assert "| 660 | 101.5% | 101.5% |" in second and "22_tma" in first
    assert [line.split(" | ")[0] for line in calls] == ["| cuBLAS", "| cublasLt"]
    chinese = tables.table(*hopper, "ladder-hopper", "zh-CN")
    assert "相对 cuBLAS | 相对最快的库调用 |" in chinese


def test_variants_and_sizes_are_drawn_beside_the_best_call(hopper):
    course, recorded = hopper
    rows = step_charts.variant_rows(recorded, "h200", course.steps[1], beside="best_library")
    assert [(row["variant"], row["baseline"]) for row in rows] == [("plain", "best_library"), ("tn", "best_library")]
    assert "share of the best library call in the same types" in drawn(hopper, "23_wgmma-variants", "en")
    assert "相对同类型下最快的库调用的比例" in drawn(hopper, "23_wgmma-variants", "zh-CN")


def test_the_heat_map_of_125_sizes_is_that_of_the_best_call_alone(hopper):
    svg = drawn(hopper, "23_wgmma-hgemm125", "en")
    assert "÷ the best library call mean 1.020" in svg
    assert "÷ cuBLAS" not in svg


def test_ladders_without_records_of_it_are_drawn_as_before(hopper):
    course, recorded = hopper
    assert course.yardstick("mma") == "cublas" and course.yardstick("hopper") == "best_library"
    alone = records.Records(timings={"h200": [row for row in recorded.timings["h200"] if row["baseline"] == "cublas"]})
    assert alone.default_beside("h200", "22_tma", 4096, "best_library")["baseline"] == "cublas"


def test_the_names_of_baselines_are_those_of_the_harness():
    harness = "".join(file.read_text(encoding="utf-8") for file in (HERE.parents[1] / "common" / "harness").glob("*.*"))
    for name in records.BASELINES:
        assert json.dumps(name) in harness, name


def test_stream_k_is_compared_with_the_default_of_its_own_pass():
    """The default takes 10 and 12 ms, stream-K 8 in both passes: 1.25 and 1.5 times as fast, in the middle 1.375."""

    def timed(number, variant, ms, baseline, **others):
        default = variant == "bf16"
        size = {"m": 3072, "n": 3072, "k": 3072}
        tflops = {"tflops": 1000 / ms, "ms": ms, "options": {"pass": number}}
        return {**size, **tflops, "variant": variant, "default": default, "baseline": baseline, **others}

    found = [
        timed(1, "bf16", 10.0, "cublas", ratio=1.1),
        timed(1, "bf16", 10.0, "best_library", ratio=0.9),
        timed(1, "stream_k", 8.0, "best_library", ratio=1.2),
        timed(2, "bf16", 12.0, "none"),
        timed(2, "stream_k", 8.0, "none"),
    ]
    assert stream_k.variants(found) == ["stream_k"]
    assert stream_k.beside_default(found, (3072, 3072, 3072), "stream_k") == stream_k.Speeds(1.375, 1.25, 1.5)
    assert stream_k.tflops(found, (3072, 3072, 3072)) == pytest.approx((1000 / 10 + 1000 / 12) / 2)
    assert stream_k.beside_library(found, (3072, 3072, 3072), "bf16") == 0.9
