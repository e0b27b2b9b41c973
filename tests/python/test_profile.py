"""`./gemm profile`: the pages in tests/python/ncu were printed on an H200, less some columns. All else is made up: the values
in EXTRA and in the fake step's record, the source page, and the counts of step 26 at 512, which are those of step 20."""

import csv
import io
import json
import re
import sys
import textwrap
from pathlib import Path

import pytest
from programs import program

from base import gpu, registry
from base.errors import UserError
from base.languages import CHINESE, ENGLISH
from tools import cli, profile, profile_ncu, profile_page
from tools.profile_words import REASONS, WORDS

KEPT = Path(__file__).parent / "ncu"
H200 = gpu.Gpu("NVIDIA H200", 1, ("90",))
STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
# Columns that the kept pages do not have: made-up values.
EXTRA = {
    profile_ncu.TENSOR_PIPE: "71.25",
    profile_ncu.ISSUE_SLOTS: "12.5",
    profile_ncu.L2_HITS: "75.7",
    profile_ncu.L2_BYTES: "1,000,000,000",
    STALLED.format("long_scoreboard"): "1.50",
    STALLED.format("barrier"): "0.75",
    STALLED.format("wait"): "0.5",
    STALLED.format("gmma"): "0.15",
    STALLED.format("selected"): "1.00",
    STALLED.format("drain"): "0.1",
}

FAKE_NCU = """\
#!{python}
import pathlib, sys
here, words = pathlib.Path({folder!r}), sys.argv[1:]
with (here / "asked").open("a") as asked: asked.write(" ".join(words) + "\\n")
if "--query-metrics" in words: name = "metrics"
elif "--import" in words: name = words[words.index("--page") + 1]
elif "--export" in words:
    name = "launched"
    if (here / "raw").exists(): pathlib.Path(words[words.index("--export") + 1]).write_text("a report")
else: name = "counts"
print((here / name).read_text())
"""
# Its time, speed, power and clock are made up, and not of one run.
FAKE_STEP = """\
#!{python}
import json, sys
record = {{"step": {step!r}, "variant": {variant!r}, "m": {size}, "n": {size}, "k": {size}}}
words = sys.argv[1:]
if "999" in words:
    print("{step}: variant {variant} needs m to be a multiple of 128", file=sys.stderr)
    sys.exit(2)
if "--sim" in words:
    size = int(words[words.index("--size") + 1])
    record |= {{"m": size, "n": size, "k": size, "counts": json.loads({counts!r})}}
    print(f"{step} {variant}, m {{size}} n {{size}} k {{size}}: C 00000000000000ff")
else: record |= {{"ms": 0.2, "tflops": 687.2, "power_w": 690.4, "sm_mhz": 1725}}
for i, word in enumerate(words):
    if word.startswith("--json"):
        open(word.partition("=")[2] or words[i + 1], "w").write(json.dumps(record) + "\\n")
"""
# Of the fake simulator, for whichever step: the loads are those of step 20 at 512.
COUNTS = {
    **dict.fromkeys(("shared_load_conflicts", "shared_store_conflicts", "shared_store_wavefronts"), 0),
    "shared_load_wavefronts": 49152,
}


def kept(name: str) -> str:
    return (KEPT / name).read_text(encoding="utf-8")


def with_columns(page: str, extra: dict[str, str]) -> str:
    rows = iter(([*extra], [""] * len(extra), [*extra.values()]))
    return "\n".join(
        line + "".join(f',"{cell}"' for cell in next(rows)) if line.startswith('"') else line
        for line in page.splitlines()
    )


