"""What the recorded set of a GPU holds: which runs of which executables, and where their records go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from base.registry import Step

# Longest first: so they are shared out.
PARTS = ("sweep", "variants", "strides", "bottlenecks", "power", "limits", "sizes")
SIZES = (1024, 2048, 4096, 8192, 16384)  # of the default variants
LAST_SLOW_STEP, SLOW_LIMIT = 4, 8192  # steps before register tiling: a size more would take minutes and tell nothing
FIRST_AT_BOTH_SIZES, BOTH_SIZES = 10, (4096, 8192)  # every variant of this step and later ones; earlier ones: at 4096
# step: sweeps, each with the number of parts that it is measured in. sgemm27's sizes are all among hgemm125's.
SWEEPS = {
    9: {"sgemm27": 1},
    10: {"sgemm27": 1},
    11: {"sgemm27": 1},
    21: {"hgemm125": 8, "hgemm27": 1},
    27: {"hgemm125": 8},
}
# Variants that a step's default chooses from, over the same sizes: tests/python/test_by_size.py holds the choice to them.
CHOSEN_FROM = {27: "large,wide,square,small,turns,split"}
STRIDES = (17, 19, 20, 21)
STRIDES_GIVEN = "512,1024,2048,4096,8192"
STRIDES_SIZE = 8192
# Variants whose names tell of so many stages, in dynamic shared memory, NN, FP16: the chart of stages and swizzle
STAGES = r"(?!.*(?:static|tn_|tf32|fp32|bf16)).*stages_?\d"
CUBLAS = "--baseline=cublas"  # alone: a third of the time less than with cublasLt, which the default variants have
BOTH, ALL = (
    "--baseline=both",
    "--baseline=all",
)  # Hopper's kernels are measured against the best of the libraries' calls
MEASURED_AGAINST_THE_BEST = "hopper"  # the ladder
# One default at a time, without a library beside it and for longer than the second that NVML's power is a mean of
ALONE = ("--size=8192", "--baseline=none", "--min-time=2.2", "--rounds=1")
HOPPER = "90"
AT_A_TIME = 8  # variants in one start, so that little is lost where a run is cut off


@dataclass(frozen=True)
class Task:
    """One start of an executable."""

    part: str  # one of PARTS
    program: str  # within the build folder
    file: str  # of records, within the GPU's folder
    options: tuple[str, ...] = ()
    variants: str = ""  # which ones besides the default: a pattern of their names; "": as `options` say
    capability: str = ""  # of the only GPUs that can run it; "": as the step says
    ladder: str = ""  # of the step

    @property
    def title(self) -> str:
        """What is run, for people and for the list of what is done."""
        named = f"--variant=({self.variants})" if self.variants else ""
        return " ".join(filter(None, [self.program.rsplit("/", 1)[1], *self.options, named]))


def tasks_of(step: Step) -> list[Task]:
    """Everything that the recorded set holds of one step."""

    def task(part: str, *options: str, variants: str = "") -> Task:
        folder = "bottlenecks/" if part == "bottlenecks" else ""
        file = f"{folder}{step.name}.jsonl"
        return Task(part, f"steps/{step.name}", file, options, variants, ladder=step.ladder)

    against_the_best = step.ladder == MEASURED_AGAINST_THE_BEST
    swept_beside, variants_beside = (BOTH, ALL) if against_the_best else (CUBLAS, CUBLAS)
    swept = [[swept_beside]]
    if step.number in CHOSEN_FROM:
        swept.append([f"--variant={CHOSEN_FROM[step.number]}", "--baseline=none"])
    tasks = [
        task("sweep", f"--sweep={sweep}", *([f"--part={part}/{parts}"] if parts > 1 else []), *options)
        for options in swept
        for sweep, parts in SWEEPS.get(step.number, {}).items()
        for part in range(1, parts + 1)
    ]
    for size in BOTH_SIZES if step.number >= FIRST_AT_BOTH_SIZES else BOTH_SIZES[:1]:
        tasks.append(task("variants", f"--size={size}", variants_beside, variants=".*"))
        if any(".leaves_out(" in source.read_text(encoding="utf-8") for source in step.sources):
            tasks.append(task("bottlenecks", "--variant=bottlenecks", f"--size={size}", CUBLAS))
    if step.number in STRIDES:
        tasks += [
            task("strides", f"--size={size}", f"--swizzle-stride={STRIDES_GIVEN}", CUBLAS)
            for size in SIZES
            if size >= 4096
        ]
        tasks.append(
            task("strides", f"--size={STRIDES_SIZE}", f"--swizzle-stride={STRIDES_GIVEN}", CUBLAS, variants=STAGES)
        )
    most = SLOW_LIMIT if step.number <= LAST_SLOW_STEP else SIZES[-1]
    tasks += [task("sizes", f"--size={size}") for size in SIZES if size <= most]
    tasks.append(Task("power", f"steps/{step.name}", "alone.jsonl", ALONE))
    return tasks


def pieces(task: Task, listed: Sequence[dict[str, Any]]) -> list[Task]:
    """A task of many variants as several of a few; `listed` is what the executable says of its variants.

    The default variant is not among them: it has tasks of its own.
    """
    if not task.variants:
        return [task]
    strides = any(option.startswith("--swizzle-stride") for option in task.options)
    names = [
        one["variant"]
        for one in listed
        if re.fullmatch(task.variants, one["variant"])
        and not (one["default"] or one.get("leaves_out") or (strides and not one.get("takes_swizzle_stride")))
    ]
    few = [",".join(names[at : at + AT_A_TIME]) for at in range(0, len(names), AT_A_TIME)]
    return [replace(task, options=(*task.options, f"--variant={some}"), variants="") for some in few]


def micro_benchmarks() -> list[Task]:
    """Those that belong to no step: the main loops of wgmma, latencies, and what instructions reach."""
    return [
        Task("power", "lab/main_loop/main_loop", "main_loop.jsonl", capability=HOPPER),
        Task("limits", "lab/latency/latency", "latency.jsonl"),
        Task("limits", "lab/micro/mma_limit", "limits.jsonl"),
    ]
