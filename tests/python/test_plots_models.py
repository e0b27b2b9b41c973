"""What charts and tables work out from records, on made-up records whose answer is known. What they show of the course's own
records is held by test_plots: every committed chart, table and picture is what is drawn today."""

import importlib
import json
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

import records
from base.paths import ROOT
from base.registry import Step
from plots import energy, findings, gpu_tables, gpu_timeline, passes, shares_chart, stream_k, tables, turn_charts
from plots.course import Course

COURSE = Course(ROOT, ROOT / "records")
STEP = Step("19_mma_stages", "80", "mma", "f16")
WATTS, PRODUCTS, PER_KB, PER_GHZ = 690.0, 3.4, 0.014, 490.0  # W; µJ per 128×256×64 and per KB; TFLOPS, without a wait


def loop(tile, cluster, received, l2):
    """A record of a main loop that is as fast as its energy allows."""
    units = 1.5 if tile == "256x192" else 1
    tflops = WATTS * energy.UNIT_MFLOP / (PRODUCTS + PER_KB * l2 / units)
    options = {"tile": tile, "zeros": 0.0, "cluster": cluster, "received_kb": received, "l2_kb": l2, "dram_kb": 0}
    return {
        "limit": "wgmma.m64n256k16", "a": "bf16", "acc": "f32", "tflops": tflops, "options": options, "power_w": WATTS,
        "sm_mhz": 1000 * tflops / PER_GHZ,
    }  # fmt: skip


PAIR = loop("256x192", 2, 56, 40)
LOOPS = [*(loop("128x256", 1, kb, kb) for kb in (0, 16, 24, 32, 48)), loop("256x192", 1, 0, 0), PAIR]


def test_the_fit_of_energy_finds_what_a_kilobyte_costs():
    model = energy.fit(LOOPS)
    assert model.products == pytest.approx(PRODUCTS) and model.per_kb == pytest.approx(PER_KB)
    assert model.tflops(PAIR) == pytest.approx(PAIR["tflops"]), "predicted of a tile that was not fitted"
    assert energy.fit(LOOPS[:1]) is None


def test_a_loop_waits_where_it_does_less_per_cycle():
    waits = {**LOOPS[4], "tflops": 370.0, "sm_mhz": 1500}
    assert energy.waits(waits, [*LOOPS, waits]) and not energy.waits(PAIR, [*LOOPS, waits])


@pytest.mark.parametrize("field", ["power_w", "options"])
def test_a_loop_without_what_the_charts_need_is_refused(tmp_path, field):
    broken = {key: value for key, value in LOOPS[0].items() if key != field}
    file = tmp_path / "records" / "h200" / "main_loop.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(broken) + "\n", encoding="utf-8")
    with pytest.raises(records.RecordError, match=rf"main_loop.jsonl:1: .*no field '{field}'"):
        records.load(tmp_path / "records", tmp_path)


def timed(tflops, spread=0.01, **others):
    """A timing whose rounds spread by this share of its time to either side."""
    ms = 1000 / tflops
    return {"tflops": tflops, "ms": ms, "ms_p20": ms * (1 - spread), "ms_p80": ms * (1 + spread), **others}


@pytest.mark.parametrize(
    ("best", "spread", "says"),
    [
        (90, 0.01, "the default is the fastest, ×1.11 beside other"),
        (99, 0.01, "no variant is faster than the default, ×1.01 beside other"),
        (101, 0.01, "none of its types and layout is faster beyond the spread"),
        (110, 0.01, "other is 10 % faster than the default"),
        (110, 0.10, "none of its types and layout is faster beyond the spread"),
    ],
)
def test_a_title_calls_a_variant_faster_only_beyond_the_spread(best, spread, says):
    rows = [timed(100, spread, variant="own", default=True), timed(best, spread, variant="other")]
    assert findings.among_variants(STEP, rows, rows, "en") == f"19 mma stages: {says}"


def test_a_title_calls_a_variant_of_another_day_faster_only_beyond_what_days_differ_by():
    own = timed(100, 0.001, variant="own", default=True, date="2026-11-21")
    for tflops, says in (
        (102, ", timed on another day, is within 3 % of the default"),
        (105, " is 5 % faster than the default"),
    ):
        rows = [own, timed(tflops, 0.001, variant="other", date="2026-11-22")]
        assert findings.among_variants(STEP, rows, rows, "en") == f"19 mma stages: other{says}"


