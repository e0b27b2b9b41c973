"""The comparison with a GPU's counters, on output as ncu writes it."""

import pytest

from tools import validate


def output(**values: str) -> str:
    """What ncu prints: the program's own lines, names, units, one launch."""
    names = ["ID", "Kernel Name", *validate.COUNTERS.values()]
    launch = ["0", "gemm_kernel", *(values.get(name, "0") for name in validate.COUNTERS)]
    rows = [names, [""] * len(names), launch]
    return "==PROF== Connected\n" + "\n".join(",".join(f'"{field}"' for field in row) for row in rows) + "\n"


def test_numbers_are_read_with_their_thousands():
    assert validate.parse(output(global_load_sectors="17,301,504"))["global_load_sectors"] == 17301504


def test_a_counter_that_the_gpu_does_not_have_is_left_out():
    assert "cp_async_requests" not in validate.parse(output(cp_async_requests="n/a"))


def test_no_launch_is_a_failure():
    with pytest.raises(validate.Failed, match="no launch"):
        validate.parse("==PROF== Connected\n==WARNING== No kernels were profiled.\n")


def test_sectors_per_request_follow():
    counts = validate.with_ratios({"global_load_sectors": 33.0, "global_load_requests": 2.0})
    assert counts["global_load_sectors_per_request"] == 16.5


def test_rows_that_are_nothing_on_both_sides_are_left_out_and_explanations_kept():
    ours = {"global_load_requests": 4.0, "global_load_sectors": 8.0, "shared_load_conflicts": 0.0}
    theirs = {"global_load_requests": 4.0, "global_load_sectors": 6.0, "shared_load_conflicts": 0.0}
    explained = {("01_naive", "naive", "256", "global_load_sectors"): "ptxas vectorised the loads"}
    rows = validate.compare("01_naive", "naive", 256, ours, theirs, explained)
    assert [(row["counter"], row["equal"], row["why"]) for row in rows] == [
        ("global_load_requests", "yes", ""),
        ("global_load_sectors", "no", "ptxas vectorised the loads"),
    ]


@pytest.mark.parametrize(
    ("different", "why", "code"), [(0, "", 0), (1, "seen in the SASS", 0), (1, "", 1), (4, "so", 1)]
)
def test_the_verdict_needs_equal_rows_and_reasons(capsys, different, why, code):
    row = dict.fromkeys(validate.COLUMNS, "x")
    rows = [{**row, "equal": "no" if i < different else "yes", "why": why if i < different else ""} for i in range(40)]
    assert validate.judge(rows) == code
    assert f"{40 - different} of 40 equal" in capsys.readouterr().out


def test_the_table_is_written_and_its_reasons_read_again(tmp_path):
    file = tmp_path / "validation-x.csv"
    row = {**dict.fromkeys(validate.COLUMNS, "a"), "why": "because, of a comma"}
    validate.write(file, [row])
    assert validate.explanations(file) == {("a", "a", "a", "a"): "because, of a comma"}
