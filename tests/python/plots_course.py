"""A small course in a folder: five steps, made-up records of the kinds the charts read. For the tests of the plots."""

import json
import re
from pathlib import Path

STEPS = ("01_naive", "08_conflict_free", "09_double_buffer")
TFLOPS = {"01_naive": 0.5, "08_conflict_free": 40.0, "09_double_buffer": 52.0}
CUBLAS = 50.0


def timing(step, tflops, size=(4096, 4096, 4096), variant="plain", default=True, **others):
    """One timing record."""
    m, n, k = size
    return {
        "step": step, "variant": variant, "default": default, "m": m, "n": n, "k": k, "a": "f32", "b": "f32",
        "acc": "f32", "c": "f32", "layout": "NN", "alpha": 1.0, "beta": 0.0, "ms": 2 * m * n * k / tflops / 1e9,
        "tflops": tflops, "baseline": "cublas", "baseline_tflops": CUBLAS, "ratio": tflops / CUBLAS, "options": {},
        "gpu": "NVIDIA H200", "driver": "580.159", "cuda": "13.0", "date": "2026-11-21", **others,
    }  # fmt: skip


def counts(step, load_wavefronts=600, load_conflicts=200, variant="plain", default=True):
    """One simulator record."""
    return {
        "step": step, "variant": variant, "default": default, "m": 256, "n": 256, "k": 256, "alpha": 1.0, "beta": 0.0,
        "counts": {
            "instructions": 1000000, "by_class": {"fma": 524288, "load_shared": 300, "integer": 100},
            "global_load_requests": 1000, "global_load_sectors": 16000, "global_store_requests": 10,
            "global_store_sectors": 160, "shared_load_requests": 400, "shared_load_wavefronts": load_wavefronts,
            "shared_load_conflicts": load_conflicts, "shared_store_requests": 50, "shared_store_wavefronts": 50,
            "shared_store_conflicts": 0, "barriers": 64, "cp_async_requests": 0, "cp_async_global_sectors": 0,
            "cp_async_shared_wavefronts": 0, "tensor_ops": 0, "divergent_branches": 0,
        },
    }  # fmt: skip


def mix(step, fma, instructions, level="ptx"):
    """One instruction mix."""
    return {
        "step": step, "variant": "plain", "default": True, "kernel": "gemm_kernel", "level": level, "arch": "sm_90",
        "cuda": "13.0", "loop": {"instructions": instructions, "fma": fma, "load_shared": 32},
    }  # fmt: skip


def write(path: Path, rows) -> None:
    """Rows as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def page(root: Path, name: str, tables=(), charts=()) -> None:
    """A page in both languages that holds tables and shows charts."""
    for language in ("", ".zh-CN"):
        text = "".join(f"\n<!-- table:{table} -->\nold\n<!-- /table -->\n" for table in tables)
        text += "".join(f"\n![a chart](plots/charts/{chart}{language}.svg)\n" for chart in charts)
        (root / f"{name}{language}.md").write_text(f"# {name}\n{text}\nend\n", encoding="utf-8")


def make(root: Path, charts=("fp32-ladder", "fp32-bank-conflicts")) -> Path:
    """The course with its FP32 steps, whose README shows these charts; returns its root."""
    lines = [f"  {{'name': '{step}', 'arch': '80', 'ladder': 'fp32', 'types': 'f32'}},\n" for step in STEPS]
    (root / "steps").mkdir(parents=True)
    (root / "steps" / "meson.build").write_text("step_list = [\n" + "".join(lines) + "]\n", encoding="utf-8")
    (root / "steps" / "09_double_buffer").mkdir()
    (root / "steps" / "09_double_buffer" / "kernel.cu").write_text("// a kernel\n", encoding="utf-8")
    data = root / "records"
    covered = {"step": "09_double_buffer", "variant": "plain", "covers": ["LeetCUDA dbuf", "fynv g"]}
    write(data / "variants.jsonl", [covered])
    for step in STEPS:
        sizes = (1024, 2048, 4096, 8192)
        rows = [timing(step, TFLOPS[step] * (0.8 if size == 1024 else 1), (size, size, size)) for size in sizes]
        if step == "09_double_buffer":
            rows.append(timing(step, 45.0, variant="other", default=False))
            edge = (4096, 8192, 16384)
            rows += [
                timing(step, 51.0, (m, n, k)) for m in edge for n in edge for k in (2048, 4096, 8192) if not m == n == k
            ]
        write(data / "h200" / f"{step}.jsonl", rows)
        write(data / "simulator" / f"{step}.jsonl", [counts(step), counts(step, 900, 500, "other", False)])
        write(data / "instruction_mix" / f"{step}.jsonl", [mix(step, 512, 600), mix(step, 512, 580, "sass")])
    tables = ("ladder-fp32", "step:09_double_buffer", "variants:09_double_buffer", "sweep27:09_double_buffer")
    tables += ("counts:08_conflict_free", "count-variants:08_conflict_free", "mix", "mix:08_conflict_free")
    page(root, "README", (*tables, "covers-fp32"), charts)
    return root


LAST = "21_mma_persistent"
TENSOR_STEPS = {"18_mma_naive": 170.0, LAST: 560.0}
OF_LAST = ("step", "variants", "swizzle", "bottlenecks", "hgemm27", "error-over-k", "counts")
TENSOR_TABLES = ("ladder-mma", "limits", "error", *(f"{kind}:{LAST}" for kind in OF_LAST))
LIBRARIES = {"cublas": 600.0, "cublas_f32_sums": 500.0, "cublaslt": 640.0}


def beside_both(step, tflops, size=(4096, 4096, 4096), **others):
    """A timing of a tensor-core kernel: one record per baseline; cuBLAS with FP32 sums for the default's cubes alone."""
    types = {"a": "f16", "b": "f16", "acc": "f16", "c": "f16", "error": 1e-4 * (size[2] / 1024) ** 0.5, **others}
    speeds = [{"baseline": b, "baseline_tflops": v, "ratio": tflops / v} for b, v in LIBRARIES.items()]
    if not others.get("default", True) or len(set(size)) > 1:
        speeds = [speed for speed in speeds if speed["baseline"] != "cublas_f32_sums"]
    return [timing(step, tflops, size, **types, **speed) for speed in speeds]


