"""The executables of the steps, run as a reader runs them: what they refuse, what they print, how fast they start."""

import json
import shutil
from pathlib import Path

import pytest
from programs import built, ran

from base import registry
from base.paths import BUILD, SIMULATOR


@pytest.fixture
def any_step() -> Path:
    """One executable, for what does not depend on the kernel."""
    return built(BUILD / "steps" / registry.steps()[0].name)


@pytest.fixture
def alone(any_step, tmp_path) -> Path:
    """A step's executable where no simulator is beside it."""
    folder = tmp_path / "build" / "steps"
    folder.mkdir(parents=True)
    return Path(shutil.copy(any_step, folder / any_step.name))


def refused(program: Path, *arguments: object, **how) -> str:
    """What is said, less the program's name; asserts that it is one line on stderr and exit code 2."""
    done = ran(program, *arguments, **how)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), done.stderr
    assert done.stderr.startswith(f"{program.name}: "), done.stderr
    return done.stderr.removeprefix(f"{program.name}: ").rstrip("\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [  # the others in tests/cpp/test_cli.cpp, and of each variant's sizes in tests/gpu/sizes.py
        (["--frobnicate"], "The following argument was not expected: --frobnicate; --help lists the options"),
        (["--size", "64", "--lda", "63"], "--lda 63 is narrower than the matrix's 64 columns; use at least 64"),
        (["--variant", "nope"], "no variant is called nope; this step has: naive"),
        (["--json", "/dev/null"], "cannot write /dev/null: it is not an ordinary file; choose another --json file"),
        (["--trace", "t.json"], "--trace needs --sim: only the simulator sees what each lane touches"),
        (["--sim", "--trace", "/no/t.json"], "cannot write /no/t.json: there is no folder /no; choose another --trace"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_gets_one_line_and_exit_code_2(any_step, tmp_path, arguments, words):
    assert refused(any_step, *arguments, cwd=tmp_path).startswith(words)
    assert not list(tmp_path.iterdir()), "something was written"


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="there is an NVIDIA driver here")
def test_without_gpu_and_simulator_one_line_says_so(alone):
    assert refused(alone, "--size", 64).startswith(
        "no CUDA GPU was found, and the simulator is not built; run on a machine"
    )


def test_list_and_help_need_neither(alone):
    assert ran(alone, "--list").returncode == 0
    helped = ran(alone, "--help")
    assert helped.returncode == 0
    for option in ("--size", "--variant", "--sweep", "--json", "--sim"):
        assert option in helped.stdout


@pytest.fixture
def simulated(any_step) -> Path:
    return built(any_step, SIMULATOR)


def test_the_simulator_runs_a_step_and_records_its_counts(simulated, tmp_path):
    file = tmp_path / "counts.jsonl"
    done = ran(simulated, "--sim", "--size", 64, "--show-matrix", "--json", file)
    assert done.returncode == 0, done.stderr
    assert "in the simulator: right" in done.stdout and "A, 64 x 64" in done.stdout
    (record,) = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert (record["step"], record["m"], record["n"], record["k"]) == (simulated.name, 64, 64, 64)
    assert record["counts"]["global_load_requests"] > 0


def test_a_trace_is_written_whole(simulated, tmp_path):
    """Step 01's lanes walk down a column of A: one row of 256 bytes, and so one sector, for each of them."""
    file = tmp_path / "t.json"
    file.write_text("something older")
    done = ran(simulated, "--sim", "--size", 64, "--trace", file)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"], "a temporary file was left behind"
    (kernel,) = json.loads(file.read_text(encoding="utf-8"))["kernels"]
    assert [allocation["bytes"] for allocation in kernel["allocations"]] == [4 * 64 * 64] * 3
    first = min(
        (request for each in kernel["instructions"] for request in each["requests"]),
        key=lambda request: (request["global"]["allocation"], request["order"]),
    )["global"]
    assert first["address"] == [256 * lane for lane in range(32)]
    assert (first["bytes"], first["sectors"]) == (4, 32)


def test_a_start_loads_no_library_that_it_does_not_need(any_step):
    done = ran(any_step, "--list", env={"LD_DEBUG": "files"})
    assert done.returncode == 0
    assert "libcudart.so" in done.stderr
    assert "libcublas" not in done.stderr
    assert "libnvidia-ml" not in done.stderr
