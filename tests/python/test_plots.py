"""plots/plot.py: charts and tables from a small record set; what is missing, stale or corrupt is told."""

import re
from pathlib import Path

import plots_course
import pytest
from plots_course import LAST

import records
from plots import bottleneck_charts, catalogue, draw, error_charts, markers, panels, style, swizzle_charts, tables
from plots.course import Course

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


FP32 = ("ladder", "sizes", "roofline", "bank-conflicts", "instructions", "sweep27")
EVERY_CHART = (
    *("all-ladders", "accumulation-error", "instruction-mix", *(f"fp32-{kind}" for kind in FP32)),
    *(f"09_double_buffer-{kind}" for kind in ("sizes", "variants")),
    *(f"{LAST}-{kind}" for kind in ("sizes", "variants", "swizzle", "stages", "bottlenecks")),
)


@pytest.fixture
def course(tmp_path):
    """A course whose pages show two charts, of the FP32 ladder."""
    return plots_course.make(tmp_path / "course")


@pytest.fixture
def tensor_course(tmp_path):
    """A course that shows no chart: for tests of its tables and of what is refused."""
    return plots_course.add_tensor_cores(plots_course.make(tmp_path / "course", charts=()))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A course whose pages show every chart, drawn, for tests that only look."""
    root = plots_course.make(tmp_path_factory.mktemp("drawn") / "course", EVERY_CHART)
    plots_course.add_tensor_cores(root)
    assert run(root) == 0
    return root


def run(root, *arguments):
    return draw.main(["--root", str(root), *arguments])


def charts(root):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "plots" / "charts").glob("*.svg"))}


def chart(root, name):
    """A chart's words."""
    return plots_course.words_of((root / "plots" / "charts" / f"{name}.svg").read_text(encoding="utf-8"))


def page(root, name="README.md"):
    return (root / name).read_text(encoding="utf-8")


def test_every_chart_in_both_languages(drawn):
    files = charts(drawn)
    assert set(files) == {f"{name}{language}.svg" for name in EVERY_CHART for language in ("", ".zh-CN")}
    for name in EVERY_CHART:
        assert files[f"{name}.svg"].startswith("<?xml"), name
        assert files[f"{name}.zh-CN.svg"] != files[f"{name}.svg"], name
    assert all(len(svg.encode()) < 200_000 for svg in files.values())


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("fp32-ladder", ["40.0  (80.0%)", "52.0  (104.0%)", "cuBLAS 50.0", "peak 66.9", "09 double buffer"]),
        ("fp32-ladder.zh-CN", ["峰值 66.9", "FP32：3 步，从 cuBLAS 的 1% 到 104%"]),
        ("fp32-bank-conflicts", ["0.039  (31%)", "bank conflicts of stores"]),
        ("fp32-sweep27", ["1.020", "09 double buffer mean 1.021", "×1.021 beside cuBLAS, mean of 27 sizes"]),
        ("fp32-roofline", ["FP32 peak 66.9", "DRAM: 4.8 TB/s"]),
        ("instruction-mix", ["512/580 = 88.3%", "FP32 on CUDA cores"]),
        ("09_double_buffer-variants", ["45.0  (90.0%)"]),
        ("all-ladders", ["FP32 on CUDA cores", "Tensor cores through PTX mma.sync", "limit of the instruction"]),
        ("all-ladders", ["cuBLAS, FP32 sums"]),
        ("all-ladders.zh-CN", ["4096³：从", "指令实测上限", "cuBLAS（FP32 累加）"]),
        (f"{LAST}-sizes", ["cuBLAS", "mma.sync limit 650"]),
        (f"{LAST}-variants", ["FP16, FP32 accumulate: cuBLAS 600", "540  (90%)", "cublasLt 640", "FP32 sums 500"]),
        (f"{LAST}-swizzle", ["L2 hit rate", "8192³", "swizzle stride"]),
        (f"{LAST}-stages", ["warp4x4", "TFLOPS at 8192³", "402", "403"]),
        (f"{LAST}-bottlenecks", ["×1.10 · 616", "×1.05 · 588", "the copy of A", "full: 560 TFLOPS"]),
        (f"{LAST}-bottlenecks", ["A800", "×1.05"]),  # 58.6 / 55.7 without the copy of A, as published
        (f"{LAST}-bottlenecks.zh-CN", ["A 的拷贝", "省去 A 的拷贝，时间少 9%"]),
        ("accumulation-error", ["FP16, FP16 accumulate (tensor cores)", "FP16, FP32 accumulate (tensor cores)", "√K"]),
    ],
)  # fmt: skip
def test_charts_show_the_records_figures(drawn, name, texts):
    svg = chart(drawn, name)
    for text in texts:
        assert text in svg, text


