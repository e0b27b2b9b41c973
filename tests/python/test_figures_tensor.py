"""The layouts that the pictures of tensor cores and of the swizzle show: each element once, and no bank conflict."""

import pytest

from plots.figures import hopper, swizzle, traces

LAYOUTS = [
    *(("18_mma_naive", name) for name in ("ldmatrix", "ldmatrix.trans")),
    *(("18_mma_naive", f"mma.m16n8k16.{operand}.16") for operand in "abc"),
    *(("15_wmma_tiled", f"wmma.m16n16k16.{operand}.16") for operand in "abc"),
]


@pytest.mark.parametrize(("trace", "name"), LAYOUTS)
def test_every_element_is_held_once(trace, name):
    layout = traces.fragment(trace, name)
    rows, cols = ({cell[i] for cell in layout} for i in (0, 1))
    assert set(layout) == {(row, col) for row in rows for col in cols}
    assert len(set(layout.values())) == len(layout)
    assert {lane for lane, _, _ in layout.values()} == set(range(32))


def test_the_swizzle_of_128_byte_rows_is_that_of_step_20():
    matrices = traces.shared("20_mma_warp_swizzle", "ldmatrix_x4(a_frag")
    for lane, address in enumerate(matrices.addresses):
        assert divmod(address, 128) == (lane % 16, 16 * swizzle.place(lane % 16, lane // 16, 128))
    copies = traces.shared("20_mma_warp_swizzle", "cp_async_16(to")
    for lane, address in enumerate(copies.addresses):
        assert divmod(address, 128) == (lane // 8, 16 * swizzle.place(lane // 8, lane % 8, 128))


def test_the_swizzle_of_64_byte_rows_is_that_of_the_traced_pattern():
    matrices = traces.shared("bank_patterns", "ldmatrix_x4(matrices, start + 64 * row + 16 * (chunk ^ (row / 2 % 4)))")
    for lane, address in enumerate(matrices.addresses):
        assert divmod(address, 64) == (lane % 16, 16 * swizzle.place(lane % 16, lane // 16, 64))
    assert (matrices.wavefronts, matrices.conflicts) == (4, 0)


@pytest.mark.parametrize("row_bytes", [32, 64, 128, 256, 512])
def test_the_swizzle_permutes_each_row_and_spreads_every_column(row_bytes):
    chunks = row_bytes // swizzle.CHUNK
    for row in range(32):
        assert sorted(swizzle.place(row, chunk, row_bytes) for chunk in range(chunks)) == list(range(chunks))
    for first in range(0, 32, 8):
        for chunk in range(chunks):
            places = [row * chunks + swizzle.place(row, chunk, row_bytes) for row in range(first, first + 8)]
            assert {place % 8 for place in places} == set(range(8))


@pytest.mark.parametrize(("row_bytes", "wavefronts"), [(64, 16), (128, 32)])
def test_without_it_eight_rows_meet(row_bytes, wavefronts):
    rows = traces.shared("bank_patterns", f"ldmatrix_x4(matrices, start + {row_bytes} * row + 16 * chunk)")
    assert rows.wavefronts == wavefronts


def test_each_wgmma_of_a_slice_reads_the_two_chunks_of_a_that_hold_its_k():
    seen = set()
    for step, read in enumerate(hopper.read_of_a()):
        assert {hopper.chunk_at(row, place) for row, place in read} == {2 * step, 2 * step + 1}
        assert not read & seen
        seen |= read
    assert seen == {(row, place) for row in range(hopper.ROWS_OF_A) for place in range(hopper.CHUNKS)}


def test_each_wgmma_of_a_slice_reads_its_sixteen_rows_of_every_box_of_b():
    copies, products = traces.engines(hopper.TRACE)
    assert (len(copies), len(products)) == (5, 4)  # a box of A and four of B
    for step, boxes in enumerate(hopper.read_of_b()):
        assert boxes == [set(range(16 * step, 16 * step + 16))] * 4
