"""The ladder in the simulator: what it counted, as one table, instead of every step's counts line by line."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from base.environment import Environment
from base.errors import UserError
from base.languages import CHINESE, ENGLISH, percent, said
from base.paths import BUILD, DEVICES, shown
from base.registry import Step
from records import read
from tools.listing import table

DEVICE = "PTXSIM_DEVICE"  # the simulator's own name for it
FOLDER = BUILD / "simulated"
SIZE = "m × n × k"
HEADINGS = {
    ENGLISH: (
        "step",
        SIZE,
        "FMA share",
        "instructions",
        "global sectors",
        "shared wavefronts",
        "conflicts",
        "barriers",
    ),
    CHINESE: ("步骤", SIZE, "FMA 占比", "指令", "全局内存扇区", "共享内存 wavefront", "冲突", "屏障"),
}
WAVEFRONTS = ("shared_load_wavefronts", "shared_store_wavefronts", "cp_async_shared_wavefronts")


def records_file(step: Step) -> Path:
    """Where a step's counts of this run are kept."""
    return FOLDER / f"{step.name}.jsonl"


def report_file(step: Step) -> Path:
    """Where all that a step printed in this run is kept, with the counts of each source line."""
    return FOLDER / f"{step.name}.txt"


def capability(device: str) -> str:
    """The compute capability of a simulated GPU by its key in the table of devices: rtx4090 has 89."""
    table = json.loads(DEVICES.read_text(encoding="utf-8"))["gpus"]
    known = {key: gpu["capability"].replace(".", "") for key, gpu in table.items() if "capability" in gpu}
    if device not in known:
        raise UserError(f"--device {device}: there is no such GPU; choose from: {', '.join(sorted(known))}")
    return known[device]


def on(device: str, environment: Environment) -> Environment:
    """The environment in which the simulator is that GPU; "" leaves it as it is."""
    return replace(environment, variables={**environment.variables, DEVICE: device}) if device else environment


def prepare(steps: Sequence[Step]) -> None:
    """Makes room for the files of a new run."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for step in steps:
        records_file(step).unlink(missing_ok=True)
        report_file(step).unlink(missing_ok=True)


def summary(files: Sequence[tuple[Step, Path]], spoken: str = ENGLISH) -> list[str]:
    """One line for each step: its counts per FMA, so that steps at different sizes can be compared."""
    counted = [one for step, file in files for one in read(file) if one["step"] == step.name and "counts" in one]
    if not counted:
        return []
    explained = said(
        spoken,
        f"Instructions, sectors and wavefronts: of warps, per FMA. Every line's counts: {shown(FOLDER)}",
        f"指令、扇区和 wavefront 以 warp 计，均为每条 FMA 的数量。每一行源代码的计数：{shown(FOLDER)}",
    )
    heading = HEADINGS[spoken]
    return [*table([heading, *(_row(one, spoken) for one in counted)], right=range(2, len(heading))), explained]


def _row(record: dict[str, Any], spoken: str) -> tuple[str, ...]:
    counts = record["counts"]
    fma = counts["by_class"]["fma"] + counts["by_class"]["tensor"]
    sectors = counts["global_load_sectors"] + counts["cp_async_global_sectors"]
    per_fma = (counts["instructions"], sectors, sum(counts[name] for name in WAVEFRONTS))
    return (
        record["step"],
        f"{record['m']} × {record['n']} × {record['k']}",
        percent(spoken, fma / counts["instructions"]),
        *(f"{count / fma:.3f}" if fma else "–" for count in per_fma),
        str(counts["shared_load_conflicts"] + counts["shared_store_conflicts"]),
        str(counts["barriers"]),
    )
