"""The tables that compare GPUs, made from made-up records."""

import importlib
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import plots_course
import pytest

import records
from base.paths import ROOT
from plots import energy_charts, gpu_tables, latencies, tables
from plots.course import Course
from plots.style import Missing

COURSE = Course(ROOT, ROOT / "records")
STEP = "11_warp_tiling"


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


def test_a_step_timed_at_one_of_the_sizes_has_a_row(two):
    for found in two.timings.values():
        found += [{**r, "step": "12_half_pack"} for r in found]
    two.timings["h100"] = [r for r in two.timings["h100"] if (r["step"], r["m"]) != (STEP, 4096)]
    row, other = rows(tables.table(COURSE, two, "other-gpus", "en"))
    assert row[1:4] == ["50.0 (48.5–51.5)", "–", "–"] and row[4:] == other[4:]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_hopper_steps_with_their_share_of_the_best_library_call(two, language):
    for gpu, tflops in (("h200", 650.0), ("h100", 680.0)):
        spans = {
            "baseline": "best_library",
            "ratio_p20": tflops / 701,
            "ratio_p80": tflops / 699,
            "ratio": tflops / 700,
        }
        two.timings[gpu].append(plots_course.timing("25_overlapped_store", tflops, (8192,) * 3, **spans))
    (row,) = rows(tables.table(COURSE, two, "other-gpus-shares", language))  # FP32 steps have no share of it
    assert row[1:5] == ["8192", "650 (650–650)", "680 (680–680)", "**1.05**"]
    assert row[5:] == ["0.929 (0.927–0.930)", "0.971 (0.970–0.973)"]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_power_of_every_step_that_ran_alone_on_both(two, language):
    two.alone["h200"] += [{**two.alone["h200"][0], "step": "12_half_pack"}]
    (row,) = rows(tables.table(COURSE, two, "other-gpus-power", language))
    alone = ["50.0 (48.5–51.5)", "650", "1980", "13.0", "49.0 (47.5–50.5)", "640", "1980", "13.1"]
    assert row[1:] == [*alone, "0.98", "1.00"]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_loads_on_each_gpu_by_the_bytes_that_they_go_round_in(two, language):
    for gpu, cycles in (("h100", 690.0), ("h200", 667.4)):
        of = {"latency": latencies.LOAD, "cycles": cycles, "cycles_p20": cycles - 5, "cycles_p80": cycles + 5}
        two.latencies[gpu] = [{**of, "options": {"ring_kb": kb}} for kb in (1 << 20, 16)]
    assert rows(tables.table(COURSE, two, "other-gpus-latencies", language)) == [
        ["1 GB", "667", "662–672", "690", "685–695"]
    ]
    assert latencies.measured(two) == "h200"


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_bytes_from_memory_beside_the_time(two, language):
    step = tables.gpus.COUNTED_STEP
    for gpu, gigabytes in (("h100", 108.7), ("h200", 102.0)):
        two.timings[gpu].append(plots_course.timing(step, 27.5, (8192,) * 3, gpu=gpu))
        counts = {gpu_tables.INTO_L1: 120.4e9, "dram__bytes_read.sum": gigabytes * 1e9}
        two.profiles[gpu] = [{"step": step, "m": 8192, "metric": m, "value": v} for m, v in counts.items()]
    assert rows(tables.table(COURSE, two, "other-gpus-memory", language)) == [
        ["8192", "H200", "120.4", "102.0", "40", "2.6"],
        ["8192", "H100", "120.4", "108.7", "40", "2.7"],
    ]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_main_loops_on_each_gpu(two, language):
    told = {"tile": "128x256", "zeros": 0.5, "cluster": 1, "received_kb": 48, "l2_kb": 40, "dram_kb": 8}
    for gpu, tflops in (("h100", 560.0), ("h200", 620.0)):
        loop = {"limit": "wgmma.m64n256k16", "a": "bf16", "acc": "f32", "options": told, "power_w": 698.0}
        two.main_loops[gpu] = [{**loop, "tflops": tflops, "tflops_p20": tflops - 4, "tflops_p80": tflops + 4}]
    (row,) = rows(tables.table(COURSE, two, "other-gpus-loops", language))
    assert row == ["128×256", "50%", "40", "8", "620 (616–624)", "698", "560 (556–564)", "698", "**0.90**"]


