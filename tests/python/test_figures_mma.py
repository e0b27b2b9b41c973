"""The pictures of steps 18 to 21: fragments, wavefronts of matrices and copies, bands."""

from pathlib import Path

import pytest

from plots.figures import mma, stages, traces

ROOT = Path(__file__).resolve().parents[2]


def test_lane_5_holds_what_the_isa_says():
    """PTX ISA, "Matrix Fragments for mma.m16n8k16": lane 5 is in group 1, second of four."""
    assert mma.held("a", 5) == [((1, 2), (1, 3)), ((9, 2), (9, 3)), ((1, 10), (1, 11)), ((9, 10), (9, 11))]
    assert mma.held("b", 5) == [((2, 1), (3, 1)), ((10, 1), (11, 1))]
    assert mma.held("c", 5) == [((1, 2), (1, 3)), ((9, 2), (9, 3))]


@pytest.mark.parametrize(
    ("trace", "source", "pitch", "per_matrix"),
    [
        ("18_mma_naive-unpadded", "ldmatrix_x4(a_frag", 32, 2),
        ("18_mma_naive", "ldmatrix_x4(a_frag", 48, 1),
        ("18_mma_naive-unpadded", "ldmatrix_x2_trans(b_frag", 256, 8),
        ("18_mma_naive", "ldmatrix_x2_trans(b_frag", 272, 1),
        ("19_mma_stages", "ldmatrix_x4(a_frag", 144, 1),
        ("19_mma_stages", "ldmatrix_x4_trans(b_frag", 528, 1),
    ],
)
def test_wavefronts_of_a_matrix_whose_rows_have_this_pitch(trace, source, pitch, per_matrix):
    access = traces.shared(trace, source)
    assert access.addresses[1] - access.addresses[0] == pitch
    assert {group.wavefronts for group in access.groups} == {per_matrix}


def test_rows_that_step_19_deals_to_its_lanes_have_no_conflict():
    dealt = traces.shared("19_mma_stages-wide_stages3", "cp_async_16(to")
    in_turn = traces.shared("bank_patterns", "store_16_bytes(start + 80 * row + 16 * chunk)")
    assert sorted(dealt.addresses) == sorted(in_turn.addresses)
    assert (dealt.wavefronts, in_turn.wavefronts) == (4, 8)


def test_bands_cover_every_tile_once():
    tiles = [stages.in_bands(index, 10, 7, 4) for index in range(70)]
    assert sorted(tiles) == [(row, col) for row in range(10) for col in range(7)]
    assert tiles[:5] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]
