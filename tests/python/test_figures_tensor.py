"""The layouts that the pictures of tensor cores and of the swizzle show: each element once, and no bank conflict."""

import pytest
from gemm_plots.figures import banks, fragments, mma, swizzle


@pytest.mark.parametrize("key", fragments.layouts(), ids=lambda key: "-".join(map(str, key)))
def test_every_element_is_held_once(key):
    layout = fragments.layouts()[key]
    rows, cols = ({cell[i] for cell in layout} for i in (0, 1))
    assert set(layout) == {(row, col) for row in rows for col in cols}
    assert len(set(layout.values())) == len(layout)
    assert {lane for lane, _, _ in layout.values()} == set(range(32))


@pytest.mark.parametrize(("operand", "lane"), [(operand, lane) for operand in "abc" for lane in (0, 5, 31)])
def test_step_18s_picture_shows_the_same_layout(operand, lane):
    layout = fragments.layouts()["mma.m16n8k16", operand, 16]
    for register, cells in enumerate(mma.held(operand, lane)):
        for half, cell in enumerate(cells):
            assert layout[cell] == (lane, register, half)


@pytest.mark.parametrize("row_bytes", [32, 64, 128, 256, 512])
def test_the_swizzle_permutes_each_row_and_spreads_every_column(row_bytes):
    chunks = row_bytes // swizzle.CHUNK
    for row in range(32):
        assert sorted(swizzle.place(row, chunk, row_bytes) for chunk in range(chunks)) == list(range(chunks))
    for first in range(0, 32, 8):
        for chunk in range(chunks):
            eight = [swizzle.address(row, chunk, row_bytes) for row in range(first, first + 8)]
            assert banks.serve(eight * 4, swizzle.CHUNK, matrix=True).per_group == (1, 1, 1, 1)


@pytest.mark.parametrize(("row_bytes", "wavefronts"), [(64, 16), (128, 32)])
def test_without_it_eight_rows_meet(row_bytes, wavefronts):
    rows = [row_bytes * (lane % 16) + 16 * (lane // 16) for lane in range(32)]
    assert banks.serve(rows, swizzle.CHUNK, matrix=True).wavefronts == wavefronts
