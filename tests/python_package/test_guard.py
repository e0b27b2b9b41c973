"""Step 33's guard in the simulator, beside the same bound in NumPy: what it chooses, and that no error exceeds it."""

import numpy as np
import pytest

import gemm_steps

ROWS, COLUMNS = 128, 384  # of a region
TAU = 2.0**-16
DIGITS = 4
REST = 1.5  # of an element at most, behind its fourth digit


def normal(rows, k, seed):
    return np.random.default_rng(seed).standard_normal((rows, k)).astype(np.float32)


def mixed(rows, k, seed, spread=1.0):
    """(u - 1/2) e^(spread g), u uniform, g normal."""
    random = np.random.default_rng(seed)
    return ((random.random((rows, k)) - 0.5) * np.exp(spread * random.standard_normal((rows, k)))).astype(np.float32)


def terms(lines):
    """For each row: norms of its digits and of what is left, divided by the sum of sizes; and that sum."""
    largest = np.abs(lines).max(1)
    fraction, exponent = np.frexp(largest)
    shift = 8 * DIGITS - 1 - exponent - (fraction > (127 * 256 + 127) / 32768)
    scaled = lines.astype(np.float64) * 2.0 ** shift[:, None]
    left = np.rint(scaled)
    left -= np.mod(left, 512) == 128
    digits = []
    for _ in range(DIGITS):
        higher = np.floor((left + 128) / 256)
        digits.insert(0, left - 256 * higher)
        left = higher
    sizes = np.abs(scaled).sum(1)
    norms = [np.sqrt((digit**2).sum(1)) for digit in digits]
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.array([*norms, np.full(len(lines), REST * np.sqrt(lines.shape[1]))]) / sizes
    return np.where(sizes > 0, found, 0)


def bounds(p, q):
    """What three digits and four may err for every row and column, divided by |ai| |bj|."""
    p, q = p[:, :, None], q[:, None, :]
    x, y = (2**24 * t[0] + 2**16 * t[1] + 2**8 * t[2] for t in (p, q))
    p_lost, q_lost = p[3] + p[4], q[3] + q[4]
    three = x * q_lost + p_lost * (y + q_lost) + 2**24 * (p[1] * q[2] + p[2] * q[1]) + 2**16 * p[2] * q[2]
    x, y = x + p[3], y + q[3]
    four = x * q[4] + p[4] * (y + q[4]) + 2**16 * (p[1] * q[3] + p[2] * q[2] + p[3] * q[1])
    return three, four + 2**8 * (p[2] * q[3] + p[3] * q[2]) + p[3] * q[3]


def of_regions(lines, height):
    """The largest of each term over the rows of every region."""
    return np.array([lines[:, at : at + height].max(1) for at in range(0, lines.shape[1], height)]).T


def chosen(a, b):
    """3, 4 or 0 for every region."""
    three, four = bounds(of_regions(terms(a), ROWS), of_regions(terms(b.T), COLUMNS))
    k = a.shape[1]
    return np.where(three * k <= TAU, 3, np.where(four * k <= TAU, 4, 0))


def test_each_region_is_computed_as_its_bound_says_and_none_errs_by_more():
    k = 320
    a = np.concatenate([normal(ROWS, k, 1), mixed(ROWS, k, 2, 4.0)])
    b = np.concatenate([normal(COLUMNS, k, 3), mixed(60, k, 4, 4.0)]).T
    choice = chosen(a, b)
    assert choice.tolist() == [[3, 4], [4, 0]]
    c = gemm_steps.matmul(a, np.ascontiguousarray(b), step=33)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    sizes = np.abs(a.astype(np.float64)).sum(1)[:, None] * np.abs(b.astype(np.float64)).sum(0)
    three, four = (bound * sizes + 2.0**-24 * np.abs(c) for bound in bounds(terms(a), terms(b.T)))
    error = np.abs(c - exact)
    assert (error <= three)[:ROWS, :COLUMNS].all()
    assert (error <= four)[:ROWS, COLUMNS:].all() and (error <= four)[ROWS:, :COLUMNS].all()
    in_fp32 = gemm_steps.matmul(a[ROWS:], np.ascontiguousarray(b[:, COLUMNS:]), step=11, variant="any_size")
    assert (c[ROWS:, COLUMNS:] == in_fp32).all()


def test_where_the_guard_takes_three_digits_for_all_four_are_not_more_than_the_bound_better():
    a, b = normal(60, 256, 1), normal(256, 70, 2)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    loose, strict = (np.abs(gemm_steps.matmul(a, b, step=33, variant=name) - exact) for name in ("guarded", "strict"))
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
    exact = a.astype(np.float64) @ b.astype(np.float64)
    sizes = np.abs(a.astype(np.float64)).sum(1)[:, None] * np.abs(b.astype(np.float64)).sum(0)
    assert (c[7] == 0).all() and (c[:, 9] == 0).all()
    assert (np.abs(c - exact) <= TAU * sizes / 96 + 2.0**-24 * np.abs(c) + 2.0**-150).all()


def test_powers_of_two_along_k_mend_halves_that_are_scaled_against_each_other():
    k = 256
    a, b = normal(60, k, 1), normal(k, 70, 2)
    a[:, k // 2 :] *= 2.0**-20
    b[: k // 2] *= 2.0**-20
    exact, size = a.astype(np.float64) @ b.astype(np.float64), np.abs(a.astype(np.float64)) @ np.abs(b)
    worst = {
        name: (np.abs(gemm_steps.matmul(a, b, step=33, variant=name) - exact) / size).max()
        for name in ("guarded", "balanced", "fp32")
    }
    assert worst["guarded"] > 2.0**-10  # three digits, as the promise allows
    assert worst["balanced"] < 2.0**-19 and worst["fp32"] < 2.0**-19
