"""Kernel by kernel beside torch.matmul: python -m gemm_steps.bench --mma-all --M 4096 --N 4096 --K 4096.

The clock, the table and the records are those of the steps' executables; what is timed are calls from Python.
"""

import argparse
import os
import subprocess
import sys

from gemm_steps import _load, _registry, matmul, variants

LADDERS = {"cuda": ("fp32", "fp16"), "wmma": ("wmma",), "mma": ("mma",), "hopper": ("hopper",)}
SWEEPS = {"f32": "sgemm27", "tf32": "sgemm27", "f16": "hgemm125", "bf16": "hgemm125"}
RIVAL = "torch"
EXIT_BAD_INPUT = 2


def parse(arguments):
    """The command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m gemm_steps.bench",
        description="Times the course's kernels and torch.matmul in turn; by default each step's default variant, on"
        " the 27 (FP32) or 125 (16 bits) sizes of the published benchmarks.",
    )
    for name, ladders in LADDERS.items():
        numbers = [step.name[:2] for step in _registry.STEPS if step.ladder in ladders]
        what = f"every variant of steps {numbers[0]} to {numbers[-1]}"
        parser.add_argument(f"--{name}-all", action="store_true", help=what)
    parser.add_argument(
        "--step", action="append", default=[], metavar="NN", help="every variant of one step; repeatable"
    )
    for side, meaning in {"M": "rows of A and C", "N": "columns of B and C", "K": "columns of A, rows of B"}.items():
        parser.add_argument(f"--{side}", type=positive, help=f"{meaning}, instead of those of the sizes by default")
    parser.add_argument("--variant", help="only the variants of this name")
    parser.add_argument("--json", default="", metavar="FILE", help="merge the records into this JSON Lines file")
    return parser.parse_args(arguments)


def positive(text):
    """A whole number from 1 on."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def chosen(options):
    """The variants to be timed, as `variants` gives them, by the names of their steps."""
    ladders = [ladder for name, some in LADDERS.items() if getattr(options, f"{name}_all") for ladder in some]
    named = {variants(step)[0]["step"] for step in options.step}
    all_steps = not ladders and not named
    found = {}
    for step in _registry.STEPS:
        if not (all_steps or step.ladder in ladders or step.name in named):
            continue
        for variant in variants(step.name):
            wanted = variant["variant"] == options.variant if options.variant else variant["default"] or not all_steps
            if wanted and "leaves_out" not in variant and variant["a"] in SWEEPS:  # no framework has S8 or FP8 products
                found.setdefault(step.name, []).append(variant)
    if not found:
        raise ValueError(f"no variant of these steps is called {options.variant}; gemm_steps.variants(step) lists them")
    return found


def sizes(variant, options):
    """The sizes to be timed on, as (m, n, k): the published ones, with what was given in their place."""
    published = _load.core().sweep(SWEEPS[variant["a"]])
    return list(dict.fromkeys((options.M or m, options.N or n, options.K or k) for m, n, k in published))


class Inputs:
    """Matrices for consecutive calls, more than the L2 cache holds twice over, like the harness's own."""

    MOST = 1024

    def __init__(self, torch, variant, m, n, k, l2_bytes):
        self.dtype = {"f16": torch.float16, "bf16": torch.bfloat16}.get(variant["a"], torch.float32)
        each = (m * k + k * n + m * n) * self.dtype.itemsize
        affordable = torch.cuda.mem_get_info()[0] // 2 // each
        count = 1 + min(2 * l2_bytes // each + 1, affordable, self.MOST - 1)
        torch.manual_seed(1)
        self.sets = [self.drawn(torch, variant["layout"] == "TN", m, n, k) for _ in range(count)]

    def drawn(self, torch, transposed, m, n, k):
        """One a, b and c."""
        a = torch.randn(m, k, dtype=self.dtype, device="cuda")
        b = torch.randn((n, k) if transposed else (k, n), dtype=self.dtype, device="cuda")
        return a, b.T if transposed else b, torch.empty(m, n, dtype=self.dtype, device="cuda")

    def __getitem__(self, call):
        return self.sets[call % len(self.sets)]


def same_precision(torch, variant):
    """Lets torch.matmul round its inputs and sum as the variant does."""
    torch.backends.cuda.matmul.allow_tf32 = variant["a"] == "tf32"
    if hasattr(torch.backends.cuda.matmul, "allow_fp16_accumulation"):
        torch.backends.cuda.matmul.allow_fp16_accumulation = variant["acc"] == "f16"


def measure(torch, bench, step, variant, size, json):
    """Times one variant on one size, and prints its line."""
    m, n, k = size
    same_precision(torch, variant)
    name = variant["variant"]
    inputs = Inputs(torch, variant, m, n, k, bench.l2_bytes)

    def kernel(call):
        a, b, c = inputs[call]
        matmul(a, b, step, name, c)

    def rival(call):
        a, b, c = inputs[call]
        torch.matmul(a, b, out=c)

    stream = torch.cuda.Stream()  # the default one cannot be captured in a graph
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.stream(stream):
        line = bench.measure(name, m, n, k, kernel, RIVAL, rival, stream.cuda_stream, len(inputs.sets), json)
    print(line, end="", flush=True)


def run(options):
    """Times everything that was asked for; prints what a variant or this GPU refuses, and goes on."""
    core = _load.core()
    if options.json:
        core.require_writable(options.json)
    import torch

    if core.simulated() or not torch.cuda.is_available():
        raise ValueError("timing needs a GPU that PyTorch can use, and there is none")
    for step, some in chosen(options).items():
        try:
            bench = core.Bench(step)
        except ValueError as refusal:
            print(refusal)
            continue
        for variant in some:
            for size in sizes(variant, options):
                try:
                    measure(torch, bench, step, variant, size, options.json)
                except ValueError as refusal:
                    print(refusal)
                torch.cuda.empty_cache()  # the verification's matrices are not PyTorch's


def main(arguments):
    """Returns the exit code: 2 for what cannot be done, 1 for a wrong result."""
    options = parse(arguments)
    if "GEMM_COMMIT" not in os.environ:  # the records name it; the harness would ask the folder of Python
        asked = ["git", "-C", str(_load.HERE), "rev-parse", "--short", "HEAD"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False)
        os.environ["GEMM_COMMIT"] = done.stdout.strip() or "unknown"
    try:
        run(options)
    except ImportError:
        print("gemm_steps.bench: PyTorch is not installed; it is what the kernels are timed beside", file=sys.stderr)
        return EXIT_BAD_INPUT
    except ValueError as refusal:
        print(f"gemm_steps.bench: {refusal}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except RuntimeError as error:
        print(f"gemm_steps.bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
