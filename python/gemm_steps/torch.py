"""`import gemm_steps.torch` registers torch.ops.gemm_steps.matmul and matmul_out before the first product."""

from gemm_steps._torch import operator as matmul
from gemm_steps._torch import operator_out as matmul_out

__all__ = ["matmul", "matmul_out"]
