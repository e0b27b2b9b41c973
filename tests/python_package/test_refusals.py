"""What cannot be multiplied: one exception each, with what to do, before anything is launched."""

import re

import numpy as np
import pytest

import gemm_steps

SQUARE = np.zeros((128, 128), np.float32)
HALVES = np.zeros((128, 128), np.float16)


def misaligned(rows, cols, dtype):
    """A matrix that starts one element behind a multiple of 64 bytes."""
    elements = np.zeros(rows * cols + 64, dtype)
    first = -elements.ctypes.data // elements.itemsize % (64 // elements.itemsize) + 1
    return elements[first : first + rows * cols].reshape(rows, cols)


def read_only():
    array = np.zeros((128, 128), np.float32)
    array.flags.writeable = False
    return array


REFUSED = {
    "no array": ([[1.0]], SQUARE, {}, TypeError, "a is a builtins.list; pass arrays of PyTorch, CuPy, JAX or NumPy"),
    "another framework": (
        SQUARE,
        [[1.0]],
        {},
        TypeError,
        "a is an array of NumPy and b is a list; convert one of them",
    ),
    "type": (
        SQUARE.astype(np.float64),
        SQUARE,
        {},
        TypeError,
        "a holds float64; the steps multiply float32, float16 and bfloat16: convert it first",
    ),
    "mixed types": (SQUARE, HALVES, {}, TypeError, "a holds f32 and b f16; convert one of them"),
    "type of out": (SQUARE, SQUARE, {"out": HALVES}, TypeError, "a holds f32 and out f16; convert one of them"),
    "type of a step": (
        SQUARE,
        SQUARE,
        {"step": 22},
        TypeError,
        "step 22_tma multiplies bf16 NN, bf16 TN, f16 NN, f16 TN, not f32; convert the arrays, or name another step",
    ),
    "type of a variant": (
        SQUARE,
        SQUARE,
        {"step": 22, "variant": "f16"},
        TypeError,
        "variant f16 of step 22_tma multiplies f16, not f32; convert the arrays, or choose another variant",
    ),
    "rank": (
        SQUARE,
        SQUARE[0],
        {},
        ValueError,
        "b has 1 dimensions; the steps multiply matrices, which have 2: reshape it, or multiply one by one",
    ),
    "empty": (SQUARE[:0], SQUARE, {}, ValueError, "a has 0 rows; the steps take from 1 to 2147483647"),
    "inner size": (
        SQUARE,
        SQUARE[:64],
        {},
        ValueError,
        "a has 128 columns and b 64 rows; a (m x k) times b (k x n) needs as many of one as of the other",
    ),
    "size of out": (
        SQUARE,
        SQUARE,
        {"out": SQUARE[:64]},
        ValueError,
        "out is 64 x 128; the product is 128 x 128",
    ),
    "stride of a": (
        SQUARE.T,
        SQUARE,
        {},
        ValueError,
        "a is 128 x 128, with strides of 1 and 128 elements; the elements of a row have to be neighbours, and rows may"
        " not overlap: pass a.contiguous(), or a copy in C order",
    ),
    "stride of b": (
        SQUARE[:64, :64],
        SQUARE[::2, ::2],
        {},
        ValueError,
        "b is 64 x 64, with strides of 256 and 2 elements; the elements of a row, or of a column, have to be neighbours:"
        " pass b.contiguous(), or a copy in C order",
    ),
    "out that is not contiguous": (
        SQUARE,
        SQUARE,
        {"out": np.zeros((128, 256), np.float32)[:, ::2]},
        ValueError,
        "out is 128 x 128, with strides of 256 and 2 elements; the elements of a row have to be neighbours, and rows may"
        " not overlap: pass out.contiguous(), or a copy in C order",
    ),
    "rows that overlap": (
        np.lib.stride_tricks.as_strided(SQUARE, (64, 128), (4, 4)),
        SQUARE,
        {},
        ValueError,
        "a is 64 x 128, with strides of 1 and 1 elements; the elements of a row have to be neighbours, and rows may"
        " not overlap: pass a.contiguous(), or a copy in C order",
    ),
    "layout of a step": (
        HALVES,
        HALVES.T,
        {"step": 12},
        ValueError,
        "for f16, step 12_half_pack takes no b that is stored transposed (TN); pass b.contiguous(), or a copy in C order",
    ),
    "layout of a variant": (
        HALVES,
        HALVES,
        {"step": 22, "variant": "f16_tn"},
        ValueError,
        "variant f16_tn takes b only where it is stored transposed (TN): pass b.T.contiguous().T, or a transposed copy",
    ),
    "size of a variant": (
        SQUARE[:33],
        SQUARE,
        {"step": 7, "variant": "t8x8"},
        ValueError,
        "variant t8x8 needs m to be a multiple of 128, not 33; the nearest that works is 128",
    ),
    "stride of a variant": (
        np.zeros((128, 130), np.float32)[:, :128],
        SQUARE,
        {"step": 7, "variant": "t8x8"},
        ValueError,
        "variant t8x8 needs lda to be a multiple of 4, not 130; the nearest that works is 128",
    ),
    "overlapping out": (
        SQUARE,
        HALVES.astype(np.float32),
        {"out": SQUARE},
        ValueError,
        "out overlaps a, which blocks still read when others have written theirs; pass an out of its own",
    ),
    "read-only out": (
        SQUARE,
        SQUARE,
        {"out": read_only()},
        ValueError,
        "out is read-only; pass one that can be written",
    ),
    "beta without out": (
        SQUARE,
        SQUARE,
        {"beta": 1.0},
        ValueError,
        "beta is a factor of what out holds; pass out as well",
    ),
    "alpha": (SQUARE, SQUARE, {"alpha": float("nan")}, ValueError, "alpha is nan; it has to be finite"),
    "unknown step": (
        SQUARE,
        SQUARE,
        {"step": 99},
        ValueError,
        f"there is no step '99'; gemm_steps.steps() lists them, 01_naive to {gemm_steps.steps()[-1].name}",
    ),
    "half a step": (
        SQUARE,
        SQUARE,
        {"step": 1.5},
        TypeError,
        "step is a number or a name, such as 11 or '11_warp_tiling'",
    ),
    "unknown variant": (
        SQUARE,
        SQUARE,
        {"step": 7, "variant": "nope"},
        ValueError,
        "no variant is called nope; step 07_thread_tile_8x8 has: t8x8 natural_a",
    ),
    "variant without a step": (
        SQUARE,
        SQUARE,
        {"variant": "t8x8"},
        ValueError,
        "variant t8x8 needs its step: step=…, variant=…",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_one_line_says_what_to_do(what):
    a, b, how, kind, words = REFUSED[what]
    with pytest.raises(kind) as refusal:
        gemm_steps.matmul(a, b, **how)
    assert str(refusal.value) == words


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
