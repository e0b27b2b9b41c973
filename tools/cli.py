"""Reads the command line and starts the command. Everything that can go wrong ends here as one line."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from base import languages, registry
from base.errors import Failure, UserError
from lab import recorded_set
from records import moved

INTERRUPTED = 130
BAD_INPUT = 2
IN_CHINESE = "in Chinese, as where LANG says so"

DESCRIPTION = "The GEMM course: build the steps, run them, test them, look at the charts."
EXAMPLES = """\
examples:
  ./gemm run                          build everything, run the whole ladder, draw the charts
  ./gemm run 07                       build and run one step
  ./gemm run 07 --size 2048 --variant all
  ./gemm run 03 --sim                 force the simulator and print what it counts
  ./gemm run --ladder fp32            one part of the ladder
  ./gemm practice 02                  write a step yourself; graded in the simulator
  ./gemm bound 07                     what a GPU's units allow it; no GPU needed
  ./gemm profile 07                   what ncu counts of one launch, on a GPU
  ./gemm diff 07 08                   what changed in the kernel, side by side
  ./gemm test                         build everything, run every test

Each command makes the set-up that it needs: the Python tools and, where there is no nvcc, the CUDA compiler in .venv,
and a few system packages. All of it can be done by hand with Meson: see CONTRIBUTING.md."""
STEPS_OPTIONS = "Other options are the step's own (--size, --variant, --list, --sweep, …): ./gemm run 07 -- --help"


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Refuses the command line."""
        raise UserError(f"{message.removeprefix('argument ')} ({self.prog} --help shows what there is)")


