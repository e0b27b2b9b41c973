"""NumPy's arrays, multiplied in the simulator where there is no GPU."""

import numpy as np
import pytest
from products import bound, complete_variants, size_for

import gemm_steps
from gemm_steps import _numpy

TYPES = {"f32": np.float32, "f16": np.float16}
# One step of each ladder; those between are compiled from the same sources as their executables, which others test.
STEPS = (1, 7, 12, 14, 19, 22, 26, 32)
PRODUCTS = [
    (step, variant["variant"])
    for step in STEPS
    for variant in {one["layout"]: one for one in reversed(complete_variants(step)) if one["a"] in TYPES}.values()
]


def drawn(m, n, k, dtype, transposed=False, seed=1):
    """A and B of random elements; B stored n × k where it is transposed."""
    random = np.random.default_rng(seed)
    a = random.standard_normal((m, k)).astype(dtype)
    b = random.standard_normal((n, k) if transposed else (k, n)).astype(dtype)
    return a, b.T if transposed else b


def exact(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def assert_right(c, a, b, variant, alpha=1.0, beta=0.0, before=0.0):
    want = alpha * exact(a, b) + beta * before
    magnitude = abs(alpha) * exact(abs(a), abs(b)) + abs(beta * before)
    assert c.dtype == a.dtype
    assert (abs(c - want) <= bound(variant, magnitude, want)).all()


@pytest.mark.parametrize(("step", "name"), PRODUCTS)
def test_a_step_multiplies_in_both_layouts(step, name):
    (variant,) = [one for one in gemm_steps.variants(step) if one["variant"] == name]
    a, b = drawn(*size_for(variant), TYPES[variant["a"]], transposed=variant["layout"] == "TN")
    assert_right(gemm_steps.matmul(a, b, step=step, variant=name), a, b, variant)


def test_alpha_beta_and_out():
    (variant, *_) = gemm_steps.variants(1)
    a, b = drawn(33, 40, 17, np.float32)
    before = drawn(33, 40, 17, np.float32, seed=2)[0] @ b
    out = before.copy()
    assert gemm_steps.matmul(a, b, step=1, out=out, alpha=-0.75, beta=0.5) is out
    assert_right(out, a, b, variant, -0.75, 0.5, before)


def test_columns_of_wider_matrices_are_multiplied_in_place_and_the_others_are_left_alone():
    wide = np.random.default_rng(1).standard_normal((64, 192)).astype(np.float32)
    before = wide.copy()
    a, b, out = wide[:, :64], wide[:, 64:128], wide[:, 128:]
    gemm_steps.matmul(a, b, step=1, out=out)
    assert_right(out, a, b, gemm_steps.variants(1)[0])
    assert (wide[:, :128] == before[:, :128]).all()


def test_a_size_that_the_default_refuses_goes_to_the_variant_that_takes_any():
    a, b = drawn(33, 36, 20, np.float32)
    variant = next(one for one in gemm_steps.variants(11) if one["variant"] == "any_size")
    assert_right(gemm_steps.matmul(a, b, step=11), a, b, variant)


def test_without_a_step_the_newest_that_sums_in_fp32_multiplies():
    framework = _numpy.framework()
    newest = [step.name for step in gemm_steps.steps() if step.ladder == "hopper"][-1]
    for m, n, k, dtype, expected in ((256, 256, 128, np.float16, newest), (64, 128, 16, np.float32, "11_warp_tiling")):
        a, b = drawn(m, n, k, dtype)
        step, name = framework.chosen(a, b, np.empty((m, n), dtype), None)
        (variant,) = [one for one in gemm_steps.variants(step) if one["variant"] == name]
        assert (step, variant["acc"]) == (expected, "f32")
    assert_right(gemm_steps.matmul(a, b), a, b, variant)


def test_steps_and_variants_are_those_of_the_ladder():
    steps = gemm_steps.steps()
    numbers = [int(step.name[:2]) for step in steps]
    assert numbers == sorted(set(numbers))
    assert steps[6] == ("07_thread_tile_8x8", "fp32", "f32", "80")
    first, *others = gemm_steps.variants(7)
    assert first["default"] and not any(one["default"] for one in others)
    assert (first["multiple_m"], first["multiple_n"], first["multiple_k"]) == (128, 128, 8)