def test_two_runs_are_byte_equal(course, drawn):
    run(course)
    assert charts(course)["fp32-bank-conflicts.svg"] == charts(drawn)["fp32-bank-conflicts.svg"]


def test_the_tables_stand_between_their_markers(drawn):
    text = page(drawn)
    assert "\nold\n" not in text
    assert text.startswith("# README\n") and text.endswith("\nend\n")
    assert "| [08_conflict_free](steps/08_conflict_free/)" in text
    ladder = next(line for line in text.splitlines() if line.startswith("| [09_double_buffer]"))
    assert "| 52.0 | 104.0% | 77.7% | 52.0 | 104.0% | ×1.30 |" in ladder
    assert "| 4096 | 40.0 | **52.0** | 50.0 | 104.0% | 77.7% | ×1.30 |" in text
    assert "| **`plain`** | LeetCUDA dbuf, fynv g | 52.0 | 104.0% | 1.000 |" in text
    assert "| `other` |  | 45.0 | 90.0% | 0.865 |" in text
    assert "| geometric mean |  |  |  |  | **1.021** |" in text
    assert "| global read sectors | 16,000 | 16,000 |" in text
    assert "| `other` | 1,000,000 | 16,000 | 16.00 | 900 | 500 | 50 | 0 |" in text
    assert "| 08_conflict_free | SASS (sm_90) | 580 | 512 | 32 | 0 | 0 | 0 | 36 | 88.3% |" in text
    assert "| LeetCUDA dbuf: `plain`; fynv g: `plain` |" in text and "| none |" in text
    assert "cublasLt" not in text  # FP32 steps alone: one baseline
    chinese = page(drawn, "README.zh-CN.md")
    assert "| 几何平均 |" in chinese
    assert "| [09_double_buffer](steps/09_double_buffer/README.zh-CN.md) | 预取" in chinese


def test_tables_have_a_column_for_each_baseline(drawn):
    text = page(drawn, "TENSOR.md")
    assert "| of cuBLAS | of cuBLAS, FP32 sums | of cublasLt |" in text
    assert "| 560 | 93.3% | 112.0% | 87.5% | 56.6% | 560 | 93.3% | 112.0% | 87.5% | ×3.29 |" in text
    assert "| 4096 | 170 | **560** | 600 | 93.3% | 500 | 112.0% | 640 | 87.5% | 56.6% | ×3.29 |" in text
    assert "| published kernel it covers |" not in text  # no variant covers one: a column without entries is left out
    assert "| `fp32` | FP16, FP32 accumulate | 540 | 90.0% | – | 84.4% | 0.964 |" in text
    assert "| 8192 | 2048 | 532 | 88.7% | 70.2% |" in text
    assert "| the copy of A | 616 | 1.10 | 58.6 | 1.05 |" in text
    assert "| nothing: the full kernel | 560 | 1.00 | 55.7 | 1.00 |" in text
    assert "| all | 27 | 300–300 | **0.500** | 0.500 | 0.500 | **0.469** | 0.469 | 0.469 |" in text
    assert "| `mma.sync.m16n8k16` | FP16 | FP32 | 632 |" in text
    assert "| FP16, FP16 accumulate (tensor cores) | 5.0e-05 |" in text
    assert "| K | FP16 sums | growth | FP32 sums | FP16 ÷ FP32 | FP16, of the bound | FP32, of the bound |" in text
    assert "| 8192 | 0.00400 | ×2.00 | 0.00020 | 20 | 60.0% | 5.0% |" in text
    chinese = page(drawn, "TENSOR.zh-CN.md")
    assert (
        "| A 的拷贝 | 616 | 1.10 |" in chinese
        and "| 相对 cuBLAS | 相对 cuBLAS（FP32 累加） | 相对 cublasLt |" in chinese
    )


