"""Two programs in FP32, as PyTorch runs them and inside gemm_steps.torch.fp32(): their results, errors and wall time.

python python/examples/fp32_products.py                        # on one GPU
python python/examples/fp32_products.py --width 48 --batch 64 --steps 2 --rows 96 --columns 32 --iterations 3

The first trains a network of four layers on what another network computes. The second solves least-squares problems
by conjugate gradients on the normal equations, which are not formed. Without a GPU and with a PyTorch for CPUs alone,
the second line runs both in the simulator.
"""

import argparse
import contextlib
import json
import time
from pathlib import Path

from gemm_steps import _load

_load.core()  # before PyTorch, so that without a GPU the simulator is the CUDA runtime

import torch  # noqa: E402

from gemm_steps.torch import fp32  # noqa: E402

ON_GPU = not _load.core().simulated()
DEVICE = "cuda" if ON_GPU else "cpu"
WAYS = ("pytorch", "pytorch again", "fp32()", "tf32")  # again: from other weights, for what is noise


@contextlib.contextmanager
def running(way):
    """Every product of the block goes this way."""
    torch.backends.cuda.matmul.allow_tf32 = way == "tf32"
    with fp32() if way == "fp32()" else contextlib.nullcontext():
        yield


def clock():
    """Seconds, when all that was asked for is done."""
    if ON_GPU:
        torch.cuda.synchronize()
    return time.perf_counter()


def network(width, seed):
    """Four layers with an activation between them."""
    torch.manual_seed(seed)
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(width, width), torch.nn.GELU()]
    return torch.nn.Sequential(*layers[:-1]).to(DEVICE)


def train(way, options):
    """Return the losses, and seconds per step without the first ones."""
    teacher, learner = network(options.width, 1), network(options.width, 3 if way == "pytorch again" else 2)
    optimiser = torch.optim.Adam(learner.parameters(), lr=options.rate)
    generator = torch.Generator(DEVICE).manual_seed(4)
    losses = []
    with running(way):
        for step in range(options.steps):
            if step == options.steps // 5:
                began = clock()
            x = torch.randn(options.batch, options.width, generator=generator, device=DEVICE)
            with torch.no_grad():
                wanted = 30 * teacher(x)
            optimiser.zero_grad()
            loss = torch.nn.functional.mse_loss(learner(x), wanted)
            loss.backward()
            optimiser.step()
            losses.append(loss.detach())
        seconds = (clock() - began) / (options.steps - options.steps // 5)
    return [loss.item() for loss in losses], seconds


def least_squares(x, y, iterations):
    """The columns b that make |x b - y| smallest, by conjugate gradients, each column by itself."""
    b = torch.zeros(x.shape[1], y.shape[1], dtype=x.dtype, device=x.device)
    xt = x.T.contiguous()
    residual = y.clone()
    gradient = xt @ residual
    direction, size = gradient, gradient.square().sum(0)
    for _ in range(iterations):
        image = x @ direction
        length = size / image.square().sum(0)
        b += length * direction
        residual -= length * image
        gradient = xt @ residual
        size, before = gradient.square().sum(0), size
        direction = gradient + size / before * direction
    return b


def solve(way, options):
    """Return the error relative to the solution in FP64, and seconds."""
    generator = torch.Generator(DEVICE).manual_seed(5)
    x = torch.randn(options.rows, options.columns, generator=generator, device=DEVICE)
    y = torch.randn(options.rows, options.columns // 2, generator=generator, device=DEVICE)
    exact = torch.linalg.lstsq(x.double(), y.double()).solution if not ON_GPU else None
    if exact is None:
        double = x.double()
        exact = torch.cholesky_solve(double.T @ y.double(), torch.linalg.cholesky(double.T @ double))
    with running(way):
        least_squares(x, y, 1)  # loads what is loaded once
        began = clock()
        b = least_squares(x, y, options.iterations)
        seconds = clock() - began
    return ((b - exact).norm() / exact.norm()).item(), seconds


def main():
    """Both programs, each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value in {
        "width": 4096,
        "batch": 8192,
        "steps": 100,
        "rows": 16384,
        "columns": 4096,
        "iterations": 40,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=1e-4, help="of learning")
    parser.add_argument("--json", type=Path, help="append a line per way and program to this file")
    options = parser.parse_args()
    lines = []
    for way in WAYS if ON_GPU else WAYS[:3]:
        losses, seconds = train(way, options)
        every = max(1, options.steps // 10)
        print(
            f"training       {way:14} {seconds * 1e3:9.2f} ms per step  loss "
            + " ".join(f"{x:.5f}" for x in losses[::every])
        )
        lines.append({"program": "training", "way": way, "seconds": seconds, "losses": losses})
    for way in WAYS if ON_GPU else WAYS[:3]:
        if way != "pytorch again":
            error, seconds = solve(way, options)
            print(f"least squares  {way:14} {seconds * 1e3:9.2f} ms           error {error:.3e}")
            lines.append({"program": "least squares", "way": way, "seconds": seconds, "error": error})
    if options.json:
        asked = {name: value for name, value in vars(options).items() if name != "json"}
        if ON_GPU:
            asked |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda, "torch": torch.__version__}
            asked |= {"date": time.strftime("%Y-%m-%d", time.gmtime())}
        with options.json.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line | asked) + "\n" for line in lines)


if __name__ == "__main__":
    main()
