"""Which variant multiplies on GPUs with less shared memory per block, or without a step's instructions: in the simulator."""

import os
import subprocess
import sys

import pytest

from gemm_steps import _load

CHOSEN = """
import numpy, gemm_steps._numpy
a = numpy.ones((256, 256), numpy.float16)
out = numpy.empty_like(a)
print(*gemm_steps._numpy.framework().chosen(a, a, out, {step}))
print(gemm_steps.matmul(a, a, step={step}, out=out)[0, 0])
"""


def run(program, device):
    """Runs a Python program in the simulator of a GPU."""
    variables = {**os.environ, "PYTHONPATH": str(_load.HERE.parent), _load.FORCE: "1", "PTXSIM_DEVICE": device}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120, env=variables
    )


@pytest.mark.parametrize(
    ("device", "step", "name"),
    [
        ("a100", None, "20_mma_warp_swizzle fp32_144kb"),
        ("rtx4090", None, "20_mma_warp_swizzle fp32_96kb"),
        ("rtx5090", None, "22_tma f16_96kb"),
        ("rtx4090", 20, "20_mma_warp_swizzle square"),
    ],
)
def test_the_newest_that_fits_multiplies(device, step, name):
    done = run(CHOSEN.format(step=step), device)
    assert (done.returncode, done.stdout.splitlines()) == (0, [name, "256.0"]), done.stderr


def test_a_variant_that_does_not_fit_is_refused_by_name():
    program = (
        "import numpy, gemm_steps; a = numpy.ones((256, 256), 'e'); gemm_steps.matmul(a, a, step=20, variant='swizzle')"
    )
    done = run(program, "rtx4090")
    assert done.returncode == 1
    assert "variant swizzle takes 196608 bytes of shared memory per block, and this GPU has 101376" in done.stderr


def test_a_step_without_its_instructions_is_refused():
    program = "import numpy, gemm_steps; a = numpy.ones((256, 256), 'e'); gemm_steps.matmul(a, a, step=23)"
    done = run(program, "rtx5090")
    assert done.returncode == 1
    assert "step 23_wgmma needs a GPU of compute capability 9.0 and of no other" in done.stderr
