"""JAX: waits for its inputs, and returns when the product is there. Its arrays never change, so that there is no `out`."""

import jax
import jax.numpy

from gemm_steps import _load
from gemm_steps._frameworks import are_matrices, require_out, require_same

OWN_STREAM = 0  # CUDA's default stream: nothing of JAX's is on it


def matmul(a, b, step, variant, out, alpha, beta):
    """See gemm_steps.matmul."""
    if out is not None:
        raise ValueError("JAX's arrays never change: leave out `out`, and beta with it")
    require_out(out, beta)
    require_same("JAX", jax.Array, b, None)
    if isinstance(a, jax.core.Tracer) or isinstance(b, jax.core.Tracer):
        raise TypeError("gemm_steps.matmul cannot be traced; call it outside of jax.jit, jax.grad and jax.vmap")
    core = _load.core()
    # Nobody else has seen this array: it is filled before it is handed out.
    out = jax.numpy.empty((a.shape[0], b.shape[1]), a.dtype, device=a.device) if are_matrices(a, b) else a
    jax.block_until_ready((a, b, out))
    core.multiply(a, b, out, step, variant, alpha, beta, OWN_STREAM)
    core.synchronize(OWN_STREAM)
    return out
