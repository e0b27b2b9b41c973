"""Counts every variant of every step in the simulator, and compares with what is recorded in records/simulator.

    python -m lab.counts build            compare: each step's default at every size, its other variants at one
    python -m lab.counts build --all      compare every variant at every size
    python -m lab.counts build --update   record anew

A difference is a change of the kernel, of the compiler or of the simulator: look at it, then record anew. Instructions
are compared only with the compiler that they were recorded with; what happens to memory, always.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from base.build import variants
from base.paths import DATA
from records import read
from records.files import Record, write

RECORDED = DATA / "simulator"
SIZES = (("--size", "256"), ("--m", "256", "--n", "512", "--k", "96"))
SIZES_K = 96
DEEPER = ("--m", "256", "--n", "512", "--k", "128")  # of the variants whose slices of K do not divide 96
RAGGED = ("--m", "127", "--n", "129", "--k", "131")  # of the variants that take any size
KEY = ("variant", "m", "n", "k", "a", "acc", "c", "layout", "alpha", "beta")
# Blocks that wait for one another ask again and again, how often depends on what runs beside them: one at a time.
ONE_THREAD = {"PTXSIM_THREADS": "1"}
AT_A_TIME = 8  # variants in one process: half of a small run is its start, and a long file takes its time, too
UNRECORDED = ("kernels", "blocks", "threads", "lines")
COMPILERS_OWN = ("instructions", "by_class", "divergent_branches")


def counted(executable: Path, folder: Path, everything: bool = True) -> list[Record]:
    """What a step's variants count at every size, or with `everything` off all but its default at the second one alone.

    Exits where the simulator finds something wrong.
    """
    taken: dict[tuple[str, ...], list[str]] = {}
    order = []
    for variant in variants(executable):
        if variant.get("leaves_out"):  # wrong on purpose
            continue
        order.append(variant["variant"])
        any_size = all(variant[f"multiple_{dimension}"] == 1 for dimension in "mnk")
        sizes = SIZES if SIZES_K % variant["multiple_k"] == 0 else (SIZES[0], DEEPER)
        sizes = (*sizes, RAGGED) if any_size else sizes
        for size in sizes if everything or variant["default"] else sizes[1:2]:
            taken.setdefault(size, []).append(variant["variant"])
    found: list[Record] = []
    for size, names in taken.items():
        for first in range(0, len(names), AT_A_TIME):
            out = folder / f"{executable.name}-{len(found)}.jsonl"  # a run reads again what its file holds already
            some = ",".join(names[first : first + AT_A_TIME])
            run([executable, "--sim", "--variant", some, *size, "--json", out])
            found += read(out)
    found.sort(key=lambda record: order.index(record["variant"]))
    return [{key: value for key, value in record.items() if key not in UNRECORDED} for record in found]


def run(command: list) -> None:
    """Runs a step, and ends the program where that fails."""
    alone = {**os.environ, **ONE_THREAD}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=alone)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}\nfailed: {done.stderr.strip()}")


def compiler() -> str:
    """The compiler's version, as nvcc tells it."""
    try:
        said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return "unknown"
    version = re.search(r"V(\d+\.\d+\.\d+)", said)
    return version[1] if version else "unknown"


def differences(expected: list[Record], found: list[Record], everything: bool = True) -> list[str]:
    """What is not as recorded, a line each. With `everything` off, a variant need not be counted at every size."""
    before = {tuple(record[part] for part in KEY): record for record in expected}
    now = {tuple(record[part] for part in KEY): record for record in found}
    lines = [f"{name(now[key])}: not recorded" for key in now if key not in before]
    known = set() if everything else {record["variant"] for record in found}
    lost = [before[key] for key in before if key not in now and before[key]["variant"] not in known]
    lines += [f"{name(record)}: recorded, but no longer counted" for record in lost]
    for key in before.keys() & now.keys():
        same_compiler = before[key].get("compiler") == now[key]["compiler"]
        wanted, got = (flat(record[key]["counts"]) for record in (before, now))
        for counter in wanted.keys() | got.keys():
            if not same_compiler and counter.split(".")[0] in COMPILERS_OWN:
                continue
            if wanted.get(counter) != got.get(counter):
                lines.append(f"{name(now[key])}: {counter} is {got.get(counter)}, recorded {wanted.get(counter)}")
    return sorted(lines)


def flat(counts: dict) -> dict[str, int]:
    """{"by_class": {"fma": 1}} as {"by_class.fma": 1}."""
    result = {}
    for key, value in counts.items():
        if isinstance(value, dict):
            result.update({f"{key}.{inner}": number for inner, number in value.items()})
        else:
            result[key] = value
    return result


def name(record: Record) -> str:
    """A record, shortly."""
    return f"{record['step']} {record['variant']} {record['m']}x{record['n']}x{record['k']}"


def main() -> int:
    """Compares, or records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build directory, with the steps and the simulator built")
    parser.add_argument("--all", action="store_true", help="count every variant at every size")
    parser.add_argument("--update", action="store_true", help="record what is counted now")
    parser.add_argument("--only", default="", help="the steps whose name begins like this")
    asked = parser.parse_args()
    steps = sorted(
        path for path in (asked.build.resolve() / "steps").iterdir() if path.is_file() and os.access(path, os.X_OK)
    )
    version = compiler()
    failed = 0
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for step in (step for step in steps if step.name.startswith(asked.only)):
            everything = asked.all or asked.update
            found = [{**record, "compiler": version} for record in counted(step, Path(folder), everything)]
            if asked.update:
                write(RECORDED / f"{step.name}.jsonl", found)
                print(f"{step.name}: {len(found)} records", flush=True)
                continue
            lines = differences(read(RECORDED / f"{step.name}.jsonl"), found, everything)
            failed += bool(lines)
            passed += not lines
            print(f"{step.name}: {len(found)} counts, {'as recorded' if not lines else 'NOT as recorded'}", flush=True)
            for line in lines:
                print(f"  {line}")
    if not asked.update:
        print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
