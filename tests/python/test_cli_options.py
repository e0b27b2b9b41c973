"""The step options that ./gemm passes on are those that a step's executable takes."""

import re

import pytest

from tools import cli, options, run
from tools.errors import UserError
from tools.paths import ROOT

HANDLED_HERE = {"json", "sim"}  # ./gemm run has its own, and passes them on in its own way


def test_the_table_is_the_harness_s_command_line():
    source = (ROOT / "common" / "harness" / "cli.cpp").read_text()
    taken = set(re.findall(r'add_(?:option|flag)\("--([a-z-]+)"', source))
    assert {option.name for option in options.STEP_OPTIONS} | HANDLED_HERE == taken


def test_the_choices_are_the_harness_s():
    source = "".join(file.read_text() for file in (ROOT / "common" / "harness").glob("*.cpp"))
    for option in options.STEP_OPTIONS:
        for choice in option.choices:
            assert f'"{choice}"' in source, f"--{option.name} {choice}"


def test_options_are_passed_on_as_given():
    parsed = cli.parse(
        ["run", "07", "--size", "1024", "--size", "2048", "--variant=all", "--alpha", "-1.5", "--min-time", "0.2"]
    )
    assert options.passed_on(parsed) == [
        "--size=1024",
        "--size=2048",
        "--variant=all",
        "--alpha=-1.5",
        "--min-time=0.2",
    ]


def test_nothing_is_passed_on_unasked():
    assert options.passed_on(cli.parse(["run", "1"])) == []
    assert options.passed_on(cli.parse(["run", "1", "--list"])) == ["--list"]


def test_other_scripts_get_what_we_do_not_know():
    parsed = cli.parse(["plot", "--no-setup", "--check"])
    assert parsed.no_setup and parsed.rest == ["--check"]
    assert cli.parse(["validate", "--steps", "01"]).rest == ["--steps", "01"]


def test_a_step_or_a_ladder_not_both():
    with pytest.raises(UserError, match="not both"):
        run.plan(cli.parse(["run", "1", "--ladder", "fp32"]))


def test_a_file_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    target = tmp_path / "x.jsonl"
    options.check_writable(target)
    monkeypatch.setattr(options.os, "access", lambda *_: False)
    with pytest.raises(UserError, match="may not be written"):
        options.check_writable(target)


def test_several_strides_variants_and_a_part_are_passed_on():
    parsed = cli.parse(
        ["run", "17", "--swizzle-stride", "512,1024", "--variant", "a,b", "--sweep", "hgemm27", "--part", "2/4"]
    )
    assert options.passed_on(parsed) == [
        "--variant=a,b",
        "--sweep=hgemm27",
        "--part=2/4",
        "--swizzle-stride=512,1024",
    ]


@pytest.mark.parametrize(
    "words",
    [["--swizzle-stride", "512,,1"], ["--swizzle-stride", "0"], ["--part", "3/2"], ["--part", "x/2"], ["--part", "1"]],
)
def test_what_is_no_stride_and_no_part_is_refused(words):
    with pytest.raises(UserError, match=f"{words[0]} takes"):
        cli.parse(["run", "17", *words])
