"""What `./gemm run` is asked for, as data: which steps, where, and what is started for each."""

import argparse
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from base import build, gpu, registry
from base.errors import UserError
from base.languages import ENGLISH, language
from base.paths import BUILD, DATA, shown
from base.registry import Step
from tools import simulated

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
    device: str = ""  # that is simulated, where the reader names one
    watched: bool = False  # run again on each save

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


@dataclass(frozen=True)
class Job:
    """One start of a step."""

    step: Step
    command: list[str]
    records: Path | None  # the file that it puts its records into


def choose(arguments: argparse.Namespace) -> Plan:
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
    if arguments.device and not simulate:
        raise UserError("--device names the GPU that is simulated: add --sim")
    capability = simulated.capability(arguments.device) if arguments.device else "" if simulate else here.capability
    if not asked and capability:  # one step says itself what it needs
        ladder, left_out = registry.runnable(ladder, capability)
        if not ladder:
            raise UserError(f"{left_out}; with --sim they run in the simulator")
    spoken, device = language(arguments.zh), arguments.device or ""
    chosen = Plan(ladder, not asked, simulate, here, options, file, left_out, spoken, device, arguments.watch)
    if chosen.watched and (chosen.whole_ladder or not chosen.simulate or chosen.measures_nothing):
        raise UserError("--watch runs one step in the simulator: ./gemm run 07 --sim --watch")
    if chosen.whole_ladder and chosen.given("trace") is not None:
        raise UserError("--trace writes one step's trace: name the step")
    return chosen


def jobs(chosen: Plan) -> list[Job]:
    """What is started, in order. The steps have to be built: some are asked what their variants are."""
    found = []
    for step in chosen.steps:
        file = _records_file(chosen, step)
        words = [*chosen.options, *(["--sim"] if chosen.simulate else []), *([f"--json={file}"] if file else [])]
        found.append(Job(step, [str(BUILD / "steps" / step.name), *words], file))
    return found


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
