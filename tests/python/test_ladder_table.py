"""Which published kernels the variants cover: the executables say it, a record keeps it, the ladder's page shows it."""

import pytest

import records
from base import registry
from base.paths import BUILD, DATA, ROOT
from lab import variants

LADDER = registry.steps()
RECORDED = records.load(DATA, ROOT)
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


def covered(step: registry.Step) -> set[str]:
    """The published kernels that a step covers, as recorded."""
    return {kernel for kernels in RECORDED.covers(step.name).values() for kernel in kernels}


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_the_executable_lists_what_is_recorded(step):
    if not (BUILD / "steps" / step.name).is_file():
        pytest.skip(f"{step.name} is not built; run: meson compile -C {BUILD.name} {step.name}")
    listed = variants.listed(step)
    recorded = [record for record in RECORDED.variants if record["step"] == step.name]
    assert variants.covering(listed) == recorded, "record it anew: python -m lab.variants; then ./gemm plot"
    names = [variant["variant"] for variant in listed]
    assert len(set(names)) == len(names)
    assert [variant["default"] for variant in listed] == [True] + [False] * (len(listed) - 1)
    assert "all" not in names, "--variant all means every one"


@pytest.mark.parametrize("step", [step for step in LADDER if step.number in PUBLISHED], ids=lambda step: step.name)
def test_the_tensor_core_and_half_ladders_cover_what_was_published(step):
    missing = PUBLISHED[step.number] - covered(step)
    assert not missing, f"{step.name} covers no {sorted(missing)}"


def test_no_published_kernel_is_covered_by_two_steps():
    """Several variants of one step may cover one kernel: its stages are its parameter."""
    published = [name for step in LADDER for name in covered(step)]
    assert len(published) == len(set(published))
    assert {record["step"] for record in RECORDED.variants} <= {step.name for step in LADDER}
