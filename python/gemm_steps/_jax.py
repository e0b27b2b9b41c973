"""JAX: waits for its inputs, and returns when the product is there. Its arrays never change, so that there is no `out`."""

import functools

import jax
import jax.numpy

from gemm_steps import _load

OWN_STREAM = 0  # CUDA's default stream: nothing of JAX's is on it


def made(a, m, n):
    """A new m × n array like a. Nobody else has seen it: it is filled before it is handed out."""
    return jax.block_until_ready(jax.numpy.empty((m, n), a.dtype, device=a.device))


@functools.cache
def framework():
    """How the compiled part handles JAX's arrays."""
    return _load.core().Framework("JAX", jax.Array, made, lambda a: OWN_STREAM, finished=True)


def matmul(a, b, step, variant, out, alpha, beta):
    """See gemm_steps.matmul."""
    if out is not None:
        raise ValueError("JAX's arrays never change: leave out `out`, and beta with it")
    if isinstance(a, jax.core.Tracer) or isinstance(b, jax.core.Tracer):
        raise TypeError("gemm_steps.matmul cannot be traced; call it outside of jax.jit, jax.grad and jax.vmap")
    jax.block_until_ready((a, b))
    return framework().multiply(a, b, step, variant, None, alpha, beta)
