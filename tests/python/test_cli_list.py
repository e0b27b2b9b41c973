"""./gemm list: figures from the records, and none that was not measured."""

import json

import pytest

from base import gpu
from base.errors import UserError
from base.languages import CHINESE
from base.registry import Step
from tools import listing, measured
from tools.text_table import columns

STEPS = [
    Step("01_naive", "80", "fp32", "f32"),
    Step("02_coalesced", "80", "fp32", "f32"),
    Step("12_half", "80", "fp16", "f16"),
]


def record(step, tflops, ratio, size=4096, **others):
    return {
        **{"step": step, "variant": "v", "default": True, "m": size, "n": size, "k": size, "alpha": 1.0, "beta": 0.0},
        **{
            "a": "f32",
            "acc": "f32",
            "c": "f32",
            "layout": "NN",
            "tflops": tflops,
            "baseline": "cublas",
            "ratio": ratio,
        },
        **{"baseline_tflops": tflops / ratio, "gpu": "NVIDIA H200", "options": {}, "ms": 1.0},
        **others,
    }


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A small set of records in place of the course's."""
    (tmp_path / "h200").mkdir()

    def write(step, *records):
        (tmp_path / "h200" / f"{step}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))

    write("01_naive", record("01_naive", 2.0, 0.04), record("01_naive", 9.0, 0.2, default=False, variant="other"))
    write("02_coalesced", record("02_coalesced", 5.0, 0.1), record("02_coalesced", 6.0, 0.12, size=8192))
    monkeypatch.setattr(measured, "DATA", tmp_path)
    return tmp_path


def test_the_table(data, capsys):
    listing.print_table(STEPS, None)
    lines = capsys.readouterr().out.splitlines()
    assert "2.00" in lines[2] and "4.0 %" in lines[2] and "×" not in lines[2]
    assert "5.00" in lines[3] and "10.0 %" in lines[3] and "×2.50" in lines[3]
    assert "–" in lines[4] and "×" not in lines[4]
    assert "NVIDIA H200" in lines[5]
    assert len({line.index("sm_80") for line in lines[2:5]}) == 1


def test_the_table_in_chinese(data, capsys):
    listing.print_table(STEPS, None, CHINESE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["步骤", "思路"] and "NVIDIA H200 上的默认变体" in lines[5]
    assert "×2.50" in lines[3] and len({columns(line.partition("sm_80")[0]) for line in lines[2:5]}) == 1
    assert (
        measured.in_words(record("01_naive", 47.1, 0.92), CHINESE)
        == "47.1 TFLOPS，是 cuBLAS 的 92 %（4096，NVIDIA H200）"
    )


def test_the_best_library_call_has_a_column_where_several_calls_were_timed(data, capsys):
    hopper = Step("23_wgmma", "90a", "hopper", "bf16")
    rows = [
        record("23_wgmma", 660.0, ratio, acc="f32", baseline=call)
        for call, ratio in (("cublas", 1.021), ("cublaslt", 1.1), ("best_library", 1.021))
    ]
    (data / "h200" / "23_wgmma.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    listing.print_table([*STEPS, hopper], None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[-6:] == ["of", "cuBLAS", "of", "best", "library", "gain"]
    assert lines[5].split()[-6:] == ["sm_90a", "660.00", "102.1", "%", "102.1", "%"]
    assert lines[2].split()[-2:] == ["4.0", "%"], "step 01 was timed beside cuBLAS alone"
    listing.print_table(STEPS, None)
    assert "best" not in capsys.readouterr().out.splitlines()[0]


def test_whose_figures(data, monkeypatch):
    records = measured.load()
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA GeForce RTX 4090"))
    assert measured.choose_gpu(records, None) == "h200"
    records.timings["rtx4090"] = records.timings["h200"]
    assert measured.choose_gpu(records, None) == "rtx4090"
    assert measured.choose_gpu(records, "h200") == "h200"
    with pytest.raises(UserError, match="there are some of: h200, rtx4090"):
        measured.choose_gpu(records, "abacus")


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 PCIe", "h100pcie"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "rtx4070tisuper"),
        ("NVIDIA GeForce RTX 3080 Laptop GPU", "rtx3080laptop"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx6000ada"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA L20", "l20"),
        ("../..", "gpu"),
    ],
)
def test_the_folder_of_a_gpu(name, folder):
    assert gpu.folder_name(name) == folder
