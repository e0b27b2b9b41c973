"""The rings of the steps for the pages: a run of each of few slices (lab/events.py), which the ring player takes apart."""

from pathlib import Path

from base import registry
from base.paths import BUILD
from lab import events
from tools.site import kernels


def write(folder: Path, work: Path, wasm: Path) -> list[str]:
    """Writes a file for each step that has a ring and is built; the names of these steps."""
    made = []
    for step in registry.steps():
        recording = events.of_step(step.name)
        executable = BUILD / "steps" / step.name
        if recording is None or not executable.is_file():
            continue
        made.append(step.name)
        file = folder / f"{step.name}.rings.js"
        stamp = file.with_suffix(".stamp")
        wanted = f"{executable.stat().st_mtime_ns} {kernels.state()} {recording}"
        if file.is_file() and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
            continue
        run = kernels.recorded_run(executable, step, "", recording.size, work, recording.settings)
        if run is None:
            made.pop()
            continue
        kernels.write_one(
            file, step, "rings", [{**kernels.compact(run), "multiprocessors": recording.multiprocessors}], wasm
        )
        stamp.write_text(wanted, encoding="utf-8")
    return made
