"""`import gemm_steps.torch` registers torch.ops.gemm_steps.matmul and matmul_out before the first product.

`with gemm_steps.torch.fp32():` sends a program's own FP32 products through step 33.
"""

from gemm_steps._fp32 import fp32
from gemm_steps._torch import operator as matmul
from gemm_steps._torch import operator_out as matmul_out

__all__ = ["fp32", "matmul", "matmul_out"]
