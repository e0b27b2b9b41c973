"""./gemm test counts what ran: single cases of GoogleTest and pytest, whole tests, crashes, skips."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from base import build, gpu, venv
from base.errors import Failure
from tools import suites

FAKE_GTEST = """\
import sys
xml, code, cases = sys.argv[-1].split("=", 1)[1].removeprefix("xml:"), int(sys.argv[1]), sys.argv[2]
body = {
    "p": '<testcase name="a" status="run" result="completed" classname="Suite"/>',
    "f": '<testcase name="b" status="run" result="completed" classname="Suite"><failure message="no"/></testcase>',
    "s": '<testcase name="c" status="run" result="skipped" classname="Suite"><skipped/></testcase>',
}
with open(xml, "w") as out:
    out.write('<?xml version="1.0"?><testsuites><testsuite name="Suite">')
    out.write("".join(body[letter] for letter in cases) + "</testsuite></testsuites>")
sys.exit(code)
"""
FAKE_PYTEST = """\
import pytest
@pytest.mark.parametrize("n", [1, 2, 3])
def test_good(n): pass
def test_bad(): assert 1 == 2, "so it is"
def test_skipped(): pytest.skip("no")
@pytest.fixture
def broken(): raise OSError("broken fixture")
def test_error(broken): pass
"""
MESON_BUILD = """\
project('fake')
python = import('python').find_installation()
exits = files('exits.py')
gtest = files('gtest.py')
pytest = ['-m', 'pytest', '-q', '-p', 'no:cacheprovider']
logs = '--junitxml=' + meson.project_build_root() / 'meson-logs' / 'python.xml'
"""
EXITS = """\
import os, signal, sys
code = int(sys.argv[1])
os.kill(os.getpid(), signal.SIGSEGV) if code < 0 else sys.exit(code)
"""
TESTS = """\
test('good', python, args: [exits, '0'])
test('bad', python, args: [exits, '1'], suite: 'some')
test('skipped', python, args: [exits, '77'])
test('killed', python, args: [exits, '-1'])
test('on a GPU', python, args: [exits, '1'], suite: 'gpu')
test('cases', python, args: [gtest, '1', 'ppfs'], protocol: 'gtest', suite: 'unit')
test('crash after good cases', python, args: [gtest, '3', 'pp'], protocol: 'gtest')
test('python', find_program('PYTHON'), args: [pytest, logs, files('test_some.py')], suite: 'pytest')
"""


def test_every_case_is_counted_once(tmp_path, monkeypatch, capfd):
    source, folder = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    (source / "exits.py").write_text(EXITS)
    (source / "gtest.py").write_text(FAKE_GTEST)
    (source / "test_some.py").write_text(FAKE_PYTEST)
    (source / "meson.build").write_text(MESON_BUILD + TESTS.replace("PYTHON", sys.executable))
    environment = SimpleNamespace(meson=venv.tool("meson"), variables=None)
    monkeypatch.setattr(suites, "BUILD", folder)
    monkeypatch.setattr(suites, "LOGS", folder / "meson-logs")
    monkeypatch.setattr(suites, "ensure_build", lambda _: environment)
    monkeypatch.setattr(build, "configure", lambda _: None)
    monkeypatch.setattr(build, "compile_targets", lambda _: None)
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    subprocess.run([environment.meson, "setup", folder, source], check=True, capture_output=True)
    capfd.readouterr()
    with pytest.raises(Failure):
        suites.run(setup=False)
    said = capfd.readouterr().out
    # passed: good, 2 cases, 2 before the crash, 3 of pytest; failed: bad, killed, 1 case, the crash, 2 of pytest
    assert said.splitlines()[-1] == "8 passed, 6 failed, 3 skipped"
    assert "suite gpu are left out: no NVIDIA driver is installed" in said
    assert "so it is" in said and "broken fixture" in said
