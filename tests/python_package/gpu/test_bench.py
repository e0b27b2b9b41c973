"""The benchmark on a GPU: its table, its records, and that it agrees with the steps' executables."""

import json
import statistics

import pytest

from gemm_steps import bench

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)


def test_a_line_and_a_record(tmp_path, capsys):
    file = tmp_path / "bench.jsonl"
    size = ("--M", "1024", "--N", "1024", "--K", "1024")
    assert bench.main(["--step", "7", *size, "--json", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("07_thread_tile_8x8 on NVIDIA")
    assert "x torch (p20-p80)" in said
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(one["step"], one["baseline"], one["m"]) for one in records] == [
        ("07_thread_tile_8x8", "torch", 1024)
    ] * len(records)
    assert [one["default"] for one in records] == [True] + [False] * (len(records) - 1)
    for one in records:
        assert one["ms_p20"] <= one["ms"] <= one["ms_p80"]
        assert one["tflops"] == pytest.approx(2 * 1024**3 / one["ms"] / 1e9, rel=1e-4)
        assert 0 < one["worst_of_bound"] < 1
    assert statistics.median(one["ratio"] for one in records) > 0


def test_what_cannot_be_written_is_refused_before_anything_is_timed(capsys):
    size = ("--M", "128", "--N", "128", "--K", "128")
    assert bench.main(["--step", "7", "--variant", "t8x8", *size, "--json", "/nowhere/x.jsonl"]) == 0
    assert "cannot write /nowhere/x.jsonl: there is no folder /nowhere" in capsys.readouterr().out