def test_counts_are_of_the_tile_that_4096_takes(tensor_course):
    """A default that chooses by size runs a small tile where the simulator counts; chart and table show the other."""
    file = tensor_course / "steps" / LAST / "step.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('at_4096 = "large"', 'at_4096 = "fp32"'), encoding="utf-8")
    plots_course.page(tensor_course, "MORE", charts=["mma-bank-conflicts"])
    assert run(tensor_course) == 0
    assert "0.057  (53%)" in chart(tensor_course, "mma-bank-conflicts")
    assert "the tile that 4096³ takes (21: fp32)" in chart(tensor_course, "mma-bank-conflicts")
    assert "取 4096³ 所用的分块（21: fp32）" in chart(tensor_course, "mma-bank-conflicts.zh-CN")
    text = page(tensor_course, "TENSOR.md")
    assert f"| at 256×256×256 | 18 mma naive | **{LAST.replace('_', ' ')} `fp32`** |" in text
    assert "| shared load wavefronts | 600 | 900 |" in text


def test_nested_write_ups_and_code_blocks(tensor_course):
    nested, fenced = tensor_course / "docs" / "page.md", tensor_course / "fenced.md"
    nested.parent.mkdir()
    nested.write_text("<!-- table:ladder-fp32 -->\n<!-- /table -->\n", encoding="utf-8")
    code = "```\n<!-- table:mix -->\n```\n\n    <!-- table:mix -->\n    <!-- /table -->\n"
    fenced.write_text(code, encoding="utf-8")
    assert run(tensor_course) == 0
    assert "(../steps/01_naive/)" in nested.read_text(encoding="utf-8")
    assert fenced.read_text(encoding="utf-8") == code


def test_check_tells_what_is_stale(course, capsys):
    assert run(course, "--check") == 1
    assert "stale: plots/charts/fp32-ladder.svg" in capsys.readouterr().out
    assert not (course / "plots" / "charts").exists()  # nothing was written
    run(course)
    capsys.readouterr()
    assert run(course, "--check") == 0
    assert "stale" not in capsys.readouterr().out
    plots_course.write(course / "records" / "h200" / "01_naive.jsonl", [plots_course.timing("01_naive", 0.6)])
    assert run(course, "--check") == 1
    out = capsys.readouterr().out
    assert "stale: plots/charts/fp32-ladder.svg" in out and "stale: README.md" in out
    assert "stale: plots/charts/fp32-bank-conflicts.svg" not in out


def test_a_chart_without_records_is_removed(course, capsys):
    run(course)
    for path in (course / "records" / "simulator").glob("*.jsonl"):
        path.unlink()
    capsys.readouterr()
    assert run(course, "--check") == 1
    assert "no longer made: plots/charts/fp32-bank-conflicts.svg" in capsys.readouterr().out
    assert run(course, "--verbose") == 0
    assert set(charts(course)) == {"fp32-ladder.svg", "fp32-ladder.zh-CN.svg"}
    out = capsys.readouterr().out
    assert "fp32-bank-conflicts.svg not drawn: no simulator counts of the fp32 ladder" in out
    assert "table:counts:08_conflict_free is empty: no simulator counts of 08_conflict_free" in out
    assert "*Nothing recorded yet.*" in page(course)


def test_a_chart_that_no_page_shows_is_removed(course):
    run(course)
    plots_course.page(course, "README", charts=["fp32-bank-conflicts"])
    assert run(course) == 0
    assert set(charts(course)) == {"fp32-bank-conflicts.svg", "fp32-bank-conflicts.zh-CN.svg"}


