"""Typical mistakes of somebody who practises: each gets the one line that names it. All that compile take one compilation."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
from programs import built, program
from test_practice import NAMED, environment

from base.languages import ENGLISH
from base.paths import BUILD, SIMULATOR
from tests.sim.mutants import table_of
from tools import practice_grade, practice_run
from tools.practice_tasks import Task

TASK = NAMED[3]
LAUNCH = "  gemm_kernel<<<grid, block, 0, stream>>>(g);\n"
HOST = """
  for (int row = 0; row < g.m; ++row)
    for (int col = 0; col < g.n; ++col) {
      float acc = 0.0f;
      for (int k = 0; k < g.k; ++k) acc += g.a[row * g.lda + k] * g.b[k * g.ldb + col];
      float* c = g.c + row * g.ldc + col;
      *c = g.alpha * acc + (g.beta == 0.0f ? 0.0f : g.beta * *c);
    }
"""
COPY = "__global__ void touch(Gemm<float> g) { g.c[threadIdx.x] = g.c[threadIdx.x]; }\n"

# By name: which text of the kernel is replaced by what, and what the verdict says.
MISTAKES = {
    "barrier": ("__syncthreads();  // the slice is complete", "//", r"^At 256×256×256: race in .*kernel\.cu:\d+"),
    "off_by_one": (
        "As[tile_row][k] *",
        "As[tile_row][k + 1] *",
        r"^The result is wrong at 256×256×256: \d+ wrong elem",
    ),
    "too_far": ("k0 < g.k", "k0 <= g.k", r"^At 256×256×256: out of bounds in .*kernel\.cu:\d+"),
    "past_c": ("g.c + row * g.ldc", "g.c + (row + g.m) * g.ldc", r"^At 256×256×256: out of bounds in .*kernel\.cu:\d+"),
    "endless": ("float acc = 0.0f;", "float acc = 0.0f;\n  while (g.k > 0) __syncthreads();", r"^At .*: endless in "),
    "fixed_size": ("g.c + row * g.ldc", "g.c + row * g.n", r"^The result is wrong at 512×256×128 \(alpha 1.5"),
    "on_the_host": (LAUNCH, HOST, r"^The result is right, but no kernel was launched"),
    "copied": (LAUNCH, HOST + "  touch<<<1, 32, 0, stream>>>(g);\n", r"only 0 instructions that multiply and 262,144"),
}


def source() -> str:
    """One source with every mistake in a namespace of its own, and with the step's kernel itself, included."""
    text = TASK.step.kernel.read_text(encoding="utf-8")
    bare = re.sub(r"^#include .*$", "", text, flags=re.MULTILINE)
    parts = [*re.findall(r"^#include .*$", text, re.MULTILINE), COPY]
    adds = []
    for name, (old, new, _) in MISTAKES.items():
        assert bare.count(old) == 1, name
        parts.append(f"namespace {name} {{\n{bare.replace(old, new)}\n}}")
        adds.append(f'  add("{name}", {name}::variants());')
    parts.append(f'namespace included {{\n#include "steps/{TASK.step.name}/kernel.cu"\n}}')
    adds.append('  add("included", included::variants());')
    return "\n".join([*parts, *table_of(adds)])


def practised(where, mistake: str = "") -> Task:
    """A task of which another variant is graded, in a file of the test's."""
    task = type("Practised", (Task,), {"variant": mistake, "file": where})
    return task(**{field.name: getattr(TASK, field.name) for field in dataclasses.fields(Task)})


def harness() -> None:
    built(SIMULATOR, *(BUILD / "common" / "harness" / f"lib{name}.a" for name in ("harness", "harness_main")))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    harness()
    file = tmp_path_factory.mktemp("practice") / "kernel.cu"
    file.write_text(source(), encoding="utf-8")
    executable = practice_run.compiled(practised(file), environment())
    return file, Path(shutil.move(executable, file.parent / executable.name))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_its_line(compiled, mistake):
    file, executable = compiled
    verdict = practice_grade.graded(practised(file, mistake), executable, file, environment(), ENGLISH)
    assert not verdict.done
    assert re.search(MISTAKES[mistake][2], verdict.line), verdict.line
    assert "\n" not in verdict.line
    if mistake == "barrier":  # what it leads to comes behind it
        assert any(report.startswith("uninitialised read in ") for report in verdict.reports), verdict.reports


def test_the_steps_own_kernel_included_is_no_solution(compiled):
    file, executable = compiled
    verdict = practice_grade.graded(practised(file, "included"), executable, file, environment(), ENGLISH)
    assert not verdict.done
    assert "computed in steps/03_smem_tiling/kernel.cu, not in your kernel.cu" in verdict.line


def test_what_the_compiler_refuses_is_one_line(tmp_path):
    harness()
    file = tmp_path / "kernel.cu"
    file.write_text('#include "common/device/gemm.h"\nint broken = nothing;\n', encoding="utf-8")
    with pytest.raises(practice_run.NotCompiled) as refusal:
        practice_run.compiled(practised(file), environment())
    assert re.fullmatch(r'kernel\.cu\(2\): error: .*"nothing" is undefined.*', str(refusal.value)), str(refusal.value)


def test_a_launcher_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(practice_run, "MOST_SECONDS_IN_ALL", 0.2)
    outcome = practice_run.simulated(program(tmp_path / "03_smem_tiling", "exec sleep 60"), [], {})
    assert outcome.problem == "it did not end within 0.2 s" and outcome.record is None
