"""`./gemm run`: build, run the ladder or one step, draw the charts."""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools import build, gpu, listing, options, plot, process, registry, simulated
from tools.environment import Environment, ensure_build
from tools.errors import Failure, UserError
from tools.paths import BUILD, CHARTS, DATA, SIMULATOR, shown
from tools.progress import meter, say
from tools.registry import Step

SIMULATOR_TARGET = "sim/libcudart.so.13"
REFUSED = 2
VERDICT = "in the simulator:"  # in the line that says whether a simulated result is right

Show = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to run, and where."""

    steps: list[Step]
    whole_ladder: bool
    simulate: bool
    here: gpu.Gpu | gpu.NoGpu
    passed_on: list[str]
    json: Path | None  # where the reader wants the records


def plan(arguments: argparse.Namespace) -> Plan:
    """Reads the command line; whatever is wrong with it is said here, before anything is installed or built."""
    ladder = registry.steps()
    if arguments.step and arguments.ladder:
        raise UserError("name a step or a --ladder, not both")
    if arguments.step:
        steps = [registry.find(arguments.step, ladder)]
    else:
        steps = registry.of_ladder(arguments.ladder, ladder) if arguments.ladder else ladder
        for one_step_only in ("variant", "list", "show_matrix"):
            if getattr(arguments, one_step_only):
                option = one_step_only.replace("_", "-")
                raise UserError(f"--{option} takes one step: ./gemm run 07 --{option} …")
    json = Path(arguments.json).absolute() if arguments.json else None
    if json:
        options.check_writable(json)
    here = gpu.detect()
    simulate = arguments.sim or isinstance(here, gpu.NoGpu)
    return Plan(steps, not arguments.step, simulate, here, options.passed_on(arguments), json)


def run(chosen: Plan, setup: bool) -> None:
    """Carries the plan out."""
    environment = ensure_build(setup)
    build.configure(environment)
    simulator = build.has_target(SIMULATOR_TARGET)
    if chosen.whole_ladder:
        build.compile_targets(environment, title="Building everything")
    else:
        needed = [f"steps/{chosen.steps[0].name}", *([SIMULATOR_TARGET] if chosen.simulate and simulator else [])]
        build.compile_targets(environment, needed, title=f"Building {chosen.steps[0].name}")

    if chosen.simulate and not SIMULATOR.exists():
        _without_simulator(chosen)
        failed = 0
    else:
        _say_where(chosen)
        failed = _run_steps(environment, chosen)
    if chosen.whole_ladder:
        if not chosen.simulate:
            assert isinstance(chosen.here, gpu.Gpu)
            listing.print_table(chosen.steps, chosen.here.folder)
        plot.draw(environment.python)
        say(f"The charts are in {shown(CHARTS)}/, the records in {shown(DATA)}/")
    elif not chosen.simulate and not chosen.json and "--list" not in chosen.passed_on:
        say("./gemm plot draws the charts again with this run in them")
    if failed:
        raise Failure(code=failed)


def _without_simulator(chosen: Plan) -> None:
    """Everything is built and nothing can be run."""
    reason = chosen.here.reason if isinstance(chosen.here, gpu.NoGpu) else "--sim was asked for"
    if not chosen.whole_ladder:
        raise UserError(f"{reason}, and there is no simulator ({shown(SIMULATOR)}): the step is built, not run")
    say(f"Not run: {reason}, and there is no simulator ({shown(SIMULATOR)}). Everything is built.")
    say("The charts are drawn from the recorded data.")


def _say_where(chosen: Plan) -> None:
    if isinstance(chosen.here, gpu.Gpu) and not chosen.simulate:
        say(f"Running on {chosen.here.name}")
    elif isinstance(chosen.here, gpu.NoGpu):
        say(f"Running in the simulator: {chosen.here.reason}. Results are checked and counted, not timed.")
    else:
        say("Running in the simulator: results are checked and counted, not timed.")


def _records_file(chosen: Plan, step: Step) -> Path | None:
    """Where a step's records go.

    The simulator's counts are written only where asked, since the committed ones are what the tests expect; a result
    that was not verified is never recorded.
    """
    if chosen.json or "--verify=off" in chosen.passed_on:
        return chosen.json
    if chosen.simulate:
        return simulated.records_file(step) if chosen.whole_ladder else None
    assert isinstance(chosen.here, gpu.Gpu)
    folder = DATA / chosen.here.folder
    if _leaves_out_work(chosen, step):
        folder /= "bottlenecks"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{step.name}.jsonl"


def _leaves_out_work(chosen: Plan, step: Step) -> bool:
    """Are the variants asked for wrong on purpose? They are recorded apart. One start measures one kind."""
    given = [word.removeprefix("--variant=") for word in chosen.passed_on if word.startswith("--variant=")]
    asked = set(given[0].split(",")) if given else set()
    if not asked - {"all"}:
        return False
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "variants.jsonl"
        command = [BUILD / "steps" / step.name, "--list", f"--json={listing}"]
        listed = subprocess.run(command, capture_output=True, check=False)
        if listed.returncode != 0:
            return False  # the run itself will say what is wrong
        variants = [json.loads(line) for line in listing.read_text(encoding="utf-8").splitlines()]
    left_out = {one["variant"] for one in variants if one.get("leaves_out")} | {"bottlenecks"}
    if asked & left_out and asked - left_out:
        raise UserError(f"{', '.join(sorted(asked & left_out))}: leaves out work and is recorded apart; run it alone")
    return bool(asked & left_out)


def command_of(chosen: Plan, step: Step) -> list[str]:
    """The command line that runs one step."""
    command = [str(BUILD / "steps" / step.name), *chosen.passed_on]
    if chosen.simulate:
        command.append("--sim")
    if "--list" not in chosen.passed_on and (file := _records_file(chosen, step)):
        command.append(f"--json={file}")
    elif chosen.json:
        command.append(f"--json={chosen.json}")
    return command


def _run_steps(environment: Environment, chosen: Plan) -> int:
    """Runs every step of the plan, one failing or not. Returns the exit code that sums them up."""
    if not chosen.whole_ladder:
        return _exit_code(process.run(command_of(chosen, chosen.steps[0]), env=environment.variables), chosen.steps[0])
    codes = []
    if chosen.simulate:
        simulated.prepare(chosen.steps)
    with meter("Running the ladder", len(chosen.steps)) as progress:
        for done, step in enumerate(chosen.steps):
            progress.show(done, detail=step.name)
            run_one = _simulate_quietly if chosen.simulate else _run_aloud
            codes.append(_exit_code(run_one(environment, chosen, step, progress.print), step))
            progress.show(done + 1, detail=step.name)
    if chosen.simulate:
        _say_what_was_counted(chosen)
    failed = [step.name for step, code in zip(chosen.steps, codes, strict=True) if code]
    if failed:
        say(f"{len(failed)} of {len(codes)} steps failed: {', '.join(failed)}")
    return next((code for code in sorted(codes) if code not in (0, REFUSED)), max(codes, default=0))


def _run_aloud(environment: Environment, chosen: Plan, step: Step, show: Show) -> int:
    """Runs a step and shows all that it prints."""
    return process.follow(command_of(chosen, step), show, env=environment.variables)


def _simulate_quietly(environment: Environment, chosen: Plan, step: Step, show: Show) -> int:
    """Simulates a step and shows only its verdict; all that it printed is kept, and shown if something is wrong."""
    lines: list[str] = []
    code = process.follow(command_of(chosen, step), lines.append, env=environment.variables)
    simulated.report_file(step).write_text("\n".join([*lines, ""]), encoding="utf-8")
    for line in lines:
        if code != 0 or VERDICT in line:
            show(line)
    return code


def _say_what_was_counted(chosen: Plan) -> None:
    files = [(step, chosen.json or simulated.records_file(step)) for step in chosen.steps]
    for line in simulated.summary(files):
        say(line)
    say("Instructions, sectors and wavefronts: of warps, for each FMA. Every line's counts: " + shown(simulated.FOLDER))


def _exit_code(code: int, step: Step) -> int:
    """A step's exit code; one that was ended by a signal says nothing itself, so it is said here."""
    if code >= 0:
        return code
    say(f"{step.name} was ended by signal {-code}")
    return 1