def parser() -> Parser:
    """The whole command line."""
    main_parser = Parser(
        prog="./gemm", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = main_parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)

    def add(start: Callable, text: str, set_up: bool = True, passes_on: str = "") -> Parser:
        name = start.__name__.strip("_")
        command = commands.add_parser(name, help=text, description=text + ".", epilog=passes_on, allow_abbrev=False)
        command.set_defaults(start=start, passes_on=bool(passes_on), no_setup=True)
        if set_up:
            text = "install nothing: use the tools that are on PATH"
            command.add_argument("--no-setup", action="store_true", default=False, help=text)
        return command

    run = add(_run, "build and run the ladder, or one step, and draw the charts", passes_on=STEPS_OPTIONS)
    run.usage = "./gemm run [STEP] [--ladder NAME] [--sim] [--device NAME] [--watch] [--json FILE] [--zh] [--no-setup] [the step's options]"
    ladders = "only this part of the ladder: fp32, fp16, wmma, mma, hopper, precision"
    run.add_argument("--ladder", metavar="NAME", help=ladders)
    run.add_argument("--sim", action="store_true", help="run in the simulator, also where there is a GPU")
    run.add_argument("--device", metavar="NAME", help="the GPU that is simulated, such as rtx4090 (default: h200)")
    watched = "run the step again whenever it is saved, and show what changed in the counts; takes --sim and one step"
    run.add_argument("--watch", action="store_true", help=watched)
    run.add_argument("--json", metavar="FILE", help="where the records go, instead of records/")
    run.add_argument("--zh", action="store_true", help=IN_CHINESE + "; what a step itself prints is English")

    test = add(_test, "build everything and run every test")
    test.add_argument(
        "--sanitize", nargs="*", metavar="STEP", help="run these steps under compute-sanitizer instead (default: all)"
    )
    test.add_argument(
        "--changed", action="store_true", help="only what a change can affect, since the branch left main"
    )
    test.add_argument("--since", metavar="COMMIT", help="with --changed: since this commit")
    sanitized = "run the C++ tests of simulator and harness under the compiler's sanitizers instead"
    test.add_argument("--sanitize-host", action="store_true", help=sanitized)
    other = "simulator and steps for aarch64 instead: cross-compiled, run under qemu, compared with this machine"
    test.add_argument("--aarch64", action="store_true", help=other)
    by_clang = "the simulator's own tests instead, compiled by clang"
    test.add_argument("--clang", action="store_true", help=by_clang)
    checked = "clang-tidy's checks of the host's C++ instead"
    test.add_argument("--tidy", action="store_true", help=checked)
    pages = "the site instead: its links, the simulator in WebAssembly, its speed, every page in Chromium, pictures; `short` "
    pages += "takes links, six kernels and two explorables, `pictures` keeps new pictures to compare with"
    choices = ("all", "short", "pictures")
    test.add_argument("--site", nargs="?", const="all", choices=choices, metavar="short|pictures", help=pages)

    diff = add(_diff, "what changed in the kernel between two steps, side by side", set_up=False)
    diff.add_argument("old", metavar="OLD", help="the step to start from")
    diff.add_argument("new", metavar="NEW", help="the step to compare with it")
    diff.add_argument("--whole", action="store_true", help="show the lines that are the same, too")
    diff.add_argument("--gpu", metavar="NAME", help="whose figures to show: a folder of records/")
    diff.add_argument("--zh", action="store_true", help=IN_CHINESE)

    listing = add(_list, "the ladder: number, idea, types, GPU needed, figures", set_up=False)
    listing.add_argument("--ladder", metavar="NAME", help="only this part of the ladder")
    listing.add_argument("--gpu", metavar="NAME", help="whose figures to show: a folder of records/")
    listing.add_argument("--zh", action="store_true", help=IN_CHINESE)

    practice = add(_practice, "write a step yourself: the next task, a hint, or the verdict on what you wrote")
    practice.add_argument(
        "step", nargs="?", metavar="STEP", help="the step to write; without: all tasks and what is done"
    )
    practice.add_argument("--list", action="store_true", help="all tasks and what is done")
    asked = practice.add_mutually_exclusive_group()
    asked.add_argument("--watch", action="store_true", help="grade again whenever the file is saved")
    asked.add_argument("--hint", action="store_true", help="one more hint")
    asked.add_argument("--solution", action="store_true", help="your kernel beside the step's")
    practice.add_argument("--zh", action="store_true", help=IN_CHINESE)

    bound = add(
        _bound, "what a GPU's units allow a step, without a GPU: counted in the simulator, read off machine code"
    )
    bound.add_argument("step", metavar="STEP", help="the step")
    bound.add_argument("--variant", metavar="V", help="one of its variants (default: the step's own)")
    numbers = "a GPU of sim/devices.json, or its numbers: sms=132,clock_mhz=1980,capability=9.0,dram_tb_per_s=4.8 (default: h200)"
    bound.add_argument("--gpu", metavar="NAME", help=numbers)
    bound.add_argument("--size", metavar="N", type=int, default=4096, help="m = n = k (default 4096)")
    bound.add_argument("--zh", action="store_true", help=IN_CHINESE)

    profile = add(_profile, "Nsight Compute on one launch of a step, as one page; needs a GPU")
    profile.add_argument("step", metavar="STEP", help="the step to profile")
    profile.add_argument("--variant", metavar="V", help="one of its variants (default: the step's own)")
    profile.add_argument("--size", metavar="N", type=int, help="m = n = k (default 4096)")
    profile.add_argument("--output", metavar="FOLDER", help="where the .ncu-rep file goes, instead of build/profile")
    profile.add_argument("--zh", action="store_true", help=IN_CHINESE)

    add(
        _plot,
        "draw the charts and write the tables again, from the recorded data",
        passes_on="Other options are passed on: python plots/plot.py --help shows them.",
    )
    add(
        _text,
        "count words, rows of tables and figures of each page; fails where a page is too long",
        passes_on="Other options are passed on: python -m plots.text --help shows them.",
    )
    site = add(_site, "build the course's pages as a site in two languages, into build-site/site")
    site.add_argument("--serve", action="store_true", help="show it on this machine, and build it anew on each change")
    book = "the pages alone: nothing is compiled; what runs in them is what was made before, if anything"
    site.add_argument("--book", action="store_true", help=book)
    add(
        _validate,
        "compare the simulator's counts with a GPU's counters",
        passes_on="Steps and other options are passed on: python -m lab.validate --help shows them.",
    )

    record = add(_record, "time the complete recorded set on this GPU; goes on where it stopped")
    record.add_argument("--steps", metavar="LIST", help="only these steps: 01-04,07")
    record.add_argument(
        "--only", action="append", choices=recorded_set.PARTS, help="only this part of the set; repeatable"
    )
    record.add_argument("--devices", metavar="LIST", help="share the runs out over these GPUs: 0,1,2,3 or all")
    record.add_argument("--min-time", type=float, metavar="S", help="seconds of each side of a round")
    record.add_argument("--rounds", type=int, metavar="N", help="rounds of kernel and baselines in turn")
    record.add_argument("--data", metavar="FOLDER", help="where the records go, instead of records/")
    record.add_argument("--time-limit", type=float, metavar="S", help="end after S seconds at the latest")
    record.add_argument("--again", action="store_true", help="measure also what is measured already")
    record.add_argument("--dry-run", action="store_true", help="show what would be run, and stop")
    record.add_argument("--merge", metavar="FOLDER", help="only put the records of FOLDER among those of --data")

    add(_format, "format every source (C++, CUDA, Python)").add_argument(
        "--check", action="store_true", help="change nothing; fail if something is not formatted"
    )
    return main_parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line as a namespace; `rest` holds the words that are passed on to another program."""
    main_parser = parser()
    if not arguments:
        main_parser.print_help()
        raise UserError("name a command")
    parsed, rest = main_parser.parse_known_args(arguments)
    if rest and not parsed.passes_on:
        main_parser.error(f"{parsed.command} takes no '{rest[0]}'")
    parsed.rest = [word for word in rest if word != "--"]
    return parsed


def main(arguments: list[str]) -> int:
    """Runs one command. Returns its exit code: 0 fine, 1 something failed, 2 bad input, 130 stopped by Ctrl-C."""
    try:
        parsed = parse(arguments)
        moved.bring_over()
        parsed.start(parsed, not parsed.no_setup, arguments)
    except UserError as error:
        print(f"gemm: {error}", file=sys.stderr)
        return BAD_INPUT
    except Failure as failure:
        if str(failure):
            print(f"gemm: {failure}", file=sys.stderr)
        return failure.code
    except KeyboardInterrupt:
        print("\ngemm: stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away: ./gemm list | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"gemm:{where} {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    return 0


# What a command imports, it imports when it starts: modules that need .venv come after .venv is there.


def _run(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from tools import run, run_plan

    chosen = run_plan.choose(parsed)
    environment.ensure_python(setup, arguments, ("matplotlib",) if chosen.whole_ladder else ())
    run.run(chosen, setup)


def _test(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from tools import aarch64, changed, clang, sanitize_host, suites, tidy

    if parsed.since and not parsed.changed:
        raise UserError("--since goes with --changed")
    environment.ensure_python(setup, arguments, ("pytest",))
    if parsed.changed:
        changed.run(setup, parsed.since)
    elif parsed.site:
        from tools.site import check

        check.run(setup, parsed.site)
    elif parsed.sanitize_host:
        sanitize_host.run(setup)
    elif parsed.aarch64:
        aarch64.run(setup)
    elif parsed.clang:
        clang.run(setup)
    elif parsed.tidy:
        tidy.run(setup)
    elif parsed.sanitize is None:
        suites.run(setup)
    else:
        ladder = registry.steps()
        suites.sanitize(setup, [registry.find(asked, ladder).name for asked in parsed.sanitize])


def _diff(parsed: argparse.Namespace, *_: object) -> None:
    from tools import diff

    ladder = registry.steps()
    old, new = (registry.find(step, ladder) for step in (parsed.old, parsed.new))
    diff.print_diff(old, new, parsed.gpu, parsed.whole, languages.language(parsed.zh))


def _list(parsed: argparse.Namespace, *_: object) -> None:
    from tools import listing

    ladder = registry.steps()
    chosen = registry.of_ladder(parsed.ladder, ladder) if parsed.ladder else ladder
    listing.print_table(chosen, parsed.gpu, languages.language(parsed.zh))


def _practice(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from tools import practice

    chosen = practice.plan(parsed)
    if practice.needs_build(chosen):
        environment.ensure_python(setup, arguments)
    practice.run(chosen, setup)


def _bound(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from tools import bound

    chosen = bound.plan(parsed)
    environment.ensure_python(setup, arguments)
    bound.run(chosen, setup)


def _profile(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from tools import profile

    chosen = profile.plan(parsed)
    environment.ensure_python(setup, arguments)
    profile.run(chosen, setup)


def _plot(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    _start(setup, arguments, ("matplotlib",), ["-m", "plots.draw", *parsed.rest])


def _text(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    _start(setup, arguments, (), ["-m", "plots.text", *parsed.rest])


def _site(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment

    environment.ensure_python(setup, arguments, ("matplotlib",))
    from tools import site

    site.ensure_generator(setup)
    if not parsed.book:
        from tools.site import simulator

        simulator.prepare(setup)
    site.run(parsed.serve)


def _validate(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    _start(setup, arguments, (), ["-m", "lab.validate", *parsed.rest])


def _start(setup: bool, arguments: list[str], modules: tuple[str, ...], script: list) -> None:
    """Starts a Python program of the course's own."""
    from base import environment, process

    environment.ensure_python(setup, arguments, modules)
    code = process.run([sys.executable, *script])
    if code != 0:
        raise Failure(code=code if code > 0 else 1)


def _record(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from lab import record

    chosen = record.plan(parsed)
    if chosen is not None:
        environment.ensure_python(setup, arguments)
        record.run(chosen, setup)


def _format(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from base import environment
    from tools import format

    environment.ensure_python(setup, arguments)
    format.run(parsed.check)