def beside_a_library(step, tflops, library, spread):
    """A step's default at 4096 beside the best library call, which does not do the same in every run."""
    ratio = tflops / library
    shares = {"ratio": ratio, "ratio_p20": ratio * 0.999, "ratio_p80": ratio * 1.001, "baseline_tflops": library}
    size = {"m": 4096, "n": 4096, "k": 4096}
    return {
        **size, **timed(tflops, spread, **shares), "step": step, "variant": "bf16", "default": True,
        "baseline": records.BEST_LIBRARY, "a": "bf16", "acc": "f32",
    }  # fmt: skip


OVERLAPPED, SPECIALISED = COURSE.step("25_overlapped_store"), COURSE.step("24_warp_specialised")


NONE, NONE_IN_CHINESE = "no difference from step 24 that times and ratios both show", "用时与比值没有一致的差别"


@pytest.mark.parametrize(
    ("speeds", "libraries", "says", "chinese"),
    [
        ((728, 700), (700, 700), "is faster than step 24 at every size (×1.04)", "各尺寸都更快（×1.04）"),
        ((686, 700), (700, 700), "is slower than step 24 at every size (×0.98)", "各尺寸都更慢（×0.98）"),
        ((728, 700), (728, 700), NONE, NONE_IN_CHINESE),  # the library has gained as much: it is the clock
        ((700, 700), (650, 700), NONE, NONE_IN_CHINESE),  # only the library has changed
        ((728, 700), (660, 700), "is faster than step 24 at every size (×1.10)", "各尺寸都更快（×1.10）"),
        ((703, 700), (700, 700), NONE, NONE_IN_CHINESE),  # less than half a per cent
    ],
)
@pytest.mark.parametrize("spread", [0.001, 0.03])
def test_two_steps_near_the_library_are_compared_by_speeds_and_by_ratios_in_turn(
    speeds, libraries, says, chinese, spread
):
    """The title tells of a gain where both say so, however far the clock drifted within a run, and tells by how much the
    ratios differ, which the chart draws: each step's to the library in turn with it."""
    names = (OVERLAPPED.name, SPECIALISED.name)
    rows = [beside_a_library(*of, spread) for of in zip(names, speeds, libraries, strict=True)]
    found = records.Records(timings={"h200": rows})
    assert says in findings.over_size(COURSE, found, "h200", OVERLAPPED, "en", by_ratios=True)
    assert chinese in findings.over_size(COURSE, found, "h200", OVERLAPPED, "zh-CN", by_ratios=True)
    drawn = turn_charts.over_size(COURSE, found, ["h200"], OVERLAPPED, "en")
    before, now = (line.get_ydata() for line in drawn.axes[0].lines if len(line.get_xdata()) == 1)
    assert now[0] == pytest.approx(speeds[0] / libraries[0]) and before[0] == pytest.approx(speeds[1] / libraries[1])


def test_stream_k_is_compared_with_the_default_of_its_own_pass():
    """The default takes 10 and 12 ms, stream-K 8 in both passes: 1.25 and 1.5 times as fast, in the middle 1.375."""
    size = {"m": 3072, "n": 3072, "k": 3072}
    of = lambda number, variant, ms: {  # noqa: E731
        **size, **timed(1000 / ms), "options": {"pass": number}, "variant": variant, "default": variant == "bf16",
        "baseline": "none",
    }  # fmt: skip
    found = [of(1, "bf16", 10.0), of(1, "stream_k", 8.0), of(2, "bf16", 12.0), of(2, "stream_k", 8.0)]
    assert stream_k.beside_default(found, (3072, 3072, 3072), "stream_k") == stream_k.Speeds(1.375, 1.25, 1.5)


def passed(step, variant, size, at, ms, default=True, commit="0123abc"):
    row = {"step": step, "variant": variant, "default": default, "m": size, "n": size, "k": size, "ms": ms}
    return {**row, "options": {"pass": at}, "commit": commit, "sm_mhz": 1800, "power_w": 680.0}


