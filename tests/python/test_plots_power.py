"""The charts and tables of energy: from made-up loops whose cost per KB is known, in both languages."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[1] / "plots"), str(HERE)]

import plots_course  # noqa: E402
from gemm_plots import catalogue, energy, records, style, tables  # noqa: E402
from gemm_plots.course import Course  # noqa: E402

WATTS = 690.0
PRODUCTS, PER_KB = 3.4, {"l2": 0.014, "partner": 0.006, "dram": 0.05}  # µJ per 128×256×64, and per KB
STEPS = {"22_tma": 430.0, "26_clusters": 680.0}
CHARTS = ("energy", "main-loop", "main-loop-energy")
# tile, blocks of a cluster, KB received, from L2, from memory
TRAFFIC = (
    *(("128x256", 1, kb, kb, 0) for kb in (0, 16, 24, 32, 48)),
    *(("128x256", 2, 48, 32, 0), ("128x256", 1, 48, 40, 8), ("128x256", 1, 48, 32, 16)),
    *(("256x192", 1, 0, 0, 0), ("256x192", 1, 56, 56, 0), ("256x192", 2, 56, 40, 0)),
)


def loop(tile, cluster, received, l2, dram, zeros=0.0, tflops=None, a="bf16", acc="f32"):
    """A record of a main loop; as fast as its energy allows, where no speed is given."""
    options = {"tile": tile, "zeros": zeros, "cluster": cluster}
    options |= {"received_kb": received, "l2_kb": l2, "dram_kb": dram}
    units = 1.5 if tile == "256x192" else 1
    joules = PRODUCTS + (PER_KB["l2"] * l2 + PER_KB["dram"] * dram + PER_KB["partner"] * (received - l2 - dram)) / units
    tflops = tflops or WATTS * energy.UNIT_MFLOP / joules
    return {
        "limit": "wgmma.m64n256k16", "a": a, "acc": acc, "tflops": tflops, "tflops_p20": tflops - 2,
        "tflops_p80": tflops + 2, "options": options, "power_w": WATTS, "sm_mhz": 1600, "gpu": "NVIDIA H200",
        "cuda": "13.0", "date": "2026-11-22",
    }  # fmt: skip


LOOPS = [
    *(loop(*traffic) for traffic in TRAFFIC),
    loop("128x256", 1, 48, 0, 48, tflops=370.0),  # all of it from memory: bandwidth, not energy
    *(loop("128x256", 1, 0, 0, 0, zeros, 850 + 90 * zeros) for zeros in (0.5, 1.0)),
    *(loop("128x256", 1, 0, 0, 0, zeros, 1650 + 140 * zeros, "e4m3") for zeros in (0.0, 1.0)),
    {**loop("128x256", 1, 0, 0, 0, tflops=640.0), "limit": "mma.sync.m16n8k16", "options": {}},
]


@pytest.fixture(scope="module")
def power(tmp_path_factory):
    """A course with two steps of the hopper ladder, one of which was run alone, and the loops."""
    root = tmp_path_factory.mktemp("course")
    (root / "steps").mkdir()
    lines = [f"  {{'name': '{s}', 'arch': '90a', 'ladder': 'hopper', 'types': 'bf16 f16'}},\n" for s in STEPS]
    (root / "steps" / "meson.build").write_text("step_list = [\n" + "".join(lines) + "]\n", encoding="utf-8")
    data, types = root / "plots" / "data", {"a": "bf16", "b": "bf16", "acc": "f32", "c": "bf16"}
    for step, speed in STEPS.items():
        library = {"baseline": "best_library", "baseline_tflops": 670.0, "ratio": speed / 670}
        rows = [
            plots_course.timing(step, speed, (size,) * 3, **types, **library, power_w=600.0, sm_mhz=1500)
            for size in (8192, 16384)
        ]
        plots_course.write(data / "h200" / f"{step}.jsonl", rows)
    alone = plots_course.timing("22_tma", 430.0, (8192,) * 3, **types, power_w=645.0, sm_mhz=1700, baseline="none")
    plots_course.write(data / "h200" / "alone.jsonl", [alone])
    plots_course.write(data / "h200" / "main_loop.jsonl", LOOPS)
    style.apply()
    return Course(root, data), records.load(data, root)


def drawn(power, name, language):
    """A chart's text."""
    return style.to_svg(catalogue.find(*power, name)(language))


