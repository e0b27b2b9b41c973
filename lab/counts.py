"""Counts every variant of every step in the simulator, and compares with what is recorded in records/simulator.

    python -m lab.counts build            compare
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
UNRECORDED = ("kernels", "blocks", "threads", "lines")
COMPILERS_OWN = ("instructions", "by_class", "divergent_branches")


def counted(executable: Path, folder: Path) -> list[Record]:
    """What a step's variants count at every size. Exits where the simulator finds something wrong."""
    found: list[Record] = []
    for variant in variants(executable):
        if variant.get("leaves_out"):  # wrong on purpose
            continue
        any_size = all(variant[f"multiple_{dimension}"] == 1 for dimension in "mnk")
        sizes = SIZES if SIZES_K % variant["multiple_k"] == 0 else (SIZES[0], DEEPER)
        for size in (*sizes, RAGGED) if any_size else sizes:
            out = folder / f"{executable.name}-{len(found)}.jsonl"  # a run reads again what its file holds already
            run([executable, "--sim", "--variant", variant["variant"], *size, "--json", out])
            found += read(out)
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


def differences(expected: list[Record], found: list[Record]) -> list[str]:
    """What is not as recorded, a line each."""
    before = {tuple(record[part] for part in KEY): record for record in expected}
    now = {tuple(record[part] for part in KEY): record for record in found}
    lines = [f"{name(now[key])}: not recorded" for key in now if key not in before]
    lines += [f"{name(before[key])}: recorded, but no longer counted" for key in before if key not in now]
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
            found = [{**record, "compiler": version} for record in counted(step, Path(folder))]
            if asked.update:
                write(RECORDED / f"{step.name}.jsonl", found)
                print(f"{step.name}: {len(found)} records", flush=True)
                continue
            lines = differences(read(RECORDED / f"{step.name}.jsonl"), found)
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
