"""PyTorch: on its current stream, inside CUDA graphs and, through a registered operator, in torch.compile."""

import torch
from torch.utils.dlpack import to_dlpack  # unlike Tensor.__dlpack__, it makes no stream wait for another

from gemm_steps import _load
from gemm_steps._frameworks import adapters, are_matrices, require_out, require_same

NO_GRADIENT = "gemm_steps.matmul has no gradient; call it under torch.no_grad(), or pass a.detach() and b.detach()"


def matmul(a, b, step, variant, out, alpha, beta):
    """See gemm_steps.matmul."""
    require_same("PyTorch", torch.Tensor, b, out)
    require_out(out, beta)
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad or (out is not None and out.requires_grad)):
        raise RuntimeError(NO_GRADIENT)
    if not torch.compiler.is_compiling():
        return multiplied(a, b, step, variant, out, alpha, beta)
    step = None if step is None else str(step)
    if out is None:
        return torch.ops.gemm_steps.matmul(a, b, step, variant, alpha)
    torch.ops.gemm_steps.matmul_out(a, b, out, step, variant, alpha, beta)
    return out


def multiplied(a, b, step, variant, out, alpha, beta):
    """The product, enqueued now."""
    if out is None:
        out = a.new_empty((a.shape[0], b.shape[1])) if are_matrices(a, b) else a
    stream = torch.cuda.current_stream(a.device).cuda_stream if a.is_cuda else 0  # 0: on its way to being refused
    _load.core().multiply(to_dlpack(a), to_dlpack(b), to_dlpack(out), step, variant, alpha, beta, stream)
    return out


@torch.library.custom_op("gemm_steps::matmul", mutates_args=())
def operator(
    a: torch.Tensor, b: torch.Tensor, step: str | None = None, variant: str | None = None, alpha: float = 1.0
) -> torch.Tensor:
    """torch.ops.gemm_steps.matmul: the result is a new tensor."""
    return multiplied(a, b, step, variant, None, alpha, 0.0)


@operator.register_fake
def product_shape(a, b, step=None, variant=None, alpha=1.0):
    """The result's shape, type and device, for tracing. What depends on the variant is refused when it runs."""
    torch._check(a.dim() == 2 and b.dim() == 2, lambda: "a and b have to be matrices, of 2 dimensions")
    torch._check(a.shape[1] == b.shape[0], lambda: f"a has {a.shape[1]} columns and b {b.shape[0]} rows")
    torch._check(a.dtype == b.dtype, lambda: f"a holds {a.dtype} and b {b.dtype}; convert one of them")
    return a.new_empty((a.shape[0], b.shape[1]))


@torch.library.custom_op("gemm_steps::matmul_out", mutates_args=("out",))
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
    multiplied(a, b, step, variant, out, alpha, beta)


@operator_out.register_fake
def out_shape(a, b, out, step=None, variant=None, alpha=1.0, beta=0.0):
    """Nothing new is made."""
    product = product_shape(a, b)
    torch._check(out.shape == product.shape, lambda: f"out is {tuple(out.shape)}, the product {tuple(product.shape)}")


def refuse(ctx, *_):
    """What a backward pass meets."""
    raise RuntimeError(NO_GRADIENT)


operator.register_autograd(refuse)
adapters[torch.Tensor] = matmul  # before the first call, so that torch.compile finds it
