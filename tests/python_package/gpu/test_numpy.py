"""NumPy's arrays on a GPU: copied there and back."""

import numpy as np
import pytest

import gemm_steps


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_products(dtype):
    random = np.random.default_rng(1)
    a, b = (random.standard_normal((512, 512)).astype(dtype) for _ in range(2))
    c = gemm_steps.matmul(a, b, alpha=0.5)
    want = 0.5 * (a.astype(np.float64) @ b.astype(np.float64))
    assert np.linalg.norm(c - want) / np.linalg.norm(want) < {np.float32: 1e-5, np.float16: 1e-2}[dtype]
