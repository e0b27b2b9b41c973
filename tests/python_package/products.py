"""What the tests of the package share: products to multiply, and how far a result may be from the exact one."""

import os
import subprocess
import sys

import gemm_steps
from gemm_steps import _load

ROUNDOFF = {"f32": 2.0**-24, "tf32": 2.0**-11, "f16": 2.0**-11, "bf16": 2.0**-8, "s32": 0.0}
MANY = 64  # at least so many rows, columns and products in a sum


def run(program, folder=_load.HERE.parent, **environment):
    """Runs a Python program that finds the package in a folder."""
    how = {"capture_output": True, "text": True, "check": False, "timeout": 120}
    variables = {**os.environ, "PYTHONPATH": str(folder), **environment}
    return subprocess.run([sys.executable, "-c", program], env=variables, **how)


def complete_variants(step):
    return [variant for variant in gemm_steps.variants(step) if "leaves_out" not in variant]


def size_for(variant, blocks=2):
    edges = [blocks * edge for edge in variant["block"]]
    multiples = (variant["multiple_m"], variant["multiple_n"], variant["multiple_k"])
    return tuple(-(-max(edge, MANY) // multiple) * multiple for edge, multiple in zip(edges, multiples, strict=True))


def bound(variant, magnitude, exact):
    """How far a result may be from the exact one; as the harness's Tolerance, less what subnormal numbers add. Wider for
    products of digits, of which the harness knows more than the magnitude."""
    inputs, sums, result = (ROUNDOFF[variant[key]] for key in ("a", "acc", "c"))
    if "digits" in variant:
        inputs = 256.0 ** (1 - variant["digits"]) / 2
    return (2 * inputs + 8 * sums) * magnitude + result * abs(exact) + 1e-6
