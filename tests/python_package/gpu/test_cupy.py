"""CuPy: values, streams, graphs, refusals."""

import numpy as np
import pytest

import gemm_steps

cupy = pytest.importorskip("cupy")


def drawn(m, n, k, dtype=np.float32):
    random = np.random.default_rng(1)
    return (cupy.asarray(random.standard_normal(size).astype(dtype)) for size in ((m, k), (k, n)))


def assert_near(c, a, b):
    want = a.astype(np.float64) @ b.astype(np.float64)
    assert (c.dtype, type(c)) == (a.dtype, cupy.ndarray)
    relative = {np.dtype(np.float32): 1e-5, np.dtype(np.float16): 1e-2}[np.dtype(a.dtype)]
    assert float(cupy.linalg.norm(c - want) / cupy.linalg.norm(want)) < relative


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("step", [None, "fitting"])
def test_products(dtype, step):
    a, b = drawn(256, 256, 256, dtype)
    step = step and {np.float32: 8, np.float16: 21}[dtype]
    assert_near(gemm_steps.matmul(a, b, step=step), a, b)


def test_a_product_is_on_the_current_stream():
    a, b = drawn(256, 256, 256)
    gemm_steps.matmul(a, b, step=7)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        a *= 2
        c = gemm_steps.matmul(a, b, step=7)
    stream.synchronize()
    assert_near(c, a, b)


def test_a_graph_is_captured():
    a, b = drawn(256, 256, 256)
    c = gemm_steps.matmul(a, b, step=7)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        gemm_steps.matmul(a, b, step=7, out=c)
        graph = stream.end_capture()
        a *= 2
        graph.launch(stream)
    stream.synchronize()
    assert_near(c, a, b)
