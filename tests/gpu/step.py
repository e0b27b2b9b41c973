"""A step's executable as the GPU tests see it: its variants, as `--list --json` tells of them, and how it is run."""

import json
import os
import queue
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

SKIPPED = 77


def skip(why: str) -> NoReturn:
    """Ends the program as a test that could not run here."""
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def require_gpu() -> None:
    """Skips the test where the driver shows no GPU."""
    try:
        shown = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except OSError:
        skip("nvidia-smi was not found, so there is no NVIDIA driver")
    if shown.returncode != 0 or "GPU" not in shown.stdout:
        skip("no NVIDIA GPU was found")


@dataclass(frozen=True)
class Variant:
    """What one variant is, and what sizes it takes."""

    name: str
    layout: str  # NN or TN
    block: tuple[int, int, int]  # the block tile: m, n, and the depth of a slice of K
    multiples: tuple[int, int, int]  # of which m, n, k have to be
    ld_multiples: tuple[int, int, int]  # of which lda, ldb, ldc have to be
    min_k: int

    @property
    def any_size(self) -> bool:
        """Does it take every m, n, k?"""
        return self.multiples == (1, 1, 1)

    def k_of(self, slices: int) -> int:
        """The K of so many slices, or of as many as its prologue needs."""
        depth = max(self.block[2], self.multiples[2])
        return max(slices, -(-self.min_k // depth)) * depth


class Step:
    """One executable."""

    def __init__(self, executable: str | Path) -> None:
        self.executable = Path(executable).resolve()
        self.name = self.executable.name
        with tempfile.TemporaryDirectory() as folder:
            listing = Path(folder) / "variants.jsonl"
            listed = self.run(["--list", "--json", str(listing)])
            if listed.returncode != 0:
                sys.exit(f"{self.name} --list failed: {listed.stderr}")
            records = [json.loads(line) for line in listing.read_text(encoding="utf-8").splitlines()]
        # those that leave out work are wrong on purpose
        self.variants = [_variant(record) for record in records if not record.get("leaves_out")]

    def run(
        self,
        arguments: list[str],
        prefix: tuple[str, ...] = (),
        device: str = "",
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> subprocess.CompletedProcess[str]:
        """Runs it, behind another program if asked, on one GPU if named, and returns what it said."""
        command = [*prefix, str(self.executable), *arguments]
        where = {"CUDA_VISIBLE_DEVICES": device} if device else {}
        every = {**os.environ, **where, **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=every)


def check_all(
    step: Step, devices: str, check: Callable[[Variant, str], list[str]], say: Callable[[Variant, list[str]], None]
) -> int:
    """Checks every variant, several at a time where `devices` names several GPUs (0,1,2,3). Returns the exit code."""
    free: queue.Queue[str] = queue.Queue()
    for device in devices.split(","):
        free.put(device)

    def one(variant: Variant) -> tuple[Variant, list[str]]:
        device = free.get()
        try:
            return variant, check(variant, device)
        finally:
            free.put(device)

    found: list[str] = []
    with ThreadPoolExecutor(len(devices.split(","))) as pool:
        for variant, wrong in pool.map(one, step.variants):
            found += wrong
            say(variant, wrong)
    for failure in found:
        print(f"FAILED {failure}")
    return 1 if found else 0


def _variant(record: dict[str, Any]) -> Variant:
    block = tuple(record["block"])
    multiples = tuple(record[f"multiple_{dimension}"] for dimension in "mnk")
    ld_multiples = tuple(record[f"multiple_ld{matrix}"] for matrix in "abc")
    return Variant(record["variant"], record["layout"], block, multiples, ld_multiples, record["min_k"])
