"""A step's executable as the GPU tests see it: its variants, as `--list --json` tells of them, and how it is run."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

SKIPPED = 77
Done = subprocess.CompletedProcess[str]
CAPABILITY = re.compile(r"\d+\.\d")  # as nvidia-smi says it: 9.0


def skip(why: str) -> NoReturn:
    """Ends the program as a test that could not run here."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def capabilities() -> list[int]:
    """The compute capabilities of the GPUs that the driver shows, such as 90. Skips the test where there is none."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        shown = subprocess.run(query, capture_output=True, text=True, check=False)
    except OSError:
        skip("nvidia-smi was not found, so there is no NVIDIA driver")
    found = [int(line.replace(".", "")) for line in shown.stdout.split() if CAPABILITY.fullmatch(line)]
    if shown.returncode != 0 or not found:
        skip("no NVIDIA GPU was found")
    return found


def fits(arch: str, capability: int) -> bool:
    """Whether a GPU of this compute capability runs what is compiled for `arch`: 80; 90a, an `a`, that one alone."""
    needed = int(arch.rstrip("a"))
    return capability == needed if arch.endswith("a") else capability >= needed


def require_gpu(arch: str = "") -> None:
    """Skips the test where the driver shows no GPU, or where the first cannot run what is compiled for `arch`."""
    here = capabilities()[0]
    if arch and not fits(arch, here):
        skip(f"sm_{arch} is needed, and this GPU is an sm_{here}")


@dataclass(frozen=True)
class Variant:
    """What one variant is, and what sizes it takes."""

    name: str
    default: bool
    layout: str  # NN or TN
    block: tuple[int, int, int]  # the block tile: m, n, and the depth of a slice of K
    multiples: tuple[int, int, int]  # of which m, n, k have to be
    ld_multiples: tuple[int, int, int]  # of which lda, ldb, ldc have to be
    most_blocks: tuple[int, int]  # that the grid takes: rows and columns of them
    takes_stride: bool
    shared_bytes: int  # that a block takes, where that may be more than every GPU has; else 0
    fits: bool  # whether a block may have them on the GPU that was asked

    @property
    def any_size(self) -> bool:
        """Does it take every m, n, k?"""
        return self.multiples == (1, 1, 1)

    @property
    def has_edges(self) -> bool:
        """Does it take sizes that its tile does not divide?"""
        return self.any_size or any(multiple < edge for multiple, edge in zip(self.multiples, self.block, strict=True))

    def taken(self, size: tuple[int, ...]) -> tuple[int, ...]:
        """The size, each of its edges rounded up to one that it takes."""
        return tuple(-(-edge // multiple) * multiple for edge, multiple in zip(size, self.multiples, strict=True))

    def k_of(self, slices: int) -> int:
        """The K of so many slices."""
        return slices * max(self.block[2], self.multiples[2])


@dataclass(frozen=True)
class Case:
    """One run of one variant ("": the default), the options beside its name, and its words where it has to refuse.

    `exact_alone`: on exact inputs, which find each wrong product, and not on random ones as well, which show precision.
    """

    variant: str
    arguments: tuple[str, ...]
    refused: str = ""
    exact_alone: bool = False

    def line(self) -> str:
        """As `--check` reads it."""
        named = ["--variant", self.variant] if self.variant else []
        arguments = [*named, *self.arguments]
        return json.dumps({"arguments": arguments, "refused": self.refused, "exact_alone": self.exact_alone})


class Step:
    """One executable."""

    def __init__(self, executable: str | Path, options: Sequence[str] = (), **how: Any) -> None:
        self.executable = Path(executable).resolve()
        self.name = self.executable.name
        with tempfile.TemporaryDirectory() as folder:
            listing = Path(folder) / "variants.jsonl"
            listed = self.run(("--list", "--json", str(listing), *options), capture_output=True, **how)
            if listed.returncode != 0:
                sys.exit(f"{self.name} --list failed: {listed.stderr}")
            records = [json.loads(line) for line in listing.read_text(encoding="utf-8").splitlines()]
        self.arch: str = records[0]["arch"]  # the least that it runs on
        # those that leave out work are wrong on purpose
        self.variants = [_variant(record) for record in records if not record.get("leaves_out")]
        self.held = [variant for variant in self.variants if variant.fits]

    def check(self, cases: Sequence[Case], options: Sequence[str] = (), **how: Any) -> Done:
        """Runs all these cases in one process, as `run` does. Exit code 1 where one failed."""
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
            file.writelines(case.line() + "\n" for case in cases)
            file.flush()
            return self.run(("--check", file.name, *options), **how)

    def run(
        self, options: Sequence[str], prefix: Sequence[str] = (), environment: dict[str, str] | None = None, **how: Any
    ) -> Done:
        """Runs the executable with these options and these variables, behind another program if asked."""
        command = [*prefix, str(self.executable), *options]
        return subprocess.run(command, text=True, check=False, env={**os.environ, **(environment or {})}, **how)


def _variant(record: dict[str, Any]) -> Variant:
    return Variant(
        record["variant"],
        record["default"],
        record["layout"],
        tuple(record["block"]),
        tuple(record[f"multiple_{dimension}"] for dimension in "mnk"),
        tuple(record[f"multiple_ld{matrix}"] for matrix in "abc"),
        tuple(record["most_blocks"]),
        record["takes_swizzle_stride"],
        record["shared_bytes"],
        record["fits"],
    )
