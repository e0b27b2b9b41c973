"""./gemm diff: lines side by side, the edited ones against each other; what --watch tells of two runs; and ./gemm list: figures
from the records, and none that was not measured."""

import pytest

from base import gpu, registry
from base.errors import UserError
from base.languages import CHINESE
from base.registry import Step
from records import BEST_LIBRARY
from tools import diff, listing, measured, watch
from tools.text_table import columns

RECORDS = measured.load()
UNTIMED = Step("12_half", "80", "fp16", "f16")
FIRST, SECOND, HOPPER = (registry.find(name, registry.steps()) for name in ("01", "02", "23"))
OLD = ["int a;", "for (int k = 0; k < K; ++k) {", "  acc += A[k] * B[k];", "}", "same", "gone"]
NEW = ["int a;", "int b;", "for (int k = 0; k < K; k += 8) {", "  acc += A[k] * B[k];", "}", "same"]


def test_edited_added_and_removed_lines():
    rows = diff.rows(OLD, NEW)
    assert "".join(row.mark for row in rows) == " >|   <"
    edited = rows[2]
    assert (edited.old_number, edited.new_number) == (2, 3)


def test_changed_lines_of_code_are_counted_without_comments():
    old = "int a;  // one\n\nfor (int k = 0; k < K; ++k) {\n/* two\nlines */\n}\nint gone;\n"
    new = "int a;\n// more\nint b;\nfor (int k = 0; k < K; k += 8) {  // eight\n}\n"
    assert diff.changed(old, new) == {"edited": 1, "removed": 1, "added": 1}
    assert diff.summary(old, new) == "Lines of code, comments aside: 1 edited, 1 removed, 1 added; 3 in all."
    assert diff.summary(old, old + "// a comment more\n") == "The code of the two kernels is the same."
    assert diff.summary(old, new, CHINESE) == "代码行（不计注释）：改 1 行，删 1 行，加 1 行，共 3 行。"


def test_only_the_surroundings_of_a_change_are_shown():
    old = [f"line {number}" for number in range(100)]
    new = [*old[:50], "new", *old[50:]]
    kept = diff.interesting(diff.rows(old, new))
    assert [row.old for row in kept if row and row.mark == " "] == old[47:53]
    far = diff.interesting(diff.rows(old, ["first", *new]))
    assert None in far  # a rule between two changes that are far apart


def test_the_heads_are_told_in_chinese_and_keep_to_their_half(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    old, new = registry.find_many("01-02", registry.steps())
    diff.print_diff(old, new, None, whole=False, spoken=CHINESE)
    names, ideas, speeds, changed = capsys.readouterr().out.splitlines()[:4]
    assert names.split() == ["01_naive", "│", "02_coalesced"]
    assert ideas.startswith(old.idea(CHINESE)) and ideas.endswith(new.idea(CHINESE))
    assert len({columns(line.partition("│")[0]) for line in (names, ideas, speeds)}) == 1
    assert "是 cuBLAS 的" in speeds and changed.startswith("代码行（不计注释）：")


REPORT = """\
03_smem_tiling tiled, m 64 n 64 k 64, in the simulator: right
  warp instructions (PTX)                     36,096  
    fma                                        8,192  22.7 %
  shared load wavefronts                      16,384  1.00 per request
  simulated in 0.015 s, 2.4 million warp instructions per second

/a/kernel.cu
  instructions  sectors/request  wavefronts/request   line
           256                                1.00      44      As[tile_row][tile_col] = a_copy;
        24,576                                1.00      49      acc += As[tile_row][k] * Bs[k][tile_col];
"""  # noqa: W291 - as a step prints it


def test_only_what_changed_is_told():
    same = watch.parsed(REPORT.replace("0.015 s", "0.020 s"))
    assert list(watch.changes(watch.parsed(REPORT), same)) == []
    slower = REPORT.replace("16,384  1.00", "524,288  32.00").replace("1.00      49", "9.50      49")
    assert list(watch.changes(watch.parsed(REPORT), watch.parsed(slower))) == [
        "  shared load wavefronts: 16,384 1.00 per request → 524,288 32.00 per request",
        "     49  acc += As[tile_row][k] * Bs[k][tile_col];",
        "         24,576 1.00 → 24,576 9.50",
    ]


def test_a_kernel_without_shared_memory_has_a_column_less():
    report = """\
01_naive naive, m 128 n 128 k 128, in the simulator: right
  warp instructions (PTX)                    389,120  

/a/kernel.cu
  instructions  sectors/request   line
         2,048                      20    if (row >= g.m || col >= g.n) return;
       370,688           16.50      24    for (int k = 0; k < g.k; ++k) acc += a[k];
"""  # noqa: W291 - as a step prints it
    assert watch.parsed(report).lines == [
        watch.Line("20", "2,048", "if (row >= g.m || col >= g.n) return;"),
        watch.Line("24", "370,688 16.50", "for (int k = 0; k < g.k; ++k) acc += a[k];"),
    ]


def test_lines_are_matched_by_their_code():
    moved = (
        REPORT.replace("      44  ", "      45  ").replace("a_copy;", "a_copy + 0;").replace("      49  ", "      50  ")
    )
    assert list(watch.changes(watch.parsed(REPORT), watch.parsed(moved))) == [
        "-    44  As[tile_row][tile_col] = a_copy;   (256 1.00)",
        "+    45  As[tile_row][tile_col] = a_copy + 0;   (256 1.00)",
    ]


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
    assert lines[3].split()[-1] == f"{best['ratio']:.1%}"
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