def test_passes_are_of_the_variant_that_a_first_step_is_compared_with():
    """Step 22 takes 10 ms, step 20's bf16 11 and 12; its default was timed beside step 21 and is not meant."""
    tma = COURSE.step("22_tma")
    rows = [passed("22_tma", "bf16", 4096, at, 10.0) for at in (1, 2)]
    rows += [passed("20_mma_warp_swizzle", "bf16", 4096, at, ms, default=False) for at, ms in ((1, 11.0), (2, 12.0))]
    rows += [passed("20_mma_warp_swizzle", "swizzle", 4096, at, 9.0) for at in (1, 2)]
    other, found = passes.beside(COURSE, records.Records(passes={"h200": rows}), "h200", tma)
    assert other == "20 bf16" and found[4096].medians("ms") == (11.5, 10.0)
    assert found[4096].faster == pytest.approx([0.1, 0.2])
    other_day = [{**row, "commit": "4567def"} for row in rows if row["step"] == tma.name]
    assert passes.beside(COURSE, records.Records(passes={"h200": rows[2:] + other_day}), "h200", tma)[1] == {}, "apart"


@pytest.mark.parametrize(
    ("in_passes", "says"),
    [
        ((10.0, 10.1), "25 overlapped store is faster than step 24 at every size (×1.09)"),
        ((10.0, 11.0), "no difference from step 24"),  # in one pass of two it is as slow
    ],
)
def test_passes_decide_what_a_title_tells(in_passes, says):
    """In records of two runs the step is 20 % faster, relative to the library as well; in passes 10 % or not always."""
    rows = [
        beside_a_library(step.name, speed, library, 0.001)
        for step, speed, library in ((OVERLAPPED, 720, 700), (SPECIALISED, 600, 700))
    ]
    timed_in_passes = [
        passed(name, "bf16", rows[0]["m"], at, ms)
        for name, each in ((OVERLAPPED.name, in_passes), (SPECIALISED.name, (11.0, 11.0)))
        for at, ms in enumerate(each)
    ]
    found = records.Records(timings={"h200": rows}, passes={"h200": timed_in_passes})
    assert says in findings.over_size(COURSE, found, "h200", OVERLAPPED, "en", by_ratios=True)


@pytest.fixture
def example(monkeypatch):
    """python/examples/tensor_parallel.py, with something in place of PyTorch that only tells versions."""
    versions = {"cuda.get_device_name.return_value": "NVIDIA H200", "cuda.nccl.version.return_value": (2, 28, 9)}
    torch = MagicMock(__version__="2.11.0+cu130", **versions, **{"version.cuda": "13.0"})
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.distributed", torch.distributed)
    monkeypatch.setitem(sys.modules, "torch.profiler", torch.profiler)
    monkeypatch.syspath_prepend(ROOT / "python" / "examples")
    monkeypatch.setenv("GEMM_COMMIT", "0123abc")
    yield importlib.import_module("tensor_parallel")
    for name in ("tensor_parallel", "in_turn", "mailboxes", "timeline"):  # they have kept what stands in for PyTorch
        del sys.modules[name]


def test_the_example_on_several_gpus_writes_what_its_table_reads(tmp_path, example, capsys):
    """Ways of 6.5 ms, with 1 ms of communication of which 0.25 is not hidden; who stores directly has none of its own."""
    (tmp_path / "h200").mkdir()
    cases = [example.Case("row", way, "27", 4) for way in ("copied", "stored")]
    rounds = {}
    for case in cases:
        rounds[case, "together"] = [6.3, 6.4, 6.5, 6.5, 6.625, 6.7]
        rounds |= {(case, "arithmetic"): [6.25] * 6, (case.moves, "communication"): [1.0] * 6}
        rounds[case.product, "one GPU"] = [12.5] * 6
    ways = [SimpleNamespace(case=case, moves_apart=case.way != "stored") for case in cases]
    shared = SimpleNamespace(split=example.products.Split(16384, 16384, 16384, 4, 1))
    options = SimpleNamespace(json=tmp_path / "h200" / "several_gpus.jsonl", product=["27"])
    example.in_turn.show(ways, rounds, shared, options)
    assert "row-parallel copied in 4, 27" in capsys.readouterr().out
    found = records.load(tmp_path, tmp_path)
    assert [(r["gpus"], r["way"]) for r in gpu_tables.several(found, "h200", "row")] == [(4, "copied"), (4, "stored")]
    rows = tables.table(COURSE, found, "several-gpus-row", "en").splitlines()
    assert rows[-2].endswith("| 6.50 | 6.40–6.62 | 1353 | **1.92** | 6.25 | 1.00 | 0.25 | 75% |")
    assert rows[-1].endswith("| – | 0.25 | – |")


