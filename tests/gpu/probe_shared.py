"""Asks a GPU how many passes accesses to shared memory take, beside what the simulator's rule predicts.

    python3 tests/gpu/probe_shared.py build --ncu ncu --out sim/recordings/shared_h200.csv

One warp makes one access a launch (probe_shared.cu), under Nsight Compute. Writes a row for each pattern: prediction,
measurement, whether they agree. What is to be settled: stores of 8 to 128 bits, whether the parts of a load merge for
the warp as a whole or for each half of it, lanes that take no part, and which counters a cp.async shows up in: those
are written to a second table, every counter that has `ldgsts` in its name.
"""

import argparse
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ALL = 0xFFFFFFFF
DATA = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
BASIC = (
    f"{DATA}.sum",
    f"{DATA}_op_ld.sum",
    f"{DATA}_op_st.sum",
    f"{CONFLICTS}.sum",
    f"{CONFLICTS}_op_ld.sum",
    f"{CONFLICTS}_op_st.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__inst_executed.sum",
)


@dataclass(frozen=True)
class Case:
    """An access: the instruction, each lane's address as written and as a function, and which lanes take part."""

    instruction: str
    pattern: str
    address: Callable[[int], int]
    mask: int = ALL

    @property
    def line(self) -> str:
        """The program's input for it."""
        return " ".join([self.instruction, str(self.mask), *(str(self.address(lane)) for lane in range(32))])

    @property
    def operation(self) -> str:
        """Whose counters tell of it."""
        return "st" if self.instruction.startswith("st") else "ld"


def expression(text: str) -> Callable[[int], int]:
    """`16*(i//2)` as a function of the lane i."""
    code = compile(text, "pattern", "eval")
    return lambda lane: eval(code, {"__builtins__": {}}, {"i": lane})


