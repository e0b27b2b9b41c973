"""`./gemm run`: what was chosen is built, run and recorded, drawn, and told, in this order."""

import sys
from collections.abc import Sequence

from base import build, gpu, process
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.languages import listed, said
from base.paths import BUILD, CHARTS, DATA, shown
from base.progress import Bar, Meter, meter, say
from base.registry import Step
from tools import listing, measured, simulated, watch
from tools.run_plan import Job, Plan, jobs

REFUSED = 2
VERDICT = "in the simulator:"  # in the line that says whether a simulated result is right


def run(chosen: Plan, setup: bool) -> None:
    """Carries the plan out; fails with the exit code that sums all up."""
    environment = _built(chosen, setup)
    to_do = jobs(chosen)
    if not chosen.measures_nothing:
        _say_where(chosen)
    if chosen.watched:
        watch.watch(environment, chosen, to_do[0])
    codes = _run_ladder(environment, chosen, to_do) if chosen.whole_ladder else [_run_alone(environment, to_do[0])]
    drawn = _draw(chosen) if chosen.whole_ladder else 0
    if chosen.whole_ladder:
        _say_what_came_out(chosen, to_do, codes, drawn)
    if code := _summed_up([*codes, drawn]):
        raise Failure(code=code)


# Built


def _built(chosen: Plan, setup: bool) -> Environment:
    """Builds what the plan needs: everything for a ladder, so that the next command finds it ready."""
    environment = simulated.on(chosen.device, ensure_build(setup))
    build.configure(environment)
    if not chosen.whole_ladder:
        simulator = [build.SIMULATOR_TARGET] if chosen.simulate else []
        build.compile_targets(environment, [f"steps/{chosen.steps[0].name}", *simulator])
        return environment
    if chosen.options:
        _ask_whether_they_are_known(environment, chosen)
    build.compile_targets(environment)
    return environment


def _ask_whether_they_are_known(environment: Environment, chosen: Plan) -> None:
    """Lets one step read the options, so that a mistake in them does not cost the building of every step."""
    build.compile_targets(environment, [f"steps/{chosen.steps[0].name}"])
    command = [BUILD / "steps" / chosen.steps[0].name, *chosen.options, "--list"]
    code, text = process.output(command, environment.variables)
    if code == REFUSED:
        raise UserError(text.partition(": ")[2])


# Run and recorded


def _run_alone(environment: Environment, job: Job) -> int:
    """Runs one step on the reader's own terminal."""
    return _exit_code(process.run(job.command, environment.variables), job.step)


def _run_ladder(environment: Environment, chosen: Plan, to_do: Sequence[Job]) -> list[int]:
    """Runs every step of the plan, one failing or not. Returns their exit codes."""
    simulated.prepare(chosen.steps)
    codes: list[int] = []
    with meter("Running the ladder", len(to_do)) as progress:
        for job in to_do:
            progress.show(len(codes), job.step.name)
            run_one = _simulate if chosen.simulate else _measure
            codes.append(_exit_code(run_one(environment, job, progress), job.step))
        progress.show(len(codes))
    return codes


def _measure(environment: Environment, job: Job, progress: Bar | Meter) -> int:
    """Runs a step of the ladder on the GPU and shows all that it prints."""
    return process.follow(job.command, progress.print, environment.variables)


def _simulate(environment: Environment, job: Job, progress: Bar | Meter) -> int:
    """Runs a step of the ladder in the simulator; of a right one only the verdict is shown, the rest is kept in a file."""
    code, text = process.output(job.command, environment.variables)
    simulated.report_file(job.step).write_text(text + "\n", encoding="utf-8")
    for line in text.splitlines():
        if code != 0 or VERDICT in line:
            progress.print(line)
    return code


def _exit_code(code: int, step: Step) -> int:
    """A step's exit code; one that was ended by a signal says nothing itself, so it is said here."""
    if code >= 0:
        return code
    say(f"{step.name} was ended by signal {-code}")
    return 1


def _summed_up(codes: Sequence[int]) -> int:
    """The exit code of all: a failure before a refusal."""
    return next((code for code in sorted(codes) if code not in (0, REFUSED)), max(codes))


# Drawn


def _draw(chosen: Plan) -> int:
    """Draws the charts; returns the exit code."""
    say(said(chosen.spoken, "Drawing the charts", "正在画图表"))
    return process.run([sys.executable, "-m", "plots.draw", *_beside(chosen)])


def _beside(chosen: Plan) -> list[str]:
    """The option that has the charts show the GPU that is here beside the course's own."""
    here = chosen.here.folder if isinstance(chosen.here, gpu.Gpu) else measured.REFERENCE_GPU
    timed = any((DATA / here / f"{step.name}.jsonl").exists() for step in chosen.steps)
    return [f"--beside={here}"] if timed and here != measured.REFERENCE_GPU else []


# Told


def _say_where(chosen: Plan) -> None:
    if isinstance(chosen.here, gpu.Gpu) and not chosen.simulate:
        say(said(chosen.spoken, f"Running on {chosen.here.name}", f"在 {chosen.here.name} 上运行"))
        if chosen.left_out:
            say(said(chosen.spoken, "Left out: ", "不运行：") + chosen.left_out)
    else:
        reason = chosen.here.reason if isinstance(chosen.here, gpu.NoGpu) else ""
        english = f"Running in the simulator{reason and f': {reason}'}. Results are checked and counted, not timed."
        chinese = f"在模拟器里运行{reason and f'（{reason}）'}。结果会检查并计数，但不计时。"
        say(said(chosen.spoken, english, chinese))
    if chosen.device:
        say(said(chosen.spoken, f"The simulated GPU: {chosen.device}", f"模拟的 GPU：{chosen.device}"))
    if chosen.simulate and chosen.left_out:
        say(said(chosen.spoken, "Left out: ", "不运行：") + chosen.left_out)


def _say_what_came_out(chosen: Plan, to_do: Sequence[Job], codes: Sequence[int], drawn: int) -> None:
    """Where charts and records are, a line per step, and which failed."""
    if drawn == 0:
        charts, data = f"{shown(CHARTS)}/", f"{shown(DATA)}/"
        say(said(chosen.spoken, f"The charts are in {charts}, the records in {data}",
                 f"图表在 {charts}，记录在 {data}"))  # fmt: skip
    if chosen.simulate:
        files = [(job.step, job.records) for job in to_do if job.records]
        for line in simulated.summary(files, chosen.spoken):
            say(line)
    elif isinstance(chosen.here, gpu.Gpu):
        listing.print_table(chosen.steps, chosen.here.folder, chosen.spoken)
    if failed := [job.step.name for job, code in zip(to_do, codes, strict=True) if code]:
        names = listed(chosen.spoken, failed)
        say(said(chosen.spoken, f"{len(failed)} of {len(codes)} steps failed: {names}",
                 f"{len(codes)} 步里有 {len(failed)} 步失败：{names}"))  # fmt: skip
