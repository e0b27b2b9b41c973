"""Records what happens in the rings of the steps: `python -m lab.events`. Pictures and the ring player are made of it.

    python -m lab.events              run the steps that have a ring, and write records/simulator/events
    python -m lab.events --only 24    those whose name begins so
    python -m lab.events --check      compare with what is recorded, write nothing; exit code 1 where something differs

The steps and the simulator have to be built. A recording is the simulator's own (docs/simulator-reference.md, format 2), of one
block or cluster and few slices of K, less its clocks, and packed: an event is a row that begins with the number of its
shape, which names the fields. No GPU is needed.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from base.code import without_comments
from base.errors import UserError
from base.paths import BUILD, ROOT, SIMULATOR, shown
from lab.recorded_files import Files
from records.events import FOLDER, Events, load, packed


@dataclass(frozen=True)
class Recording:
    """What is run: a step, and a size of one tile, or of two for one block, with more slices than the ring has stages."""

    step: str
    m: int
    n: int
    k: int
    multiprocessors: int = 1  # a persistent kernel has one block for each, or one cluster

    @property
    def size(self) -> tuple[str, ...]:
        """The options of the step."""
        return tuple(word for name in "mnk" for word in (f"--{name}", str(getattr(self, name))))

    @property
    def settings(self) -> dict[str, str]:
        """Those of the simulator."""
        return {"PTXSIM_MULTIPROCESSORS": str(self.multiprocessors)}


RECORDINGS = (
    Recording("10_cp_async", 128, 256, 80),
    Recording("17_wmma_stages", 256, 256, 320),
    Recording("22_tma", 128, 256, 384),
    Recording("23_wgmma", 128, 256, 384),
    Recording("24_warp_specialised", 128, 256, 512),
    Recording("25_overlapped_store", 256, 256, 320),
    Recording("26_clusters", 256, 384, 384, multiprocessors=2),
    Recording("27_by_size", 128, 64, 640),
    Recording("28_in_turns", 256, 192, 320),
    Recording("29_split_k", 128, 64, 640),
    Recording("31_eight_bits", 256, 256, 640),
    Recording("32_digits", 128, 128, 384),
)


def of_step(step: str) -> Recording | None:
    """What is recorded of a step, if it has a ring."""
    return next((one for one in RECORDINGS if one.step == step), None)


def simulated(recording: Recording) -> Events:
    """The events of the step's last kernel, as the simulator writes them."""
    program = BUILD / "steps" / recording.step
    if not program.is_file() or not SIMULATOR.is_file():
        absent = program if SIMULATOR.is_file() else SIMULATOR
        raise UserError(f"{shown(absent)} is not built: meson compile -C {shown(BUILD)} {absent.name}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "events.json"
        settings = {"LD_LIBRARY_PATH": str(SIMULATOR.parent), "PTXSIM_EVENTS": str(file), **recording.settings}
        line = [program, "--sim", "--verify", "off", *recording.size]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, **settings})
        if done.returncode != 0:
            raise UserError(f"{recording.step} failed in the simulator: {done.stderr.strip()}")
        return json.loads(file.read_text(encoding="utf-8"))["kernels"][-1]


def recorded(recording: Recording) -> Events:
    """The same with each place in the code by its line's text, and without what belongs to this machine."""
    found = simulated(recording)
    for site in found["sites"].values():
        file = Path(site["file"]).resolve()
        lines = file.read_text(encoding="utf-8").splitlines()
        site |= {"file": str(file.relative_to(ROOT)), "source": lines[site["line"] - 1].strip()}
    for event in found["events"]:
        del event["stamp"]
    head = {"format": 2, "step": recording.step, "m": recording.m, "n": recording.n, "k": recording.k}
    return {**head, **found}


def text_of(found: Events) -> str:
    """The file's text: places in the code and events one a line."""
    plain = {**packed(found)}
    sites, events = plain.pop("sites"), plain.pop("events")
    places = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in sites.items())
    rows = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in events)
    head = json.dumps(plain, ensure_ascii=False)[:-1]
    return f'{head},\n "sites": {{\n{places}}},\n "events": [\n{rows}]}}\n'


def essence(found: Events) -> list[str]:
    """What the events say, whatever instructions the compiler makes of a line and whatever the comment beside it says."""
    lines = []
    for event in found["events"]:
        site = found["sites"].get(str(event.get("site")), {"source": ""})
        code = " ".join(without_comments(site["source"]).split())
        lines.append(
            f"{code} {json.dumps({key: value for key, value in event.items() if key != 'site'}, sort_keys=True)}"
        )
    return lines


def main() -> int:
    """The command; returns the exit code."""
    found = {one.step: one for one in RECORDINGS}
    files = Files("lab.events", FOLDER, list(found), lambda name: recorded(found[name]), load, text_of, essence)
    return files.command(__doc__)


if __name__ == "__main__":
    sys.exit(main())
