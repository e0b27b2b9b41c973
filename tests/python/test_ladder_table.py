"""Which published kernels the variants cover: the executables say it, a record keeps it, the ladder's page shows it."""

import pytest
from programs import built

import records
from base import registry
from base.paths import BUILD, DATA, ROOT
from lab import variants

LADDER = registry.steps()
RECORDED = records.load(DATA, ROOT)


def covered(step: registry.Step) -> set[str]:
    return {kernel for kernels in RECORDED.covers(step.name).values() for kernel in kernels}


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_the_executable_lists_what_is_recorded(step):
    built(BUILD / "steps" / step.name)
    listed = variants.listed(step)
    recorded = [record for record in RECORDED.variants if record["step"] == step.name]
    assert variants.covering(listed) == recorded, "record it anew: python -m lab.variants; then ./gemm plot"
    names = [variant["variant"] for variant in listed]
    assert len(set(names)) == len(names)
    assert [variant["default"] for variant in listed] == [True] + [False] * (len(listed) - 1)
    assert "all" not in names, "--variant all means every one"


@pytest.mark.parametrize("step", [step for step in LADDER if step.published], ids=lambda step: step.name)
def test_a_step_covers_what_was_published(step):
    missing = set(step.published) - covered(step)
    assert not missing, f"{step.name} covers no {sorted(missing)}"


def test_no_published_kernel_is_covered_by_two_steps():
    """Several variants of one step may cover one kernel: its stages are its parameter."""
    published = [name for step in LADDER for name in covered(step)]
    assert len(published) == len(set(published))
    assert {record["step"] for record in RECORDED.variants} <= {step.name for step in LADDER}
