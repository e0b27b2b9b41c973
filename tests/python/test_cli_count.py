"""./gemm test counts what ran: single GoogleTest cases, whole tests, crashes, skips."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tools import suites, venv
from tools.suites import Count

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
MESON_BUILD = """\
project('fake')
python = import('python').find_installation()
exits = files('exits.py')
gtest = files('gtest.py')
"""


@pytest.fixture
def run_fake(tmp_path, monkeypatch):
    """Runs `meson test` on made-up tests and counts them as ./gemm test does."""
    source, build = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    (source / "exits.py").write_text(
        "import os, signal, sys\ncode = int(sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGSEGV) if code < 0 else sys.exit(code)\n"
    )
    (source / "gtest.py").write_text(FAKE_GTEST)

    def run(*tests: str) -> Count:
        (source / "meson.build").write_text(MESON_BUILD + "\n".join(tests) + "\n")
        meson = venv.tool("meson")
        subprocess.run([meson, "setup", build, source], check=True, capture_output=True)
        monkeypatch.setattr(suites, "BUILD", build)
        return suites.run_meson(SimpleNamespace(meson=meson, variables=None))

    return run


def test_whole_tests(run_fake, capsys):
    count = run_fake(
        "test('good', python, args: [exits, '0'])",
        "test('bad', python, args: [exits, '1'], suite: 'some')",
        "test('skipped', python, args: [exits, '77'], suite: 'gpu')",
        "test('crashed', python, args: [exits, '-1'])",
    )
    assert count == Count(passed=1, failed=2, skipped=1)
    said = capsys.readouterr().out
    assert "bad" in said and "FAIL" in said


def test_single_cases_are_counted(run_fake):
    count = run_fake(
        "test('cases', python, args: [gtest, '1', 'ppfs'], protocol: 'gtest', suite: 'unit')",
        "test('more', python, args: [gtest, '0', 'ppp'], protocol: 'gtest')",
        "test('plain', python, args: [exits, '0'])",
    )
    assert count == Count(passed=6, failed=1, skipped=1)


def test_a_crash_after_good_cases_is_a_failure(run_fake):
    assert run_fake("test('crash', python, args: [gtest, '3', 'pp'], protocol: 'gtest')") == Count(passed=2, failed=1)


def test_a_suite_that_skips_itself_is_one_skip(run_fake):
    assert run_fake("test('gpu', python, args: [exits, '77'], protocol: 'gtest')") == Count(skipped=1)


def test_pytest_is_counted(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_good(n): pass\n"
        "def test_bad(): assert 1 == 2, 'so it is'\n"
        "def test_skipped(): pytest.skip('no')\n"
        "@pytest.fixture\ndef broken(): raise OSError('broken fixture')\ndef test_error(broken): pass\n"
    )
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    count = suites.run_pytest(SimpleNamespace(python=sys.executable, variables={"PATH": "/usr/bin:/bin"}))
    assert count == Count(passed=3, failed=2, skipped=1)
    said = capsys.readouterr().out
    assert "so it is" in said and "broken fixture" in said and "test_good" not in said


def test_tests_that_cannot_be_collected_are_a_failure(tmp_path, monkeypatch):
    folder = tmp_path / "tests" / "python"
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text("import there_is_no_such_module\n")
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    count = suites.run_pytest(SimpleNamespace(python=sys.executable, variables={"PATH": "/usr/bin:/bin"}))
    assert count.failed >= 1 and count.passed == 0


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (Count(3, 0, 0), "3 passed, 0 failed"),
        (Count(3, 1, 0), "3 passed, 1 failed"),
        (Count(3, 0, 2), "3 passed, 0 failed, 2 skipped"),
    ],
)
def test_the_last_line(count, line):
    assert str(count) == line


def test_a_report_that_is_broken_off_counts_nothing(tmp_path):
    report = tmp_path / "report.xml"
    report.write_text("<testsuites><testsuite><testcase name='a'>")
    assert suites.count_junit(report) == Count()
    assert suites.count_junit(tmp_path / "missing.xml") == Count()
