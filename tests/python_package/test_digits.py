"""Steps that multiply FP32 by digits of 8 bits: what is left out, and how large the error becomes by it."""

import numpy as np

import gemm_steps


def mixed(m, k, seed):
    """Rows that mix magnitudes: (u - 1/2) e^g, u uniform, g normal."""
    random = np.random.default_rng(seed)
    return ((random.random((m, k)) - 0.5) * np.exp(random.standard_normal((m, k)))).astype(np.float32)


def error(variant, a, b):
    exact = a.astype(np.float64) @ b.astype(np.float64)
    return np.abs(gemm_steps.matmul(a, b, step=32, variant=variant) - exact).mean()


def test_two_more_products_of_three_digits_mend_most_of_what_mixed_magnitudes_lose():
    a, b = mixed(64, 256, 1), np.ascontiguousarray(mixed(64, 256, 2).T)
    six, eight = error("three_digits", a, b), error("eight_products", a, b)
    assert error("four_digits", a, b) < eight < six / 4
