"""What the recorded set of a GPU holds: which runs of which executables, and where their records go."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from base.paths import ROOT
from base.registry import Step

# Longest first: so they are shared out.
PARTS = ("sweep", "choice", "variants", "scaled", "strides", "bottlenecks", "few-rows", "power", "limits", "sizes")
SIZES = (1024, 2048, 4096, 8192, 16384)  # of the default variants, where the step names no largest
BOTH_SIZES = (4096, 8192)  # of every variant, where the step says nothing else
BETA = "--beta=0.5"  # of the part `scaled`: the old C is read
STRIDES_GIVEN = "512,1024,2048,4096,8192"
STRIDES_SIZE = 8192
# Variants whose names tell of so many stages, in dynamic shared memory, NN, FP16: the chart of stages and swizzle
STAGES = r"(?!.*(?:static|tn_|tf32|fp32|bf16)).*stages_?\d"
CUBLAS = "--baseline=cublas"  # alone: a third of the time less than with cublasLt, which the default variants have
BOTH, ALL = (
    "--baseline=both",
    "--baseline=all",
)  # Hopper's kernels are measured against the best of the libraries' calls
MEASURED_AGAINST_THE_BEST = ("hopper", "precision")  # the ladders
# One default at a time, without a library beside it and for longer than the second that NVML's power is a mean of
ALONE = ("--size=8192", "--baseline=none", "--min-time=2.2", "--rounds=1")
HOPPER = "90"
IN_TURN = ROOT / "lab" / "in_turn" / "plan.txt"  # sizes, and the kernels that are timed there
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

    against_the_best = step.ladder in MEASURED_AGAINST_THE_BEST
    swept_beside, variants_beside = (BOTH, ALL) if against_the_best else (CUBLAS, CUBLAS)
    tasks = [
        task("sweep", f"--sweep={sweep}", *([f"--part={part}/{parts}"] if parts > 1 else []), swept_beside)
        for sweep, parts in step.recorded.get("sweeps", {}).items()
        for part in range(1, parts + 1)
    ]
    if step.recorded.get("chosen_from"):  # in turn with each other: lab/chooser.py makes the launcher's constants of it
        tasks.append(Task("choice", "lab/in_turn/in_turn", f"{step.name}.jsonl", (str(IN_TURN),), ladder=step.ladder))
    for size in step.recorded.get("variants_at", BOTH_SIZES):
        tasks.append(task("variants", f"--size={size}", variants_beside, variants=".*"))
        if any(".leaves_out(" in source.read_text(encoding="utf-8") for source in step.sources):
            tasks.append(task("bottlenecks", "--variant=bottlenecks", f"--size={size}", CUBLAS))
    scaled = [f"--variant={','.join(names)}"] if (names := step.recorded.get("scaled_variants")) else []
    tasks += [task("scaled", *_edges(size), *scaled, BETA, BOTH) for size in step.recorded.get("scaled", ())]
    for sweep, parts in step.recorded.get("scaled_sweeps", {}).items():
        tasks += [task("scaled", f"--sweep={sweep}", f"--part={i}/{parts}", BETA, BOTH) for i in range(1, parts + 1)]
    if few := step.recorded.get("few_rows"):
        chosen = f"--variant={','.join(few['variants'])}"
        tasks += [task("few-rows", *_edges(size), chosen, ALL) for size in few["sizes"]]
    if step.recorded.get("strides"):
        tasks += [
            task("strides", f"--size={size}", f"--swizzle-stride={STRIDES_GIVEN}", CUBLAS)
            for size in SIZES
            if size >= 4096
        ]
        tasks.append(
            task("strides", f"--size={STRIDES_SIZE}", f"--swizzle-stride={STRIDES_GIVEN}", CUBLAS, variants=STAGES)
        )
    most = step.recorded.get("largest", SIZES[-1])
    tasks += [task("sizes", f"--size={size}") for size in SIZES if size <= most]
    tasks.append(Task("power", f"steps/{step.name}", "alone.jsonl", ALONE))
    return tasks


def _edges(size: Sequence[int]) -> list[str]:
    """The options that name a size."""
    return [f"--{name}={edge}" for name, edge in zip("mnk", size, strict=True)]


def pieces(task: Task, listed: Sequence[dict[str, Any]]) -> list[Task]:
    """A task of many variants as several of a few; `listed` is what the executable says of its variants.

    The default variant is not among them: it has tasks of its own. Nor is what the GPU does not hold.
    """
    if not task.variants:
        return [task]
    strides = any(option.startswith("--swizzle-stride") for option in task.options)
    names = [
        one["variant"]
        for one in listed
        if re.fullmatch(task.variants, one["variant"])
        and one.get("fits", True)
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
