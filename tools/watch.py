"""`./gemm run NN --sim --watch`: on each save the step is compiled and run, and what changed in the counts is printed."""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from base import build, process
from base.environment import Environment
from base.errors import Failure
from base.languages import said
from base.paths import ROOT, shown
from base.progress import say
from base.registry import Step
from tools.run_plan import Job, Plan

LOOK_EVERY_S = 0.3
TIME = "simulated in"  # the one line of a report that differs each time
TOTAL = re.compile(r"^ +(?P<name>[A-Za-z_][\w ()]*?) {2,}(?P<value>[\d,]+.*)$")
HEADING = re.compile(r"^ *instructions .*\bline$")
NUMBER = 6  # columns at least of a line's number


@dataclass(frozen=True)
class Line:
    """A source line of a report: its number, what was counted, and its code."""

    number: str
    counts: str
    code: str


@dataclass(frozen=True)
class Report:
    """What a simulated run printed, taken apart."""

    verdict: str
    totals: dict[str, str]
    lines: list[Line]


def parsed(text: str) -> Report:
    """A report as a step prints it; of one that says something else, such as a race, only the verdict is of use."""
    totals: dict[str, str] = {}
    lines: list[Line] = []
    rows = text.splitlines()
    end = 0  # of the column with the numbers of lines; 0 before the list of lines
    for row in rows[1:]:
        if HEADING.match(row):
            end = len(row)
        elif end and row[end - NUMBER : end].strip().isdigit():
            counts, _, number = row[:end].rpartition(" ")
            lines.append(Line(number, " ".join(counts.split()), row[end:].strip()))
        elif not end and TIME not in row and (total := TOTAL.match(row)):
            totals[total["name"].strip()] = " ".join(total["value"].split())
    return Report(rows[0] if rows else "", totals, lines)


def changes(old: Report, new: Report) -> Iterator[str]:
    """What differs between two runs: totals, then source lines, which are matched by their code."""
    for name in [*new.totals, *(name for name in old.totals if name not in new.totals)]:
        before, after = old.totals.get(name, "–"), new.totals.get(name, "–")
        if before != after:
            yield f"  {name}: {before} → {after}"
    codes = [[line.code for line in report.lines] for report in (old, new)]
    for kind, first, last, new_first, new_last in SequenceMatcher(None, *codes, autojunk=False).get_opcodes():
        gone, come = old.lines[first:last], new.lines[new_first:new_last]
        if kind == "equal":
            for was, now in zip(gone, come, strict=True):
                if was.counts != now.counts:
                    yield f"  {now.number:>5}  {now.code}"
                    yield f"         {was.counts} → {now.counts}"
        else:
            yield from (f"- {line.number:>5}  {line.code}   ({line.counts})" for line in gone)
            yield from (f"+ {line.number:>5}  {line.code}   ({line.counts})" for line in come)


def watch(environment: Environment, chosen: Plan, job: Job) -> None:
    """Compiles and runs the step now and whenever a file is saved that it may include, until Ctrl-C."""
    say(said(chosen.spoken, f"Watching {shown(job.step.kernel.parent)}/ and common/; Ctrl-C ends it",
             f"正在监视 {shown(job.step.kernel.parent)}/ 和 common/，按 Ctrl-C 结束"))  # fmt: skip
    before: Report | None = None
    for _ in _saves(lambda: _stamps(job.step)):
        try:
            build.compile_targets(environment, [f"steps/{job.step.name}", build.SIMULATOR_TARGET])
        except Failure as failed:
            say(str(failed))
            continue
        code, text = process.output(job.command, environment.variables)
        report = parsed(text)
        if code != 0 or before is None:
            say(text)
        else:
            told = list(changes(before, report))
            same = said(chosen.spoken, "  no count has changed", "  计数没有变化")
            say("\n".join([report.verdict, *(told or [same])]))
        before = report if code == 0 else before


def _stamps(step: Step) -> dict[Path, int]:
    """The files that a step may include, with the times of their last change."""
    found = {}
    for folder in (step.kernel.parent, ROOT / "common" / "device"):
        for file in folder.rglob("*"):
            if file.suffix in {".cu", ".h", ".cuh"}:
                try:
                    found[file] = file.stat().st_mtime_ns
                except FileNotFoundError:  # an editor is just replacing it
                    continue
    return found


def _saves(stamps: Callable[[], dict[Path, int]]) -> Iterator[None]:
    """Yields at once, then each time that something was saved."""
    known: dict[Path, int] = {}
    while True:
        now = stamps()
        if now != known:
            known = now
            yield
        time.sleep(LOOK_EVERY_S)
