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
MOST_LINES = {"fp32": 110, "fp16": 110, "wmma": 170, "mma": 170, "hopper": 280}
LONGEST = 180  # of a kernel that is longer than its ladder's; hopper's limit is the end of it
LADDERS_LAST = {"11_warp_tiling": 170}  # warp tiles take as much as a kernel on tensor cores

# Where the rule would make a kernel denser or harder to read it is bent, with the reason.
LONGER: dict[str, tuple[int, str]] = {
    "21_mma_persistent": (180, "the end of its ladder: four tiles, the choice among them, three types and two layouts"),
}
FARTHER: dict[str, tuple[int, str]] = {
    "10_cp_async": (115, "a copy that skips the registers needs another lane map, a ring of stages and another tile"),
    "11_warp_tiling": (
        165,
        "warp tiles take a table of tiles and a launcher that chooses; other addresses keep A's loads a scoreboard",
    ),
    "19_mma_stages": (
        135,
        "the ring cannot do without dynamic shared memory; 30 lines are a table of published stages",
    ),
    "20_mma_warp_swizzle": (110, "25 of them are the table of step 19's published stages, which ends there"),
    "27_by_size": (
        190,
        "step 26's pairs, multicast and their order go; the tile as a type, consumers in turn, the split of K, and the choice",
    ),
}
PARAMETERS: dict[str, tuple[int, str]] = {}


def kernel_of(step) -> str:
    return (step.folder / "kernel.cu").read_text(encoding="utf-8")


def template_parameters(code: str) -> list[int]:
    """How many parameters each template of a source has."""
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
    of_its_kind = LADDERS_LAST.get(step.name, MOST_LINES[step.ladder])
    most, why = LONGER.get(step.name, (of_its_kind, "as its ladder"))
    found = len(code_lines(kernel_of(step)))
    assert found <= most, f"{step.name}/kernel.cu has {found} lines of code, at most {most} ({why})"


def test_an_exception_is_still_needed_and_says_why():
    for name, (most, why) in LONGER.items():
        step = next(one for one in LADDER if one.name == name)
        assert MOST_LINES[step.ladder] < len(code_lines(kernel_of(step))) <= most <= LONGEST, name
        assert len(why.split()) > 5, f"{name}: {why}"
    for _, why in (*FARTHER.values(), *PARAMETERS.values()):
        assert len(why.split()) > 5, why


def test_all_kernels_together_are_short():
    found = sum(len(code_lines(kernel_of(step))) for step in LADDER if step.ladder != "hopper")
    assert found <= MOST_IN_ALL, f"{found} lines of code in every kernel.cu together, at most {MOST_IN_ALL}"


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_kernels_lines_fit_beside_another_kernels(step):
    wide = [line for line in kernel_of(step).splitlines() if len(line) > WIDEST]
    assert not wide, f"{step.name}/kernel.cu has lines of more than {WIDEST} columns"


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_template_has_few_parameters(step):
    most, why = PARAMETERS.get(step.name, (MOST_TEMPLATE_PARAMETERS, "as every step"))
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
    most, why = FARTHER.get(after.name, (MOST_CHANGED, "as every step"))
    found = sum(changed(kernel_of(before), kernel_of(after)).values())
    assert found <= most, f"{before.name} and {after.name} differ in {found} lines of code, at most {most} ({why})"
