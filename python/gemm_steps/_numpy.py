"""NumPy: float32 and float16, copied to the GPU and back, or into the simulator."""

import numpy

from gemm_steps import _load
from gemm_steps._frameworks import are_matrices, require_out, require_same


def matmul(a, b, step, variant, out, alpha, beta):
    """See gemm_steps.matmul."""
    require_same("NumPy", numpy.ndarray, b, out)
    require_out(out, beta)
    if out is None:
        out = numpy.empty((a.shape[0], b.shape[1]), a.dtype) if are_matrices(a, b) else a
    elif not out.flags.writeable:
        raise ValueError("out is read-only; pass one that can be written")
    _load.core().multiply(a, b, out, step, variant, alpha, beta, None)
    return out
