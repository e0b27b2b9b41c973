"""The pictures of steps 18 and 19 show the layouts that the simulator computes with, and the wavefronts that follow."""

import csv
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gemm_plots.figures import banks, mma  # noqa: E402


@pytest.mark.parametrize("operand", ["a", "b", "c"])
def test_a_lane_holds_what_the_fragments_table_says(operand):
    with (ROOT / "tests" / "sim" / "fragments.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["instruction"] == "mma.m16n8k16" and row["bits"] == "16"]
    rows = [row for row in rows if row["operand"] == operand]
    assert rows
    for row in rows:
        cell = mma.held(operand, int(row["lane"]))[int(row["register"])][int(row["half"])]
        assert cell == (int(row["row"]), int(row["col"]))


@pytest.mark.parametrize(("pitch", "wavefronts"), [(32, 8), (48, 4), (80, 4), (144, 4), (256, 32), (272, 4), (528, 4)])
def test_wavefronts_of_four_matrices_with_a_pitch(pitch, wavefronts):
    addresses = [address for _ in range(4) for address in mma.matrix_rows(pitch)]
    assert banks.serve(addresses, mma.ROW_BYTES, matrix=True).wavefronts == wavefronts


@pytest.mark.parametrize("chunks", [2, 4, 8, 16, 32])
def test_rows_are_dealt_so_that_a_copy_has_no_conflict(chunks):
    dealt = mma.copy_lanes(chunks, dealt=True)
    assert sorted(dealt) == sorted(mma.copy_lanes(chunks, dealt=False))
    assert banks.serve(mma.copy_addresses(chunks, dealt=True), mma.ROW_BYTES).wavefronts == 4


@pytest.mark.parametrize(("chunks", "wavefronts"), [(2, 8), (4, 8), (8, 4)])
def test_rows_in_turn_conflict_where_eight_lanes_take_several(chunks, wavefronts):
    assert banks.serve(mma.copy_addresses(chunks, dealt=False), mma.ROW_BYTES).wavefronts == wavefronts


def test_bands_cover_every_tile_once():
    tiles = [mma.in_bands(index, 10, 7, 4) for index in range(70)]
    assert sorted(tiles) == [(row, col) for row in range(10) for col in range(7)]
    assert tiles[:5] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]
