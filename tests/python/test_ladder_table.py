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
# What the tensor-core ladders have to cover, by number: the names in the sources' own words, as `covers` writes them.
T = "LeetCUDA hgemm_t_"
W = "LeetCUDA hgemm_wmma_"
M = "LeetCUDA hgemm_mma_m16n8k16_"
PUBLISHED = {
    12: {
        "LeetCUDA hgemm_naive_f16",
        "LeetCUDA hgemm_sliced_k_f16",
        *(f"{T}8x8_sliced_k_{end}" for end in ("f16x4", "f16x4_pack", "f16x4_bcf")),
        *(f"{T}8x8_sliced_k_{pack}_pack_bcf{pad}" for pack in ("f16x4", "f16x8") for pad in ("", "_offset")),
        *(f"{T}4x4_sliced_k_f16x4_pack_bcf{pad}" for pad in ("", "_offset")),
    },
    13: {
        f"{T}8x8_sliced_k_f16x8_pack_bcf_dbuf",
        *(f"{T}8x8_sliced_{end}" for end in ("k16_f16x8_pack_dbuf", "k16_f16x8_pack_dbuf_offset")),
        *(f"{T}8x8_sliced_k{depth}_f16x8_pack_dbuf_async" for depth in (16, 32)),
        f"{T}8x8_sliced_k32_f16x8_pack_dbuf",
        *(f"{T}16x8_sliced_k32_f16x8_pack_dbuf{how}" for how in ("", "_async")),
    },
    14: {f"{W}m16n16k16_naive"},
    15: {
        *(f"{W}m16n16k16_mma4x2{warps}" for warps in ("", "_warp2x4")),
        *("A100 notes k03_wmma_shmem", "A100 notes k04_wmma_shmem_opt"),
    },
    16: {
        *(f"{W}m16n16k16_mma4x2_warp2x4_{how}" for how in ("async", "async_offset", "dbuf_async")),
        f"{W}m32n8k16_mma2x4_warp2x4_dbuf_async",
        "A100 notes k05_wmma_pipeline",
    },
    17: {
        *(f"{W}m16n16k16_mma4x2_warp2x4_stages{where}" for where in ("", "_dsmem")),
        *(f"{W}m16n16k16_{warps}_warp4x4_stages_dsmem" for warps in ("mma4x2", "mma4x4")),
        "LeetCUDA sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages_dsmem",
    },
    18: {f"{M}naive", f"{M}mma2x4_warp4x4"},
    19: {
        *(f"{M}mma2x4_warp4x4_stages{how}" for how in ("", "_dsmem", "_dsmem_tn")),
        "A100 notes k06_mma",
    },
    20: {
        *(f"{M}mma2x4_warp4x4x2_stages_dsmem{how}" for how in ("", "_x4", "_rr", "_swizzle")),
        "A100 notes k07_mma_permute",
    },
}


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


@pytest.mark.parametrize("step", [step for step in LADDER if step.number in PUBLISHED], ids=lambda step: step.name)
def test_the_tensor_core_and_half_ladders_cover_what_was_published(step, tmp_path):
    covered_names = {published for variant in listed(step, tmp_path) for published in variant["covers"]}
    missing = PUBLISHED[step.number] - covered_names
    assert not missing, f"{step.name} covers no {sorted(missing)}"


def test_no_published_kernel_is_covered_by_two_steps():
    """Several variants of one step may cover one kernel: its stages are its parameter."""
    published = [name for pairs in covered("en").values() for name in {name for name, _ in pairs}]
    assert len(published) == len(set(published))
    assert len(published) >= 23, "a row of the table was not understood"
