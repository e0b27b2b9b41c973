"""The L2's hit rate by stride, on output as ncu writes it."""

from lab import hit_rate
from records import read
from records.metrics import L2_HITS

LINES = "".join(f"20_mma swizzle, m 64 n 64 k 64: C 00000000000000f{i}\n" for i in range(2))
TABLE = f'"ID","Kernel Name","{L2_HITS}"\n"","","%"\n"0","gemm_kernel","61.238"\n"1","gemm_kernel","70.5"\n'


def program(tmp_path, text: str):
    file = tmp_path / "ncu"
    file.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_launches_belong_to_the_strides_in_the_order_asked(tmp_path):
    found = hit_rate.hit_rates(tmp_path / "20_mma", 64, [512, 1024], program(tmp_path, LINES + TABLE), 10)
    assert [(r["swizzle_stride"], r["value"], r["variant"], r["m"]) for r in found] == [
        (512, 61.24, "swizzle", 64),
        (1024, 70.5, "swizzle", 64),
    ]


def test_the_command_keeps_what_was_counted_and_says_what_failed(tmp_path, monkeypatch, capsys):
    words = ["hit_rate", "20", "--sizes", "64", "--gpu", "a100", "--data", str(tmp_path), "--strides", "512", "1024"]
    monkeypatch.setattr("sys.argv", [*words, "--ncu", program(tmp_path, LINES + TABLE)])
    assert hit_rate.main() == 0
    found = read(tmp_path / "a100" / "profile.jsonl")
    assert [(r["step"], r["value"]) for r in found] == [("20_mma_warp_swizzle", 61.24), ("20_mma_warp_swizzle", 70.5)]
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", [*words, "--ncu", str(tmp_path / "none")])
    assert hit_rate.main() == 2
    assert capsys.readouterr().err == f"hit_rate: {tmp_path}/none could not be started: No such file or directory\n"
