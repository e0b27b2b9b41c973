"""./gemm run NN --sim --watch: what it tells of two runs."""

from tools import watch

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