def add_tensor_cores(root: Path, charts=()) -> Path:
    """Adds two steps of the mma ladder with every kind of record that its charts read; returns the root."""
    registry = root / "steps" / "meson.build"
    lines = [f"  {{'name': '{s}', 'arch': '80', 'ladder': 'mma', 'types': 'f16 bf16'}},\n" for s in TENSOR_STEPS]
    registry.write_text(registry.read_text(encoding="utf-8").replace("]\n", "".join(lines) + "]\n"), encoding="utf-8")
    data = root / "records"
    for step, speed in TENSOR_STEPS.items():
        rows = [r for size in (4096, 8192) for r in beside_both(step, speed, (size, size, size))]
        if step == LAST:
            for size in (4096, 8192):
                rows += beside_both(step, 540.0, (size, size, size), variant="fp32", default=False, acc="f32")
            for stride in (512, 2048):
                cube = (8192, 8192, 8192)
                rows += beside_both(step, 500.0 + stride / 64, cube, options={"swizzle_stride": stride})
                for stages in (2, 3):
                    more = {"variant": f"warp4x4_stages{stages}", "default": False}
                    rows += beside_both(step, 400.0 + stages, cube, options={"swizzle_stride": stride}, **more)
            for k, error in ((512, 0.001), (2048, 0.002), (8192, 0.004)):  # √K, and 2e-4 with FP32 sums whatever K is
                size = (2048, 2048, k)
                rows += beside_both(step, 300.0, size, error=error, worst_of_bound=0.6)
                more = {"variant": "fp32", "default": False, "acc": "f32", "error": 2e-4, "worst_of_bound": 0.05}
                rows += beside_both(step, 250.0, size, **more)
            edge = (1024, 2048, 4096)
            rows += [
                r for m in edge for n in edge for k in (256, 512, 1024) for r in beside_both(step, 300.0, (m, n, k))
            ]
        write(data / "h200" / f"{step}.jsonl", rows)
        write(data / "simulator" / f"{step}.jsonl", [counts(step), counts(step, 900, 500, "fp32", False)])
    left_out = [("no_copy_a", "the copy of A", 616.0), ("no_store", "the store of C", 588.0)]
    rows = [
        timing(LAST, v, variant=n, default=False, leaves_out=w, baseline="none", a="f16", acc="f16")
        for n, w, v in left_out
    ]
    write(data / "h200" / "bottlenecks" / "21_mma_persistent.jsonl", rows)
    limit = {"limit": "mma.sync.m16n8k16", "a": "f16", "acc": "f16", "tflops": 650.0, "gpu": "NVIDIA H200"}
    write(data / "h200" / "limits.jsonl", [limit, {**limit, "acc": "f32", "tflops": 632.0}])
    profile = {"step": LAST, "variant": "plain", "m": 8192, "n": 8192, "k": 8192}
    profile["metric"] = "lts__t_sector_hit_rate.pct"
    rates = ((0, 71.5), (512, 60.0), (2048, 70.25))
    write(data / "h200" / "profile.jsonl", [{**profile, "swizzle_stride": s, "value": v} for s, v in rates])
    page(root, "TENSOR", TENSOR_TABLES, charts)
    return root


def words_of(svg):
    """The texts of a chart one after the other, so that a wrapped one is found whole."""
    texts = re.findall(r">([^<>\n]+)</text>", svg.replace("&#160;", " "))
    return re.sub(r"(?<=[⺀-￯]) (?=[⺀-￯])", "", " ".join(texts))  # no space where Chinese was wrapped
