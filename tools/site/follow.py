"""Where elements go in the steps whose pages ask it, as the native simulator says it: for the tests to compare with."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from base import registry
from base.paths import BUILD
from tools.site import explorable, kernels

ELEMENTS = ((0, 9, 7), (1, 3, 45))  # array (A, then B), row, column


def write(folder: Path, work: Path) -> None:
    """Writes STEP.follow.expected.json for each of these steps that is built and has its kernel in the folder."""
    for step in registry.steps():
        if step.name not in explorable.FOLLOWED or not (BUILD / "steps" / step.name).is_file():
            continue
        (folder / f"{step.name}.follow.expected.json").write_text(
            json.dumps(list(_of_step(step, work))), encoding="utf-8"
        )


def _of_step(step: registry.Step, work: Path) -> Iterator[dict]:
    """Of each element its place, and the simulator's answer for the step's smallest run."""
    variant, executable = kernels.variants(step)[0], BUILD / "steps" / step.name
    run = kernels.recorded_run(executable, step, variant, (), work)
    m, n, k = run.size
    arrays = list(dict.fromkeys(number for _, number, *_ in run.launches["launches"][-1]["pointers"]))  # A, B, C
    for array, row, col in ELEMENTS:
        rows, cols = (k, n) if array else (m, k)
        width = run.launches["allocations"][arrays[array]] // (rows * cols)
        asked = f"{array}:{(row * cols + col) * width}:{width}"
        with tempfile.NamedTemporaryFile(dir=work, suffix=".json") as events:
            settings = {"PTXSIM_EVENTS": events.name, "PTXSIM_FOLLOW": asked}
            kernels.recorded_run(executable, step, variant, (), work, settings)
            followed = json.loads(Path(events.name).read_text(encoding="utf-8"))["kernels"][-1]["followed"]
        yield {"of": "AB"[array], "row": row, "col": col, "followed": followed}
