"""What is read of a GPU's counters, on output as ncu writes it, and compared with the simulator's."""

import pytest
from programs import printing

from lab import hit_rate, l2_traffic, pipes, validate
from lab.ncu import Failed, parse
from records import read
from records.metrics import BESIDE_CUBLAS, CALL_CYCLES, CYCLES, L2_HITS, L2_TRAFFIC, PIPES, TENSOR_ANY

LOADS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
COPIES = "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum"


def launch(values: dict[str, str] | None = None) -> str:
    fields = ["0", "gemm_kernel", *((values or {}).get(metric, "0") for metric in validate.METRICS)]
    return ",".join(f'"{field}"' for field in fields)


def output(*launches: str) -> str:
    """What ncu prints: the program's own lines, names, units, a line a launch."""
    names = ["ID", "Kernel Name", *validate.METRICS]
    head = [",".join(f'"{field}"' for field in row) for row in (names, [""] * len(names))]
    return "\n".join(["==PROF== Connected", *head, *launches, "==PROF== Disconnected", ""])


def test_conflicts_are_those_of_the_instrumentation_where_there_is_no_copy():
    sums = {"memory_l1_wavefronts_shared": "12", "memory_l1_wavefronts_shared_ideal": "8"}
    (without,) = parse(output(launch(sums)), validate.METRICS)
    assert validate.counted(without)["shared_conflicts"] == 4
    (with_copies,) = parse(output(launch({**sums, COPIES: "1"})), validate.METRICS)
    assert "shared_conflicts" not in validate.counted(with_copies)
    assert validate.counted(with_copies)["shared_load_conflicts"] == 0


LINES = "01_naive naive, m 256 n 256 k 256: C 00000000000000ff\n01_naive naive, m 512 n 512 k 512: C 0123456789abcdef\n"


def test_launches_belong_to_the_lines_that_the_step_printed(tmp_path):
    both = output(launch({LOADS: "4"}), launch({LOADS: "32"}))
    ncu = printing(tmp_path / "ncu", LINES + both)
    printed = validate.profiled(tmp_path / "01_naive", ["naive_kernel"], [], str(ncu), validate.METRICS, 10)
    found = validate.measured(printed, "01_naive")
    assert found["naive", 256]["global_load_requests"] == 4
    assert found["naive", 512]["global_load_requests"] == 32
    assert found["naive", 512][validate.BITS] == "0123456789abcdef"


def test_a_launch_too_few_is_a_failure(tmp_path):
    with pytest.raises(Failed, match="01_naive made 2 launches, ncu saw 1"):
        validate.measured(LINES + output(launch()), "01_naive")


def test_only_counters_of_this_gpu_are_asked_for(tmp_path, capsys):
    known = LOADS.removesuffix(".sum")
    ncu = printing(tmp_path / "ncu", f"Device NVIDIA H200\n{known}      Counter    request   # of requests\n")
    assert validate.metrics_here(str(ncu), 10) == [LOADS]
    assert f"this GPU has no {COPIES}: what is made of it is left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("different", "why", "code"), [(0, "", 0), (1, "seen in the SASS", 0), (1, "", 1), (4, "so", 1)]
)
def test_the_verdict_needs_equal_rows_and_reasons(capsys, different, why, code):
    row = dict.fromkeys(validate.COLUMNS, "x")
    rows = [{**row, "equal": "no" if i < different else "yes", "why": why if i < different else ""} for i in range(40)]
    assert validate.judge(rows) == code
    assert f"{40 - different} of 40 equal" in capsys.readouterr().out


def test_a_reason_serves_for_every_size_and_bits_are_compared_as_text():
    explained = {("01_naive", "naive", "", "global_load_sectors"): "ptxas vectorised the loads"}
    ours = {"global_load_sectors": 8.0, validate.BITS: "00ff"}
    theirs = {"global_load_sectors": 6.0, validate.BITS: "00ff"}
    rows = validate.compare("01_naive", ("naive", 512), ours, theirs, explained)
    assert [tuple(row[of] for of in ("counter", "equal", "why")) for row in rows] == [
        ("global_load_sectors", "no", "ptxas vectorised the loads"),
        (validate.BITS, "yes", ""),
    ]


def test_a_step_that_fails_leaves_the_rows_of_the_others(tmp_path, monkeypatch, capsys):
    file = tmp_path / "validation.csv"
    old = {**dict.fromkeys(validate.COLUMNS, "a"), "step": "01_naive", "equal": "yes"}
    validate.write(file, [old])
    new = {**old, "step": "02_coalesced"}

    def rows(step, *_):
        if step.name == "01_naive":
            raise Failed("no such counter")
        return [new]

    monkeypatch.setattr(validate, "metrics_here", lambda *_: validate.METRICS)
    monkeypatch.setattr(validate, "step_rows", rows)
    monkeypatch.setattr("sys.argv", ["validate", "01", "02", "--out", str(file)])
    assert validate.main() == 2
    assert validate.table(file) == [old, new]
    assert "01_naive: no such counter" in capsys.readouterr().err


def test_l2_traffic_has_a_record_per_launch_and_metric():
    counts = ("12,884,901,888", "0", "218,069,500", "1.85", "1.85", "0", "1,224,448,768")
    rows = (("ID", *l2_traffic.RECORDED_AS), [""] * 8, ("0", *counts), ("0", *counts))
    printed = "".join(f"25_store bf16, m {m} n {m} k {m}: C 00000000000000ff\n" for m in (64, 128))
    printed += "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
    found = l2_traffic.records(printed, "25_store")
    assert [(r["variant"], r["m"], r["n"], r["k"]) for r in found] == [
        ("bf16", m, m, m) for m in (64, 128) for _ in counts
    ]
    assert [(r["metric"], r["value"]) for r in found[:7]] == [
        (metric, float(count.replace(",", ""))) for metric, count in zip(L2_TRAFFIC, counts, strict=True)
    ]
    assert found[6]["metric"] not in PIPES, "lab.pipes counts the same bytes with empty caches, under their own name"


