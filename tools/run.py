"""`./gemm run`: build, run the ladder or one step, draw the charts."""

import argparse
import os
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from base import build, gpu, process, registry
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.languages import ENGLISH, language, listed, said
from base.paths import BUILD, CHARTS, DATA, shown
from base.progress import Bar, Meter, meter, say
from base.registry import Step
from tools import listing, measured, simulated

REFUSED = 2
VERDICT = "in the simulator:"  # in the line that says whether a simulated result is right
NO_MEASUREMENT = ("list", "fingerprint", "check", "help")  # options with which a step measures nothing


@dataclass(frozen=True)
class Plan:
    """What to run, and where."""

    steps: list[Step]
    whole_ladder: bool
    simulate: bool
    here: gpu.Gpu | gpu.NoGpu
    options: list[str]  # passed on to the steps' executables, which refuse what they do not know
    json: Path | None  # where the reader wants the records
    left_out: str = ""  # of the ladder, what this GPU cannot run, and why
    spoken: str = ENGLISH

    def given(self, name: str) -> str | None:
        """The value of an option that is passed on, "" where it has none, None where it is not given."""
        for word, after in pairwise([*self.options, ""]):
            if word == f"--{name}":
                return "" if after.startswith("-") else after
            if word.startswith(f"--{name}="):
                return word.partition("=")[2]
        return None

    @property
    def measures_nothing(self) -> bool:
        """Was the step only asked for what it is?"""
        return any(self.given(name) is not None for name in NO_MEASUREMENT)


def plan(arguments: argparse.Namespace) -> Plan:
    """Reads the command line. The step comes first; other words that ./gemm does not know are the steps' options."""
    ladder = registry.steps()
    options = list(arguments.rest)
    asked = options.pop(0) if options and not options[0].startswith("-") else None
    if asked and arguments.ladder:
        raise UserError("name a step or a --ladder, not both")
    if asked:
        ladder = [registry.find(asked, ladder)]
    elif arguments.ladder:
        ladder = registry.of_ladder(arguments.ladder, ladder)
    file = Path(arguments.json).absolute() if arguments.json else None
    if file and (file.is_dir() or not os.access(file.parent, os.W_OK)):
        raise UserError(f"--json {shown(file)} cannot be written: name a file in a folder that is there")
    here, left_out = gpu.detect(), ""
    simulate = arguments.sim or isinstance(here, gpu.NoGpu)
    if not asked and not simulate and here.capability:  # one step says itself what it needs
        ladder, left_out = registry.runnable(ladder, here.capability)
        if not ladder:
            raise UserError(f"{left_out}; with --sim they run in the simulator")
    chosen = Plan(ladder, not asked, simulate, here, options, file, left_out, language(arguments.zh))
    if chosen.whole_ladder and chosen.given("trace") is not None:
        raise UserError("--trace writes one step's trace: name the step")
    return chosen


def run(chosen: Plan, setup: bool) -> None:
    """Carries the plan out."""
    environment = ensure_build(setup)
    build.configure(environment)
    simulator = [build.SIMULATOR_TARGET] if chosen.simulate else []
    if not chosen.whole_ladder:
        build.compile_targets(environment, [f"steps/{chosen.steps[0].name}", *simulator])
        if not chosen.measures_nothing:
            _say_where(chosen)
        code = _exit_code(process.run(command_of(chosen, chosen.steps[0]), environment.variables), chosen.steps[0])
    else:
        if chosen.options:
            _ask_whether_they_are_known(environment, chosen)
        build.compile_targets(environment)
        _say_where(chosen)
        code = _run_ladder(environment, chosen)
        if isinstance(chosen.here, gpu.Gpu) and not chosen.simulate:
            listing.print_table(chosen.steps, chosen.here.folder, chosen.spoken)
        say(said(chosen.spoken, "Drawing the charts", "正在画图表"))
        drawn = process.run([sys.executable, "-m", "plots.draw", *_beside(chosen)])
        code = code or drawn
        if drawn == 0:
            charts, data = f"{shown(CHARTS)}/", f"{shown(DATA)}/"
            say(said(chosen.spoken, f"The charts are in {charts}, the records in {data}",
                     f"图表在 {charts}，记录在 {data}"))  # fmt: skip
    if code:
        raise Failure(code=code)


def _beside(chosen: Plan) -> list[str]:
    """The option that has the charts show the GPU that is here beside the course's own."""
    here = chosen.here.folder if isinstance(chosen.here, gpu.Gpu) else measured.REFERENCE_GPU
    timed = any((DATA / here / f"{step.name}.jsonl").exists() for step in chosen.steps)
    return [f"--beside={here}"] if timed and here != measured.REFERENCE_GPU else []


