"""`./gemm validate`: the simulator's counts beside a GPU's own counters, read by Nsight Compute.

Runs every step in the simulator, and under ncu with all sizes in one start, and writes docs/validation-<gpu>.csv: one
row for each step, variant, size and counter, and one for the bits of the result, on random inputs. A row that
differs is explained by the machine code, in the column `why`; explanations are kept when the table is made anew, and
one given for another size serves. Rows of steps that were not run, or that failed, stay as they were. Exit code 1 where
fewer rows are equal than should be, or a row that differs is not explained; 2 where a step could not be run.
"""

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path

from base import registry
from base.paths import BUILD, ROOT, shown
from lab.ncu import LIMIT_SECONDS, PRINTED, Failed, known_metrics, launches, profiled, run
from lab.variant_kernels import products_of
from records.metrics import TMA_RECEIVED

SIZES = (256, 512)
EQUAL_SHARE = 0.95

# Our counter, and what of the GPU's counts the same: a sum, of which terms with a minus are taken off. Those of the
# SM's own instrumentation (smsp__sass_…) tell loads, ldmatrix and cp.async apart, and count what an access takes by
# itself; the L1's (l1tex__…_op_ld) has all three in one, and passes in which an access waited for another warp's.
LOADS, COPIES = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum", "smsp__sass_l1tex_t_{}_pipe_lsu_mem_global_op_ldgsts.sum"
PASSES = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
COUNTERS = {
    "global_load_requests": (LOADS.format("requests"), "-" + COPIES.format("requests")),
    "global_load_sectors": ("smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "shared_load_wavefronts": (PASSES.format("ld"), PASSES.format("ldsm")),
    "shared_load_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",),
    "shared_store_wavefronts": (PASSES.format("st"), PASSES.format("stsm")),
    "shared_store_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
    "shared_conflicts": ("memory_l1_wavefronts_shared", "-memory_l1_wavefronts_shared_ideal"),
    "cp_async_requests": (COPIES.format("requests"),),
    "cp_async_l1_sectors": (LOADS.format("sectors"), "-smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    "tma_requests": ("l1tex__tmain_requests.sum",),
    "tma_received_bytes": (TMA_RECEIVED,),
    "tma_store_bytes": ("l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",),
    "wgmma_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",),
}
# Of an instruction that not every GPU has (stmatrix): nothing where there is no such counter.
WHERE_THERE_IS = {PASSES.format("stsm")}
# The instrumentation gives the conflicts of all accesses as one sum; it has cp.async in it too, in a way of its own, so
# that a step with cp.async is compared by the L1's counters, in which another warp's passes may show.
WITH_COPIES, WITHOUT_COPIES = ("shared_load_conflicts", "shared_store_conflicts"), ("shared_conflicts",)
METRICS = sorted({term.removeprefix("-") for terms in COUNTERS.values() for term in terms})
# A row besides: the hash of C's bits. PTX defines those of the CUDA-core steps; what tensor cores do the simulator has
# from recordings.
BITS = "result_bits"
# Sectors per request, from the two above.
RATIOS = {
    "global_load_sectors_per_request": ("global_load_sectors", "global_load_requests"),
    "global_store_sectors_per_request": ("global_store_sectors", "global_store_requests"),
    "cp_async_l1_sectors_per_request": ("cp_async_l1_sectors", "cp_async_requests"),
}
COLUMNS = ("step", "variant", "size", "counter", "simulated", "measured", "equal", "why")
# One variant at one size, and what was counted of it: numbers, and the hash of the bits as text.
Case = tuple[str, int]
Counts = dict[str, float | str]


def what_to_run(sizes: list[int], variant: str) -> list[str]:
    """The options of a step that name the work: with none for the variant, the default one."""
    return ["--size", *map(str, sizes), *(["--variant", variant] if variant else [])]


def simulated(step: Path, work: list[str], limit: float) -> dict[Case, Counts]:
    """What the simulator counts of each variant at each size."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counts.jsonl"
        output = run([step, "--sim", "--fingerprint", *work, "--json", file], limit)
        records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    bits = {(match["variant"], int(match["m"])): match["bits"] for match in PRINTED.finditer(output)}
    found: dict[Case, Counts] = {}
    for record in records:
        case = (record["variant"], record["m"])
        counts = {**record["counts"]}
        counts["shared_conflicts"] = counts["shared_load_conflicts"] + counts["shared_store_conflicts"]
        if tma := counts.get("tma"):
            counts["tma_requests"] = tma["load_requests"] + tma["store_requests"]
            counts["tma_received_bytes"] = tma["shared_bytes"]  # in all blocks, zeros from outside the matrix included
            counts["tma_store_bytes"] = tma["store_bytes"]
        ours = {name: float(counts[name]) for name in COUNTERS if name in counts}
        found[case] = {**with_ratios(ours), BITS: bits[case]}
    return found


def measured(output: str, name: str) -> dict[Case, Counts]:
    """What the GPU counted of one launch each, from the output of `profiled`."""
    return {
        (match["variant"], int(match["m"])): {**with_ratios(counted(launch)), BITS: match["bits"]}
        for match, launch in launches(output, METRICS, name)
    }


def counted(launch: dict[str, float]) -> dict[str, float]:
    """Our counters, of one launch's metrics; those of which a term is missing are left out."""
    found = {}
    for name, terms in COUNTERS.items():
        names = [term.removeprefix("-") for term in terms]
        values = [launch.get(term, 0.0 if term in WHERE_THERE_IS else None) for term in names]
        if None not in values:
            signs = [-1 if term.startswith("-") else 1 for term in terms]
            found[name] = sum(sign * value for sign, value in zip(signs, values, strict=True))
    left_out = WITHOUT_COPIES if found.get("cp_async_requests") else WITH_COPIES
    return {name: count for name, count in found.items() if name not in left_out}


