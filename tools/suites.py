"""`./gemm test`: every test there is, and one line that counts them."""

import json
import re
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from tools import build, process
from tools.environment import Environment, ensure_build
from tools.errors import Failure
from tools.paths import BUILD, ROOT
from tools.progress import Meter, meter, say

MESON_RESULT = re.compile(
    r"^\s*(?P<done>\d+)/(?P<total>\d+) (?P<name>.+?)\s+"
    r"(?P<result>OK|EXPECTEDFAIL|SKIP|FAIL|ERROR|TIMEOUT|UNEXPECTEDPASS|INTERRUPT|IGNORED)\b"
)
PYTEST_RESULT = re.compile(r"^(?P<name>\S+::.+?) (?P<result>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
PYTEST_TOTAL = re.compile(r"^collected (?P<total>\d+) items?\b")
GOOD, SKIPPED = {"OK", "EXPECTEDFAIL", "PASSED", "XFAIL"}, {"SKIP", "IGNORED", "SKIPPED"}


@dataclass
class Count:
    """How many tests passed, failed and were skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def run(setup: bool) -> None:
    """Builds everything, runs every test, prints the count as the last line; fails if anything did."""
    environment = ensure_build(setup)
    build.configure(environment)
    build.compile_targets(environment, title="Building everything")
    compiled = run_meson(environment)
    python = run_pytest(environment)
    say(f"Compiled tests: {compiled}")
    say(f"Python tests: {python}")
    total = compiled + python
    say(str(total))
    if total.failed or not total.passed:
        raise Failure()


def run_meson(environment: Environment) -> Count:
    """`meson test`: the C++ tests, and on a GPU the steps. What failed is shown with its output."""
    log = BUILD / "meson-logs" / "testlog.json"
    junit = BUILD / "meson-logs" / "testlog.junit.xml"
    for old in (log, junit):
        old.unlink(missing_ok=True)
    command = [environment.meson, "test", "-C", BUILD, "--no-rebuild", "--print-errorlogs"]
    with meter("Compiled tests") as progress:
        code = process.follow(command, _Watcher(progress, MESON_RESULT), env=environment.variables)
    count = count_meson(log, junit)
    if code != 0 and not count.failed:  # meson itself failed, or a test was counted as what it is not
        count.failed += 1
    return count


def run_pytest(environment: Environment) -> Count:
    """The Python tests."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "pytest.xml"
        command = [
            environment.python,
            "-m",
            "pytest",
            "-v",
            "--tb=short",
            f"--junitxml={report}",
            ROOT / "tests/python",
        ]
        variables = {**environment.variables, "GEMM_BUILD_DIR": str(BUILD), "COLUMNS": "120"}
        with meter("Python tests") as progress:
            code = process.follow(command, _Watcher(progress, PYTEST_RESULT), env=variables)
        count = count_junit(report)
    if code != 0 and not count.failed:
        count.failed += 1
    return count


def count_meson(log: Path, junit: Path) -> Count:
    """Counts single cases where a test reports them (GoogleTest's do), whole tests elsewhere."""
    total = Count()
    reported = _reported_cases(junit)
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        test = json.loads(line)
        whole = _one(test["result"])
        cases = sum((count for suite, count in reported if suite.startswith(test["name"] + ".")), Count())
        if cases == Count() or (whole.failed and not cases.failed) or whole.skipped:
            total += whole  # it reports no cases, or crashed after good ones, or skipped itself as a whole
        if not whole.skipped:
            total += cases
    return total


def count_junit(report: Path) -> Count:
    """Counts the cases of one JUnit file; a file that is missing or broken off counts nothing."""
    try:
        root = ET.parse(report).getroot()
    except (OSError, ET.ParseError):
        return Count()
    return sum((_case(case) for case in root.iter("testcase")), Count())


class _Watcher:
    """Follows a test runner: moves the bar, lets through what it says about failures."""

    def __init__(self, progress: Meter, result: re.Pattern[str]) -> None:
        self.progress = progress
        self.result = result
        self.done = 0
        self.total = 0
        self.failing = False

    def __call__(self, line: str) -> None:
        found = self.result.match(line)
        if total := PYTEST_TOTAL.match(line):
            self.total = int(total["total"])
        elif found:
            groups = found.groupdict()
            self.done = int(groups.get("done") or self.done + 1)
            self.total = int(groups.get("total") or self.total)
            self.failing = found["result"] not in GOOD | SKIPPED
            self.progress.show(self.done, self.total, found["name"].split("/")[-1])
            if self.failing:
                self.progress.print(re.sub(r"\s+\[\s*\d+%\]$", "", line.strip()))
        elif self.failing or self._is_report(line):
            self.failing = True
            self.progress.print(line)

    @staticmethod
    def _is_report(line: str) -> bool:
        """Where a runner's report of failures begins: pytest's after all results, meson's own errors."""
        return bool(re.match(r"^=+ (FAILURES|ERRORS) =+$", line)) or "ERROR:" in line


def _one(result: str) -> Count:
    if result in GOOD:
        return Count(passed=1)
    return Count(skipped=1) if result in SKIPPED else Count(failed=1)


def _case(case: ET.Element) -> Count:
    children = {child.tag for child in case}
    if children & {"failure", "error"}:
        return Count(failed=1)
    return Count(skipped=1) if "skipped" in children or case.get("status") == "notrun" else Count(passed=1)


def _reported_cases(junit: Path) -> list[tuple[str, Count]]:
    """The suites that tests report themselves. Meson names them `project.test.suite`; here they lose the project."""
    try:
        suites = list(ET.parse(junit).getroot().iter("testsuite"))
    except (OSError, ET.ParseError):
        return []
    return [
        (suite.get("name", "").partition(".")[2], sum((_case(case) for case in suite.iter("testcase")), Count()))
        for suite in suites
    ]
