"""Records the facts that `./gemm practice` compares with: `python -m tools.practice_record`.

For every task whose goals hold facts of a run, those of the step and of the one before it. The steps and the
simulator have to be built; no GPU is needed. tests/python/test_practice.py compares with what is recorded.
"""

import os
import sys

from base import registry
from base.errors import UserError
from base.paths import BUILD, shown
from base.registry import Step
from records.files import Record, write
from tools import practice_facts, practice_goals, practice_tasks
from tools.practice_tasks import Task


def of_step(task: Task, step: Step) -> Record:
    """The facts of one step that the task's goals name."""
    variant = step.own or step.at_4096
    options = ["--variant", variant] if variant else []
    executable = BUILD / "steps" / step.name
    if not executable.is_file():
        raise UserError(f"{shown(executable)} is not built: meson compile -C {shown(BUILD)} {step.name}")
    facts, failed = practice_facts.observed(executable, options, practice_goals.facts_of(task), dict(os.environ))
    if failed:
        raise UserError(f"{step.name} failed in the simulator: {failed[1].problem}")
    return {"task": task.step.name, "step": step.name, "facts": facts}


def recordings() -> list[tuple[Task, Step]]:
    """Of which steps facts are recorded, and for which task."""
    with_facts = [task for task in practice_tasks.tasks(registry.steps()) if practice_goals.facts_of(task)]
    return [(task, step) for task in with_facts for step in (task.before, task.step) if step]


def main() -> int:
    """The command; returns the exit code."""
    try:
        records = [of_step(task, step) for task, step in recordings()]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    write(practice_goals.FACTS_FILE, records)
    for record in records:
        print(f"{record['task']}: {record['step']} {record['facts']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
