"""`./gemm profile 07`: Nsight Compute on one launch of a step, as one page of the figures that the chapters use."""

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from base import build, gpu, process, registry
from base.environment import ensure_build
from base.errors import Failure, UserError
from base.languages import language
from base.paths import BUILD, shown
from base.progress import say as print_line
from base.registry import Step
from lab import ncu, validate
from lab.variant_kernels import products_of
from records import read
from tools import measured, profile_ncu
from tools.profile_page import Counts, Profile, page
from tools.profile_words import say

SIZE = measured.FIGURE_SIZE
SIMULATED_SIZE = 512  # what is compared with the simulator, which counts it in seconds
LARGEST_SIMULATED = 1024
REFUSED = 2  # the exit code of a step


@dataclass(frozen=True)
class Plan:
    """What is profiled, where the report goes, and in which language the page is."""

    step: Step
    variant: str  # "": the default one
    size: int  # m = n = k
    folder: Path
    here: gpu.Gpu
    ncu: str
    spoken: str

    @property
    def executable(self) -> Path:
        """The step's program."""
        return BUILD / "steps" / self.step.name

    def work(self, size: int) -> list[str]:
        """The step's options that name the variant and a size."""
        return validate.what_to_run([size], self.variant)


def plan(parsed: argparse.Namespace) -> Plan:
    """Reads the command line and sees that this machine can profile. Raises UserError, before anything is built."""
    step = registry.find(parsed.step, registry.steps())
    variant, size = parsed.variant or "", SIZE if parsed.size is None else parsed.size
    if variant in ("all", "bottlenecks") or "," in variant:
        raise UserError(f"--variant {variant}: one launch is profiled; name one variant")
    if size <= 0:
        raise UserError(f"--size {size}: a size is a positive number")
    folder = Path(parsed.output).absolute() if parsed.output else BUILD / "profile"
    if folder.exists() and not folder.is_dir():
        raise UserError(f"--output {shown(folder)} is no folder")
    here = gpu.detect()
    instead = f"./gemm run {step.number:02d} --sim counts its accesses without a GPU"
    if isinstance(here, gpu.NoGpu):
        raise UserError(f"nothing can be profiled here: {here.reason}; {instead}")
    if here.capability and not step.runs_on(here.capability):
        raise UserError(f"{registry.runnable([step], here.capability)[1]}; {instead}")
    return Plan(step, variant, size, folder, here, profile_ncu.find(), language(parsed.zh))


def run(chosen: Plan, setup: bool) -> None:
    """Profiles, and prints the page."""
    environment = ensure_build(setup)
    os.environ.update(environment.variables)  # where the programs that are started below find their libraries
    build.configure(environment)
    build.compile_targets(environment, [f"steps/{chosen.step.name}", build.SIMULATOR_TARGET])
    try:
        chosen.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{shown(chosen.folder)} cannot be written: {error.strerror}") from None
    for line in page(profiled(chosen), chosen.spoken):
        print_line(line)


def profiled(chosen: Plan) -> Profile:
    """All that is found out about the launch. The run without ncu comes first: it refuses a bad variant or size."""
    timed = _timed(chosen)
    metrics, lacking = profile_ncu.metrics_here(chosen.ncu)
    variant = timed["variant"]
    print_line(say(chosen.spoken, "profiling", step=chosen.step.name, gpu=chosen.here.name))
    report = chosen.folder / f"{chosen.step.name}-{variant}-{chosen.size}.ncu-rep"
    command = [chosen.executable, *chosen.work(chosen.size), *ncu.ONE_LAUNCH]
    profile_ncu.profile(chosen.ncu, products_of(chosen.step), command, metrics, report)
    figures = profile_ncu.values(profile_ncu.page(chosen.ncu, report, "raw"))
    source = profile_ncu.page(chosen.ncu, report, "source")
    lines = profile_ncu.stalled_lines(source, profile_ncu.stalls(figures), chosen.step.folder)
    counts, not_compared = _compared(chosen, validate.counted(figures), metrics)
    title = f"{chosen.step.name} {variant}, {chosen.size} × {chosen.size} × {chosen.size}, {chosen.here.name}"
    return Profile(title, chosen.size, figures, timed, report, lines, counts, not_compared, lacking)


def _timed(chosen: Plan) -> dict:
    """The harness's record of a settled run without ncu: its time and power."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "timed.jsonl"
        options = ["--baseline=none", "--verify=sample", f"--json={file}"]
        code, text = process.output([chosen.executable, *chosen.work(chosen.size), *options])
        if code == REFUSED:
            raise UserError(text.partition(": ")[2] or text)
        if code != 0 or not file.is_file():
            raise Failure(f"{chosen.step.name} failed: {(text.splitlines() or [f'exit code {code}'])[-1]}")
        return read(file)[-1]


def _compared(chosen: Plan, counted: dict, metrics: list[str]) -> tuple[list[Counts], str]:
    """The counts of the profiled launch and, of a size that is soon simulated, the simulator's beside them.

    A large launch is not simulated: a small one is profiled besides. The second value says why there is no comparison.
    """
    whole = Counts(chosen.size, counted)
    size = chosen.size if chosen.size <= LARGEST_SIMULATED else SIMULATED_SIZE
    work = chosen.work(size)
    try:
        if size != chosen.size:
            asked = [metric for metric in metrics if metric in validate.METRICS]
            kernels, limit = products_of(chosen.step), ncu.LIMIT_SECONDS
            output = ncu.profiled(chosen.executable, kernels, work, chosen.ncu, asked, limit)
            counted = next(iter(validate.measured(output, chosen.step.name).values()))
        simulated = next(iter(validate.simulated(chosen.executable, work, ncu.LIMIT_SECONDS).values()))
    except ncu.Failed as problem:
        return [whole], " ".join(str(problem).split())
    both = Counts(size, counted, simulated)
    return ([both] if size == chosen.size else [whole, both]), ""
