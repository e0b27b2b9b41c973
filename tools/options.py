"""The options of a step's executable that `./gemm run` passes on, checked before anything is built."""

import argparse
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.errors import UserError
from tools.paths import shown

LARGEST = 2**31 - 1


def positive(text: str) -> int:
    """A size or a count: a whole number from 1 on that fits into 32 bits."""
    return _whole(text, 1)


def several_positive(text: str) -> str:
    """One whole number from 1 on, or several with commas between them; passed on as they are."""
    for part in text.split(","):
        positive(part)
    return text


def part(text: str) -> str:
    """`2/4`: the second of four parts; passed on as it is."""
    which, _, parts = text.partition("/")
    if not (
        which.isascii() and which.isdigit() and parts.isascii() and parts.isdigit() and 1 <= int(which) <= int(parts)
    ):
        raise argparse.ArgumentTypeError(f"takes a part such as 2/4, not '{text}'")
    return text


def not_negative(text: str) -> int:
    """A whole number from 0 on that fits into 32 bits."""
    return _whole(text, 0)


def seed(text: str) -> int:
    """A seed of the random numbers: a whole number from 0 on that fits into 64 bits."""
    return _whole(text, 0, 2**64 - 1)


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"takes a number, not '{text}'")
    return value


def seconds(text: str) -> float:
    """A length of time, from 0 on."""
    value = number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"takes seconds, 0 or more, not '{text}'")
    return value


def _whole(text: str, least: int, largest: int = LARGEST) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= largest:
        raise argparse.ArgumentTypeError(f"takes a whole number from {least} to {largest}, not '{text}'")
    return int(text)


@dataclass(frozen=True)
class StepOption:
    """One option of a step's executable."""

    name: str
    help: str
    kind: Any = None  # None: a flag
    choices: tuple[str, ...] = ()
    metavar: str = "N"
    repeated: bool = False


STEP_OPTIONS = (
    StepOption("size", "M = N = K; may be given several times", positive, repeated=True),
    StepOption("m", "rows of A and C", positive),
    StepOption("n", "columns of B and C", positive),
    StepOption("k", "columns of A, rows of B", positive),
    StepOption("lda", "elements between the starts of two rows of A", positive),
    StepOption("ldb", "elements between the starts of two rows of B", positive),
    StepOption("ldc", "elements between the starts of two rows of C", positive),
    StepOption("variant", "a variant of the step by its name, 'all', or 'bottlenecks'", str, metavar="NAME"),
    StepOption("list", "show the step's variants"),
    StepOption("sweep", "a set of sizes", str, ("square", "sgemm27", "hgemm125", "hgemm27")),
    StepOption("part", "a part of the sweep: 2/4", part, metavar="I/N"),
    StepOption("alpha", "factor of the product", number, metavar="X"),
    StepOption("beta", "factor of the old C", number, metavar="X"),
    StepOption("warmup", "launches before timing", not_negative),
    StepOption("min-time", "seconds that each side of a round takes at least", seconds, metavar="S"),
    StepOption("rounds", "rounds of kernel and baseline in turn", positive),
    StepOption("baseline", "what to compare with", str, ("cublas", "cublaslt", "both", "none")),
    StepOption("verify", "which elements of C to check", str, ("full", "sample", "off")),
    StepOption("seed", "seed of the random inputs", seed),
    StepOption("show-matrix", "print the matrices (small sizes)"),
    StepOption("fingerprint", "launch once and print a hash of the result's bits; nothing is timed"),
    StepOption(
        "swizzle-stride",
        "rows or columns of C that neighbouring blocks stay within; several: 512,1024",
        several_positive,
    ),
    StepOption("cooldown", "seconds of rest before each measurement", seconds, metavar="S"),
)


def add_step_options(parser: argparse.ArgumentParser) -> None:
    """Adds every option of a step to the parser of `./gemm run`."""
    group = parser.add_argument_group("options of a step, passed on to its executable")
    for option in STEP_OPTIONS:
        if option.kind is None:
            group.add_argument(f"--{option.name}", action="store_true", help=option.help)
        elif option.choices:
            group.add_argument(f"--{option.name}", choices=option.choices, help=option.help)
        else:
            action = "append" if option.repeated else "store"
            group.add_argument(
                f"--{option.name}", type=option.kind, metavar=option.metavar, help=option.help, action=action
            )


def passed_on(arguments: argparse.Namespace) -> list[str]:
    """The step's options that the reader gave, as the executable takes them."""
    given = []
    for option in STEP_OPTIONS:
        value = getattr(arguments, option.name.replace("-", "_"))
        if option.kind is None:
            given += [f"--{option.name}"] if value else []
        elif value is not None:
            given += [f"--{option.name}={one}" for one in (value if option.repeated else [value])]
    return given


def check_writable(file: Path) -> None:
    """Refuses a file of records that could not be written, before hours of work end there."""
    folder = file.parent
    if file.is_dir():
        raise UserError(f"--json {shown(file)}: that is a folder; name a file in it")
    if not folder.is_dir():
        raise UserError(f"--json {shown(file)}: there is no folder {shown(folder)}; make it first")
    if not os.access(folder, os.W_OK) or (file.exists() and not os.access(file, os.W_OK)):
        raise UserError(f"--json {shown(file)}: may not be written; choose another file")