def test_other_pages_show_the_first_alone(two):
    assert two.gpus([STEP]) == ["h200"]
    assert energy_charts._measured(COURSE, two)[0] == "h200"
    assert "H100" not in tables.table(COURSE, two, f"step:{STEP}", "en")
    two.shown = frozenset({"h200", "h100"})
    assert "H100" in tables.table(COURSE, two, f"step:{STEP}", "en")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("other-gpus", "timed on one GPU alone"),
        ("other-gpus-shares", "no step for Hopper was timed on two GPUs"),
        ("other-gpus-power", "run alone on one GPU alone"),
        ("other-gpus-latencies", "measured on one GPU alone"),
        ("other-gpus-memory", "the bytes that 14_wmma_naive reads were not counted"),
        ("other-gpus-loops", "main loops were measured on one GPU alone"),
        ("several-gpus-row", "no product on several GPUs is recorded"),
    ],
)
def test_one_gpu_is_compared_with_nothing(two, name, says):
    del two.timings["h100"], two.alone["h100"]
    of = {"latency": latencies.LOAD, "cycles": 667.0, "cycles_p20": 662.0, "cycles_p80": 672.0}
    two.latencies["h200"] = [{**of, "options": {"ring_kb": 1 << 20}}]
    with pytest.raises(Missing, match=says):
        tables.table(COURSE, two, name, "en")


@pytest.fixture
def example(monkeypatch):
    """python/examples/tensor_parallel.py, with something in place of PyTorch that only tells versions."""
    versions = {"cuda.get_device_name.return_value": "NVIDIA H200", "cuda.nccl.version.return_value": (2, 28, 9)}
    torch = MagicMock(__version__="2.11.0+cu130", **versions, **{"version.cuda": "13.0"})
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
    monkeypatch.syspath_prepend(ROOT / "python" / "examples")
    monkeypatch.setenv("GEMM_COMMIT", "0123abc")
    yield importlib.import_module("tensor_parallel")
    for name in ("tensor_parallel", "in_turn", "mailboxes"):  # they have kept what stands in for PyTorch
        del sys.modules[name]


def write(example, file, gpus, *cases):
    """What the example writes of some ways, each of 6.5 ms, with 1 ms of communication of which 0.25 is not hidden."""
    ways = [SimpleNamespace(case=case, moves_apart=case.way != "stored") for case in cases]
    split = example.products.Split(16384, 16384, 16384, gpus, 1)
    rounds = {}
    for case in cases:
        rounds[case, "together"] = [6.3, 6.4, 6.5, 6.5, 6.625, 6.7]
        rounds |= {(case, "arithmetic"): [6.25] * 6, (case.moves, "communication"): [1.0] * 6}
        rounds[case.product, "one GPU"] = [12.5] * 6
    options = SimpleNamespace(json=file, product=list(dict.fromkeys(case.product for case in cases)))
    example.in_turn.show(ways, rounds, SimpleNamespace(split=split), options)


def test_a_product_on_several_gpus_a_way_per_row(tmp_path, example, capsys):
    """As the example writes it, by the number of GPUs; the kernel that stores has no communication of its own."""
    (tmp_path / "h200").mkdir()
    file = tmp_path / "h200" / "several_gpus.jsonl"
    copied = example.Case("row", "copied", "27", 4)
    write(example, file, 4, copied)
    stored, column = example.Case("row", "stored", "27", 4), example.Case("column", "copied", "27", 4)
    write(example, file, 2, example.Case("row", "serial", "torch"), copied, stored, column)
    assert "row-parallel copied in 4, 27" in capsys.readouterr().out
    found = records.load(tmp_path, tmp_path)
    assert [(r["gpus"], r["way"]) for r in gpu_tables.several(found, "h200", "row")] == [
        (2, "serial"), (2, "copied"), (2, "stored"), (4, "copied"),
    ]  # fmt: skip
    assert len(gpu_tables.several(found, "h200", "column")) == 1
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