@pytest.mark.parametrize("name", ["nonsense", "fp32-nonsense", "99_none-sizes", "09_double_buffer-nonsense"])
def test_a_page_that_shows_what_there_is_not_is_named_by_file_and_line(course, capsys, name):
    (course / "page.md").write_text(f"one\n![a chart](plots/charts/{name}.svg)\n", encoding="utf-8")
    assert run(course) == 2
    assert f"page.md:2: there is no chart '{name}'" in capsys.readouterr().err


def test_a_step_without_any_record_breaks_nothing(tensor_course):
    for path in (tensor_course / "records").rglob("*mma*.jsonl"):
        path.unlink()
    for name in ("limits", "profile"):
        (tensor_course / "records" / "h200" / f"{name}.jsonl").unlink()
    plots_course.page(tensor_course, "MORE", charts=["all-ladders", f"{LAST}-sizes", f"{LAST}-swizzle"])
    assert run(tensor_course) == 0
    assert run(tensor_course, "--check") == 0
    assert not charts(tensor_course)
    assert page(tensor_course, "TENSOR.md").count("*Nothing recorded yet.*") == len(plots_course.TENSOR_TABLES)


def test_another_gpu_is_shown_beside_the_first(course, capsys):
    rows = [{**plots_course.timing("09_double_buffer", 60.0), "gpu": "NVIDIA GeForce RTX 4090"}]
    plots_course.write(course / "records" / "rtx4090" / "09_double_buffer.jsonl", rows)
    assert run(course) == 0
    assert "RTX 4090" not in charts(course)["fp32-ladder.svg"] + page(course), "nobody asked for it"
    assert run(course, "--beside", "rtx4090") == 0
    svg = charts(course)["fp32-ladder.svg"]
    assert "NVIDIA H200" in svg and "NVIDIA GeForce RTX 4090" in svg and "peak 82.6" in svg
    assert "**NVIDIA GeForce RTX 4090**" in page(course)
    assert run(course, "--beside", "a100") == 2
    assert "--beside a100: there are no timings of it; there are some of: h200, rtx4090" in capsys.readouterr().err


def test_an_instruction_mix_of_an_older_kernel_is_told(tensor_course, capsys):
    row = {**plots_course.mix("09_double_buffer", 1, 2), "source": "0123456789ab"}
    plots_course.write(tensor_course / "records" / "instruction_mix" / "09_double_buffer.jsonl", [row])
    assert run(tensor_course) == 0
    assert "the instruction mix is of an older 09_double_buffer" in capsys.readouterr().out


def test_only_the_default_without_options_stands_for_a_step(tensor_course):
    """With alpha = 1 and beta = 0, and no swizzle stride given."""
    data = tensor_course / "records" / "h200"
    rows = [plots_course.timing("01_naive", 0.5), plots_course.timing("01_naive", 9.0, beta=0.5)]
    rows += [plots_course.timing("01_naive", 8.0, variant="x", default=False)]
    plots_course.write(data / "01_naive.jsonl", rows)
    rows = plots_course.beside_both(LAST, 123.0, options={"swizzle_stride": 512})
    rows += plots_course.beside_both(LAST, 124.0, (16384, 16384, 16384), options={"swizzle_stride": 512})
    plots_course.write(data / f"{LAST}.jsonl", rows)
    found = records.load(tensor_course / "records", tensor_course)
    assert found.default_at("h200", "01_naive", 4096)["tflops"] == 0.5
    assert found.default_at("h200", LAST, 4096) is None
    assert found.square_sizes("h200", [LAST]) == []


