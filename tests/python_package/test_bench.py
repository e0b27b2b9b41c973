"""The benchmark's command line, as far as it needs no GPU."""

import pytest

import gemm_steps
from gemm_steps import bench


def options(*arguments):
    return bench.parse(arguments)


def test_by_default_each_steps_default_is_timed_on_every_published_size():
    found = bench.chosen(options())
    assert list(found) == [
        step.name for step in gemm_steps.steps() if gemm_steps.variants(step.name)[0]["a"] in bench.SWEEPS
    ]
    assert all([variant["default"] for variant in some] == [True] for some in found.values())
    assert [len(bench.sizes(found[step][0], options())) for step in ("01_naive", "21_mma_persistent")] == [27, 125]


@pytest.mark.parametrize(
    ("option", "ladders"),
    [("cuda", ["fp32", "fp16"]), ("wmma", ["wmma"]), ("mma", ["mma"]), ("hopper", ["hopper"])],
)
def test_a_ladder_is_timed_with_all_variants_that_leave_nothing_out(option, ladders):
    found = bench.chosen(options(f"--{option}-all"))
    assert list(found) == [step.name for one in ladders for step in gemm_steps.steps() if step.ladder == one]
    for step, some in found.items():
        assert some == [variant for variant in gemm_steps.variants(step) if "leaves_out" not in variant]


def test_one_variant_of_one_step():
    found = bench.chosen(options("--step", "11", "--variant", "any_size"))
    assert {step: [one["variant"] for one in some] for step, some in found.items()} == {"11_warp_tiling": ["any_size"]}
    with pytest.raises(ValueError, match="no variant of these steps is called nope"):
        bench.chosen(options("--step", "11", "--variant", "nope"))
