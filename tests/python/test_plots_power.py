"""The charts and tables of energy: from made-up loops whose cost per KB is known, in both languages."""

import json
from pathlib import Path

import plots_course
import pytest

import records
from plots import catalogue, energy, style, tables
from plots.course import Course

HERE = Path(__file__).resolve().parent


WATTS = 690.0
PRODUCTS, PER_KB, PER_KB_OF_MEMORY = 3.4, 0.014, 0.09  # µJ per 128×256×64, and per KB that a block reads
PER_GHZ = 490.0  # TFLOPS, of a loop that does not wait
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
    tflops = tflops or WATTS * energy.UNIT_MFLOP / (PRODUCTS + (PER_KB * l2 + PER_KB_OF_MEMORY * dram) / units)
    return {
        "limit": "wgmma.m64n256k16", "a": a, "acc": acc, "tflops": tflops, "tflops_p20": tflops - 2,
        "tflops_p80": tflops + 2, "options": options, "power_w": WATTS, "sm_mhz": 1000 * tflops / PER_GHZ,
        "gpu": "NVIDIA H200", "cuda": "13.0", "date": "2026-11-22",
    }  # fmt: skip


WAITS = {**loop("128x256", 1, 48, 0, 48, tflops=370.0), "sm_mhz": 1500}  # for memory
PAIR = loop("256x192", 2, 56, 40, 0)
LOOPS = [
    *(loop(*traffic) for traffic in TRAFFIC),
    WAITS,
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
    data, types = root / "records", {"a": "bf16", "b": "bf16", "acc": "f32", "c": "bf16"}
    for step, speed in STEPS.items():
        library = {"baseline": "best_library", "baseline_tflops": 670.0, "ratio": speed / 670}
        rows = [
            plots_course.timing(step, speed, (size,) * 3, **types, **library, power_w=600.0, sm_mhz=1500)
            for size in (8192, 16384)
        ]
        plots_course.write(data / "h200" / f"{step}.jsonl", rows)
    alone = [
        plots_course.timing(step, 430.0 * faster, (8192,) * 3, **types, power_w=645.0, sm_mhz=1700, baseline="none")
        for step, faster in zip(STEPS, (1, 1.5), strict=True)
    ]
    plots_course.write(data / "h200" / "alone.jsonl", alone)
    plots_course.write(data / "h200" / "main_loop.jsonl", LOOPS)
    style.apply()
    return Course(root, data), records.load(data, root)


def drawn(power, name, language):
    """A chart's text."""
    return plots_course.words_of(style.to_svg(catalogue.find(*power, name)(language)))


def test_the_fit_finds_what_a_kilobyte_costs():
    model = energy.fit(LOOPS)
    assert model.products == pytest.approx(PRODUCTS) and model.per_kb == pytest.approx(PER_KB)
    assert model.tflops(PAIR) == pytest.approx(PAIR["tflops"]), "predicted of a tile that was not fitted"


def test_without_loops_that_differ_in_what_they_read_there_is_no_model():
    assert energy.fit([r for r in LOOPS if r["options"].get("received_kb") == 0]) is None
    assert energy.fit([]) is None


def test_bytes_are_told_per_product():
    assert energy.kilobytes(PAIR) == pytest.approx(40 / 1.5)
    assert energy.per_flop({"power_w": 690.0, "tflops": 345.0}) == 2.0


def test_a_loop_waits_where_it_does_less_per_cycle():
    assert energy.waits(WAITS, LOOPS) and not energy.waits(PAIR, LOOPS)
    assert not any(energy.waits({**r, "sm_mhz": 0}, [{**r, "sm_mhz": 0}]) for r in LOOPS[:1]), "the clock is not known"


def test_the_limit_of_wgmma_is_that_with_random_data(power):
    _, recorded = power
    found = recorded.limit("h200", "bf16", "f32", "wgmma")
    assert found["options"]["zeros"] == 0 and found["options"]["received_kb"] == 0
    assert recorded.limit("h200", "bf16", "f32", "mma") is None, "mma.sync's limit is among the limits"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("22 tma", "pJ/FLOP W MHz", "1.50 645 1700", "From 1.50 to 1.00 pJ", "the instruction alone")),
        ("zh-CN", ("每 FLOP 从 1.50 pJ 降到 1.00 pJ", "单独运行")),
    ],
)
def test_energy_is_that_of_a_run_alone(power, language, words):
    svg = drawn(power, "energy", language)
    for text in words:
        assert text in svg, text
    assert "600 W" not in svg, "in turn with the library"


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("wgmma alone 851", "256×192, pairs 767", "the best library call", "8192³", "16384³")),
        ("zh-CN", ("只有 wgmma 851", "256×192，成对 767", "最快的库调用")),
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
    assert pair.endswith(f"| 490 | {energy.per_unit(PAIR):.2f} | {style.number(PAIR['tflops'])} |"), (
        "measured, the model"
    )
    bound = next(line for line in loops if "| 0 | 0 | 48 |" in line)
    assert bound.endswith("| – |"), "the model says nothing of what comes from memory"


@pytest.mark.parametrize("name", CHARTS)
def test_without_records_the_chart_is_missing(power, name):
    course, _ = power
    with pytest.raises(style.Missing):
        catalogue.find(course, records.Records(), name)("en")


@pytest.mark.parametrize("field", ["power_w", "options"])
def test_a_loop_without_what_the_charts_need_is_refused(tmp_path, field):
    broken = {key: value for key, value in LOOPS[0].items() if key != field}
    file = tmp_path / "records" / "h200" / "main_loop.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(broken) + "\n", encoding="utf-8")
    with pytest.raises(records.RecordError, match=rf"main_loop.jsonl:1: .*no field '{field}'"):
        records.load(tmp_path / "records", tmp_path)
