"""Reads the command line and starts the command. Everything that can go wrong ends here as one line."""

import argparse
import difflib
import os
import sys
from pathlib import Path
from typing import NoReturn

from lab import recorded_set
from tools import options, registry
from tools.errors import Failure, UserError

INTERRUPTED = 130
BAD_INPUT = 2

DESCRIPTION = "The GEMM course: build the steps, run them, test them, look at the charts."
EXAMPLES = """\
examples:
  ./gemm run                          build everything, run the whole ladder, draw the charts
  ./gemm run 07                       build and run one step
  ./gemm run 07 --size 2048 --variant all
  ./gemm run 03 --sim                 force the simulator and print what it counts
  ./gemm run --ladder fp32            one part of the ladder
  ./gemm diff 07 08                   what changed in the kernel, side by side
  ./gemm test                         build everything, run every test

Each command makes the set-up that it needs: the Python tools and, where there is no nvcc, the CUDA compiler in .venv,
and a few system packages. All of it can be done by hand with Meson: see the README."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        """Refuses the command line."""
        if message.startswith("argument --") and ": " in message:
            option, what = message.removeprefix("argument ").split(": ", 1)
            raise UserError(f"{option} {what}")
        raise UserError(f"{message} ({self.prog} --help shows what there is)")


def parser() -> tuple[Parser, dict[str, Parser]]:
    """The whole command line: the main parser, and each command's."""
    main_parser = Parser(
        prog="./gemm",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = main_parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    found: dict[str, Parser] = {}

    def add(name: str, text: str, set_up: bool = True) -> Parser:
        found[name] = commands.add_parser(name, help=text, description=text + ".", allow_abbrev=False)
        if set_up:
            found[name].add_argument(
                "--no-setup", action="store_true", help="install nothing: use the tools that are on PATH"
            )
        return found[name]

    run = add("run", "build and run the ladder, or one step, and draw the charts")
    run.add_argument("step", nargs="?", metavar="STEP", help="7, 07 or 07_thread_tile_8x8; without it, every step")
    run.add_argument("--ladder", metavar="NAME", help="only this part of the ladder: fp32, fp16, wmma, mma")
    run.add_argument("--sim", action="store_true", help="run in the simulator, also where there is a GPU")
    run.add_argument("--json", metavar="FILE", help="where the records go, instead of plots/data/")
    options.add_step_options(run)

    add("test", "build everything and run every test")

    diff = add("diff", "what changed in the kernel between two steps, side by side", set_up=False)
    diff.add_argument("old", metavar="OLD", help="the step to start from")
    diff.add_argument("new", metavar="NEW", help="the step to compare with it")
    diff.add_argument("--whole", action="store_true", help="show the lines that are the same, too")
    diff.add_argument("--gpu", metavar="NAME", help="whose figures to show: a folder of plots/data/")

    plot = add("plot", "draw the charts and write the tables again, from the recorded data")
    plot.epilog = "Other options are passed on: python plots/plot.py --help shows them."
    plot.set_defaults(passes_on=True)

    listing = add("list", "the ladder: number, idea, types, GPU needed, figures", set_up=False)
    listing.add_argument("--ladder", metavar="NAME", help="only this part of the ladder")
    listing.add_argument("--gpu", metavar="NAME", help="whose figures to show: a folder of plots/data/")

    validate = add("validate", "compare the simulator's counts with a GPU's counters")
    validate.epilog = "Other options are passed on: python tools/validate.py --help shows them."
    validate.set_defaults(passes_on=True)

    record = add("record", "time the complete recorded set on this GPU; goes on where it stopped")
    record.add_argument("--steps", metavar="LIST", help="only these steps: 01-04,07")
    record.add_argument("--only", choices=recorded_set.PARTS, help="only this part of the set")
    record.add_argument("--devices", metavar="LIST", help="share the runs out over these GPUs: 0,1,2,3 or all")
    record.add_argument("--min-time", type=options.seconds, metavar="S", help="seconds of each side of a round")
    record.add_argument("--rounds", type=options.positive, metavar="N", help="rounds of kernel and baselines in turn")
    record.add_argument("--data", metavar="FOLDER", help="where the records go, instead of plots/data/")
    record.add_argument("--time-limit", type=options.seconds, metavar="S", help="start nothing more after S seconds")
    record.add_argument("--again", action="store_true", help="measure also what is measured already")
    record.add_argument("--dry-run", action="store_true", help="show what would be run, and stop")
    record.add_argument("--merge", metavar="FOLDER", help="only put the records of FOLDER among those of --data")

    add("format", "format every source (C++, CUDA, Python)").add_argument(
        "--check", action="store_true", help="change nothing; fail if something is not formatted"
    )
    return main_parser, found


def main(arguments: list[str]) -> int:
    """Runs one command. Returns its exit code: 0 fine, 1 something failed, 2 bad input, 130 stopped by Ctrl-C."""
    try:
        _start(arguments)
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
        return 0
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"gemm:{where} {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line as a namespace; unknown words are refused with what is likely meant."""
    main_parser, commands = parser()
    if not arguments:
        main_parser.print_help()
        sys.exit(BAD_INPUT)
    if not arguments[0].startswith("-") and arguments[0] not in commands:
        raise UserError(
            f"there is no command '{arguments[0]}'{_meant(arguments[0], commands)}; choose from: {', '.join(commands)}"
        )
    parsed, unknown = main_parser.parse_known_args(arguments)
    if parsed.command is None:
        raise UserError(f"there is no option '{unknown[0]}' before a command; ./gemm --help shows the commands")
    parsed.rest = unknown
    if unknown and not getattr(parsed, "passes_on", False):
        known = [word for action in commands[parsed.command]._actions for word in action.option_strings]
        word = unknown[0].split("=", 1)[0]
        what = "option" if word.startswith("-") else "argument"
        raise UserError(
            f"{parsed.command} takes no {what} '{word}'{_meant(word, known)} "
            f"(./gemm {parsed.command} --help shows what there is)"
        )
    return parsed


def _start(arguments: list[str]) -> None:
    parsed = parse(arguments)
    setup = not getattr(parsed, "no_setup", False)
    COMMANDS[parsed.command](parsed, setup, arguments)


# What a command imports, it imports when it starts: modules that need .venv come after .venv is there.


def _run(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from tools import environment, run

    chosen = run.plan(parsed)
    environment.ensure_python(setup, arguments)
    run.run(chosen, setup)


def _test(_: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from tools import environment, suites

    environment.ensure_python(setup, arguments, modules=("pytest",))
    suites.run(setup)


def _diff(parsed: argparse.Namespace, _setup: bool, _arguments: list[str]) -> None:
    from tools import diff

    ladder = registry.steps()
    diff.print_diff(registry.find(parsed.old, ladder), registry.find(parsed.new, ladder), parsed.gpu, parsed.whole)


def _plot(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from tools import environment, plot

    environment.ensure_python(setup, arguments, modules=("matplotlib",))
    plot.draw(Path(sys.executable), parsed.rest)


def _list(parsed: argparse.Namespace, _setup: bool, _arguments: list[str]) -> None:
    from tools import listing

    ladder = registry.steps()
    listing.print_table(registry.of_ladder(parsed.ladder, ladder) if parsed.ladder else ladder, parsed.gpu)


def _validate(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from tools import environment, process
    from tools.paths import ROOT

    environment.ensure_python(setup, arguments)
    code = process.run([sys.executable, ROOT / "tools" / "validate.py", *parsed.rest])
    if code != 0:
        raise Failure(code=code if code > 0 else 1)


def _record(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from lab import record
    from tools import environment

    chosen = record.plan(parsed)
    if chosen is not None:
        environment.ensure_python(setup, arguments)
        record.run(chosen, setup)


def _format(parsed: argparse.Namespace, setup: bool, arguments: list[str]) -> None:
    from lab import format
    from tools import environment

    environment.ensure_python(setup, arguments)
    format.run(parsed.check)


COMMANDS = {
    "run": _run,
    "test": _test,
    "diff": _diff,
    "plot": _plot,
    "list": _list,
    "validate": _validate,
    "record": _record,
    "format": _format,
}


def _meant(word: str, known: list[str] | dict[str, Parser]) -> str:
    """`; did you mean --size?` where something known is close to what was typed."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