@pytest.mark.parametrize(
    ("file", "line", "why"),
    [
        ("01_naive", "{not json", "corrupt record"),
        ("01_naive", "[1, 2]", "not a JSON object"),
        ("01_naive", '{"step": "01_naive"}', "no field 'variant'"),
        ("01_naive", '{"step": "s", "variant": "v", "m": 0, "n": 1, "k": 1, "tflops": 1}', "field 'm' is below 1"),
        ("01_naive", '{"step": "s", "variant": "v", "m": 1, "n": 1, "k": 1, "tflops": NaN}', "no positive number"),
        ("01_naive", '{"step": "s", "variant": "v", "m": 1, "n": 1, "k": 1, "tflops": "1"}', "no positive number"),
        ("01_naive", '{"step": "s", "variant": "v", "m": true, "n": 1, "k": 1, "tflops": 1}', "field 'm' is no count"),
        ("limits", '{"limit": "mma", "a": "f16", "acc": "f16"}', "no field 'tflops'"),
        ("limits", '{"limit": "mma", "a": "f16", "acc": "f16", "tflops": -1}', "no positive number"),
        ("profile", '{"step": "s", "variant": "v", "m": 1, "n": 1, "k": 1, "metric": "x", "value": "1"}', "no number"),
        ("bottlenecks/s", '{"step": "s", "variant": "v", "m": 1, "n": 1, "k": 1, "tflops": 1}', "'leaves_out'"),
        ("../variants", '{"step": "s", "variant": "v", "covers": "x"}', "field 'covers' is no list"),
    ],
)  # fmt: skip
def test_a_corrupt_record_is_named_by_file_and_line(course, capsys, file, line, why):
    path = (course / "records" / "h200" / f"{file}.jsonl").resolve()
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    path.parent.mkdir(exist_ok=True)
    path.write_text(before + line + "\n", encoding="utf-8")
    unchanged = page(course)
    assert run(course) == 2
    error = capsys.readouterr().err
    where = f"plot.py: {path.relative_to(course)}:{before.count(chr(10)) + 1}: "
    assert error.startswith(where) and why in error and error.count("\n") == 1
    assert page(course) == unchanged and not (course / "plots" / "charts").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n<!-- table:nonsense -->\n<!-- /table -->\n", "page.md:2: there is no table 'nonsense'"),
        ("<!-- table:step:99_none -->\n<!-- /table -->\n", "page.md:1: there is no table 'step:99_none'"),
        ("<!-- table:mix -->\nno end\n", "page.md:1: table:mix is not closed"),
        ("<!-- table:mix -->\n<!-- table:mix -->\n<!-- /table -->\n", "page.md:1: table:mix is not closed"),
    ],
)
def test_a_wrong_marker_is_named_by_file_and_line(tensor_course, capsys, text, why):
    (tensor_course / "page.md").write_text(text, encoding="utf-8")
    assert run(tensor_course) == 2
    assert why in capsys.readouterr().err


def test_no_folder_of_records(tmp_path, capsys):
    assert run(tmp_path) == 2
    assert "there is no folder of records" in capsys.readouterr().err


def test_a_profile_may_hold_zero(tensor_course):
    row = {"step": LAST, "variant": "plain", "m": 8192, "n": 8192, "k": 8192, "metric": "conflicts", "value": 0}
    plots_course.write(tensor_course / "records" / "h200" / "profile.jsonl", [row])
    assert records.load(tensor_course / "records", tensor_course).profiles["h200"] == [row]


@pytest.mark.parametrize(
    ("variant", "split"),
    [
        ("warp2x4_stages3", ("warp2x4", 3)),
        ("warp4x4_static_stages2", ("warp4x4_static", 2)),
        ("warp4x4_k32", None),
        ("stages3", None),
    ],
)
def test_the_stages_of_a_variant_are_read_off_its_name(variant, split):
    assert swizzle_charts.stages_of(variant) == split


def test_stages_at_one_stride_make_no_grid():
    assert not swizzle_charts._crosses({(2, 512): {}, (3, 512): {}, (3, 1024): {}})
    assert swizzle_charts._crosses({(2, 512): {}, (2, 1024): {}, (3, 512): {}, (3, 1024): {}})


