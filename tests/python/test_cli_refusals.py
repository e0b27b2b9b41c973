"""Bad input to ./gemm: one clear line on the error stream, exit code 2, no traceback, nothing written."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from base.paths import ROOT


def gemm(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs ./gemm as a reader does."""
    return subprocess.run(
        [sys.executable, ROOT / "gemm", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rnu"], "choose from 'run', 'test'"),
        (["--frobnicate"], "COMMAND"),
        (["run", "99"], "there is no step '99'"),
        (["run", "naive"], "there is no step 'naive'"),
        (["run", "01", "--ladder", "fp32"], "not both"),
        (["run", "--ladder", "fp64"], "there is no ladder 'fp64'"),
        (["run", "01", "--json", "no/such/folder/x.jsonl"], "cannot be written"),
        (["run", "01", "--json", str(ROOT)], "cannot be written"),
        (["test", "--sanitise"], "test takes no '--sanitise'"),
        (["diff", "01"], "required: NEW"),
        (["diff", "01", "99"], "there is no step '99'"),
        (["list", "--gpu", "abacus"], "no records of 'abacus'"),
        (["list", "--ladder", "fp64"], "there is no ladder"),
        (["record", "--steps", "3-1"], "names no step"),
        (["record", "--only", "everything"], "--only"),
        (["record", "--time-limit", "soon"], "--time-limit"),
        (["record", "--merge", "no/such/folder"], "no such folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_is_refused_in_one_line(arguments, says):
    done = gemm(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("gemm: ") and done.stderr.count("\n") == 1, done.stderr
    assert says in done.stderr


def test_no_nvcc_and_no_setup(tmp_path):
    """Nothing may be installed, and there is no CUDA compiler: say so, and what to do."""
    code = textwrap.dedent(
        f"""
        import sys
        from pathlib import Path
        from base import cuda, packages
        from tools.cli import main
        cuda.USUAL_PLACE = Path({str(tmp_path)!r})
        packages.missing = lambda: []
        sys.exit(main(["run", "01", "--no-setup"]))
        """
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("CUDA_PATH", "CUDA_HOME")}
    environment["PATH"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "there is no nvcc" in done.stderr and "CUDA Toolkit 13" in done.stderr


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
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(2)  # a signal before the child is there would end the parent alone
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    # the child is a Python, too, and says what it thinks of the signal; we add one line and no traceback of our own
    assert errors.rstrip().endswith("gemm: stopped")
    assert "tools/" not in errors


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["record", "--help"], ["diff", "--help"]])
def test_help_is_on_the_output(arguments):
    done = gemm(*arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: ./gemm") and done.stderr == ""


def test_a_reader_that_goes_away_is_no_error():
    """As in `./gemm list | head -1`."""
    code = "import sys; from tools.cli import main; sys.exit(main(['list']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert b"Traceback" not in errors
