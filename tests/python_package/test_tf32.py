"""Step 30, products of TF32: how its operands are rounded, and what three products of split operands gain."""

import numpy as np

import gemm_steps

HALF = np.float32(2.0**-11)  # of the distance between two TF32 neighbours of 1
# 1 plus so many halves; the nearest TF32, ties to even; what is left where the low bits are cut off
HALVES = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5], np.float32)
NEAREST = np.array([0, 0, 0, 2, 2, 2, 4, 4], np.float32)
CUT = np.array([0, 0, 0, 0, 2, 2, 2, 2], np.float32)


def product(a, b, variant):
    return gemm_steps.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b), step=30, variant=variant)


def test_operands_are_rounded_to_the_nearest():
    values = np.tile(np.concatenate([1 + HALVES * HALF, -1 - HALVES * HALF]), (16, 4))
    one = np.eye(64, dtype=np.float32)
    for variant, kept in (
        ("tf32_192x256", NEAREST),
        ("tf32_128x256", NEAREST),
        ("turned_before", NEAREST),
        ("cut", CUT),
    ):
        wanted = np.tile(np.concatenate([1 + kept * HALF, -1 - kept * HALF]), (16, 4))
        np.testing.assert_array_equal(product(values, one, variant), wanted, err_msg=f"A, {variant}")
        np.testing.assert_array_equal(product(one, values.T, variant), wanted.T, err_msg=f"B, {variant}")


def error(a, b, variant):
    """The root mean square over all elements, relative to |A||B|."""
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    c = product(a, b, variant)
    return np.sqrt(np.mean(((c - a64 @ b64) / (np.abs(a64) @ np.abs(b64))) ** 2))


def test_three_products_are_better_than_one_where_signs_change_and_less_so_where_they_do_not():
    random = np.random.default_rng(1)
    normal = [random.standard_normal(shape).astype(np.float32) for shape in ((64, 512), (512, 64))]
    positive = [random.random(shape).astype(np.float32) for shape in ((64, 512), (512, 64))]
    gained = {
        name: error(*data, "tf32_192x256") / error(*data, "three_products")
        for name, data in (("normal", normal), ("positive", positive))
    }
    print(
        gained, error(*normal, "three_products"), error(*positive, "three_products"), error(*positive, "tf32_192x256")
    )
    assert gained["normal"] > 16 and gained["positive"] < gained["normal"] / 4