def metrics_here(ncu: str, limit: float) -> list[str]:
    """Those of the metrics that this GPU has: ncu refuses a list with one that it does not know."""
    known = known_metrics(ncu, limit)
    here = [metric for metric in METRICS if metric.removesuffix(".sum") in known]
    for metric in METRICS:
        if metric not in here:
            print(f"this GPU has no {metric}: what is made of it is left out", flush=True)
    if not here:
        raise Failed(f"{ncu} --query-metrics names none of the counters that are compared")
    return here


def with_ratios(counts: dict[str, float]) -> dict[str, float]:
    """The counts, and what follows from them."""
    ratios = {
        name: round(counts[above] / counts[below], 4)
        for name, (above, below) in RATIOS.items()
        if counts.get(below) and above in counts
    }
    return {**counts, **ratios}


def compare(step: str, case: Case, ours: Counts, theirs: Counts, explained: dict) -> list[dict]:
    """One row for each counter that both have and that is not zero on both sides."""
    rows = []
    variant, size = case
    for name in (*COUNTERS, *RATIOS, BITS):
        if name not in ours or name not in theirs or ours[name] == theirs[name] == 0:
            continue
        equal = ours[name] == theirs[name]
        anywhere = explained.get((step, variant, "", name), "")
        why = "" if equal else explained.get((step, variant, str(size), name), anywhere)
        shown_values = (value if isinstance(value, str) else f"{value:.15g}" for value in (ours[name], theirs[name]))
        values = (step, variant, size, name, *shown_values, "yes" if equal else "no", why)
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def table(file: Path) -> list[dict[str, str]]:
    """The rows as they are."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def explanations(rows: list[dict[str, str]]) -> dict[tuple[str, ...], str]:
    """The reasons given in a table: by step, variant, size and counter, and with "" for any size."""
    given = {}
    for row in rows:
        if row["why"]:
            step, variant, size, counter = (row[column] for column in COLUMNS[:4])
            given[step, variant, size, counter] = given[step, variant, "", counter] = row["why"]
    return given


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


def step_rows(step: registry.Step, asked: argparse.Namespace, metrics: list[str], explained: dict) -> list[dict]:
    """The rows of one step."""
    executable = BUILD / "steps" / step.name
    work = what_to_run(asked.sizes, "all" if asked.all_variants else "")
    saved = None if asked.output is None else asked.output / f"{step.name}.txt"
    if asked.saved and saved is not None:
        try:
            output = saved.read_text(encoding="utf-8")
        except OSError as error:
            raise Failed(f"{saved} cannot be read: {error.strerror}") from error
    else:
        output = profiled(executable, products_of(step), work, asked.ncu, metrics, asked.limit)
        if saved is not None:
            saved.parent.mkdir(parents=True, exist_ok=True)
            saved.write_text(output, encoding="utf-8")
    theirs = measured(output, step.name)
    ours = simulated(executable, work, asked.limit)
    return [row for case in theirs for row in compare(step.name, case, ours[case], theirs[case], explained)]


def main() -> int:
    """Compares the steps that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", help="numbers or names of steps (default: all)")
    parser.add_argument("--gpu", default="h200", help="the GPU's name in the file's (default h200)")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="square sizes (default 256 512)")
    parser.add_argument("--all-variants", action="store_true", help="every variant of a step, not only the default one")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="most seconds of one start (default 300)")
    parser.add_argument("--out", type=Path, help="another table to write")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="keep what ncu prints of each step there")
    parser.add_argument("--saved", action="store_true", help="compare with what --output kept, without a GPU")
    asked = parser.parse_args()
    if asked.saved and asked.output is None:
        parser.error("--saved needs --output FOLDER")
    ladder = registry.steps()
    steps = [registry.find(name, ladder) for name in asked.steps] or ladder
    file = asked.out or ROOT / "docs" / f"validation-{asked.gpu}.csv"
    rows: list[dict] = list(table(file))
    explained = explanations(rows)
    failed = 0
    try:
        metrics = METRICS if asked.saved else metrics_here(asked.ncu, asked.limit)
    except Failed as problem:
        print(f"gemm validate: {problem}", file=sys.stderr)
        return 2
    for step in steps:
        try:
            found = step_rows(step, asked, metrics, explained)
        except Failed as problem:
            print(f"gemm validate: {step.name}: {problem}", file=sys.stderr, flush=True)
            failed += 1
            continue
        rows = sorted([row for row in rows if row["step"] != step.name] + found, key=lambda row: row["step"])
        write(file, rows)
        equal = sum(row["equal"] == "yes" for row in found)
        print(f"{step.name}: {equal} of {len(found)} equal", flush=True)
    if failed < len(steps):
        print(f"Written to {shown(file)}")
    return 2 if failed else judge(rows)


if __name__ == "__main__":
    sys.exit(main())
