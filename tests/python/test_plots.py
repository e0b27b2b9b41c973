"""plots/plot.py: every chart, table and picture of the course is fresh, so that a defect in what draws them makes a committed
file stale; and what is missing, stale or corrupt is told."""

import json
import re
import shutil

import pytest

import records
from base import registry
from base.paths import ROOT
from plots import catalogue, draw, markers

STEPS = ("01_naive", "08_conflict_free", "09_double_buffer")
LAST = STEPS[-1]
TABLES = ("ladder-fp32", f"step:{LAST}", f"variants:{LAST}", f"counts:{STEPS[1]}", "mix", "covers-fp32")


def show(root, *charts):
    """Writes a README in both languages that holds tables and shows charts."""
    for language in ("", ".zh-CN"):
        text = "".join(f"\n<!-- table:{table} -->\nold\n<!-- /table -->\n" for table in TABLES)
        text += "".join(f"\n![a chart](plots/charts/{chart}{language}.svg)\n" for chart in charts)
        (root / f"README{language}.md").write_text(f"# README\n{text}\nend\n", encoding="utf-8")


@pytest.fixture
def course(tmp_path):
    """Three steps without sources, what is recorded of them, and pages that show two charts of their ladder."""
    for name in STEPS:
        told = (ROOT / "steps" / name / registry.FILE).read_text(encoding="utf-8")
        (tmp_path / "steps" / name).mkdir(parents=True)
        without = re.sub(r"^also.*\n", "", told, flags=re.MULTILINE)
        (tmp_path / "steps" / name / registry.FILE).write_text(without, encoding="utf-8")
        for kind in ("h200", "simulator", "instruction_mix"):
            (tmp_path / "records" / kind).mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "records" / kind / f"{name}.jsonl", tmp_path / "records" / kind)
    (tmp_path / "steps" / LAST / "kernel.cu").write_text("// a kernel\n", encoding="utf-8")
    order = "".join(f"  '{name}',\n" for name in STEPS)
    (tmp_path / "steps" / "meson.build").write_text(f"step_names = [\n{order}]\n", encoding="utf-8")
    show(tmp_path, "fp32-ladder", "fp32-bank-conflicts")
    return tmp_path


def put(root, kind, step, *changes):
    """Records a step's timing at 4096, or its first record of another kind, as many times as it is changed."""
    rows = records.read(ROOT / "records" / ("h200" if kind == "rtx4090" else kind) / f"{step}.jsonl")
    row = next(r for r in rows if kind == "instruction_mix" or (r["default"] and r["m"] == 4096))
    file = root / "records" / kind / f"{step}.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps(row | change) + "\n" for change in changes), encoding="utf-8")


def run(root, *arguments):
    return draw.main(["--root", str(root), *arguments])


def charts(root):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "plots" / "charts").glob("*.svg"))}


def page(root, name="README.md"):
    return (root / name).read_text(encoding="utf-8")


def test_check_tells_what_is_stale(course, capsys):
    assert run(course, "--check") == 1
    assert "stale: plots/charts/fp32-ladder.svg" in capsys.readouterr().out
    assert not (course / "plots" / "charts").exists()  # nothing was written
    run(course)
    capsys.readouterr()
    assert run(course, "--check") == 0
    assert "stale" not in capsys.readouterr().out
    put(course, "h200", "01_naive", {"tflops": 0.6})
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


def test_another_gpu_is_shown_beside_the_first(course, capsys):
    put(course, "rtx4090", LAST, {"gpu": "NVIDIA GeForce RTX 4090"})
    assert run(course) == 0
    assert "RTX 4090" not in charts(course)["fp32-ladder.svg"] + page(course), "nobody asked for it"
    assert run(course, "--beside", "rtx4090") == 0
    svg = charts(course)["fp32-ladder.svg"]
    assert "NVIDIA H200" in svg and "NVIDIA GeForce RTX 4090" in svg and "peak 82.6" in svg
    assert "**NVIDIA GeForce RTX 4090**" in page(course)
    assert run(course, "--beside", "a100") == 2
    assert "--beside a100: there are no timings of it; there are some of: h200, rtx4090" in capsys.readouterr().err


def test_an_instruction_mix_of_an_older_kernel_is_told(course, capsys):
    put(course, "instruction_mix", LAST, {"source": "0123456789ab"})
    assert run(course) == 0
    assert "the instruction mix is of an older 09_double_buffer" in capsys.readouterr().out


def test_only_the_default_without_options_stands_for_a_step(course):
    """With alpha = 1 and beta = 0, and no swizzle stride given."""
    others = ({"tflops": 0.5}, {"tflops": 9.0, "beta": 0.5}, {"tflops": 8.0, "variant": "x", "default": False})
    put(course, "h200", "01_naive", *others)
    put(course, "h200", LAST, {"options": {"swizzle_stride": 512}})
    found = records.load(course / "records", course)
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


UNKNOWN = ("nonsense", "fp32-nonsense", "99_none-sizes", "09_double_buffer-nonsense")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\n<!-- table:nonsense -->\n<!-- /table -->\n", "page.md:2: there is no table 'nonsense'"),
        ("<!-- table:step:99_none -->\n<!-- /table -->\n", "page.md:1: there is no table 'step:99_none'"),
        ("<!-- table:mix -->\nno end\n", "page.md:1: table:mix is not closed"),
        ("<!-- table:mix -->\n<!-- table:mix -->\n<!-- /table -->\n", "page.md:1: table:mix is not closed"),
        *(
            (f"one\n![a chart](plots/charts/{name}.svg)\n", f"page.md:2: there is no chart '{name}'")
            for name in UNKNOWN
        ),
    ],
)
def test_a_wrong_marker_or_chart_is_named_by_file_and_line(course, capsys, text, why):
    (course / "page.md").write_text(text, encoding="utf-8")
    assert run(course) == 2
    assert why in capsys.readouterr().err


def test_no_folder_of_records(tmp_path, capsys):
    assert run(tmp_path) == 2
    assert "there is no folder of records" in capsys.readouterr().err


def test_each_kind_of_chart_is_on_some_page():
    """A kind that no page shows is code for nobody."""
    shown = {path.stem.removesuffix(".zh-CN") for path in markers.shown(ROOT, ROOT / "plots" / "charts")}
    kinds = {name.partition("-")[2] for name in shown if re.match(r"\d\d_|fp32-|fp16-|wmma-|mma-", name)}
    assert set(catalogue.OF_THE_COURSE) <= shown
    assert {*catalogue.OF_A_LADDER, *catalogue.OF_A_STEP} == kinds


def test_the_repositorys_charts_and_tables_are_fresh(capsys):
    assert draw.main(["--check"]) == 0, capsys.readouterr().out