@pytest.mark.parametrize(
    ("limit", "name"),
    [("mma.sync.m16n8k16", "mma.sync"), ("half2 FMA 8x8", "half2 FMA"), ("FP32 FMA 16x8", "FP32 FMA"), ("mma", "mma")],
)
def test_a_limit_is_named_without_its_tile(limit, name):
    assert panels.instruction(limit) == name


def test_the_spread_of_a_timing_is_of_its_middle_rounds():
    record = {"tflops": 100.0, "ms": 2.0, "ms_p20": 1.6, "ms_p80": 2.5}
    assert panels.spread(record) == pytest.approx((80.0, 125.0))
    assert panels.spread({"tflops": 100.0}) == (100.0, 100.0)


def test_work_left_out_names_the_kernel_that_it_is_left_out_of():
    """It is `complete` where the step has it, else a variant named after the work, which is then said, else the default."""
    size = {"step": "s", "m": 1, "n": 1, "k": 1, "a": "f16", "acc": "f16"}
    for names, variant, full, words in (
        (("plain", "complete", "branchy_store"), "no_store", "complete", "the store of C"),
        (("plain", "k07_movmatrix"), "no_movmatrix", "k07_movmatrix", "movmatrix (k07_movmatrix)"),
        (("plain", "other"), "no_store", "plain", "the store of C"),
    ):
        rows = [{**size, "variant": name, "default": name == "plain", "tflops": 1.0} for name in names]
        record = {**size, "variant": variant, "leaves_out": "?"}
        found = bottleneck_charts.full_kernel(records.Records(timings={"h200": rows}), "h200", record)
        assert found["variant"] == full
        assert bottleneck_charts.LeftOut(record, found).words("en") == words


def test_gains_in_turn_are_quotients_of_the_ratios(tensor_course):
    """The kernel that leaves work out was timed at a lower clock: the library beside it was 2 % slower, too."""
    data = tensor_course / "records"
    found = records.load(data, tensor_course)
    course = Course(tensor_course, data)
    with pytest.raises(style.Missing, match="in turn with a library"):
        tables.table(course, found, f"bottlenecks-in-turn:{LAST}", "en")
    spread = {"ratio_p20": 0.9, "ratio_p80": 1.1}
    full = plots_course.timing(LAST, 600.0, variant="complete", default=False, a="f16", acc="f16", ratio=1.0, **spread)
    found.timings["h200"].append(full)
    left_out = found.bottlenecks["h200"][0]
    left_out |= {"tflops": 617.4, "baseline": "cublas", "ratio": 1.05, "ratio_p20": 1.04, "ratio_p80": 1.0651}
    made = tables.table(course, found, f"bottlenecks-in-turn:{LAST}", "en").splitlines()[-2:]
    assert made[0] == "| nothing: the full kernel | 600 | 1.000 | 0.900–1.100 | 1.00 |"
    assert made[1] == "| the copy of A | 617 | 1.050 | 1.040–1.065 | 1.05 |"


def test_an_error_over_k_needs_the_same_m_and_n(tensor_course):
    """The default and the variant with FP32 sums, at three K or more of one M and N."""
    found = records.load(tensor_course / "records", tensor_course)
    size, pairs = error_charts.over_k(found, "h200", LAST)
    assert size == (2048, 2048) and list(pairs) == [512, 2048, 8192]
    assert [r["acc"] for r in pairs[512]] == ["f16", "f32"]
    assert error_charts.over_k(found, "h200", "09_double_buffer")[1] == {}


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


def test_each_kind_of_chart_is_on_some_page():
    """A kind that no page shows is code for nobody."""
    shown = {path.stem.removesuffix(".zh-CN") for path in markers.shown(ROOT, ROOT / "plots" / "charts")}
    kinds = {name.partition("-")[2] for name in shown if re.match(r"\d\d_|fp32-|fp16-|wmma-|mma-", name)}
    assert set(catalogue.OF_THE_COURSE) <= shown
    assert {*catalogue.OF_A_LADDER, *catalogue.OF_A_STEP} == kinds


def test_the_repositorys_charts_and_tables_are_fresh(capsys):
    assert draw.main(["--check"]) == 0, capsys.readouterr().out
