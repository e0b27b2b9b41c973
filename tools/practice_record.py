"""Records what `./gemm practice` compares with beside counts: `python -m tools.practice_record [STEP …]`.

Of each task's step the work of its main loop, from which its bounds follow; and where goals are facts of a run, those of
the step and of the one before it. The steps, the simulator and the disassembler have to be there; no GPU is needed.
tests/python/test_practice.py and test_bound.py compare with what is recorded.
"""

import os
import sys

from base import registry
from base.errors import UserError
from base.paths import BUILD, shown
from base.registry import Step
from records import Record, read
from records.files import write
from tools import bound, practice_facts, practice_goals, practice_tasks
from tools.practice_tasks import Task


def of_step(task: Task, step: Step) -> Record:
    """The facts of one step that the task's goals name, and the work of the task's own."""
    variant = step.own or step.at_4096
    options = ["--variant", variant] if variant else []
    executable = BUILD / "steps" / step.name
    if not executable.is_file():
        raise UserError(f"{shown(executable)} is not built: meson compile -C {shown(BUILD)} {step.name}")
    facts, failed = practice_facts.observed(executable, options, practice_goals.facts_of(task), dict(os.environ))
    if failed:
        raise UserError(f"{step.name} failed in the simulator: {failed[1].problem}")
    record = {"task": task.step.name, "step": step.name, "facts": facts}
    if step is not task.step:
        return record
    work = bound.counted(executable, step, variant, dict(os.environ))
    if work.loop is None:
        raise UserError(f"the machine code of {step.name} cannot be read; ./gemm bound installs what reads it")
    return {**record, "work": work.recorded()}


def recordings() -> list[tuple[Task, Step]]:
    """Of which steps something is recorded, and for which task."""
    return [
        (task, step)
        for task in practice_tasks.tasks(registry.steps())
        for step in ((task.before, task.step) if practice_goals.facts_of(task) else (task.step,))
        if step
    ]


def main() -> int:
    """The command; returns the exit code. Where steps are named, only these are recorded anew."""
    ladder = registry.steps()
    known = {(record["task"], record["step"]): record for record in read(practice_goals.FACTS_FILE)}
    records = []
    try:
        asked = [registry.find(name, ladder).name for name in sys.argv[1:]]
        for task, step in recordings():
            record = known.get((task.step.name, step.name))
            if not asked or task.step.name in asked:
                record = of_step(task, step)
                print(f"{task.step.name}: {step.name} {record['facts']}", flush=True)
            records += [record] if record else []
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    write(practice_goals.FACTS_FILE, records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
