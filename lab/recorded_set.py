"""What the recorded set of a GPU holds: which runs of which executables, and where their records go."""

import re
from dataclasses import dataclass

from tools.registry import Step

PARTS = ("sweep", "variants", "strides", "bottlenecks", "limits", "sizes")  # longest first: so they are shared out
VARIANTS_SIZES = {"fp32": (4096,)}  # of every variant; other ladders: both of these
BOTH_SIZES = (4096, 8192)
SIZES = (1024, 2048, 4096, 8192, 16384)  # of the default variants
LAST_SLOW_STEP, SLOW_LIMIT = 4, 8192  # steps before register tiling: a size more would take minutes and tell nothing
# step: sweeps, each with the number of parts that it is measured in. sgemm27's sizes are all among hgemm125's.
SWEEPS = {9: {"sgemm27": 1}, 10: {"sgemm27": 1}, 11: {"sgemm27": 1}, 20: {"hgemm125": 4, "hgemm27": 1}}
BOTTLENECKS = (16, 17, 20)
STRIDES = (17, 19, 20)
STRIDES_GIVEN = "512,1024,2048,4096,8192"
STRIDES_SIZE = 8192
# Variants whose names tell of so many stages, in dynamic shared memory, NN, FP16: the chart of stages and swizzle
STAGES = re.compile(r"(?!.*(?:static|tn_|tf32|fp32|bf16)).*stages_?\d")


@dataclass(frozen=True)
class Task:
    """One start of an executable."""

    part: str  # one of PARTS
    program: str  # within the build folder
    file: str  # of records, within the GPU's folder
    options: tuple[str, ...]
    names: re.Pattern[str] | None = None  # variants to measure besides the default; None: as `options` say

    @property
    def title(self) -> str:
        """What is run, for people and for the list of what is done."""
        words = [self.program.rsplit("/", 1)[1], *self.options]
        return " ".join([*words, *(["--variant=(those of so many stages)"] if self.names else [])])


def tasks_of(step: Step) -> list[Task]:
    """Everything that the recorded set holds of one step. Of two records of one measurement the later part's stands."""

    def task(part: str, *options: str, folder: str = "", names: re.Pattern[str] | None = None) -> Task:
        return Task(part, f"steps/{step.name}", f"{folder}{step.name}.jsonl", options, names)

    tasks = [
        task("sweep", f"--sweep={sweep}", *([f"--part={part}/{parts}"] if parts > 1 else []))
        for sweep, parts in SWEEPS.get(step.number, {}).items()
        for part in range(1, parts + 1)
    ]
    variants_sizes = VARIANTS_SIZES.get(step.ladder, BOTH_SIZES)
    tasks += [task("variants", "--variant=all", f"--size={size}") for size in variants_sizes]
    if step.number in STRIDES:
        how = ("--baseline=cublas", f"--swizzle-stride={STRIDES_GIVEN}", f"--size={STRIDES_SIZE}")
        tasks.append(task("strides", *how, names=STAGES))
        tasks += [task("strides", *how[:2], f"--size={size}") for size in SIZES[2:] if size != STRIDES_SIZE]
    if step.number in BOTTLENECKS:
        how = ("--variant=bottlenecks", "--baseline=cublas")
        tasks += [task("bottlenecks", *how, f"--size={size}", folder="bottlenecks/") for size in BOTH_SIZES]
    slow = step.number <= LAST_SLOW_STEP
    tasks += [task("sizes", f"--size={size}") for size in SIZES if not slow or size <= SLOW_LIMIT]
    return tasks


def limits() -> Task:
    """The micro-benchmark of the instructions, which belongs to no step."""
    return Task("limits", "lab/micro/mma_limit", "limits.jsonl", ())
