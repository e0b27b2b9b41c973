"""The ladder's page says which variant covers which published kernel; the executables must say the same."""

import json
import re
import subprocess

import pytest

from tools import registry
from tools.paths import BUILD, ROOT

PAGES = {"en": ROOT / "docs/ladder.md", "zh-CN": ROOT / "docs/ladder.zh-CN.md"}
BUILT = {"en": "What is built", "zh-CN": "已完成"}
PLANNED = {"en": "Planned", "zh-CN": "计划中"}
ROW = re.compile(r"^\| `(?P<step>\d\d_\w+)` \| (?P<idea>[^|]+) \| (?P<covers>[^|]+) \|$", re.MULTILINE)
COVERED = re.compile(r"(?P<published>[^:;]+): `(?P<variant>\w+)`")
LADDER = registry.steps()


def section(language: str, heading: str) -> str:
    """What stands under a heading of the second level."""
    text = PAGES[language].read_text(encoding="utf-8")
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{PAGES[language].name} has no heading '{heading}'"
    return found[1]


def covered(language: str) -> dict[str, set[tuple[str, str]]]:
    """Step by step, the pairs of a published kernel and the variant that covers it."""
    rows = ROW.finditer(section(language, BUILT[language]))
    return {
        row["step"]: {(pair["published"].strip(), pair["variant"]) for pair in COVERED.finditer(row["covers"])}
        for row in rows
    }


def listed(step: registry.Step, folder) -> list[dict]:
    """What the step's executable says of its variants."""
    executable = BUILD / "steps" / step.name
    if not executable.exists():
        pytest.skip(f"{step.name} is not built; run: meson compile -C {BUILD.name} {step.name}")
    file = folder / "variants.jsonl"
    subprocess.run([executable, "--list", "--json", file], check=True, timeout=60)
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("language", PAGES)
def test_the_page_has_every_step_of_the_registry_in_its_order(language):
    assert list(covered(language)) == [step.name for step in LADDER]


@pytest.mark.parametrize("language", PAGES)
def test_no_planned_step_is_in_the_registry(language):
    planned = [row["step"] for row in ROW.finditer(section(language, PLANNED[language]))]
    assert planned
    assert not set(planned) & {step.name for step in LADDER}
    numbers = [int(name[:2]) for name in planned]
    assert numbers == list(range(LADDER[-1].number + 1, LADDER[-1].number + 1 + len(planned)))


def test_both_languages_say_the_same():
    assert covered("en") == covered("zh-CN")
    names = [[row["step"] for row in ROW.finditer(section(language, PLANNED[language]))] for language in PAGES]
    assert names[0] == names[1]


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_every_published_kernel_is_covered_by_the_variant_that_the_page_names(step, tmp_path):
    said = {(published, variant["variant"]) for variant in listed(step, tmp_path) for published in variant["covers"]}
    assert said == covered("en")[step.name]


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_the_first_variant_is_the_only_default_and_names_are_unique(step, tmp_path):
    variants = listed(step, tmp_path)
    names = [variant["variant"] for variant in variants]
    assert len(set(names)) == len(names)
    assert [variant["default"] for variant in variants] == [True] + [False] * (len(variants) - 1)
    assert "all" not in names, "--variant all means every one"


def test_no_published_kernel_is_covered_twice():
    published = [name for pairs in covered("en").values() for name, _ in pairs]
    assert len(published) == len(set(published))
    assert len(published) >= 23, "a row of the table was not understood"