def test_the_fit_finds_what_a_kilobyte_costs():
    model = energy.fit(LOOPS)
    assert model.products == pytest.approx(PRODUCTS) and model.per_kb == pytest.approx(PER_KB)
    large = next(r for r in LOOPS if r["options"].get("tile") == "256x192" and r["options"]["cluster"] == 2)
    assert model.tflops(large) == pytest.approx(large["tflops"]), "predicted of a tile that was not fitted"


def test_without_the_loops_that_determine_it_there_is_no_model():
    assert energy.fit([r for r in LOOPS if r["options"].get("dram_kb") == 0]) is None
    assert energy.fit([]) is None


def test_bytes_are_told_per_product():
    pair = next(r for r in LOOPS if r["options"].get("tile") == "256x192" and r["options"]["cluster"] == 2)
    assert energy.kilobytes(pair) == pytest.approx({"l2": 40 / 1.5, "partner": 16 / 1.5, "dram": 0})
    assert energy.per_flop({"power_w": 690.0, "tflops": 345.0}) == 2.0


def test_the_limit_of_wgmma_is_that_with_random_data(power):
    _, recorded = power
    found = recorded.limit("h200", "bf16", "f32", "wgmma")
    assert found["options"]["zeros"] == 0 and found["options"]["received_kb"] == 0
    assert recorded.limit("h200", "bf16", "f32", "mma") is None, "mma.sync's limit is among the limits"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("22 tma", "1.50 pJ · 645 W · 1700 MHz", "0.882 pJ · 600 W · 1500 MHz", "From 1.50 to 0.882 pJ")),
        ("zh-CN", ("每 FLOP 从 1.50 pJ 降到 0.882 pJ", "空心：与库轮流运行")),
    ],
)
def test_energy_is_that_of_a_run_alone_where_there_is_one(power, language, words):
    svg = drawn(power, "energy", language)
    for text in words:
        assert text in svg, text


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("wgmma alone 851", "256×192, pairs 754", "the best library call, 8192³", "26 clusters, 16384³")),
        ("zh-CN", ("只有 wgmma 851", "256×192，成对 754", "最快的库调用, 8192³")),
    ],
)
def test_the_limits_are_lines_beside_the_steps(power, language, words):
    svg = drawn(power, "main-loop", language)
    for text in words:
        assert text in svg, text
    assert svg.count("128×256 7") == 1, "the loop that receives all of its stages, not one of the others"


def test_the_line_tells_the_cost_of_a_kilobyte(power):
    assert "A KB from L2 costs 14.0 nJ" in drawn(power, "main-loop-energy", "en")
    assert "来自 L2 的每 KB 耗能 14.0 nJ" in drawn(power, "main-loop-energy", "zh-CN")


def test_the_tables_have_every_loop_once(power):
    alone = tables.table(*power, "wgmma-alone", "en").splitlines()
    assert [line.split(" | ")[2] for line in alone if line.startswith("| BF16")] == ["0%", "50%", "100%"]
    assert sum(line.startswith("| FP8 e4m3 | FP32") for line in alone) == 2
    loops = tables.table(*power, "main-loops", "zh-CN").splitlines()[4:]
    assert len(loops) == len(TRAFFIC) + 1
    pair = next(line for line in loops if line.startswith("| 256×192，成对 | 40 | 16 | 0 |"))
    speed = next(r for r in LOOPS if r["options"]["tile"] == "256x192" and r["options"]["cluster"] == 2)["tflops"]
    assert pair.endswith(f"| {style.number(speed)} |"), "what the model says"
    bound = next(line for line in loops if "| 0 | 0 | 48 |" in line)
    assert bound.endswith("| – |"), "the model says nothing of what waits for memory"


@pytest.mark.parametrize("name", CHARTS)
def test_without_records_the_chart_is_missing(power, name):
    course, _ = power
    with pytest.raises(style.Missing):
        catalogue.find(course, records.Records(), name)("en")


@pytest.mark.parametrize("field", ["power_w", "options"])
def test_a_loop_without_what_the_charts_need_is_refused(tmp_path, field):
    broken = {key: value for key, value in LOOPS[0].items() if key != field}
    file = tmp_path / "plots" / "data" / "h200" / "main_loop.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(broken) + "\n", encoding="utf-8")
    with pytest.raises(records.RecordError, match=rf"main_loop.jsonl:1: .*no field '{field}'"):
        records.load(tmp_path / "plots" / "data", tmp_path)
