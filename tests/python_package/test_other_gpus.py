"""Which variant multiplies on GPUs with less shared memory per block, or without a step's instructions: in the simulator."""

import pytest
from products import run

from gemm_steps import _load

CHOSEN = """
import numpy, gemm_steps._numpy
a = numpy.ones((256, 256), numpy.float16)
out = numpy.empty_like(a)
print(*gemm_steps._numpy.framework().chosen(a, a, out, {step}))
print(gemm_steps.matmul(a, a, step={step}, out=out)[0, 0])
"""


TOO_LARGE = "variant swizzle takes 196608 bytes of shared memory per block, and this GPU has 101376"


def run_on(device, program):
    return run(program, **{_load.FORCE: "1", "PTXSIM_DEVICE": device})


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
    done = run_on(device, CHOSEN.format(step=step))
    assert (done.returncode, done.stdout.splitlines()) == (0, [name, "256.0"]), done.stderr


@pytest.mark.parametrize(
    ("device", "how", "says"),
    [
        ("rtx4090", "step=20, variant='swizzle'", TOO_LARGE),
        ("rtx5090", "step=23", "step 23_wgmma needs a GPU of compute capability 9.0 and of no other"),
    ],
)
def test_what_a_gpu_cannot_run_is_refused_by_name(device, how, says):
    done = run_on(device, f"import numpy, gemm_steps; a = numpy.ones((256, 256), 'e'); gemm_steps.matmul(a, a, {how})")
    assert done.returncode == 1
    assert says in done.stderr