def _ask_whether_they_are_known(environment: Environment, chosen: Plan) -> None:
    """Lets one step read the options, so that a mistake in them does not cost the building of every step."""
    build.compile_targets(environment, [f"steps/{chosen.steps[0].name}"])
    command = [BUILD / "steps" / chosen.steps[0].name, *chosen.options, "--list"]
    code, text = process.output(command, environment.variables)
    if code == REFUSED:
        raise UserError(text.partition(": ")[2])


def _say_where(chosen: Plan) -> None:
    if isinstance(chosen.here, gpu.Gpu) and not chosen.simulate:
        say(said(chosen.spoken, f"Running on {chosen.here.name}", f"在 {chosen.here.name} 上运行"))
        if chosen.left_out:
            say(said(chosen.spoken, "Left out: ", "不运行：") + chosen.left_out)
    else:
        reason = chosen.here.reason if isinstance(chosen.here, gpu.NoGpu) else ""
        english = f"Running in the simulator{reason and f': {reason}'}. Results are checked and counted, not timed."
        chinese = f"在模拟器里运行{reason and f'（{reason}）'}。结果会检查并计数，但不计时。"
        say(said(chosen.spoken, english, chinese))


def command_of(chosen: Plan, step: Step) -> list[str]:
    """The command line that runs one step."""
    file = _records_file(chosen, step)
    words = [*chosen.options, *(["--sim"] if chosen.simulate else []), *([f"--json={file}"] if file else [])]
    return [str(BUILD / "steps" / step.name), *words]


def _records_file(chosen: Plan, step: Step) -> Path | None:
    """Where a step's records go.

    The simulator's counts are written only where asked, since the committed ones are what the tests expect; a result
    that was not verified is never recorded.
    """
    if chosen.json or chosen.measures_nothing or chosen.given("verify") == "off":
        return chosen.json
    if not isinstance(chosen.here, gpu.Gpu) or chosen.simulate:
        return simulated.records_file(step) if chosen.whole_ladder else None
    folder = DATA / chosen.here.folder / ("bottlenecks" if _leaves_out_work(chosen, step) else "")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{step.name}.jsonl"


def _leaves_out_work(chosen: Plan, step: Step) -> bool:
    """Are the variants asked for wrong on purpose? They are recorded apart. One start measures one kind."""
    asked = set((chosen.given("variant") or "all").split(","))
    if asked == {"all"}:
        return False
    try:
        variants = build.variants(f"steps/{step.name}")
    except UserError:
        return False  # the run itself will say what is wrong
    left_out = {one["variant"] for one in variants if one.get("leaves_out")} | {"bottlenecks"}
    if asked & left_out and asked - left_out:
        raise UserError(f"{', '.join(sorted(asked & left_out))}: leaves out work and is recorded apart; run it alone")
    return bool(asked & left_out)


def _run_ladder(environment: Environment, chosen: Plan) -> int:
    """Runs every step of the plan, one failing or not. Returns the exit code that sums them up."""
    simulated.prepare(chosen.steps)
    codes = {}
    with meter("Running the ladder", len(chosen.steps)) as progress:
        for step in chosen.steps:
            progress.show(len(codes), step.name)
            codes[step.name] = _exit_code(_run_one(environment, chosen, step, progress), step)
        progress.show(len(codes))
    if chosen.simulate:
        files = [(step, chosen.json or simulated.records_file(step)) for step in chosen.steps]
        for line in simulated.summary(files, chosen.spoken):
            say(line)
    failed = [name for name, code in codes.items() if code]
    if failed:
        names = listed(chosen.spoken, failed)
        say(said(chosen.spoken, f"{len(failed)} of {len(codes)} steps failed: {names}",
                 f"{len(codes)} 步里有 {len(failed)} 步失败：{names}"))  # fmt: skip
    return next((code for code in sorted(codes.values()) if code not in (0, REFUSED)), max(codes.values()))


def _run_one(environment: Environment, chosen: Plan, step: Step, progress: Bar | Meter) -> int:
    """Runs a step of the ladder and shows all that it prints; of a right one in the simulator only the verdict."""
    command = command_of(chosen, step)
    if not chosen.simulate:
        return process.follow(command, progress.print, environment.variables)
    code, text = process.output(command, environment.variables)
    simulated.report_file(step).write_text(text + "\n", encoding="utf-8")
    for line in text.splitlines():
        if code != 0 or VERDICT in line:
            progress.print(line)
    return code


def _exit_code(code: int, step: Step) -> int:
    """A step's exit code; one that was ended by a signal says nothing itself, so it is said here."""
    if code >= 0:
        return code
    say(f"{step.name} was ended by signal {-code}")
    return 1
