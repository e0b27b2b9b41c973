"""The benchmark on a GPU: its table, its records, and that it agrees with the steps' executables."""

import json
import subprocess

import pytest

from gemm_steps import _load, bench

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)


def records_of(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_line_and_a_record(tmp_path, capsys):
    file = tmp_path / "bench.jsonl"
    size = ("--M", "1024", "--N", "1024", "--K", "1024")
    assert bench.main(["--step", "7", *size, "--json", str(file)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("07_thread_tile_8x8 on NVIDIA")
    assert "x torch (p20-p80)" in said
    records = records_of(file)
    assert [(one["step"], one["baseline"], one["m"]) for one in records] == [
        ("07_thread_tile_8x8", "torch", 1024)
    ] * len(records)
    assert [one["default"] for one in records] == [True] + [False] * (len(records) - 1)
    for one in records:
        assert one["ms_p20"] <= one["ms"] <= one["ms_p80"]
        assert one["tflops"] == pytest.approx(2 * 1024**3 / one["ms"] / 1e9, rel=1e-4)
        assert 0 < one["ratio_p20"] <= one["ratio"] <= one["ratio_p80"]
        assert 0 < one["worst_of_bound"] < 1


def test_it_agrees_with_the_executable_in_the_ratio_to_the_library(tmp_path):
    executable = _load.HERE.parents[1] / "steps" / "11_warp_tiling"
    if not executable.exists():
        pytest.skip(f"{executable} is not built")
    ours, theirs = tmp_path / "bench.jsonl", tmp_path / "harness.jsonl"
    size = ("--M", "4096", "--N", "4096", "--K", "4096")
    assert bench.main(["--step", "11", "--variant", "by_size", *size, "--json", str(ours)]) == 0
    subprocess.run([executable, "--size", "4096", "--json", theirs], check=True)
    (here,), (there,) = records_of(ours), records_of(theirs)
    spread = max(one["ratio_p80"] - one["ratio_p20"] for one in (here, there))
    assert here["ratio"] == pytest.approx(there["ratio"], abs=max(0.02 * there["ratio"], spread))
