"""Makes the recorded PTX anew, with the Triton and the Numba that are installed: neither needs a GPU for that.

python make_ptx.py
"""

import gzip
import re
from pathlib import Path

import triton
import triton.language as tl
from numba import cuda, float32
from triton.backends.compiler import GPUTarget

HERE = Path(__file__).resolve().parent


def saxpy(out, x, y, a):
    """One element per thread."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@triton.jit
def softmax_rows(x, out, columns, BLOCK: tl.constexpr):
    """One row per program."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, values / tl.sum(values, axis=0), mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One tile of C per program; the edges are multiples of the tile's."""
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :])
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :])
        acc += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns[None, :], acc)


def write(name: str, ptx: str) -> None:
    """Without the sections for debuggers, and with this file's name for every source."""
    ptx = re.sub(r"^\s*\.section[^{]*\{.*?^\s*\}\s*$", "", ptx, flags=re.MULTILINE | re.DOTALL)
    ptx = re.sub(r'(\.file\s+\d+) ".*"', rf'\1 "{Path(__file__).name}"', ptx)
    (HERE / f"{name}.ptx.gz").write_bytes(gzip.compress(ptx.encode(), mtime=0))


def triton_ptx(kernel, types, constants, capability):
    """PTX of a Triton kernel for a GPU that need not be here."""
    source = triton.compiler.ASTSource(
        fn=kernel,
        signature={**types, **dict.fromkeys(constants, "constexpr")},
        constexprs={(kernel.arg_names.index(name),): value for name, value in constants.items()},
    )
    return triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["ptx"]


if __name__ == "__main__":
    row = float32[::1]
    write("numba_saxpy", cuda.compile_ptx(saxpy, (row, row, row, float32), cc=(8, 0), lineinfo=True)[0])
    pointers = {"x": "*fp32", "out": "*fp32", "columns": "i32"}
    write("triton_softmax", triton_ptx(softmax_rows, pointers, {"BLOCK": 256}, 80))
    matrices = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}
    for capability in (80, 90):
        write(f"triton_matmul_{capability}", triton_ptx(matmul, matrices, {"BM": 64, "BN": 64, "BK": 32}, capability))
