"""The rule of shared-memory wavefronts that the pictures show, against figures measured on an H200."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gemm_plots.figures.banks import serve

# One load a warp, byte address of lane i; wavefronts and bank conflicts by ncu on an H200
# (l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum, l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum).
MEASURED = [
    (4, lambda i: 4 * i, 1, 0),
    (4, lambda i: 0, 1, 0),
    (4, lambda i: 8 * i, 2, 1),
    (4, lambda i: 128 * i, 32, 31),
    (4, lambda i: 132 * i, 1, 0),
    (4, lambda i: 4 * (i % 16), 1, 0),
    (8, lambda i: 8 * i, 2, 0),
    (8, lambda i: 0, 1, 0),
    (8, lambda i: 8 * (i % 16), 2, 0),
    (8, lambda i: 8 * (i // 2), 1, 0),
    (8, lambda i: 8 * (i // 16), 1, 0),
    (8, lambda i: 16 * i, 4, 2),
    (8, lambda i: 8 * (i % 2), 1, 0),
    (8, lambda i: 128 * i, 32, 30),
    (16, lambda i: 16 * i, 4, 0),
    (16, lambda i: 0, 2, 0),
    (16, lambda i: 16 * (i // 8), 2, 0),
    (16, lambda i: 16 * (i % 8), 4, 0),
    (16, lambda i: 16 * (i // 2), 2, 0),
    (16, lambda i: 16 * (i // 4), 2, 0),
    (16, lambda i: 16 * (i // 16), 2, 0),
    (16, lambda i: 16 * (i % 2), 2, 0),
    (16, lambda i: 16 * (i % 16), 4, 0),
    (16, lambda i: 16 * (i % 4), 4, 0),
    (16, lambda i: 32 * (i % 16), 8, 4),
    (16, lambda i: 32 * i, 8, 4),
    (16, lambda i: 64 * i, 16, 12),
    (16, lambda i: 128 * i, 32, 28),
    (16, lambda i: 128 * (i // 16), 2, 0),
    (16, lambda i: 32 * (i // 16), 2, 0),
    (16, lambda i: 128 * (i // 8), 4, 2),
    (16, lambda i: 16 * (i % 8) + 128 * (i // 8), 4, 0),
    (16, lambda i: 32 * (i % 8) + 16 * (i // 16), 8, 4),
]
MATRIX = [  # rows of an ldmatrix.x4
    (lambda i: 128 * i, 32, 28),
    (lambda i: 16 * i, 4, 0),
    (lambda i: 128 * i + 16 * (i % 8), 4, 0),
    (lambda i: 128 * (i // 8) + 16 * (i % 8), 4, 0),
    (lambda i: 64 * i, 16, 12),
    (lambda i: 80 * i, 4, 0),
    (lambda i: 144 * i, 4, 0),
]


@pytest.mark.parametrize(("size", "address", "wavefronts", "conflicts"), MEASURED)
def test_loads_as_measured(size, address, wavefronts, conflicts):
    served = serve([address(i) for i in range(32)], size)
    assert (served.wavefronts, served.conflicts) == (wavefronts, conflicts)


@pytest.mark.parametrize(("address", "wavefronts", "conflicts"), MATRIX)
def test_ldmatrix_as_measured(address, wavefronts, conflicts):
    served = serve([address(i) for i in range(32)], 16, matrix=True)
    assert (served.wavefronts, served.conflicts) == (wavefronts, conflicts)
