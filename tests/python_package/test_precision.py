"""Steps 30, 32 and 33 in the simulator: how operands are rounded, what is left out, and what the guard mends.

That no error exceeds the guard's bound, and what it chooses by it, lab/guard holds beside bounds computed in FP64.
"""

import numpy as np
import pytest

import gemm_steps

ROWS = 128  # of a region
TAU = 2.0**-16
HALF = np.float32(2.0**-11)  # of the distance between two TF32 neighbours of 1
# 1 plus so many halves; the nearest TF32, ties to even; what is left where the low bits are cut off
HALVES = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], np.float32)
NEAREST = np.array([0, 0, 0, 2, 2, 2, 4, 4], np.float32)
CUT = np.array([0, 0, 0, 0, 2, 2, 2, 2], np.float32)


def normal(rows, k, seed):
    return np.random.default_rng(seed).standard_normal((rows, k)).astype(np.float32)


def mixed(rows, k, seed):
    """Rows that mix magnitudes: (u - 1/2) e^g, u uniform, g normal."""
    random = np.random.default_rng(seed)
    return ((random.random((rows, k)) - 0.5) * np.exp(random.standard_normal((rows, k)))).astype(np.float32)


def product(a, b, variant):
    return gemm_steps.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b), step=30, variant=variant)


def test_operands_are_rounded_to_the_nearest():
    values = np.tile(np.concatenate([1 + HALVES * HALF, -1 - HALVES * HALF]), (16, 4))
    one = np.eye(64, dtype=np.float32)
    for variant in ("tf32_192x256", "tf32_128x256", "turned_before", "cut"):
        kept = CUT if variant == "cut" else NEAREST
        wanted = np.tile(np.concatenate([1 + kept * HALF, -1 - kept * HALF]), (16, 4))
        np.testing.assert_array_equal(product(values, one, variant), wanted, err_msg=f"A, {variant}")
        np.testing.assert_array_equal(product(one, values.T, variant), wanted.T, err_msg=f"B, {variant}")


def exact(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def errors(a, b, step, *variants):
    """Of each variant, by element."""
    return [np.abs(gemm_steps.matmul(a, b, step=step, variant=name) - exact(a, b)) for name in variants]


def error(a, b, variant):
    """The root mean square over all elements, relative to |A||B|."""
    return np.sqrt(np.mean((errors(a, b, 30, variant)[0] / exact(np.abs(a), np.abs(b))) ** 2))


@pytest.mark.parametrize("step", [32, 33])
def test_a_k_beyond_the_exact_sums_is_refused_and_not_left_to_fewer_digits(step):
    a, b = np.ones((8, 43691), np.float32), np.ones((43691, 8), np.float32)
    with pytest.raises(ValueError, match="its sums could leave 32 bits"):
        gemm_steps.matmul(a, b, step=step)


def test_three_products_are_better_than_one_where_signs_change_and_less_so_where_they_do_not():
    random = np.random.default_rng(1)
    signed = [random.standard_normal(shape).astype(np.float32) for shape in ((64, 512), (512, 64))]
    positive = [random.random(shape).astype(np.float32) for shape in ((64, 512), (512, 64))]
    gained, less = (error(*data, "tf32_192x256") / error(*data, "three_products") for data in (signed, positive))
    assert gained > 16 and less < gained / 4


def test_two_more_products_of_three_digits_mend_most_of_what_mixed_magnitudes_lose():
    a, b = mixed(64, 256, 1), np.ascontiguousarray(mixed(64, 256, 2).T)
    six, eight, four = (e.mean() for e in errors(a, b, 32, "three_digits", "eight_products", "four_digits"))
    assert four < eight < six / 4


def test_where_the_guard_takes_three_digits_for_all_four_are_not_more_than_the_bound_better():
    a, b = normal(60, 256, 1), normal(256, 70, 2)
    loose, strict = errors(a, b, 33, "guarded", "strict")
    assert strict.mean() < loose.mean() / 4


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinities_and_nan_come_out_as_in_fp32(value):
    a, b = normal(150, 64, 1), normal(64, 40, 2)
    a[3, 5] = value
    c = gemm_steps.matmul(a, b, step=33)
    in_fp32 = gemm_steps.matmul(a, b, step=11, variant="any_size")
    assert np.array_equal(c[:ROWS], in_fp32[:ROWS], equal_nan=True)
    assert np.isfinite(c[ROWS:]).all()


def test_rows_of_zeros_subnormal_numbers_and_both_ends_of_the_exponents():
    a, b = normal(40, 96, 1), normal(96, 30, 2)
    a *= (2.0 ** np.linspace(-149, 120, 40)).astype(np.float32)[:, None]
    b *= (2.0 ** np.linspace(-126, 6, 30)).astype(np.float32)
    a[7], b[:, 9] = 0, 0
    c = gemm_steps.matmul(a, b, step=33)
    sizes = np.abs(a.astype(np.float64)).sum(1)[:, None] * np.abs(b.astype(np.float64)).sum(0)
    assert (c[7] == 0).all() and (c[:, 9] == 0).all()
    assert (np.abs(c - exact(a, b)) <= TAU * sizes / 96 + 2.0**-24 * np.abs(c) + 2.0**-150).all()


def test_powers_of_two_along_k_mend_halves_that_are_scaled_against_each_other():
    k = 256
    a, b = normal(60, k, 1), normal(k, 70, 2)
    a[:, k // 2 :] *= 2.0**-20
    b[: k // 2] *= 2.0**-20
    size = exact(np.abs(a), np.abs(b))
    guarded, balanced, fp32 = ((e / size).max() for e in errors(a, b, 33, "guarded", "balanced", "fp32"))
    assert guarded > 2.0**-10  # three digits, as the promise allows
    assert balanced < 2.0**-19 and fp32 < 2.0**-19
