"""./gemm list: figures from the records, and none that was not measured."""

import pytest

from base import gpu, registry
from base.errors import UserError
from base.languages import CHINESE
from base.registry import Step
from records import BEST_LIBRARY
from tools import listing, measured
from tools.text_table import columns

RECORDS = measured.load()
UNTIMED = Step("12_half", "80", "fp16", "f16")
FIRST, SECOND, HOPPER = (registry.find(name, registry.steps()) for name in ("01", "02", "23"))


def test_the_table_has_the_records_figures_and_a_dash_where_there_are_none(capsys):
    listing.print_table([FIRST, SECOND, UNTIMED], "h200")
    lines = [line for line in capsys.readouterr().out.splitlines() if "──" not in line]
    one, two = (RECORDS.default_at("h200", step.name, 4096) for step in (FIRST, SECOND))
    assert lines[1].split()[-4:-1] == ["sm_80", f"{one['tflops']:.2f}", f"{100 * one['ratio']:.1f}"]
    gain = f"×{two['tflops'] / one['tflops']:.2f}"
    assert lines[2].split()[-4:] == [f"{two['tflops']:.2f}", f"{100 * two['ratio']:.1f}", "%", gain]
    assert "–" in lines[3] and "×" not in lines[3] + lines[1] and "NVIDIA H200" in lines[4]
    assert "best library" not in lines[0], "they were timed beside cuBLAS alone"


def test_the_table_in_chinese_is_aligned_and_has_a_column_for_the_best_library_call(capsys):
    listing.print_table([FIRST, SECOND, HOPPER], "h200", CHINESE)
    lines = [line for line in capsys.readouterr().out.splitlines() if "──" not in line]
    assert lines[0].split()[-2:] == ["相对最快的库调用", "提速"] and "NVIDIA H200 上的默认变体" in lines[-1]
    best = RECORDS.default_at("h200", HOPPER.name, 4096, baseline=BEST_LIBRARY)
    assert lines[3].split()[-2:] == [f"{100 * best['ratio']:.1f}", "%"]
    assert len({columns(line.partition("sm_")[0]) for line in lines[1:4]}) == 1


def test_whose_figures(monkeypatch):
    known = measured.load()
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA GeForce RTX 4090"))
    assert measured.choose_gpu(known, None) == "h200"
    known.timings["rtx4090"] = known.timings["h200"]
    assert measured.choose_gpu(known, None) == "rtx4090"
    assert measured.choose_gpu(known, "h200") == "h200"
    with pytest.raises(UserError, match="there are some of: h100, h200, rtx4090"):
        measured.choose_gpu(known, "abacus")


def test_the_folder_of_a_gpu():
    folders = {
        **{"NVIDIA H200": "h200", "NVIDIA H100 80GB HBM3": "h100", "NVIDIA H100 PCIe": "h100pcie", "../..": "gpu"},
        **{"NVIDIA A100-SXM4-80GB": "a100", "NVIDIA GeForce RTX 4070 Ti SUPER": "rtx4070tisuper"},
        **{"NVIDIA GeForce RTX 3080 Laptop GPU": "rtx3080laptop", "NVIDIA RTX 6000 Ada Generation": "rtx6000ada"},
    }
    assert {name: gpu.folder_name(name) for name in folders} == folders
