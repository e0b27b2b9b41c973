"""Bad input to ./gemm: one clear line on the error stream, exit code 2, no traceback, nothing written."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from programs import ran

from base import gpu
from base.paths import ROOT
from tools import cli, practice_tasks, profile_ncu

# What is typed behind ./gemm, on a machine with one H200 on which nothing of Nsight Compute is installed, and what is said.
REFUSED = {
    "rnu": "choose from 'run', 'test'",
    "--frobnicate": "COMMAND",
    "run 99": "there is no step '99'",
    "run naive": "there is no step 'naive'",
    "run 01 --ladder fp32": "not both",
    "run --ladder fp64": "there is no ladder 'fp64'",
    "run 01 --json no/such/folder/x.jsonl": "cannot be written",
    "run 01 --json /": "cannot be written",
    "run --sim --trace t.json": "name the step",
    "run 20 --device rtx4090": "add --sim",
    "run --sim --device gtx480": "--device gtx480: there is no such GPU; choose from: a100, b200, gb10, h100",
    "run --sim --watch": "--watch runs one step in the simulator: ./gemm run 07 --sim --watch",
    "run 03 --sim --watch --list": "--watch runs one step in the simulator: ./gemm run 07 --sim --watch",
    "test --sanitise": "test takes no '--sanitise'",
    "test --changed --since nonsense": "git knows no commit 'nonsense'",
    "diff 01": "required: NEW",
    "diff 01 99": "there is no step '99'",
    "list --gpu abacus": "no records of 'abacus'",
    "list --ladder fp64": "there is no ladder",
    "record --steps 3-1": "names no step",
    "record --only everything": "--only",
    "record --time-limit soon": "--time-limit",
    "record --merge no/such/folder": "no such folder",
    **{f"record --devices={devices}": f"--devices {devices}: " for devices in ("4", "0,x", "", "0,0", "-1")},
    "practice 99": "there is no step '99'",
    "practice 01": "there is no practice for step 01",
    "practice --hint": "--hint needs a step",
    "practice --watch": "--watch needs a step",
    "practice 08 --hint --solution": "not allowed with",
    "practice 08 --size 64": "practice takes no '--size'",
    "profile": "required: STEP",
    "profile 07": "there is no ncu (Nsight Compute)",
    "profile 07 --size 0": "a size is a positive number",
    "profile 07 --size big": "invalid int value",
    "profile 07 --variant all": "name one variant",
    "profile 07 --output gemm": "is no folder",
    "profile 07 --sweep": "profile takes no '--sweep'",
    "bound 07 --gpu nonsense": "--gpu nonsense: there is no such GPU; choose from h200, h100, rtx4090, a100, l20",
    "bound 07 --gpu b200": "--gpu b200: its clock or compute capability is not in sim/devices.json",
    "bound 23 --gpu a100": "23_wgmma needs compute capability 9.0 alone; NVIDIA A100 has 8.0",
    "bound 07 --gpu sms=10": "--gpu: it lacks clock_mhz and capability",
    "bound 07 --gpu sms=ten,clock_mhz=1,capability=9.0": "--gpu: sms=ten: that is no number for it",
    "bound 07 --gpu sms=0,clock_mhz=1,capability=9.0": "--gpu: sms=0: that is no number for it",
    "bound 07 --gpu lanes=1": "--gpu: there is no number 'lanes'",
    "bound 07 --gpu sms=1,clock_mhz=1,capability=hopper": "--gpu: capability=hopper: write it as 9.0",
    "bound 07 --size 0": "--size 0: has to be between 1 and 65536",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_is_refused_in_one_line(arguments, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA H200", 1, ("90",)))
    monkeypatch.setattr(profile_ncu, "INSTALLED", ())
    monkeypatch.setattr(practice_tasks, "PRACTICE", tmp_path / "practice")
    for name in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    if arguments.startswith("profile"):
        monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(ROOT)
    assert cli.main(arguments.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("gemm: ") and err.count("\n") == 1 and REFUSED[arguments] in err, err
    assert not list(tmp_path.iterdir())


def started(code: str, **how) -> subprocess.Popen[str]:
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, text=True, **both, **how)


def test_ctrl_c_leaves_cleanly():
    code = textwrap.dedent(
        """
        import signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts with Ctrl-C ignored
        from base import process
        from tools import cli
        def _list(*_):
            print("started", flush=True)
            process.run([sys.executable, "-c", "import time; time.sleep(60)"])
        cli._list = _list
        sys.exit(cli.main(["list"]))
        """
    )
    with started(code, start_new_session=True) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(2)  # a signal before the child is there would end the parent alone
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    # the child is a Python, too, and says what it thinks of the signal; we add one line and no traceback of our own
    assert errors.rstrip().endswith("gemm: stopped")
    assert "tools/" not in errors


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_is_on_the_output(arguments):
    done = ran(sys.executable, ROOT / "gemm", *arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ./gemm") and done.stderr == ""


def test_a_reader_that_goes_away_is_no_error():
    """As in `./gemm list | head -1`."""
    code = "import sys; from tools.cli import main; sys.exit(main(['list']))"
    with started(code) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert "Traceback" not in errors
