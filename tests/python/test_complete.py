"""What the variants are: the executables list what is recorded, they cover what was published, and those that leave work out
are a copy of the step's kernel: with nothing left out it counts what the step does."""

import pytest
from programs import built

import records
from base import registry
from base.paths import BUILD, DATA, ROOT
from lab import variants

LADDER = registry.steps()
RECORDED = records.load(DATA, ROOT)
WITH_WORK_LEFT_OUT = [step for step in LADDER if "without" in step.also]


@pytest.mark.parametrize("step", WITH_WORK_LEFT_OUT, ids=lambda step: step.name)
def test_with_nothing_left_out_the_copy_counts_what_the_kernel_counts(step):
    found = records.read(DATA / "simulator" / f"{step.name}.jsonl")
    large = step.at_4096
    sizes = {}
    for record in found:
        size = tuple(record[key] for key in ("m", "n", "k", "alpha", "beta"))
        if record["variant"] == "complete":
            sizes.setdefault(size, {})["copy"] = record["counts"]
        elif record["variant"] == large or (record["default"] and not large):
            sizes.setdefault(size, {})["kernel"] = record["counts"]
    both = {size: counts for size, counts in sizes.items() if len(counts) == 2}
    assert both, f"python -m lab.counts build --update --only {step.name} records the variant complete"
    for size, counts in both.items():
        assert counts["copy"] == counts["kernel"], size


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_no_kernel_that_a_reader_studies_leaves_work_out(step):
    assert ".leaves_out(" not in step.kernel.read_text(encoding="utf-8")
    for source in step.sources:
        assert source.name != "without.cu" or '"complete"' in source.read_text(encoding="utf-8"), source


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
