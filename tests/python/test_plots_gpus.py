"""The tables that compare GPUs, made from made-up records."""

import json
import sys

import plots_course
import pytest

from tools.paths import ROOT

sys.path.insert(0, str(ROOT / "plots"))

from gemm_plots import energy_charts, gpu_tables, latencies, records, tables
from gemm_plots.course import Course
from gemm_plots.style import Missing

COURSE = Course(ROOT, ROOT / "plots" / "data")
STEP = "11_warp_tiling"
SEVERAL = {
    **{"layout": "row", "way": "copied", "product": "27", "gpus": 2, "chunks": 4, "nccl_blocks": 0, "m": 16384},
    **{"n": 16384, "k": 16384, "bytes_sent": 268435456, "ms": 6.5, "ms_p20": 6.4, "ms_p80": 6.625, "tflops": 1353.0},
    **{"one_gpu_ms": 12.5, "speed_up": 1.923, "arithmetic_ms": 6.25, "communication_ms": 1.0, "exposed_ms": 0.25},
    **{"hidden": 0.75, "torch": "2.11.0+cu130", "nccl": "2.28.9", "gpu": "NVIDIA H200", "date": "2026-11-22"},
}


def of_gpu(name, tflops, watts):
    """Timings at 4096 and 8192 of one step on one GPU, and its run alone."""
    timed = [plots_course.timing(STEP, tflops, (size,) * 3, gpu=name) for size in (4096, 8192)]
    timed = [{**r, "ms_p20": r["ms"] / 1.03, "ms_p80": r["ms"] / 0.97} for r in timed]
    return timed, [{**timed[1], "baseline": "none", "power_w": watts, "sm_mhz": 1980}]


@pytest.fixture
def two():
    """Records of two GPUs, of which pages show the first."""
    made = records.Records(shown=frozenset({"h200"}))
    for gpu, name, tflops, watts in (
        ("h100", "NVIDIA H100 80GB HBM3", 49.0, 640.0),
        ("h200", "NVIDIA H200", 50.0, 650.0),
    ):
        made.timings[gpu], made.alone[gpu] = of_gpu(name, tflops, watts)
    return made


def rows(table):
    """Its rows as lists of cells, without the head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_every_gpu_is_compared_with_the_first(two, language):
    made = tables.table(COURSE, two, "other-gpus", language)
    (row,) = rows(made)
    at_one_size = ["50.0 (48.5–51.5)", "49.0 (47.5–50.5)", "0.98"]
    assert row[1:] == at_one_size * 2 and "H100 ÷ H200" in made
    for gpu, found in two.timings.items():
        two.timings[gpu] = [{**r, "ms_p20": r["ms"], "ms_p80": r["ms"]} for r in found]
    (row,) = rows(tables.table(COURSE, two, "other-gpus", language))
    assert row[3] == "**0.98**"


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_loads_on_each_gpu_by_the_bytes_that_they_go_round_in(two, language):
    for gpu, cycles in (("h100", 690.0), ("h200", 667.4)):
        of = {"latency": latencies.LOAD, "cycles": cycles, "cycles_p20": cycles - 5, "cycles_p80": cycles + 5}
        two.latencies[gpu] = [{**of, "options": {"ring_kb": kb}} for kb in (1 << 20, 16)]
    assert rows(tables.table(COURSE, two, "other-gpus-latencies", language)) == [
        ["1 GB", "667", "662–672", "690", "685–695"]
    ]
    assert latencies.measured(two) == "h200"


def test_other_pages_show_the_first_alone(two):
    assert two.gpus([STEP]) == ["h200"]
    assert energy_charts._measured(COURSE, two)[0] == "h200"
    assert "H100" not in tables.table(COURSE, two, f"step:{STEP}", "en")
    two.shown = frozenset({"h200", "h100"})
    assert "H100" in tables.table(COURSE, two, f"step:{STEP}", "en")


@pytest.mark.parametrize("name", ["other-gpus", "other-gpus-latencies", "several-gpus-row"])
def test_one_gpu_is_compared_with_nothing(two, name):
    del two.timings["h100"], two.alone["h100"]
    with pytest.raises(Missing):
        tables.table(COURSE, two, name, "en")


def test_a_product_on_several_gpus_a_way_per_row(tmp_path):
    """By the number of GPUs, then by way; the kernel that stores by itself has no communication of its own."""
    stored = {key: value for key, value in SEVERAL.items() if key not in ("communication_ms", "hidden")}
    lines = [{**SEVERAL, "gpus": 4}, {**stored, "way": "stored"}, {**SEVERAL, "product": "torch", "way": "serial"}]
    folder = tmp_path / "h200"
    folder.mkdir()
    text = "".join(json.dumps(one) + "\n" for one in [*lines, {**SEVERAL, "layout": "column"}, SEVERAL])
    (folder / "several_gpus.jsonl").write_text(text)
    found = records.load(tmp_path, tmp_path)
    assert [(r["gpus"], r["way"]) for r in gpu_tables.several(found, "h200", "row")] == [
        (2, "serial"), (2, "copied"), (2, "stored"), (4, "copied"),
    ]  # fmt: skip
    made = rows(tables.table(COURSE, found, "several-gpus-row", "en"))
    assert made[0][1:3] == ["`serial`", "torch.matmul"]
    assert made[1][2:] == ["27 by size", "4", "6.50", "6.40–6.62", "1353", "**1.92**", "6.25", "1.00", "0.25", "75%"]
    assert made[2][-3:] == ["–", "0.25", "–"]


def test_published_speeds_are_shares_of_what_was_published_with_them():
    facts = COURSE.published()["speeds"]
    made = rows(tables.table(COURSE, records.Records(), "published-speeds", "en"))
    assert len(made) == len(facts["figures"])
    for row, figure in zip(made, facts["figures"], strict=True):
        assert COURSE.step(figure["step"]) and figure["tflops"] < figure["peak"]
        assert float(row[4].rstrip("%")) == pytest.approx(100 * figure["tflops"] / figure["cublas"], abs=0.06)
