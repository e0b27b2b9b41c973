"""Tables and sentences that pages write by hand from measurements, against the records: several GPUs, and CUTLASS."""

import re

import pytest

import records
from base.paths import DATA, ROOT
from plots import gpu_tables

ENDING = {"en": "", "zh-CN": ".zh-CN"}
RECORDS = records.load(DATA, ROOT)
TOLD = {"en": "**Predicted and measured**", "zh-CN": "**预测与实测**"}
LAYOUTS = {"row": "row", "按行": "row", "column": "column", "按列": "column"}


def text(page, language):
    return (ROOT / "docs" / f"{page}{ENDING[language]}.md").read_text(encoding="utf-8")


def product(layout, way, step, chunks=None):
    """The first record of a way; other numbers of chunks follow in a run of their own."""
    rows = gpu_tables.several(RECORDS, "h200", layout)
    return next(
        r for r in rows if (r["way"], r["product"]) == (way, step) and r["gpus"] == 2 and chunks in (None, r["chunks"])
    )


@pytest.mark.parametrize("language", ENDING)
def test_the_measured_columns_beside_the_predictions_are_the_records(language):
    lines = text("several-gpus", language).partition(TOLD[language])[2].split("\n\n")[1].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 8
    layout = None
    for name, _, ms, spread, _, speed_up in rows:
        layout = next((LAYOUTS[word] for word in LAYOUTS if name.startswith(word)), layout)
        r = product(layout, *re.search(r"`(\w+)`\D+(\d\d)", name).groups())
        assert float(ms.removesuffix(" ms")) == pytest.approx(r["ms"], abs=0.0051), name
        assert spread == f"{r['ms_p20']:.2f}–{r['ms_p80']:.2f}" and speed_up == f"{r['speed_up']:.2f}", name


@pytest.mark.parametrize("language", ENDING)
def test_what_is_told_of_several_gpus_is_recorded(language):
    page = re.sub(r"<!-- table:.*?<!-- /table -->", "", text("several-gpus", language), flags=re.DOTALL)
    for layout, way, step in (("row", "copied", "27"), ("row", "copied", "24"), ("row", "summed", "27")):
        r = product(layout, way, step)
        assert re.search(rf"{r['speed_up']:.2f}\D.*?{r['speed_up_p20']:.2f}–{r['speed_up_p80']:.2f}", page)
    assert product("row", "copied", "27")["speed_up_p20"] > 1.8 > product("row", "summed", "27")["speed_up_p80"]
    rows = [r for layout in ("row", "column") for r in gpu_tables.several(RECORDS, "h200", layout)]
    hidden = [round(100 * r["hidden"]) for r in rows if r["way"] == "serial"]
    assert re.search(rf"−{-min(hidden)}%? (to|到) {max(hidden)} ?%", page)
    copied = product("column", "copied", "27")
    rate = copied["bytes_sent"] / copied["communication_ms"] / 1e6  # GB per second
    assert f"{copied['communication_ms']:.2f} ms" in page and f"{rate:.0f} GB/s" in page
    assert re.search(rf"{rate / 4.5:.0f} ?%", page)


def beside_cutlass(step, size):
    """The default's record of a square product beside CUTLASS."""
    rows = [r for r in RECORDS.beside_cutlass["h200"] if r["step"] == step and r["default"]]
    return next(r for r in rows if r["m"] == r["n"] == r["k"] == size)


@pytest.mark.parametrize("language", ENDING)
def test_what_is_told_of_cutlass_is_recorded(language):
    page = re.sub(r"<!-- table:.*?<!-- /table -->", "", text("benchmarking", language), flags=re.DOTALL)
    large = [beside_cutlass("27_by_size", size)["ratio"] for size in (4096, 8192, 16384)]
    assert [round(100 * ratio - 100) for ratio in (min(large), max(large))] == [2, 4]
    assert re.search(r"2% 到 4%|2 to 4 % faster", page)
    runs = [beside_cutlass(step, 8192) for step in ("25_overlapped_store", "27_by_size")]
    assert runs[0]["baseline_kernel"] == runs[1]["baseline_kernel"]
    assert all(f"{r['baseline_tflops']:.0f}" in page for r in runs)
    usual = next(r for r in RECORDS.of_step("h200", "27_by_size") if r["variant"] == "alone" and r["m"] == 1024)
    assert f"{usual['tflops']:.0f} TFLOPS" in page
    for step, size in (("17_wmma_stages", 4096), ("17_wmma_stages", 8192), ("21_mma_persistent", 8192)):
        assert f"{beside_cutlass(step, size)['ratio']:.2f}" in page


@pytest.mark.parametrize("language", ENDING)
def test_the_watts_and_clocks_that_are_told_are_recorded(language):
    page = text("benchmarking", language)
    rows = [*RECORDS.timings["h200"], *RECORDS.beside_cutlass["h200"]]
    large = [r for r in rows if 15 <= int(r["step"][:2]) <= 27 and min(r["m"], r["n"], r["k"]) >= 4096]
    watts, clocks = (sorted(r[key] for r in large if r.get(key)) for key in ("power_w", "sm_mhz"))
    tenth = len(watts) // 10
    assert re.search(rf"{watts[tenth]:.0f} (to|到) {watts[-1 - tenth]:.0f} W", page)
    assert re.search(rf"{clocks[0]} (and|到) {clocks[-1]} MHz", page) and str(clocks[len(clocks) // 2]) in page
    fp32 = [r for r in rows if int(r["step"][:2]) <= 11 and r["m"] == r["n"] == r["k"] == 4096]
    assert round(max(r["power_w"] for r in fp32)) == 690 and re.search(r"(约|about) 690 W", page)
    assert len({(r["step"], r["variant"]) for r in fp32 if r["sm_mhz"] != 1980}) == 1, "all records but one"