def piece(start, us, name="gemm_kernel", cat="kernel"):
    args = {"grid": [132, 1, 1], "block": [384, 1, 1], "registers per thread": 168, "shared memory": 205824}
    return {"cat": cat, "name": name, "ts": start, "dur": us, "args": args if cat == "kernel" else {}}


def test_a_timeline_is_the_middle_one_of_equal_calls(example):
    """Three calls of a product, a copy and a reduce-scatter that begins first in the list, not in time."""
    reduce_scatter = "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL"
    events = [{"cat": "cpu_op", "name": "mm", "ts": 0, "dur": 1, "args": {}}]
    for first in (1000, 2000, 3000):
        events += [piece(first + 700, 250, reduce_scatter), piece(first, 600)]
        events.append(piece(first + 600, 90, "Memcpy PtoP (Device -> Device)", "gpu_memcpy"))
    found = example.timeline.middle_call(events, 3)
    assert [(p["kernel"], p["start_us"], p["us"]) for p in found] == [
        ("product", 0, 600), ("copy", 600, 90), ("collective", 700, 250)
    ]  # fmt: skip
    assert (found[0]["blocks"], found[0]["threads"], found[0]["registers"]) == (132, 384, 168)
    with pytest.raises(ValueError, match="not those of 3 equal calls"):
        example.timeline.middle_call(events[:-1], 3)


def test_what_has_no_bar_among_the_shares_is_told():
    """Step 32 computes FP32 on tensor cores: it passes its library so far that no axis holds both."""
    step = COURSE.step("32_digits")
    row = beside_a_library(step.name, 200, 50, 0.01)
    found = records.Records(timings={"h200": [row]})
    assert "No bars for 32, ×4.0" in shares_chart.beyond(COURSE, found, "h200", "en")
    assert "步骤 32 不在图中" in shares_chart.beyond(COURSE, found, "h200", "zh-CN")
    assert shares_chart.beyond(COURSE, records.Records(timings={"h200": [{**row, "ratio": 1.1}]}), "h200", "en") == ""


@pytest.mark.parametrize(
    ("best", "other", "told"), [(0.686, 0.684, True), (0.684, 0.686, False), (0.6861, 0.6859, False)]
)
def test_a_ratio_above_that_to_another_call_is_explained_where_a_table_prints_it(best, other, told):
    """The best call has the lowest median time, and its ratio is the median over rounds: the two need not agree."""
    shares = {records.BEST_LIBRARY: best, records.CUBLASLT: best, records.CUBLAS: other, records.CUBLAS_F16_SUMS: 0.1}
    for language, words in (("en", "lowest median time"), ("zh-CN", "耗时中位数最小")):
        page = tables.page.Page(COURSE, None, language)
        assert (words in tables.page.by_rounds(page, [{}, {records.CUBLAS: 0.5}, shares])) == told


def test_transfers_beside_products_cost_what_delays_their_end():
    """Two chunks of two products of 700 µs, early by 100; the first transfer waits 500 µs, runs 300, and the fourth
    product ends 200 µs late."""
    of = lambda kernel, start, us: {  # noqa: E731
        "layout": "row", "way": "chunked", "product": "27", "kernel": kernel, "start_us": start, "us": us,
        **dict.fromkeys(("blocks", "threads", "registers", "shared_bytes"), 24),
    }  # fmt: skip
    rows = [of("product", 0, 700), of("product", 600, 700), of("product", 1200, 700), of("collective", 1800, 300)]
    rows += [of("product", 1810, 890), of("collective", 2710, 250)]
    found = gpu_timeline.of(rows, "row", "chunked", "27")
    assert (found.wait, found.lasts, found.last) == pytest.approx((0.5, 0.3, 0.25))
    assert found.lost == pytest.approx(0.2) and found.blocks == 24
    assert gpu_timeline.of(rows, "row", "serial", "27") is None
