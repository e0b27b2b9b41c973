"""`python -m lab.pipes 29 30`: how busy a launch keeps the tensor cores and the memory, ours and cuBLAS's beside it.

Starts the default variant (or each of --variants) once per size under Nsight Compute, then the library's call of the same
product, and puts the cycles, the share of them in which the tensor cores worked, and the bytes among the records of
records/<gpu>/profile.jsonl. Of a call of several kernels the longest counts, and the cycles of all of them; of the library's,
which is made several times, its first kernel. Every kernel begins with empty caches, as ncu does unless told otherwise.
"""

import re
import sys
from pathlib import Path

from lab import profile_records
from lab.ncu import ONE_LAUNCH, PRINTED, Failed, numbers, rows, run
from records import Record
from records.metrics import BESIDE_CUBLAS, CALL_CYCLES, CYCLES, PIPES

HARNESS = re.compile(r"\b(for_each_kernel|total_kernel|reference_kernel|note_multiprocessors)\b")
LIBRARIES = re.compile(r"nvjet|cutlass|xmma|ampere_|sm[89]0_|gemv|splitK", re.IGNORECASE)
TIMED_ONCE = ("--baseline", "cublas", "--rounds", 1, "--min-time", 0.0001, "--warmup", 0, "--verify", "off")


def kernels(output: str) -> list[tuple[str, dict[str, float]]]:
    """Each launch in ncu's CSV: the kernel's name and its metrics."""
    return [(row["Kernel Name"], numbers(row, PIPES)) for row in rows(output)]


def of_call(launches: list[tuple[str, dict[str, float]]]) -> dict[str, float]:
    """What is recorded of the kernels of one call."""
    if not launches:
        raise Failed("ncu saw none of the kernels that were looked for")
    longest = max((values for _, values in launches), key=lambda values: values[CYCLES])
    return {**longest, CALL_CYCLES: sum(values[CYCLES] for _, values in launches)}


def counted(step: Path, size: int, variant: str, ncu: str, limit: float) -> list[Record]:
    """The records of one variant and of the library beside it; variant "": the default."""
    command = [ncu, "--clock-control", "none", "--metrics", ",".join(PIPES), "--csv", "--page", "raw"]
    command += ["--print-units", "base", step, "--size", size, *(["--variant", variant] if variant else [])]
    ours = run([*command, *ONE_LAUNCH], limit)
    if (printed := PRINTED.search(ours)) is None:
        raise Failed(f"{step.name} did not say what it launched")
    sides = {printed["variant"]: of_call([one for one in kernels(ours) if not HARNESS.search(one[0])])}
    try:
        seen = [one for one in kernels(run([*command, *TIMED_ONCE], limit)) if LIBRARIES.search(one[0])]
        sides[f"{printed['variant']} {BESIDE_CUBLAS}"] = of_call(seen[:1])
    except Failed as problem:  # a product that cuBLAS does not have
        print(f"pipes: nothing beside {printed['variant']}: {problem}", file=sys.stderr)
    return [
        {"step": step.name, "variant": side, **dict.fromkeys("mnk", size), "metric": metric, "value": value}
        for side, counts in sides.items()
        for metric, value in counts.items()
    ]


def main() -> int:
    """Profiles steps; exit code 2 where that cannot be done."""
    parser = profile_records.arguments(__doc__, "of which all kernels of a call are counted")
    parser.add_argument("--variants", nargs="*", default=[""], help="that are launched (default: the step's default)")
    asked = parser.parse_args()

    def of_step(step: Path, size: int) -> list[Record]:
        return [one for name in asked.variants for one in counted(step, size, name, asked.ncu, asked.limit)]

    return profile_records.record("pipes", asked, of_step)


if __name__ == "__main__":
    sys.exit(main())
