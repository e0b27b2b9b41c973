"""plots/plot.py on the tensor-core ladders: two baselines, limits, sweeps, swizzle, bottlenecks, errors."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "plots"), str(HERE)]

import plots_course  # noqa: E402
from gemm_plots import bottleneck_charts, error_charts, panels, records, swizzle_charts  # noqa: E402

_spec = importlib.util.spec_from_file_location("plot_script", ROOT / "plots" / "plot.py")
plot = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(plot)

STEP = "20_mma_warp_swizzle"


@pytest.fixture
def course(tmp_path):
    return plots_course.add_tensor_cores(plots_course.make(tmp_path / "course"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A course whose charts are drawn, for tests that only look."""
    root = plots_course.add_tensor_cores(plots_course.make(tmp_path_factory.mktemp("drawn") / "course"))
    assert plot.main(["--root", str(root)]) == 0
    return root


def chart(root, name):
    """A chart's text, with plain spaces."""
    path = root / "plots" / "charts" / f"{name}.svg"
    return path.read_text(encoding="utf-8").replace("&#160;", " ")


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("mma-ladder", ["560  (93.3%)", "170  (28.3%)", "cuBLAS 600", "cublasLt 640", "mma.sync limit 650"]),
        ("mma-ladder-8192", ["560  (93.3%)", "cublasLt 640", "peak 990"]),
        ("mma-sizes", ["cublasLt", "mma.sync limit 650"]),
        ("mma-sizes.zh-CN", ["mma.sync 上限 650"]),
        ("all-ladders", ["FP32 on CUDA cores", "Tensor cores through PTX mma.sync", "limit of the instruction"]),
        ("all-ladders.zh-CN", ["全部阶梯", "指令实测上限"]),
        ("mma-instructions", ["per 2048 multiply-adds"]),
        ("mma-bank-conflicts", ["(33%)"]),
        (f"{STEP}-variants", ["fp32 (FP16, FP32 accumulate)", "540  (90.0%)", "cublasLt 640"]),
        (f"{STEP}-hgemm27", ["0.500", "÷ cuBLAS: geometric mean 0.500", "÷ cublasLt: geometric mean 0.469"]),
        (f"{STEP}-hgemm27.zh-CN", ["几何平均 0.500"]),
        (f"{STEP}-swizzle", ["L2 hit rate", "8192³", "swizzle stride"]),
        (f"{STEP}-stages", ["warp4x4", "stages × swizzle, 8192³", "402", "403"]),
        (f"{STEP}-bottlenecks", ["×1.10 · 616 TFLOPS", "×1.05 · 588 TFLOPS", "the copy of A", "full: 560 TFLOPS"]),
        (f"{STEP}-error", ["FP16 sums (plain)", "FP32 sums (fp32)", "∝ √K", "C of 2048×2048"]),
        (f"{STEP}-error.zh-CN", ["FP16 累加（plain）", "误差随 K 的变化"]),
        (f"{STEP}-bottlenecks.zh-CN", ["A 的拷贝", "省去一项工作"]),
        ("accumulation-error", ["FP16, FP16 accumulate (tensor cores)", "FP16, FP32 accumulate (tensor cores)"]),
    ],
)  # fmt: skip
def test_charts_show_the_records_figures(drawn, name, texts):
    svg = chart(drawn, name)
    for text in texts:
        assert text in svg, text


def test_the_published_gains_stand_beside_ours(drawn):
    svg = chart(drawn, f"{STEP}-bottlenecks")
    assert "A800" in svg and "×1.05" in svg  # 58.6 / 55.7 without the copy of A