def cases() -> list[Case]:
    """Every access that is asked about."""
    found: list[Case] = []

    def ask(instructions: str, patterns: str, masks: tuple[int, ...] = (ALL,)) -> None:
        for instruction in instructions.split():
            for pattern in patterns.split(";"):
                text = pattern.strip()
                found.extend(Case(instruction, text, expression(text), mask) for mask in masks)

    # Stores: no two lanes at one place in the first list of each width, then those that share.
    ask("st.shared.8", "i; 4*i; 128*i; i%16; 0")
    ask("ld.shared.8", "i; 4*i; 128*i")
    ask(
        "st.shared.16 ld.shared.16",
        "2*i; 4*i; 8*i; 64*i; 66*i; 128*i; 132*i; 2*(i%16); 2*(i//2); 256*(i//2)+2*(i%2); 0",
    )
    ask("st.shared.32", "4*i; 8*i; 16*i; 128*i; 132*i; 4*(i^1); 4*(i%16); 4*(i//2); 0")
    ask(
        "st.shared.64",
        "8*i; 16*i; 32*i; 64*i; 128*i; 136*i; 8*(i^1); 8*(i//2); 8*(i//16); 8*(i%16); 8*(i%2); 0;"
        "8*(i%16)+256*(i//16); 8*(i%8)+256*(i//8); 64*(i%8)+8*(i//8); 128*(i%16)+8*(i//16); 128*(i%4)+8*(i//4)",
    )
    ask(
        "st.shared.128",
        "16*i; 32*i; 64*i; 128*i; 80*i; 144*i; 16*(i^1); 16*(i//2); 16*(i//4); 16*(i//8); 16*(i//16); 16*(i%2); 0;"
        "16*(i%4); 16*(i%8); 16*(i%16); 16*(i%8)+128*(i//8); 128*(i%8)+16*(i//8); 128*(i%4)+16*(i//4);"
        "128*(i//4)+16*((i%4)^(i//4)); 256*(i%16)+16*(i//16)",
    )
    # Loads: who has to share an address for two parts to become one pass?
    ask(
        "ld.shared.64",
        "8*i; 8*(i//2); 8*(i//4); 8*(i//8); 8*(i%16); 8*(i^1); 8*(i//2) if i<16 else 8*(i-16);"
        "8*(i-16) if i>15 else 8*(i//4*2+i%2); 8*(i//2) if i<16 else 8*(i//4*2+i%2);"
        "8*(i//4*2+i%2); 8*(i%4+i//8*4); 8*(i%8+i//16*8); 16*(i//2); 128*(i//2); 64*(i//2); 128*(i//4*2+i%2)",
    )
    ask(
        "ld.shared.128",
        "16*i; 16*(i//2); 16*(i//4); 16*(i//8); 16*(i%16); 16*(i%8); 16*(i//2) if i<16 else 16*(i-16);"
        "16*(i//2) if i<16 else 16*(i//4*2+i%2); 16*(i//4*2+i%2); 16*(i%4+i//8*4); 16*(i%8+i//16*8);"
        "16*(i//2) if i%16<8 else 16*(i%16-8); 32*(i//2); 64*(i//2); 128*(i//2); 128*(i//4*2+i%2); 16*(i%2)+128*(i//8)",
    )
    # Lanes that take no part.
    halves_and_quarters = (0xFFFF, 0xFFFF0000, 0xFF, 0xFF00FF00, 0x55555555, 0x33333333, 0xFFFFFFFE, 0x1, 0x80000001)
    ask("ld.shared.64 st.shared.64", "8*i; 16*i; 8*(i//2); 128*(i//2)", halves_and_quarters)
    ask("ld.shared.128 st.shared.128", "16*i; 32*i; 16*(i//2); 128*(i//2)", halves_and_quarters)
    ask("ld.shared.32 st.shared.32", "4*i; 8*i; 128*i", (0xFFFF, 0x55555555, 0x1))
    # Matrices: a row of 16 bytes per lane.
    rows = "16*i; 32*i; 64*i; 80*i; 128*i; 144*i; 128*i^16*(i%8); 64*i^16*(i//2%4); 256*(i%16)+16*(i//16)"
    ask("ldmatrix.x4 ldmatrix.x4.trans", rows)
    ask("ldmatrix.x2 ldmatrix.x1", "16*i; 32*i; 128*i; 128*i^16*(i%8)")
    # Copies: where they land.
    ask("cp.async.ca.4", "4*i; 8*i; 128*i; 132*i")
    ask("cp.async.ca.8", "8*i; 16*i; 128*i")
    ask(
        "cp.async.ca.16 cp.async.cg.16",
        "16*i; 32*i; 64*i; 128*i; 128*i^16*(i%8); 144*i; 128*(i//4)+16*((i%4)^(i//4));"
        "256*(i//4)+16*(i%4); 64*(i//4)+16*((i%4)^(i//8%4))",
        (ALL, 0xFFFF),
    )
    ask("cp.async.cg.16.zero", "16*i; 128*i")
    return found


def run(command: list, limit: float, environment: dict | None = None) -> str:
    """Runs a program and returns its output; ends with one line where it fails."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit, env=environment)
    except (OSError, subprocess.TimeoutExpired) as problem:
        sys.exit(f"probe_shared: {words[0]}: {problem}")
    if done.returncode != 0:
        sys.exit(f"probe_shared: {' '.join(words[:3])} failed: {(done.stderr or done.stdout).strip()[-400:]}")
    return done.stdout


def predicted(build: Path, asked: list[Case]) -> list[tuple[int, int]]:
    """Wavefronts and conflicts of each case by the simulator's rule."""
    library = str(build.resolve() / "sim")
    environment = {**os.environ, "LD_LIBRARY_PATH": library}
    with listed(asked) as file:
        lines = run([executable(build), file.name], 120, environment).splitlines()
    reports = [json.loads(line)["kernels"][0]["counts"] for line in lines if line.startswith("{")]
    if len(reports) != len(asked):
        sys.exit(f"probe_shared: the simulator answered {len(reports)} of {len(asked)} cases")
    found = []
    for case, counts in zip(asked, reports, strict=True):
        if case.instruction.startswith("cp.async"):
            found.append((counts["cp_async_shared_wavefronts"], 0))
        else:
            kind = "store" if case.operation == "st" else "load"
            found.append((counts[f"shared_{kind}_wavefronts"], counts[f"shared_{kind}_conflicts"]))
    return found


