"""plots/plot.py: charts and tables from a small record set; what is missing, stale or corrupt is told."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(HERE)]

import plots_course  # noqa: E402

_spec = importlib.util.spec_from_file_location("plot_script", ROOT / "plots" / "plot.py")
plot = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(plot)


@pytest.fixture
def course(tmp_path):
    return plots_course.make(tmp_path / "course")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A course whose charts are drawn, for tests that only look."""
    root = plots_course.make(tmp_path_factory.mktemp("drawn") / "course")
    assert run(root) == 0
    return root


def run(root, *arguments):
    return plot.main(["--root", str(root), *arguments])


def charts(root):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "plots" / "charts").glob("*.svg"))}


EVERY_CHART = [
    "fp32-ladder", "fp32-ladder-8192", "fp32-sizes", "fp32-relative", "fp32-speedup", "fp32-roofline", "fp32-sectors",
    "fp32-bank-conflicts", "fp32-instructions", "fp32-sweep27", "instruction-mix", "09_double_buffer-sizes",
    "09_double_buffer-variants", "09_double_buffer-counts", "09_double_buffer-sweep27",
]  # fmt: skip


def test_every_chart_in_both_languages(drawn):
    files = charts(drawn)
    for name in EVERY_CHART:
        assert files[f"{name}.svg"].startswith("<?xml"), name
        assert files[f"{name}.zh-CN.svg"] != files[f"{name}.svg"], name
    assert all(len(svg.encode()) < 200_000 for svg in files.values())


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("fp32-ladder", ["40.0  (80.0%)", "52.0  (104.0%)", "cuBLAS 50.0", "peak 66.9", "09 double buffer"]),
        ("fp32-ladder.zh-CN", ["峰值 66.9", "FP32 阶梯"]),
        ("fp32-speedup", ["×80.00", "×1.30", "cuBLAS 50.0"]),
        ("fp32-relative", ["104.0%", "80.0%", "1.0%"]),
        ("fp32-bank-conflicts", ["(33%)"]),
        ("fp32-sectors", ["16.00"]),
        ("09_double_buffer-counts", ["(33%)", "(56%)", "other"]),
        ("instruction-mix", ["512/600 = 85.3%", "512/580 = 88.3%"]),
        ("09_double_buffer-sweep27", ["1.020", "geometric mean 1.021"]),
        ("09_double_buffer-variants", ["45.0  (90.0%)"]),
        ("fp32-roofline", ["FP32 peak 66.9 TFLOPS", "DRAM: 4.8 TB/s"]),
    ],
)
def test_charts_show_the_records_figures(drawn, name, texts):
    svg = charts(drawn)[f"{name}.svg"].replace("&#160;", " ")
    for text in texts:
        assert text in svg, text


def test_two_runs_are_byte_equal(course, drawn):
    run(course)
    assert charts(course) == charts(drawn)


def test_the_tables_stand_between_their_markers(drawn):
    text = (drawn / "README.md").read_text(encoding="utf-8")
    assert "\nold\n" not in text
    assert text.startswith("# Course\n") and text.endswith("\nend\n")
    assert "| [08_conflict_free](steps/08_conflict_free/)" in text
    ladder = next(line for line in text.splitlines() if line.startswith("| [09_double_buffer]"))
    assert "| 52.0 | 104.0% | 52.0 | 104.0% | 77.7% | ×1.30 |" in ladder
    assert "| 4096 | 40.0 | **52.0** | 50.0 | 104.0% | 77.7% | ×1.30 |" in text
    assert "| **`plain`** | LeetCUDA dbuf, fynv g | 52.0 | 104.0% | 1.000 |" in text
    assert "| `other` |  | 45.0 | 90.0% | 0.865 |" in text
    assert "| geometric mean |  |  |  |  | **1.021** |" in text
    assert "| global read sectors | 16,000 | 16,000 |" in text
    assert "| `other` | 1,000,000 | 16,000 | 16.00 | 900 | 500 | 50 | 0 |" in text
    assert "| 08_conflict_free | SASS (sm_90) | 580 | 512 | 32 | 0 | 0 | 0 | 36 | 88.3% | – |  |" in text
    chinese = (drawn / "README.zh-CN.md").read_text(encoding="utf-8")
    assert (
        "| 几何平均 |" in chinese and "| [09_double_buffer](steps/09_double_buffer/README.zh-CN.md) | 预取" in chinese
    )


def test_nested_write_ups_and_code_blocks(course):
    page, fenced = course / "docs" / "page.md", course / "fenced.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text("<!-- table:ladder-fp32 -->\n<!-- /table -->\n", encoding="utf-8")
    code = "```\n<!-- table:mix -->\n```\n\n    <!-- table:mix -->\n    <!-- /table -->\n"
    fenced.write_text(code, encoding="utf-8")
    assert run(course) == 0
    assert "(../steps/01_naive/)" in page.read_text(encoding="utf-8")
    assert fenced.read_text(encoding="utf-8") == code


def test_check_tells_what_is_stale(course, capsys):
    assert run(course, "--check") == 1
    assert "stale: plots/charts/fp32-ladder.svg" in capsys.readouterr().out
    assert not (course / "plots" / "charts").exists()  # nothing was written
    run(course)
    capsys.readouterr()
    assert run(course, "--check") == 0
    assert "stale" not in capsys.readouterr().out
    plots_course.write(course / "plots" / "data" / "h200" / "01_naive.jsonl", [plots_course.timing("01_naive", 0.6)])
    assert run(course, "--check") == 1
    out = capsys.readouterr().out
    assert "stale: plots/charts/fp32-ladder.svg" in out and "stale: README.md" in out
    assert "stale: plots/charts/fp32-bank-conflicts.svg" not in out