def test_tables_have_a_column_for_each_baseline(drawn):
    text = (drawn / "TENSOR.md").read_text(encoding="utf-8")
    assert "| of cuBLAS | of cublasLt |" in text
    assert "| 560 | 93.3% | 87.5% | 560 | 93.3% | 87.5% | 56.6% | ×3.29 |" in text
    assert "| 4096 | 170 | **560** | 600 | 93.3% | 640 | 87.5% | 56.6% | ×3.29 |" in text
    assert "| `fp32` |  | FP16, FP32 accumulate | 540 | 90.0% | 84.4% | 0.964 |" in text
    assert "| 8192 | 2048 | 532 | 88.7% | 70.2% |" in text
    assert "| the copy of A | 616 | 1.10 | 58.6 | 1.05 |" in text
    assert "| nothing: the full kernel | 560 | 1.00 | 55.7 | 1.00 |" in text
    assert "| all | 27 | 300–300 | **0.500** | 0.500 | 0.500 | **0.469** | 0.469 | 0.469 |" in text
    assert "| `mma.sync.m16n8k16` | FP16 | FP32 | 632 |" in text
    assert "| FP16, FP16 accumulate (tensor cores) | 5.0e-05 |" in text
    assert "| K | FP16 sums | growth | FP32 sums | FP16 ÷ FP32 | FP16, of the bound | FP32, of the bound |" in text
    assert "| 8192 | 0.00400 | ×2.00 | 0.00020 | 20 | 60.0% | 5.0% |" in text
    chinese = (drawn / "TENSOR.zh-CN.md").read_text(encoding="utf-8")
    assert "| A 的拷贝 | 616 | 1.10 |" in chinese and "| 相对 cuBLAS | 相对 cublasLt |" in chinese


def test_a_table_with_fp32_steps_alone_has_no_second_baseline(drawn):
    assert "cublasLt" not in (drawn / "README.md").read_text(encoding="utf-8")


def test_options_make_no_default(course):
    """A timing with a swizzle stride never stands for the default in a ladder's chart."""
    path = course / "plots" / "data" / "h200" / f"{STEP}.jsonl"
    rows = plots_course.beside_both(STEP, 123.0, options={"swizzle_stride": 512})
    plots_course.write(path, rows)
    assert plot.main(["--root", str(course)]) == 0
    assert "123" not in chart(course, "mma-ladder").replace("1234", "")


def test_a_step_without_any_record_breaks_nothing(course, capsys):
    for path in (course / "plots" / "data").rglob("*mma*.jsonl"):
        path.unlink()
    for name in ("limits", "profile"):
        (course / "plots" / "data" / "h200" / f"{name}.jsonl").unlink()
    assert plot.main(["--root", str(course)]) == 0
    assert plot.main(["--root", str(course), "--check"]) == 0
    text = (course / "TENSOR.md").read_text(encoding="utf-8")
    assert text.count("*Nothing recorded yet.*") == len(plots_course.TENSOR_TABLES)


