"""PyTorch: on its current stream, inside CUDA graphs and, through a registered operator, in torch.compile."""

import functools

import torch
from torch import library

from gemm_steps import _load
from gemm_steps._frameworks import adapters

NO_GRADIENT = "gemm_steps.matmul has no gradient; call it under torch.no_grad(), or pass a.detach() and b.detach()"

# What programs made by torch.compile allocate with: unlike Tensor.new_empty, it goes past the dispatcher.
empty_strided_cuda = getattr(torch._C._dynamo.guards, "_empty_strided_cuda", None)


def made(a, m, n):
    """A new m × n tensor like a."""
    if empty_strided_cuda is not None and a.get_device() == torch.cuda.current_device():
        return empty_strided_cuda((m, n), (n, 1), a.dtype)
    return a.new_empty((m, n))


def stream(a):
    """The current stream of a's GPU."""
    return torch.cuda.current_stream(a.device).cuda_stream


@functools.cache
def framework():
    """How the compiled part handles PyTorch's tensors. Unlike Tensor.__dlpack__, to_dlpack makes no stream wait."""
    return _load.core().Framework("PyTorch", torch.Tensor, made, stream, torch.utils.dlpack.to_dlpack)


def matmul(a, b, step, variant, out, alpha, beta):
    """See gemm_steps.matmul."""
    wanted = a.requires_grad or getattr(b, "requires_grad", False) or getattr(out, "requires_grad", False)
    if wanted and torch.is_grad_enabled():
        raise RuntimeError(NO_GRADIENT)
    if torch.compiler.is_compiling():
        return operated(a, b, step, variant, out, alpha, beta)
    return framework().multiply(a, b, step, variant, out, alpha, beta)


def operated(a, b, step, variant, out, alpha, beta):
    """The product through the registered operators, which torch.compile takes."""
    step = None if step is None else str(step)
    if out is None and beta == 0:
        return torch.ops.gemm_steps.matmul(a, b, step, variant, alpha)
    torch.ops.gemm_steps.matmul_out(a, b, out, step, variant, alpha, beta)
    return out


@library.custom_op("gemm_steps::matmul", mutates_args=())
def operator(
    a: torch.Tensor, b: torch.Tensor, step: str | None = None, variant: str | None = None, alpha: float = 1.0
) -> torch.Tensor:
    """torch.ops.gemm_steps.matmul: the result is a new tensor."""
    return framework().multiply(a, b, step, variant, None, alpha, 0.0)


@operator.register_fake
def product_shape(a, b, step=None, variant=None, alpha=1.0):
    """The result's shape, type and device, for tracing. What depends on the variant is refused when it runs."""
    torch._check(a.dim() == 2 and b.dim() == 2, lambda: "a and b have to be matrices, of 2 dimensions")
    torch._check(a.shape[1] == b.shape[0], lambda: f"a has {a.shape[1]} columns and b {b.shape[0]} rows")
    torch._check(a.dtype == b.dtype, lambda: f"a holds {a.dtype} and b {b.dtype}; convert one of them")
    return a.new_empty((a.shape[0], b.shape[1]))


@library.custom_op("gemm_steps::matmul_out", mutates_args=("out",))
def operator_out(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor,
    step: str | None = None,
    variant: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> None:
    """torch.ops.gemm_steps.matmul_out: the result goes to `out`, of which beta is a factor."""
    framework().multiply(a, b, step, variant, out, alpha, beta)


@operator_out.register_fake
def out_shape(a, b, out, step=None, variant=None, alpha=1.0, beta=0.0):
    """Nothing new is made."""
    product = product_shape(a, b)
    torch._check(out.shape == product.shape, lambda: f"out is {tuple(out.shape)}, the product {tuple(product.shape)}")


def refuse(ctx, *_):
    """What a backward pass meets."""
    raise RuntimeError(NO_GRADIENT)


operator.register_autograd(refuse)
# Before the first call, so that torch.compile finds them.
adapters[torch.Tensor] = adapters[torch.nn.Parameter] = matmul
