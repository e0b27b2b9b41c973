"""What a kernel.cu has to keep to, so that a reader can study it: one path, few lines, small distances between steps."""

import itertools
import re

import pytest

from base.registry import steps
from tools.diff import changed, code_lines

LADDER = steps()
WIDEST = 100  # columns
MOST_TEMPLATE_PARAMETERS = 6
MOST_IN_ALL = 2000  # lines of every kernel.cu of the CUDA-core, WMMA and mma ladders together
MOST_CHANGED = 100  # lines edited, removed and added between neighbours of one ladder
MOST_LINES = {"fp32": 110, "fp16": 110, "wmma": 170, "mma": 170, "hopper": 180, "precision": 180}
LONGEST = 180  # of a kernel that is longer than its ladder's


def limit(step, rule: str, most: int) -> tuple[int, str]:
    """How far a step may go, and why. Where the rule would make a kernel denser or harder to read, step.toml bends it."""
    bent = step.bent.get(rule, {"most": most, "why": "as every step"})
    return bent["most"], bent["why"]


def kernel_of(step) -> str:
    return (step.folder / "kernel.cu").read_text(encoding="utf-8")


def template_parameters(code: str) -> list[int]:
    counts = []
    for match in re.finditer(r"template\s*<", code):
        depth, count, at = 1, 1, match.end()
        while depth:
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            count += code[at] == "," and depth == 1
            at += 1
        counts.append(count)
    return counts


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_kernel_is_short_enough_to_study(step):
    most, why = limit(step, "lines", MOST_LINES[step.ladder])
    found = len(code_lines(kernel_of(step)))
    assert found <= most, f"{step.name}/kernel.cu has {found} lines of code, at most {most} ({why})"


@pytest.mark.parametrize("step", [step for step in LADDER if step.bent], ids=lambda step: step.name)
def test_an_exception_is_still_needed_and_says_why(step):
    for rule in step.bent.values():
        assert len(rule["why"].split()) > 5, rule
    if longer := step.bent.get("lines"):
        assert MOST_LINES[step.ladder] < len(code_lines(kernel_of(step))) <= longer["most"] <= LONGEST


def test_all_kernels_together_are_short():
    found = sum(len(code_lines(kernel_of(step))) for step in LADDER if step.ladder not in ("hopper", "precision"))
    assert found <= MOST_IN_ALL, f"{found} lines of code in every kernel.cu together, at most {MOST_IN_ALL}"


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_kernels_lines_fit_beside_another_kernels(step):
    wide = [line for line in kernel_of(step).splitlines() if len(line) > WIDEST]
    assert not wide, f"{step.name}/kernel.cu has lines of more than {WIDEST} columns"


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_template_has_few_parameters(step):
    most, why = limit(step, "parameters", MOST_TEMPLATE_PARAMETERS)
    found = max(template_parameters(kernel_of(step)), default=0)
    assert found <= most, f"{step.name}/kernel.cu has a template of {found} parameters, at most {most} ({why})"


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_kernel_takes_one_path(step):
    code = "\n".join(code_lines(kernel_of(step)))
    assert "SKIP" not in code, f"{step.name}/kernel.cu leaves out work: that belongs into also/without.cu"
    masks = re.findall(r"\b1u?\s*<<\s*\d|\b[A-Z_]+ \| [A-Z_]+\b", code)
    assert not masks, f"{step.name}/kernel.cu has flags in a mask: {masks}"


@pytest.mark.parametrize(
    ("before", "after"),
    [pair for pair in itertools.pairwise(LADDER) if pair[0].ladder == pair[1].ladder],
    ids=lambda step: step.name,
)
def test_neighbours_differ_by_one_idea(before, after):
    most, why = limit(after, "changed", MOST_CHANGED)
    found = sum(changed(kernel_of(before), kernel_of(after)).values())
    assert found <= most, f"{before.name} and {after.name} differ in {found} lines of code, at most {most} ({why})"