def source_page(kernel: Path) -> str:
    """A made-up source page: the line that calls an inlined function, the function in another file, quotes unescaped."""
    heading = '"Line No","Source","Address","Source","# Samples","stall_barrier","stall_long_sb","stall_wait"'
    return textwrap.dedent(
        f"""\
        "File Path","{kernel}"
        "Function Name","gemm_kernel"
        {heading}
        "1","load(a)","-","-","1,300","0","1,200","100"
        "","","0x100","LDG.E R0, [R2.64]","1,250","0","1,200","50"
        "","","0x110","@P1 BRA 0x0","50","0","0","50"
        "2","asm("bar.sync 0;" :: "r"(x), "l"(y))","-","-","400","300","100","0"
        "","","0x120","BAR.SYNC 0x0","400","300","100","0"
        "","","...","...","0","0","0","0"
        "File Path","/course/load.cuh"
        "Function Name","gemm_kernel"
        {heading}
        "7","return *a;","-","-","1,250","0","1,200","50"
        "","","0x100","LDG.E R0, [R2.64]","1,250","0","1,200","50"
        """
    )


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an H200 on which one step is built; returns what `./gemm profile` found out of it."""

    def profiled(name: str, variant: str, page: str, size: int, counts: str = "", **files: str) -> profile.Profile:
        step = registry.find(name, registry.steps())
        source = source_page(step.kernel)
        contents = {"metrics": kept("metrics_gh100.txt"), "raw": page, "source": source, "launched": "fine"}
        for file, text in {**contents, "counts": counts, **files}.items():
            if text is not None:
                (tmp_path / file).write_text(text, encoding="utf-8")
        sim = json.dumps(COUNTS)
        program(tmp_path / "ncu", FAKE_NCU.format(python=sys.executable, folder=str(tmp_path)))
        values = {"python": sys.executable, "step": name, "variant": variant, "size": size, "counts": sim}
        program(tmp_path / "steps" / name, FAKE_STEP.format(**values))
        monkeypatch.setattr(profile, "BUILD", tmp_path)
        return profile.profiled(profile.Plan(step, "", size, tmp_path, H200, str(tmp_path / "ncu"), ENGLISH))

    return profiled


def test_the_h200_has_every_metric_that_is_asked_for(tmp_path):
    """In its list of names, or, for the source counters that the list leaves out, on a page that it printed."""
    program(tmp_path / "ncu", f"#!/bin/sh\ncat {KEPT / 'metrics_gh100.txt'}\n")
    here, lacking = profile_ncu.metrics_here(str(tmp_path / "ncu"))
    printed = next(csv.reader(io.StringIO(kept("20_mma_warp_swizzle.txt").partition('"ID"')[2])))
    assert set(lacking) == {"memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"} <= set(printed)
    assert set(here) >= set(profile_ncu.FIGURES) and STALLED.format("gmma") in here
    assert {profile_ncu.STALL.match(name)[1] for name in here if profile_ncu.STALL.match(name)} - {"selected"} == set(
        REASONS
    )


def test_the_page_of_a_launch_that_the_simulator_counts_too(machine, tmp_path):
    """Step 20 at 512: the time under ncu, the launch and shared memory as they were on the H200; EXTRA is made up."""
    found = machine("20_mma_warp_swizzle", "swizzle", with_columns(kept("20_mma_warp_swizzle.txt"), EXTRA), 512)
    lines = profile_page.page(found, ENGLISH)
    text = "\n".join(lines)
    assert lines[0] == "20_mma_warp_swizzle swizzle, 512 × 512 × 512, NVIDIA H200"
    assert re.search(r"not a measurement  +0\.02\d+ ms, 1\d(\.\d)? TFLOPS", text)
    assert re.search(r"without ncu +0\.2 ms, 687 TFLOPS", text) and "690 W at 1725 MHz" in text
    assert re.search(r"registers per thread +224\n +blocks per SM +1, limited by registers, shared memory\n", text)
    assert re.search(r"tensor pipe +71\.2 %\n +issue slots +12\.5 %", text) and "FMA" not in text
    shared = [line.split() for line in lines if "wavefronts" in line or "conflicts" in line]
    assert ["load", "wavefronts", "49,152", "49,152"] in shared
    assert "request coalescer" not in text
    assert "memory_l1_wavefronts_shared" in next(line for line in lines if line.startswith("This GPU has no counters"))
    assert (tmp_path / "20_mma_warp_swizzle-swizzle-512.ncu-rep").is_file()
    asked = (tmp_path / "asked").read_text()
    assert asked.count("--export") == 1 and "--clock-control none" in asked and "--fingerprint --verify off" in asked


def test_an_inlined_instruction_is_counted_at_the_steps_own_line(tmp_path):
    kernel = tmp_path / "kernel.cu"
    for home, at in ((tmp_path, kernel), (Path("/course"), Path("/course/load.cuh"))):
        (first, second) = profile_ncu.stalled_lines(source_page(kernel), ["long_scoreboard"], home)["long_scoreboard"]
        assert (first.file, first.samples, second.samples) == (at, 1200, 100)
    assert profile_ncu.stalled_lines("no table", ["wait"], tmp_path) == {"wait": []}


def test_a_large_launch_is_compared_at_a_small_size(machine, tmp_path):
    """Step 26 at 4096: time and what crossed the coalescer are the H200's; the requests of L2 are made up (EXTRA)."""
    page = with_columns(kept("26_clusters_4096.txt"), EXTRA)
    counts = kept("20_mma_warp_swizzle.txt").replace("20_mma_warp_swizzle swizzle", "26_clusters bf16")
    found = machine("26_clusters", "bf16", page, 4096, counts)
    text = "\n".join(profile_page.page(found, ENGLISH))
    assert re.search(r"not a measurement +0\.1943 ms, 707 TFLOPS", text)
    assert re.search(r"request coalescer +891 MB, each sector delivered 1\.45 times", text)
    assert re.search(r"requested of L2 +1 GB, 75\.7 % hits\n +read from DRAM +131\.4 MB", text)
    assert re.search(r"Shared memory +GPU, 4096³ +GPU, 512³ +simulator, 512³", text)
    assert re.search(r"load wavefronts +– +49,152 +49,152", text)
    assert "--size 512 --fingerprint" in (tmp_path / "asked").read_text()


def test_the_page_is_chinese_too(machine):
    found = machine("20_mma_warp_swizzle", "swizzle", with_columns(kept("20_mma_warp_swizzle.txt"), EXTRA), 512)
    english, chinese = (profile_page.page(found, spoken) for spoken in (ENGLISH, CHINESE))
    assert len(english) == len(chinese)
    assert re.search(r"每个 SM 的线程块 +1，受限于寄存器、共享内存", "\n".join(chinese))
    figures = re.compile(r"\d[\d.,]*\d")
    assert [figures.findall(line) for line in english[2:-3]] == [figures.findall(line) for line in chinese[2:-3]]
    for english, chinese in WORDS.values():
        assert set(re.findall(r"{\w+", english)) == set(re.findall(r"{\w+", chinese))


def test_counters_that_may_not_be_read_are_one_line_of_what_to_do(machine):
    text = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission …\n"
    with pytest.raises(UserError, match=r"only root .* NVreg_RestrictProfilingToAdminUsers=0"):
        machine("20_mma_warp_swizzle", "swizzle", None, 512, launched=text)


def test_a_size_that_the_variant_does_not_take_is_refused_in_the_steps_words(machine):
    with pytest.raises(UserError, match=r"^variant swizzle needs m to be a multiple of 128$"):
        machine("20_mma_warp_swizzle", "swizzle", "", 999)


def test_without_a_gpu_the_simulator_is_named(monkeypatch):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    with pytest.raises(UserError, match=r"no NVIDIA driver is installed; \./gemm run 07 --sim"):
        profile.plan(cli.parse(["profile", "07"]))
