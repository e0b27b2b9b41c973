"""NumPy: float32 and float16, copied to the GPU and back, or into the simulator."""

import functools

import numpy

from gemm_steps import _load


@functools.cache
def framework():
    """How the compiled part handles NumPy's arrays."""
    return _load.core().Framework("NumPy", numpy.ndarray, lambda a, m, n: numpy.empty((m, n), a.dtype))


def matmul(a, b, step, variant, out, alpha, beta):
    """See gemm_steps.matmul."""
    if isinstance(out, numpy.ndarray) and not out.flags.writeable:
        raise ValueError("out is read-only; pass one that can be written")
    return framework().multiply(a, b, step, variant, out, alpha, beta)
