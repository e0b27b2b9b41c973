"""./gemm diff: lines side by side, the edited ones against each other; and what --watch tells of two runs."""

from base import registry
from base.languages import CHINESE
from tools import diff, watch
from tools.text_table import columns

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


def test_lines_are_matched_by_their_code():
    moved = (
        REPORT.replace("      44  ", "      45  ").replace("a_copy;", "a_copy + 0;").replace("      49  ", "      50  ")
    )
    assert list(watch.changes(watch.parsed(REPORT), watch.parsed(moved))) == [
        "-    44  As[tile_row][tile_col] = a_copy;   (256 1.00)",
        "+    45  As[tile_row][tile_col] = a_copy + 0;   (256 1.00)",
    ]
