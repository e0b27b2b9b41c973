"""The set-up of ./gemm: which compiler it takes, which packages it misses, what it does where it may not install."""

import importlib.metadata
import re

import pytest
from programs import program

from base import cuda, packages, process, venv
from base.errors import UserError
from base.paths import CUDA_REQUIREMENTS, DISASSEMBLER_REQUIREMENTS, REQUIREMENTS, SITE_REQUIREMENTS, TIDY_REQUIREMENTS


def fake_nvcc(root, version="13.0", cublas=True):
    (root / "include").mkdir(parents=True)
    if cublas:
        (root / "include" / "cublas_v2.h").touch()
    return program(root / "bin" / "nvcc", f'echo "Cuda compilation tools, release {version}, V{version}.88"')


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without CUDA."""
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(cuda, "USUAL_PLACE", tmp_path / "local" / "cuda")
    if "there is no nvcc" not in str(cuda.find()):
        pytest.skip("this machine has an nvcc in /usr/bin")
    return tmp_path


def test_nvcc_on_path(bare, monkeypatch):
    nvcc = fake_nvcc(bare / "toolkit")
    (bare / "link").mkdir()
    (bare / "link" / "nvcc").symlink_to(nvcc)
    monkeypatch.setenv("PATH", f"{bare}/link:/usr/bin:/bin")
    found = cuda.find()
    assert isinstance(found, cuda.Toolkit)
    assert (found.nvcc, found.root, found.version) == (nvcc, bare / "toolkit", "13.0")
    assert found.environment()["PATH"].startswith(f"{nvcc.parent}:")
    assert "LD_LIBRARY_PATH" not in found.environment()


def test_cuda_path_comes_before_the_usual_place(bare, monkeypatch):
    usual, named = fake_nvcc(bare / "local" / "cuda"), fake_nvcc(bare / "named", "13.1")
    assert cuda.find().nvcc == usual
    monkeypatch.setenv("CUDA_PATH", str(bare / "named"))
    assert cuda.find().nvcc == named


def test_what_cannot_be_used_is_said(bare, monkeypatch):
    monkeypatch.setenv("CUDA_PATH", str(fake_nvcc(bare / "old", "12.4").parent.parent))
    fake_nvcc(bare / "local" / "cuda", cublas=False)
    assert cuda.find() == f"{bare}/old/bin/nvcc is CUDA 12.4, not 13; {bare}/local/cuda/bin/nvcc comes without cuBLAS"
    assert cuda.ensure(setup=False).version == "13.0", "its owner knows where cuBLAS is"


def test_no_compiler_and_none_to_be_installed(bare):
    with pytest.raises(UserError, match=r"there is no nvcc on PATH nor in .*local/cuda: install the CUDA Toolkit 13"):
        cuda.ensure(setup=False)


def test_packages_without_the_rights_to_install_them(monkeypatch):
    monkeypatch.setattr(packages, "missing", lambda: ["nlohmann-json3-dev"])
    monkeypatch.setattr(packages.shutil, "which", lambda tool: f"/usr/bin/{tool}")
    monkeypatch.setattr(packages.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(process, "output", lambda *_: (1, "sudo: a password is required"))
    with pytest.raises(UserError) as refused:
        packages.ensure()
    line = "sudo apt-get update && sudo apt-get install nlohmann-json3-dev"
    assert str(refused.value).endswith(line)


def test_pins_are_installed_once(tmp_path, monkeypatch):
    pins = tmp_path / "requirements.txt"
    pins.write_text("meson==1.0\n")
    monkeypatch.setattr(venv, "VENV", tmp_path)
    codes = [1, 0, 0]
    monkeypatch.setattr(process, "run", lambda *_: codes.pop(0))
    with pytest.raises(UserError, match=r"pip could not install requirements\.txt"):
        venv.install(pins, "Installing", 0)
    venv.install(pins, "Installing", 0)
    venv.install(pins, "Installing", 0)
    assert codes == [0], "once, after the time that failed"
    pins.write_text("meson==2.0\n")
    with pytest.raises(
        UserError, match=r"the disk has .* GB free, and \.venv takes 1000000\.0 GB more: make room first"
    ):
        venv.install(pins, "Installing", 1e6)
    venv.install(pins, "Installing", 0)
    assert not codes


PINS = [REQUIREMENTS, CUDA_REQUIREMENTS, DISASSEMBLER_REQUIREMENTS, SITE_REQUIREMENTS, TIDY_REQUIREMENTS]


@pytest.mark.parametrize("pins", PINS, ids=lambda file: file.name)
def test_every_pin_is_exact_and_has_hashes(pins):
    """And what was asked for is what was pinned: requirements.in is the file that people edit."""
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", pins.read_text(), flags=re.MULTILINE).strip())
    assert all(re.match(r"[a-z0-9-]+==[\w.]+( ; .+)? \\\n +--hash=sha256:", entry) for entry in entries)
    asked = re.findall(r"^([\w-]+==[\w.]+)", pins.with_suffix(".in").read_text(), re.MULTILINE)
    assert asked and set(asked) <= {entry.split()[0] for entry in entries}


def test_our_own_tools_are_the_pinned_ones():
    """Charts and formats are compared with what the pinned versions make."""
    if not venv.running_inside():
        pytest.skip("this is not the .venv that ./gemm makes")
    pinned = re.findall(r"^([\w-]+)==([\w.]+) \\$", venv.REQUIREMENTS.read_text(), re.MULTILINE)
    assert pinned and all(importlib.metadata.version(name) == version for name, version in pinned)