def test_a_chart_without_records_is_removed(course, capsys):
    run(course)
    for path in (course / "plots" / "data" / "simulator").glob("*.jsonl"):
        path.unlink()
    capsys.readouterr()
    assert run(course, "--check") == 1
    assert "no longer made: plots/charts/fp32-sectors.svg" in capsys.readouterr().out
    assert run(course, "--verbose") == 0
    assert "fp32-sectors.svg" not in charts(course)
    out = capsys.readouterr().out
    assert "fp32-sectors.svg not drawn: no simulator counts of the fp32 ladder" in out
    assert "table:counts:08_conflict_free is empty: no simulator counts of 08_conflict_free" in out
    assert "*Nothing recorded yet.*" in (course / "README.md").read_text(encoding="utf-8")


def test_without_any_timing_the_rest_is_drawn(course):
    for path in (course / "plots" / "data" / "h200").glob("*.jsonl"):
        path.unlink()
    assert run(course) == 0
    left = ["fp32-sectors", "fp32-bank-conflicts", "fp32-instructions", "instruction-mix"]
    left += [f"{step}-counts" for step in plots_course.STEPS]
    assert set(charts(course)) == {f"{name}{language}.svg" for name in left for language in ("", ".zh-CN")}


def test_another_gpu_is_shown_beside_the_first(course):
    rows = [{**plots_course.timing("09_double_buffer", 60.0), "gpu": "NVIDIA GeForce RTX 4090"}]
    plots_course.write(course / "plots" / "data" / "rtx4090" / "09_double_buffer.jsonl", rows)
    assert run(course) == 0
    svg = charts(course)["fp32-ladder.svg"]
    assert "NVIDIA H200" in svg and "NVIDIA GeForce RTX 4090" in svg and "peak 82.6" in svg
    text = (course / "README.md").read_text(encoding="utf-8")
    assert "**NVIDIA GeForce RTX 4090**" in text


def test_an_instruction_mix_of_an_older_kernel_is_told(course, capsys):
    row = {**plots_course.mix("09_double_buffer", 1, 2), "source": "0123456789ab"}
    plots_course.write(course / "plots" / "data" / "instruction_mix" / "09_double_buffer.jsonl", [row])
    assert run(course) == 0
    assert "the instruction mix is of an older 09_double_buffer" in capsys.readouterr().out


def test_only_the_default_with_alpha_1_and_beta_0_is_charted(course):
    path = course / "plots" / "data" / "h200" / "01_naive.jsonl"
    rows = [plots_course.timing("01_naive", 0.5), plots_course.timing("01_naive", 9.0, beta=0.5)]
    rows += [plots_course.timing("01_naive", 8.0, variant="x", default=False)]
    plots_course.write(path, rows)
    run(course)
    svg = charts(course)["fp32-ladder.svg"]
    assert "0.500" in svg and "9.00" not in svg and "8.00" not in svg


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{not json", "corrupt record"),
        ("[1, 2]", "not a JSON object"),
        ('{"step": "01_naive"}', "no field 'variant'"),
        ('{"step": "01_naive", "variant": "v", "m": 0, "n": 1, "k": 1, "tflops": 1}', "field 'm' is below 1"),
        (
            '{"step": "01_naive", "variant": "v", "m": 1, "n": 1, "k": 1, "tflops": NaN}',
            "'tflops' is no positive number",
        ),
        (
            '{"step": "01_naive", "variant": "v", "m": 1, "n": 1, "k": 1, "tflops": "1"}',
            "'tflops' is no positive number",
        ),
        ('{"step": "01_naive", "variant": "v", "m": true, "n": 1, "k": 1, "tflops": 1}', "field 'm' is no int"),
    ],
)
def test_a_corrupt_record_is_named_by_file_and_line(course, capsys, line, why):
    path = course / "plots" / "data" / "h200" / "01_naive.jsonl"
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    before = (course / "README.md").read_bytes()
    assert run(course) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("plot.py: plots/data/h200/01_naive.jsonl:5: ") and why in captured.err
    assert captured.err.count("\n") == 1
    assert (course / "README.md").read_bytes() == before and not (course / "plots" / "charts").exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n<!-- table:nonsense -->\n<!-- /table -->\n", "page.md:2: there is no table 'nonsense'"),
        ("<!-- table:step:99_none -->\n<!-- /table -->\n", "page.md:1: there is no table 'step:99_none'"),
        ("<!-- table:mix -->\nno end\n", "page.md:1: table:mix is not closed"),
        ("<!-- table:mix -->\n<!-- table:mix -->\n<!-- /table -->\n", "page.md:1: table:mix is not closed"),
    ],
)
def test_a_wrong_marker_is_named_by_file_and_line(course, capsys, text, why):
    (course / "page.md").write_text(text, encoding="utf-8")
    assert run(course) == 2
    assert why in capsys.readouterr().err


def test_no_folder_of_records(tmp_path, capsys):
    assert run(tmp_path) == 2
    assert "there is no folder of records" in capsys.readouterr().err


def test_the_repositorys_charts_and_tables_are_fresh(capsys):
    assert plot.main(["--check"]) == 0, capsys.readouterr().out