def test_hit_rates_belong_to_the_strides_in_the_order_asked(tmp_path, monkeypatch, capsys):
    table = f'"ID","Kernel Name","{L2_HITS}"\n"","","%"\n"0","gemm_kernel","61.238"\n"1","gemm_kernel","70.5"\n'
    lines = "".join(f"20_mma_warp_swizzle swizzle, m 64 n 64 k 64: C 00000000000000f{i}\n" for i in range(2))
    words = ["hit_rate", "20", "--sizes", "64", "--gpu", "a100", "--data", str(tmp_path), "--strides", "512", "1024"]
    monkeypatch.setattr("sys.argv", [*words, "--ncu", str(printing(tmp_path / "ncu", lines + table))])
    assert hit_rate.main() == 0
    found = read(tmp_path / "a100" / "profile.jsonl")
    assert [(r["variant"], r["m"], r["swizzle_stride"], r["value"]) for r in found] == [
        ("swizzle", 64, 512, 61.24),
        ("swizzle", 64, 1024, 70.5),
    ]
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", [*words, "--ncu", str(tmp_path / "none")])
    assert hit_rate.main() == 2
    assert capsys.readouterr().err == f"hit_rate: {tmp_path}/none could not be started: No such file or directory\n"


def test_a_call_is_as_busy_as_its_longest_kernel_and_cublas_stands_beside_it(tmp_path, monkeypatch, capsys):
    def line(kernel, *counts):
        return ",".join(f'"{cell}"' for cell in ("0", kernel, *counts)) + "\n"

    table = line("Kernel Name", *PIPES).replace('"0"', '"ID"', 1) + line("", *[""] * 5).replace('"0"', '""', 1)
    table += line("void for_each_kernel<int>(int)", "9,000,000", "0", "1", "1", "1")  # the harness's
    table += line("gemm_kernel(int)", "2,000,000", "96.5", "100", "64", "32")
    table += line("rest_kernel(int)", "150,000", "60", "9", "9", "9")
    table += line("nvjet_tst_192x192_64x4", "2,200,000", "93", "200", "128", "32")
    printed = "31_eight_bits s8, m 64 n 64 k 64: C 00000000000000ff\n"
    words = ["pipes", "31", "--sizes", "64", "--gpu", "a100", "--data", str(tmp_path)]
    ours = "".join(row for row in table.splitlines(keepends=True) if "nvjet" not in row)
    ncu = tmp_path / "ncu"
    ncu.write_text(f'#!/bin/sh\ncase "$*" in *fingerprint*) cat {tmp_path}/ours;; *) cat {tmp_path}/both;; esac\n')
    ncu.chmod(0o755)
    (tmp_path / "ours").write_text(printed + ours)
    (tmp_path / "both").write_text(table)
    monkeypatch.setattr("sys.argv", [*words, "--ncu", str(ncu)])
    assert pipes.main() == 0
    capsys.readouterr()
    found = {(r["variant"], r["metric"]): r["value"] for r in read(tmp_path / "a100" / "profile.jsonl")}
    assert found["s8", CYCLES] == 2_000_000 and found["s8", CALL_CYCLES] == 2_150_000
    assert found["s8", TENSOR_ANY] == 96.5
    assert found[f"s8 {BESIDE_CUBLAS}", CYCLES] == found[f"s8 {BESIDE_CUBLAS}", CALL_CYCLES] == 2_200_000
    (tmp_path / "both").write_text("")
    assert pipes.main() == 0, "a product that cuBLAS does not have"
    assert "nothing beside s8" in capsys.readouterr().err
    (tmp_path / "ours").write_text(printed + "".join(table.splitlines(keepends=True)[:3]))
    assert pipes.main() == 2, "a launch of the harness's kernels alone"
    assert "none of the kernels" in capsys.readouterr().err


def test_the_recorded_table_is_what_the_simulator_counts_today():
    rows = validate.table(validate.ROOT / "docs" / "validation-h200.csv")
    equal = [row for row in rows if row["equal"] == "yes"]
    # Whose counters a GPU has given: steps 31 to 33 wait for the next profile.
    compared_steps = [step for step in validate.registry.steps() if step.number < 31]
    assert len(equal) >= validate.EQUAL_SHARE * len(rows)
    assert all(row["why"] for row in rows if row["equal"] == "no")
    assert {row["step"] for row in rows} == {step.name for step in compared_steps}
    docs = validate.ROOT / "docs"
    assert f"**{len(equal)} of {len(rows)} rows are equal**" in (docs / "simulator.md").read_text(encoding="utf-8")
    chinese = (docs / "simulator.zh-CN.md").read_text(encoding="utf-8")
    assert f"**{len(rows)} 行中有 {len(equal)} 行相等**" in chinese
    compared = 0
    for step in compared_steps:
        file = validate.ROOT / "records" / "simulator" / f"{step.name}.jsonl"
        square = [r for r in reversed(read(file)) if r["m"] == r["n"] == r["k"]]
        counted = {(r["variant"], str(r["m"])): r["counts"] for r in square}
        for row in (row for row in rows if row["step"] == step.name):
            counts = counted.get((row["variant"], row["size"]), {})
            if row["counter"] in counts:
                assert float(row["simulated"]) == counts[row["counter"]], row
                compared += 1
    assert compared > 100
