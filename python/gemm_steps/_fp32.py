"""PyTorch's FP32 products through step 33: a mode below autograd, which sees the products of both directions."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gemm_steps import _load, _numpy, _torch

STEP = "33_guarded"
CAPABILITY = (9, 0)
MOST_K = 255 * 128  # of a product; longer ones are cut along K, so that four digits stay possible
aten = torch.ops.aten


class fp32(TorchDispatchMode):  # noqa: N801: called as a function is
    """While it is entered, FP32 products of matrices on a GPU are computed by step 33, and so are their gradients.

    >>> with gemm_steps.torch.fp32():
    ...     loss = model(x).square().mean()
    ...     loss.backward()

    mm, addmm, bmm, baddbmm, and what PyTorch makes of them: matmul, linear, einsum. `backward` has to be called inside
    as well: autograd's threads take over the modes of the thread that calls it, and those alone. Other threads, other
    types, empty products and torch.compile are left as they are. Without a GPU, tensors of the CPU are multiplied in
    the simulator.

    products: how many it has computed. Raises RuntimeError on entering where the GPU cannot run step 33.
    """

    def __init__(self):
        super().__init__()
        self.products = 0

    def __enter__(self):
        self.simulated = _load.core().simulated()
        if not self.simulated and (found := torch.cuda.get_device_capability()) != CAPABILITY:
            raise RuntimeError(
                f"gemm_steps.torch.fp32 needs a GPU of compute capability 9.0; this one has {found[0]}.{found[1]}"
            )
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Take what step 33 computes; hand on everything else."""
        kwargs = kwargs or {}
        if torch.is_inference_mode_enabled():  # nothing above has taken linear and matmul apart
            with self:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        ours = PRODUCTS.get(func)
        if ours is None or not all(map(self.takes, args)):
            return func(*args, **kwargs)
        return ours(self, *args, **kwargs)

    def takes(self, tensor):
        """Whether an argument of a product is one that step 33 takes."""
        where = "cpu" if self.simulated else "cuda"
        dense = tensor.layout == torch.strided and 0 not in tensor.shape
        return dense and tensor.dtype == torch.float32 and tensor.device.type == where

    def multiply(self, a, b, out, alpha, beta):
        """Write alpha * a @ b + beta * out, for matrices; a is copied where its rows are not contiguous."""
        a, b = rows_in_place(a), b if rows_are_contiguous(b.T) else rows_in_place(b)
        for k in range(0, a.shape[1], MOST_K):
            parts = a[:, k : k + MOST_K], b[k : k + MOST_K], STEP, None, out, alpha, beta if k == 0 else 1.0
            if self.simulated:
                _numpy.matmul(*(part.numpy() if isinstance(part, torch.Tensor) else part for part in parts))
            else:
                _torch.framework().multiply(*parts)
        self.products += 1
        return out

    def mm(self, a, b, out_dtype=None):
        """a @ b."""
        return self.multiply(a, b, a.new_empty((a.shape[0], b.shape[1])), 1.0, 0.0)

    def addmm(self, c, a, b, beta=1, alpha=1):
        """Beta * c + alpha * a @ b, where c may be a row."""
        return self.multiply(a, b, before(c, (a.shape[0], b.shape[1]), beta), float(alpha), float(beta))

    def bmm(self, a, b, out_dtype=None):
        """a[i] @ b[i] for every i."""
        return self.baddbmm(None, a, b, beta=0)

    def baddbmm(self, c, a, b, beta=1, alpha=1):
        """Beta * c[i] + alpha * a[i] @ b[i] for every i."""
        out = before(a if c is None else c, (a.shape[0], a.shape[1], b.shape[2]), beta)
        for matrices in zip(a, b, out, strict=True):
            self.multiply(*matrices, float(alpha), float(beta))
        return out


PRODUCTS = {
    aten.mm.default: fp32.mm,
    aten.addmm.default: fp32.addmm,
    aten.bmm.default: fp32.bmm,
    aten.baddbmm.default: fp32.baddbmm,
    aten.mm.out: lambda self, a, b, out: into(out, self.mm(a, b)),
    aten.bmm.out: lambda self, a, b, out: into(out, self.bmm(a, b)),
    aten.addmm.out: lambda self, c, a, b, out, **factors: into(out, self.addmm(c, a, b, **factors)),
    aten.baddbmm.out: lambda self, c, a, b, out, **factors: into(out, self.baddbmm(c, a, b, **factors)),
}


def rows_are_contiguous(matrix):
    """Whether a step takes the matrix as it is: the elements of a row are neighbours, and rows do not overlap."""
    rows, columns = matrix.shape
    return (columns == 1 or matrix.stride(1) == 1) and (rows == 1 or matrix.stride(0) >= columns)


def rows_in_place(matrix):
    """The matrix, or a copy of it that a step takes."""
    return matrix if rows_are_contiguous(matrix) else matrix.contiguous()


def before(c, shape, beta):
    """A new tensor for a result, which holds c where that is needed."""
    out = c.new_empty(shape)
    return out if beta == 0 else out.copy_(c.expand(shape))


def into(out, result):
    """Store a result in a tensor that was given for it."""
    return out.resize_(result.shape).copy_(result)