@pytest.mark.parametrize(
    ("file", "line", "why"),
    [
        ("limits", '{"limit": "mma", "a": "f16", "acc": "f16"}', "no field 'tflops'"),
        ("limits", '{"limit": "mma", "a": "f16", "acc": "f16", "tflops": -1}', "no positive number"),
        ("profile", '{"step": "s", "variant": "v", "m": 1, "n": 1, "k": 1, "metric": "x", "value": "1"}', "no number"),
        ("bottlenecks/s", '{"step": "s", "variant": "v", "m": 1, "n": 1, "k": 1, "tflops": 1}', "'leaves_out'"),
    ],
)  # fmt: skip
def test_a_corrupt_record_is_named_by_file_and_line(course, capsys, file, line, why):
    path = course / "plots" / "data" / "h200" / f"{file}.jsonl"
    path.write_text(line + "\n", encoding="utf-8")
    assert plot.main(["--root", str(course)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"plot.py: plots/data/h200/{file}.jsonl:1: ") and why in error


def test_a_profile_may_hold_zero(course):
    path = course / "plots" / "data" / "h200" / "profile.jsonl"
    row = {"step": STEP, "variant": "plain", "m": 8192, "n": 8192, "k": 8192, "metric": "conflicts", "value": 0}
    plots_course.write(path, [row])
    assert plot.main(["--root", str(course)]) == 0


@pytest.mark.parametrize(
    ("variant", "split"),
    [
        ("warp2x4_stages3", ("warp2x4", 3)),
        ("stages2_dsmem", ("dsmem", 2)),
        ("mma2x4_warp4x4_s4", ("mma2x4_warp4x4", 4)),
        ("tn_3_stages_x4", ("tn_x4", 3)),
        ("warp4x4_k32", None),
        ("m16n16k16", None),
    ],
)
def test_the_stages_of_a_variant_are_read_off_its_name(variant, split):
    assert swizzle_charts.stages_of(variant) == split


@pytest.mark.parametrize(
    ("limit", "name"),
    [("mma.sync.m16n8k16", "mma.sync"), ("half2 FMA 8x8", "half2 FMA"), ("FP32 FMA 16x8", "FP32 FMA"), ("mma", "mma")],
)
def test_a_limit_is_named_without_its_tile(limit, name):
    assert panels.instruction(limit) == name


def test_a_size_timed_with_options_alone_is_none_of_the_sizes(course):
    path = course / "plots" / "data" / "h200" / f"{STEP}.jsonl"
    rows = plots_course.beside_both(STEP, 400.0, (16384, 16384, 16384), options={"swizzle_stride": 512})
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    assert plot.main(["--root", str(course)]) == 0
    assert "16384" not in chart(course, "mma-sizes") and "16384" not in chart(course, f"{STEP}-sizes")


def test_stages_at_one_stride_make_no_grid():
    assert not swizzle_charts._crosses({(2, 0): {}, (3, 0): {}, (3, 512): {}})
    assert swizzle_charts._crosses({(2, 0): {}, (2, 512): {}, (3, 0): {}, (3, 512): {}})


def test_the_spread_of_rounds_is_the_largest():
    rows = [{"ms": 2.0, "ms_p20": 1.9, "ms_p80": 2.1}, {"ms": 1.0, "ms_p20": 0.9, "ms_p80": 1.1}, {"ms": 1.0}]
    assert swizzle_charts._spread(rows) == pytest.approx(0.2)
    assert swizzle_charts._spread([]) == 0


def test_work_left_out_of_another_variant_names_that_one():
    """no_movmatrix is compared with the variant that has one, and says so."""
    full = [{"variant": "plain", "default": True}, {"variant": "k07_movmatrix", "default": False}]
    whole, other = (bottleneck_charts.LeftOut({"variant": "no_movmatrix", "leaves_out": "m"}, f) for f in full)
    assert whole.words("en") == "movmatrix" and other.words("en") == "movmatrix (k07_movmatrix)"
    assert other.words("zh-CN") == "movmatrix（k07_movmatrix）"


def test_the_ladders_counts_are_of_the_tile_that_4096_takes(course):
    """A default that chooses by size runs a small tile where the simulator counts; the charts show the other."""
    facts = {"20_mma_warp_swizzle": {"at_4096": "fp32"}}
    (course / "plots" / "data" / "steps.json").write_text(json.dumps(facts), encoding="utf-8")
    assert plot.main(["--root", str(course)]) == 0
    assert "(56%)" in chart(course, "mma-bank-conflicts")
    assert "the tile of 4096³: 20 fp32" in chart(course, "mma-bank-conflicts")
    assert "20 fp32" in chart(course, "mma-roofline") and "20 fp32" in chart(course, "mma-sectors")
    assert "取 4096³ 时的块：20 fp32" in chart(course, "mma-instructions.zh-CN")


def test_an_error_over_k_needs_the_same_m_and_n(course):
    """The default and the variant with FP32 sums, at three K or more of one M and N."""
    found = records.load(course / "plots" / "data", course)
    size, pairs = error_charts.over_k(found, "h200", STEP)
    assert size == (2048, 2048) and list(pairs) == [512, 2048, 8192]
    assert [r["acc"] for r in pairs[512]] == ["f16", "f32"]
    assert error_charts.over_k(found, "h200", "09_double_buffer")[1] == {}
    assert not (course / "plots" / "charts" / "09_double_buffer-error.svg").exists()


def test_names_of_close_lines_stand_in_different_rows():
    close = [
        panels.Reference(name, 600.0 + i, "#000000", (0, (1, 1))) for i, name in enumerate(("one", "two", "three"))
    ]
    rows = panels.label_rows(close, 1000.0, 6.0)
    assert {(row, side) for _, row, side in rows} == {(0, "right"), (0, "left"), (1, "right")}
    far = panels.label_rows([panels.Reference("cuBLAS", 660.0, "#000000", (0, (1, 1)))], 140.0, 6.0)
    assert far[0][2] == "right"  # beyond the axis: named at its edge


def test_a_baseline_far_beyond_all_else_does_not_stretch_the_axis():
    peak = panels.Reference("peak", 134.0, "#000000", (0, (1, 1)), peak=True)
    cublas = panels.Reference("cuBLAS", 660.0, "#000000", (0, (1, 1)))
    assert panels.axis_top([peak, cublas], [88.0]) == 134.0
    assert panels.axis_top([cublas], []) == 660.0