def measured(build: Path, asked: list[Case], ncu: str, counters: list[str]) -> list[dict[str, str]]:
    """The GPU's counters for each case: launches come in the order of the cases."""
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    command += ["--cache-control", "none", "--kernel-name", "regex:probe", "--metrics", ",".join(counters)]
    with listed(asked) as file:
        lines = run([*command, executable(build), file.name], 540).splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        sys.exit("probe_shared: ncu saw no launch; may it read counters here?")
    names, _, *rows = csv.reader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"'))))
    if len(rows) != len(asked):
        sys.exit(f"probe_shared: ncu saw {len(rows)} launches of {len(asked)}")
    return [{name: value.replace(",", "") for name, value in zip(names, row, strict=True)} for row in rows]


def counters_of_copies(ncu: str) -> list[str]:
    """Every counter that this GPU has for copies from global to shared memory."""
    names = re.findall(r"^(\S*(?:ldgsts|LDGSTS)\S*)", run([ncu, "--query-metrics"], 120), re.MULTILINE)
    return [f"{name}.sum" for name in sorted(set(names)) if not name.endswith((".sum", ".ratio", ".pct"))]


def listed(asked: list[Case]):
    """A file of all cases, a line each; gone once it is closed."""
    file = tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt")  # noqa: SIM115 - the caller closes it
    file.write("".join(case.line + "\n" for case in asked))
    file.flush()
    return file


def executable(build: Path) -> Path:
    """The program."""
    return build / "tests" / "gpu" / "probe_shared"


def write(file: Path, header: list[str], rows: list[list]) -> None:
    """Writes a table."""
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{len(rows)} rows in {file}")


def main() -> int:
    """Predicts, measures, compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build directory, with tests/gpu/probe_shared and the simulator")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line program; '' only predicts")
    parser.add_argument("--out", type=Path, default=Path("probe_shared.csv"), help="the table to write")
    parser.add_argument("--only", default="", help="the instructions whose name begins like this")
    options = parser.parse_args()
    asked = [case for case in cases() if case.instruction.startswith(options.only)]
    expected = predicted(options.build, asked)
    seen = measured(options.build, asked, options.ncu, list(BASIC)) if options.ncu else [{} for _ in asked]
    header = ["instruction", "lane_byte_address", "active_lanes", "wavefronts", "bank_conflicts", "predicted", "equal"]
    rows = []
    different = 0
    for case, (wavefronts, conflicts), counts in zip(asked, expected, seen, strict=True):
        passes = counts.get(f"{DATA}_op_{case.operation}.sum", "")
        lost = counts.get(f"{CONFLICTS}_op_{case.operation}.sum", "")
        copies = case.instruction.startswith("cp.async")
        if copies:  # neither loads nor stores: what is left of all of them
            total = counts.get(f"{DATA}.sum", "")
            others = [counts.get(f"{DATA}_op_{operation}.sum", "0") for operation in ("ld", "st")]
            passes = str(float(total) - sum(map(float, others))) if total else ""
            lost = ""
        equal = "" if not passes else "yes" if float(passes) == wavefronts else "no"
        if lost and not copies and float(lost) != conflicts:
            equal = "no"
        different += equal == "no"
        rows.append([case.instruction, case.pattern, f"0x{case.mask:08x}", passes, lost, wavefronts, equal])
        if equal == "no":
            print(
                f"{case.line.split()[0]:<20} {case.pattern:<44} 0x{case.mask:08x} measured {passes} ({lost} conflicts)"
                f", predicted {wavefronts} ({conflicts})"
            )
    write(options.out, header, rows)
    copies = [case for case in asked if case.instruction.startswith("cp.async")]
    if options.ncu and copies:
        counters = counters_of_copies(options.ncu)
        more = [f"{DATA}.sum", f"{DATA}_op_ld.sum", f"{DATA}_op_st.sum", *BASIC[6:8]]
        rows = []
        for case, counts in zip(copies, measured(options.build, copies, options.ncu, [*counters, *more]), strict=True):
            for counter in (*counters, *more):
                if counts.get(counter, "0") not in ("0", "n/a", ""):
                    rows.append([case.instruction, case.pattern, f"0x{case.mask:08x}", counter, counts[counter]])
        write(options.out.with_name(options.out.stem + "_copies.csv"), [*header[:3], "counter", "value"], rows)
    if options.ncu:
        print(f"{len(asked) - different} of {len(asked)} as predicted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
