"""The course's kernels for the arrays of PyTorch, CuPy, JAX and NumPy.

>>> import gemm_steps, torch
>>> c = gemm_steps.matmul(a, b)                   # the fastest step that takes these arrays
>>> c = gemm_steps.matmul(a, b, step=7)           # one step
>>> gemm_steps.variants(7)                        # and its variants
"""

import json

from gemm_steps import _load
from gemm_steps._frameworks import adapter_of, adapters
from gemm_steps._registry import STEPS, Step

__all__ = ["Step", "matmul", "steps", "variants"]


def matmul(a, b, step=None, variant=None, out=None, alpha=1.0, beta=0.0):
    """Return alpha * a @ b + beta * out, for a (m × k) and b (k × n) of float32, float16 or bfloat16.

    `a`, `b` and `out` belong to one framework and lie on one GPU; NumPy's are copied there and back, or into the
    simulator where there is no GPU. A row of `a` and of `out` is contiguous; `b` may be stored either way, so that
    `weight.T` is taken as it is by the variants for TN.

    step: its number or name; None: the newest that takes this product, which is the fastest of its types. Only
    variants that sum in FP32, without TF32, are considered then. variant: its name; None: the step's first that takes
    the product. out: where the result goes; needed for beta != 0.

    PyTorch and CuPy: enqueued on the current stream. JAX: finished when it returns. Raises TypeError, ValueError or
    RuntimeError, saying what to do, before anything is launched.
    """
    multiply = adapters.get(type(a)) or adapter_of(a)
    return multiply(a, b, step, variant, out, alpha, beta)


def steps():
    """Return every step of the ladder, in its order."""
    return list(STEPS)


def variants(step):
    """Return the variants of a step, the default first, each a dictionary with the keys of `--list --json`."""
    return json.loads(_load.core().variants(str(step)))
