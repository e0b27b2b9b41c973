"""`./gemm validate`: the simulator's counts beside a GPU's own counters, read by Nsight Compute.

Runs every step twice at each size, in the simulator and under ncu, and writes docs/validation-<gpu>.csv: one row for
each step, size and counter. A row that differs is explained by the machine code, in the column `why`; explanations
are kept when the table is made anew. Exit code 1 where fewer rows are equal than should be, or a row that differs is
not explained.
"""

import argparse
import csv
import io
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import registry
from tools.paths import BUILD, ROOT, shown

SIZES = (256, 512)
EQUAL_SHARE = 0.95

# Our counter, and the one of the GPU that counts the same.
COUNTERS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "cp_async_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "cp_async_global_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
}
# Sectors a request, from the two above.
RATIOS = {
    "global_load_sectors_per_request": ("global_load_sectors", "global_load_requests"),
    "global_store_sectors_per_request": ("global_store_sectors", "global_store_requests"),
}
COLUMNS = ("step", "variant", "size", "counter", "simulated", "measured", "equal", "why")
ONE_LAUNCH = ("--baseline", "none", "--verify", "off", "--warmup", "0", "--rounds", "1", "--min-time", "0")


class Failed(Exception):
    """A program that the comparison needs did not do its part: one line that says what."""


def run(command: list) -> str:
    """Runs a program and returns its output."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(f"{words[0]} could not be started: {error.strerror}") from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def simulated(step: Path, size: int) -> tuple[str, dict[str, float]]:
    """The default variant, and what the simulator counts."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts.jsonl"
        run([step, "--sim", "--size", size, "--json", file])
        record = json.loads(file.read_text(encoding="utf-8").splitlines()[0])
    return record["variant"], with_ratios({name: float(record["counts"][name]) for name in COUNTERS})


def measured(step: Path, size: int, ncu: str) -> dict[str, float]:
    """What the GPU counts in one launch; counters that this GPU does not have are left out."""
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--launch-count", "1"]
    command += ["--kernel-name", "regex:gemm_kernel", "--metrics", ",".join(COUNTERS.values())]
    return with_ratios(parse(run([*command, step, "--size", size, *ONE_LAUNCH])))


def parse(text: str) -> dict[str, float]:
    """The counters in ncu's CSV: a row of names, one of units, then one a launch. Other lines come before them."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    rows = [] if start is None else list(csv.reader(io.StringIO("\n".join(lines[start:]))))
    if len(rows) < 3:
        raise Failed("ncu saw no launch of gemm_kernel; may it read counters here? (run as root, or allow profiling)")
    shown_as = dict(zip(rows[0], rows[2], strict=False))
    found = {}
    for name, counter in COUNTERS.items():
        text = shown_as.get(counter, "").replace(",", "")
        if re.fullmatch(r"[0-9.]+", text):
            found[name] = float(text)
    return found


def with_ratios(counts: dict[str, float]) -> dict[str, float]:
    """The counts, and what follows from them."""
    ratios = {
        name: round(counts[above] / counts[below], 4)
        for name, (above, below) in RATIOS.items()
        if counts.get(below) and above in counts
    }
    return {**counts, **ratios}


def compare(step: str, variant: str, size: int, ours: dict, theirs: dict, explained: dict) -> list[dict]:
    """One row for each counter that both have and that is not zero on both sides."""
    rows = []
    for name in (*COUNTERS, *RATIOS):
        if name not in ours or name not in theirs or ours[name] == theirs[name] == 0:
            continue
        equal = ours[name] == theirs[name]
        why = "" if equal else explained.get((step, variant, str(size), name), "")
        values = (step, variant, size, name, f"{ours[name]:g}", f"{theirs[name]:g}", "yes" if equal else "no", why)
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def explanations(file: Path) -> dict[tuple[str, ...], str]:
    """The reasons given in the table as it is."""
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as lines:
        return {tuple(row[column] for column in COLUMNS[:4]): row["why"] for row in csv.DictReader(lines)}


def write(file: Path, rows: list[dict]) -> None:
    """Writes the table, to a temporary file first."""
    temporary = file.with_suffix(".new")
    with temporary.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    temporary.replace(file)


def judge(rows: list[dict]) -> int:
    """Prints what differs; 1 where that is too much or unexplained."""
    different = [row for row in rows if row["equal"] == "no"]
    for row in different:
        print("  ".join(str(row[column]) for column in COLUMNS[:6]), row["why"] or "(not explained)", sep="  ")
    share = 1 - len(different) / len(rows) if rows else 0.0
    print(f"{len(rows) - len(different)} of {len(rows)} equal ({100 * share:.1f} %)")
    return 0 if share >= EQUAL_SHARE and all(row["why"] for row in different) else 1


def main() -> int:
    """Compares the steps that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help="numbers or names of steps (default: all)")
    parser.add_argument("--gpu", default="h200", help="the GPU's name in the file's (default h200)")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="square sizes (default 256 512)")
    asked = parser.parse_args()
    ladder = registry.steps()
    steps = [registry.find(name, ladder) for name in asked.steps] or ladder
    file = ROOT / "docs" / f"validation-{asked.gpu}.csv"
    explained = explanations(file)
    rows: list[dict] = []
    try:
        for step in steps:
            executable = BUILD / "steps" / step.name
            for size in asked.sizes:
                variant, ours = simulated(executable, size)
                theirs = measured(executable, size, asked.ncu)
                found = compare(step.name, variant, size, ours, theirs, explained)
                rows += found
                equal = sum(row["equal"] == "yes" for row in found)
                print(f"{step.name} {size}: {equal} of {len(found)} equal", flush=True)
    except Failed as problem:
        print(f"gemm validate: {problem}", file=sys.stderr)
        return 2
    if not asked.steps:
        write(file, rows)
        print(f"Written to {shown(file)}")
    return judge(rows)


if __name__ == "__main__":
    sys.exit(main())
