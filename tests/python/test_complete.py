"""The versions that leave work out are a copy of the step's kernel: with nothing left out it counts what the step does."""

import json

import pytest

from base import registry
from base.paths import DATA
from records import read

WITH_WORK_LEFT_OUT = [step for step in registry.steps() if "without" in step.also]


@pytest.mark.parametrize("step", WITH_WORK_LEFT_OUT, ids=lambda step: step.name)
def test_with_nothing_left_out_the_copy_counts_what_the_kernel_counts(step):
    records = read(DATA / "simulator" / f"{step.name}.jsonl")
    large = json.loads((DATA / "steps.json").read_text(encoding="utf-8")).get(step.name, {}).get("at_4096")
    sizes = {}
    for record in records:
        size = tuple(record[key] for key in ("m", "n", "k", "alpha", "beta"))
        if record["variant"] == "complete":
            sizes.setdefault(size, {})["copy"] = record["counts"]
        elif record["variant"] == large or (record["default"] and not large):
            sizes.setdefault(size, {})["kernel"] = record["counts"]
    both = {size: counts for size, counts in sizes.items() if len(counts) == 2}
    assert both, f"python tests/sim/counts.py build --update --only {step.name} records the variant complete"
    for size, counts in both.items():
        assert counts["copy"] == counts["kernel"], size


@pytest.mark.parametrize("step", registry.steps(), ids=lambda step: step.name)
def test_no_kernel_that_a_reader_studies_leaves_work_out(step):
    assert ".leaves_out(" not in step.kernel.read_text(encoding="utf-8")
    for source in step.sources:
        assert source.name != "without.cu" or '"complete"' in source.read_text(encoding="utf-8"), source
