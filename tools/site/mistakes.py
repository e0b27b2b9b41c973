"""The steps' mistakes for the pages: mutants of tests/sim/mutants.py, compiled beforehand, beside the kernel as it is."""

import tempfile
from dataclasses import replace
from pathlib import Path

from base import registry
from base.code import without_comments
from base.errors import Failure
from base.paths import BUILD, STEPS
from base.progress import say
from tests.sim import mutants
from tools.site import kernels

MOST = 6  # of a step
# Compiling their mistakes takes most of the time.
STEPS_THAT_BREAK = ("03", "06", "07", "10", "12", "16", "20", "22", "24", "26")


def chosen(step: registry.Step) -> list[mutants.Mutant]:
    """The mistakes of a step's own kernel that its default variant shows, the counted ones left out."""
    if step.name[:2] not in STEPS_THAT_BREAK:
        return []
    own = [each for each in mutants.MUTANTS if each.step == step.name and each.source == "kernel" and not each.variant]
    return [each for each in own if each.caught_by != mutants.COUNTS][:MOST]


def write(folder: Path, work: Path, wasm: Path, steps: list[registry.Step] | None = None) -> list[str]:
    """Writes a file for each step that has mistakes and is built; the names of these steps."""
    made = []
    for step in steps or registry.steps():
        if (BUILD / "steps" / step.name).is_file() and chosen(step):
            _of_step(step, folder, work, wasm)
            made.append(step.name)
    return made


def _of_step(step: registry.Step, folder: Path, work: Path, wasm: Path) -> None:
    file = folder / f"{step.name}.mistakes.js"
    stamp = file.with_suffix(".stamp")
    wanted = f"{kernels.state()}\n{(STEPS / step.name / 'kernel.cu').read_text(encoding='utf-8')}\n{chosen(step)}\n{Path(__file__).read_text()}"
    if file.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    say(f"  {step.name}: {len(chosen(step))} mistakes")
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        executable = mutants.Build(BUILD).make(chosen(step), Path(scratch))
        runtime = {"LD_LIBRARY_PATH": str(BUILD / "sim")}  # unlike a step's, its runtime stands in no path of its own
        for number, mutant in enumerate(chosen(step)):
            right = kernels.recorded_run(BUILD / "steps" / step.name, step, "", mutant.arguments, work)
            size = right and right.size
            wrong = kernels.recorded_run(executable, step, f"mutant_{number}", mutant.arguments, work, runtime, size)
            if right is None or wrong is None:
                raise Failure(f"a mistake of {step.name} could not be recorded: {mutant.kind}, '{mutant.old}'")
            runs.append(_run(mutant, kernels.compact(right), kernels.compact(on_the_inputs_of(right, wrong))))
    kernels.write_one(file, step, "mistakes", runs, wasm)
    stamp.write_text(wanted, encoding="utf-8")


def on_the_inputs_of(right: kernels.Recorded, wrong: kernels.Recorded) -> kernels.Recorded:
    """A wrong run that has ended at its first launch, on exact inputs, with the launches of the right one, of one kernel.

    The page compares C on random inputs, on which the harness would have run it next. What it leaves there is not known.
    """
    launches = right.launches["launches"]
    if len(wrong.launches["launches"]) == len(launches):
        return wrong
    [first] = wrong.launches["launches"]
    own = {"module": first["module"], "kernel": first["kernel"], "results": []}
    given = {"allocations": right.launches["allocations"], "launches": [{**each, **own} for each in launches]}
    return replace(wrong, launches={**wrong.launches, **given})


def _run(mutant: mutants.Mutant, right: dict, wrong: dict) -> dict:
    source = mutant.file.read_text(encoding="utf-8")
    begin, end = mutant.place(source)
    code = without_comments(source)
    # What is replaced, with the rest of its lines.
    first, last = code.rfind("\n", 0, begin) + 1, code.find("\n", end)
    before, after = code[first:last], code[first:begin] + mutant.new + code[end:last]
    said = {"kind": mutant.kind, "line": code.count("\n", 0, begin) + 1, "before": _trimmed(before)}
    modules = [*right["modules"], *wrong.pop("modules")]
    for launch in wrong["launches"]:
        launch["module"] += len(right["modules"])
    own = {"allocations": right["allocations"], "launches": right["launches"]}
    return {**wrong, **said, "after": _trimmed(after), "right": own, "modules": modules}


def _trimmed(code: str) -> str:
    lines = [line.rstrip() for line in code.split("\n") if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return "\n".join(line[indent:] for line in lines)
