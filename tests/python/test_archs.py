"""Which architectures meson.build compiles for, what becomes of a step that the GPU here cannot run, and which headers of
CUTLASS -Dcutlass finds."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from programs import configured, program

from base import gpu, registry
from base.errors import UserError
from base.paths import ROOT
from base.registry import Step
from lab import record
from tools import cli, run_plan

DETECTION = re.compile(r"^ptx_arch = .*?^(?=summary)", re.MULTILINE | re.DOTALL)


def detected(folder: Path, message: str, smi: str = "exit 9", options: tuple[str, ...] = ()) -> str:
    """What that part of meson.build says, with a made-up nvidia-smi."""
    detection = DETECTION.search((ROOT / "meson.build").read_text(encoding="utf-8"))[0]
    path = program(folder / "bin" / "nvidia-smi", smi).parent
    return configured(folder, f"{detection}message({message})\n", *options, path=path)


@pytest.mark.parametrize(
    ("smi", "archs"),
    [
        ('printf "9.0\\n8.9\\n9.0\\n"', "90,89"),
        ("echo NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver. 9.", ""),
        ("echo 9.0; exit 9", ""),
    ],
)
def test_only_what_a_driver_calls_a_version_is_an_architecture(smi, archs, tmp_path):
    said = detected(tmp_path, "'archs <' + archs + '>'", smi)
    assert f"Message: archs <{archs}>\n" in said, said


@pytest.mark.parametrize(
    ("archs", "codes"),
    [
        ("80,90", {"80": "compute_80 sm_80 sm_90", "90": "compute_90 sm_90", "90a": "compute_90a sm_90a"}),
        ("75,100", {"80": "compute_80 sm_100", "90": "compute_90 sm_100", "90a": "compute_90a"}),
    ],
)
def test_a_source_is_compiled_for_its_least_architecture_and_what_can_run_it(archs, codes, tmp_path):
    message = " + ".join(f"'{least}: ' + ' '.join(gencode['{least}']) + ';'" for least in codes)
    said = detected(tmp_path, message, options=(f"-Darchs={archs}",))
    for least, wanted in codes.items():
        flags = re.search(rf"\b{least}: (.*?);", said)[1]
        assert re.findall(r"code=(\w+)", flags) == wanted.split(), said
    for virtual, real in re.findall(r"arch=compute_(\w+),code=sm_(\w+)", said):
        assert virtual == real, said


FOR_ALL, NEWER, ALONE = (
    Step("01_naive", "80", "fp32", "f32"),
    Step("22_tma", "90", "hopper", "bf16 f16"),
    Step("23_wgmma", "90a", "hopper", "bf16 f16"),
)
LADDER = [FOR_ALL, NEWER, ALONE]


@pytest.fixture
def on_gpu(monkeypatch):
    """A ladder with steps for Hopper, and a GPU of some compute capability."""
    monkeypatch.setattr(registry, "steps", lambda: LADDER)

    def of(capability: str) -> None:
        monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA Test", 1, (capability,)))

    return of


TOLD = (
    "22_tma needs compute capability 9.0 or newer; 23_wgmma needs compute capability 9.0 alone; this GPU has 8.6",
    "23_wgmma needs compute capability 9.0 alone; this GPU has 10.0",
)


def test_the_whole_ladder_leaves_out_what_the_gpu_cannot_run(on_gpu):
    for capability, steps, told in (("86", LADDER[:1], TOLD[0]), ("100", LADDER[:2], TOLD[1]), ("90", LADDER, "")):
        on_gpu(capability)
        plan = run_plan.choose(cli.parse(["run"]))
        assert (plan.steps, plan.left_out) == (steps, told)


def test_a_ladder_of_which_the_gpu_can_run_nothing_is_refused_with_what_would_work(on_gpu):
    on_gpu("86")
    with pytest.raises(UserError) as refused:
        run_plan.choose(cli.parse(["run", "--ladder", "hopper"]))
    assert str(refused.value) == f"{TOLD[0]}; with --sim they run in the simulator"
    assert run_plan.choose(cli.parse(["run", "--ladder", "hopper", "--sim"])).steps == LADDER[1:]


def test_the_recorded_set_leaves_out_what_the_gpu_cannot_run(on_gpu, tmp_path, monkeypatch, capsys):
    on_gpu("86")
    ladder = [replace(step, home=tmp_path) for step in LADDER]
    for step in ladder:
        step.folder.mkdir()
        step.kernel.write_text("", encoding="utf-8")
    monkeypatch.setattr(registry, "steps", lambda: ladder)
    plan = record.plan(cli.parse(["record", "--only", "sizes"]))
    assert {task.program for task in plan.tasks} == {"steps/01_naive"}
    assert f"Left out: {TOLD[0]}" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"22_tma needs compute capability 9\.0 or newer; this GPU has 8\.6"):
        record.plan(cli.parse(["record", "--steps", "22"]))


def asked_for(folder: Path, option: str, modules: Path | None = None) -> str:
    """What that part of common/cutlass/meson.build says that looks for the headers."""
    looks = (ROOT / "common" / "cutlass" / "meson.build").read_text(encoding="utf-8").partition("\ncutlass_args")[0]
    text = f"fs = import('fs')\n{looks}\n"
    return configured(folder, text, f"-Dcutlass={option}", PYTHONPATH=str(modules or folder))


def headers(folder: Path) -> Path:
    (folder / "cutlass").mkdir(parents=True)
    (folder / "cutlass" / "version.h").touch()
    return folder


def test_the_headers_are_a_folder_or_that_of_a_checkout(tmp_path):
    there = headers(tmp_path / "checkout" / "include")
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for project, named in (("one", there), ("two", there.parent)):
        assert f"CUTLASS: {there}\n" in asked_for(tmp_path / project, str(named))


def test_the_headers_of_the_package_are_found_without_importing_it(tmp_path):
    package = tmp_path / "modules" / "cutlass_library"
    there = headers(package / "source" / "include")
    (package / "__init__.py").write_text("raise ImportError('its own dependencies are missing')")
    (tmp_path / "project").mkdir()
    assert f"CUTLASS: {there}\n" in asked_for(tmp_path / "project", "package", tmp_path / "modules")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("/nowhere", "-Dcutlass=/nowhere: there is no cutlass/version.h in /nowhere"),
        ("package", "-Dcutlass=package: the Python package was not found; run: pip install --no-deps nvidia-cutlass"),
    ],
)
def test_headers_that_are_not_there_are_named(tmp_path, option, words):
    assert words in asked_for(tmp_path, option)
