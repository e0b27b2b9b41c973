"""What cannot be multiplied: one exception each, with what to do, before anything is launched."""

import re

import numpy as np
import pytest

import gemm_steps

SQUARE = np.zeros((128, 128), np.float32)
HALVES = np.zeros((128, 128), np.float16)
T8X8 = {"step": 7, "variant": "t8x8"}


def misaligned(rows, cols, dtype):
    """A matrix that starts one element behind a multiple of 64 bytes."""
    elements = np.zeros(rows * cols + 64, dtype)
    first = -elements.ctypes.data // elements.itemsize % (64 // elements.itemsize) + 1
    return elements[first : first + rows * cols].reshape(rows, cols)


def read_only():
    array = np.zeros((128, 128), np.float32)
    array.flags.writeable = False
    return array


OVERLAPPING = np.lib.stride_tricks.as_strided(SQUARE, (64, 128), (4, 4))
# fmt: off
REFUSED = [  # a, b, how, and what is said
    ([[1.0]], SQUARE, {}, "a is a builtins.list; pass arrays of PyTorch, CuPy, JAX or NumPy"),
    (SQUARE, [[1.0]], {}, "a is an array of NumPy and b is a list; convert one of them"),
    (SQUARE.astype(np.float64), SQUARE, {}, "a holds float64; the steps multiply float32, float16 and bfloat16: convert"),
    (SQUARE, HALVES, {}, "a holds f32 and b f16; convert one of them"),
    (SQUARE, SQUARE, {"out": HALVES}, "a holds f32 and out f16; convert one of them"),
    (SQUARE, SQUARE, {"step": 22}, "step 22_tma multiplies bf16 NN, bf16 TN, f16 NN, f16 TN, not f32; convert the arrays"),
    (SQUARE, SQUARE, {"step": 22, "variant": "f16"}, "variant f16 of step 22_tma multiplies f16, not f32; convert the ar"),
    (SQUARE, SQUARE, {"step": 1.5}, "step is a number or a name, such as 11 or '11_warp_tiling'"),
    (SQUARE, SQUARE[0], {}, "b has 1 dimensions; the steps multiply matrices, which have 2: reshape it"),
    (SQUARE[:0], SQUARE, {}, "a has 0 rows; the steps take from 1 to 2147483647"),
    (SQUARE, SQUARE[:64], {}, "a has 128 columns and b 64 rows; a (m x k) times b (k x n) needs as many of one as of the"),
    (SQUARE, SQUARE, {"out": SQUARE[:64]}, "out is 64 x 128; the product is 128 x 128"),
    (SQUARE.T, SQUARE, {}, "a is 128 x 128, with strides of 1 and 128 elements; the elements of a row have to be neighbours"),
    (SQUARE[:64, :64], SQUARE[::2, ::2], {}, "b is 64 x 64, with strides of 256 and 2 elements; the elements of a row, or"),
    (SQUARE, SQUARE, {"out": np.zeros((128, 256), np.float32)[:, ::2]}, "out is 128 x 128, with strides of 256 and 2"),
    (OVERLAPPING, SQUARE, {}, "a is 64 x 128, with strides of 1 and 1 elements; the elements of a row have to be neighbour"),
    (HALVES, HALVES.T, {"step": 12}, "for f16, step 12_half_pack takes no b that is stored transposed (TN); pass"),
    (HALVES, HALVES, {"step": 22, "variant": "f16_tn"}, "variant f16_tn takes b only where it is stored transposed (TN)"),
    (SQUARE[:33], SQUARE, T8X8, "variant t8x8 needs m to be a multiple of 128, not 33; the nearest that works is 128"),
    (np.zeros((128, 130), np.float32)[:, :128], SQUARE, T8X8, "variant t8x8 needs lda to be a multiple of 4, not 130;"),
    (SQUARE, HALVES.astype(np.float32), {"out": SQUARE}, "out overlaps a, which blocks still read when others have"),
    (SQUARE, SQUARE, {"out": read_only()}, "out is read-only; pass one that can be written"),
    (SQUARE, SQUARE, {"beta": 1.0}, "beta is a factor of what out holds; pass out as well"),
    (SQUARE, SQUARE, {"alpha": float("nan")}, "alpha is nan; it has to be finite"),
    (SQUARE, SQUARE, {"step": 99}, "there is no step '99'; gemm_steps.steps() lists them, 01_naive to "),
    (SQUARE, SQUARE, {"step": 7, "variant": "nope"}, "no variant is called nope; step 07_thread_tile_8x8 has: t8x8"),
    (SQUARE, SQUARE, {"variant": "t8x8"}, "variant t8x8 needs its step: step=…, variant=…"),
    (np.zeros((2, 43691), np.float32), np.zeros((43691, 3), np.float32), {"step": 33}, "variant guarded takes k up to"),
]
# fmt: on
OF_TYPES = 8  # of these are refused by a TypeError


@pytest.mark.parametrize("at", range(len(REFUSED)), ids=lambda at: REFUSED[at][3][:40])
def test_one_line_says_what_to_do(at):
    a, b, how, words = REFUSED[at]
    with pytest.raises(TypeError if at < OF_TYPES else ValueError) as refusal:
        gemm_steps.matmul(a, b, **how)
    assert str(refusal.value).startswith(words) and "\n" not in str(refusal.value)


def test_a_misaligned_matrix_is_refused_by_variants_that_move_many_bytes_at_once():
    a = misaligned(128, 128, np.float32)
    with pytest.raises(ValueError) as refusal:
        gemm_steps.matmul(a, SQUARE, step=7)
    assert re.fullmatch(
        r"variant t8x8 moves 16 bytes of a at once, so that it has to start at a multiple of 16 bytes, not at 0x[0-9a-f]+;"
        r" pass a copy of it",
        str(refusal.value),
    )
    gemm_steps.matmul(a, SQUARE, step=1)  # moves one element at a time


def test_a_variant_that_leaves_out_work_is_refused():
    left_out = next(one for one in gemm_steps.variants(16) if "leaves_out" in one)
    with pytest.raises(ValueError, match="its result is wrong on purpose, so that it can only be timed"):
        gemm_steps.matmul(HALVES, HALVES, step=16, variant=left_out["variant"])


def test_without_a_step_the_newest_that_could_have_multiplied_says_why_it_does_not():
    a, b = np.zeros((64, 33), np.float32), np.zeros((64, 33), np.float32).T
    with pytest.raises(ValueError) as refusal:
        gemm_steps.matmul(a, b)
    assert str(refusal.value) == (
        "for f32, every step that runs here and sums in FP32 takes no b that is stored transposed (TN); pass"
        " b.contiguous(), or a copy in C order"
    )
