"""Counts the instructions of each kernel's inner loop: `python -m tools.instruction_mix [STEP …]`.

From each built step it takes the PTX, and, where a disassembler (cuobjdump or nvdisasm) is found, the SASS; a step
built without machine code for --arch is compiled by ptxas first. Writes plots/data/instruction_mix/<step>.jsonl.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab import disassembly, fatbin
from lab.variant_kernels import fingerprint, launched
from tools import registry
from tools.errors import UserError
from tools.paths import BUILD, DATA, SIMULATOR

Record = dict[str, Any]

# By hand, for the default variants: FMAs and shared loads a thread makes per k, and the depth of its slice.
BY_HAND = {
    "01_naive": (1, 0, 1),
    "02_coalesced": (1, 0, 1),
    "03_smem_tiling": (1, 2, 32),
    "04_smem_padding": (2, 3, 32),
    "05_vector_load": (4, 2, 32),
    "06_thread_tile_4x4": (16, 2, 16),
    "07_thread_tile_8x8": (64, 4, 8),
    "08_conflict_free": (64, 4, 8),
    "09_double_buffer": (64, 4, 16),
    "10_cp_async": (128, 6, 16),
    "11_warp_tiling": (128, 6, 16),
}


def find_tool(name: str, given: str | None) -> str | None:
    """A tool of the toolkit: as given, on PATH, or beside nvcc."""
    if given:
        if not Path(given).is_file():
            raise UserError(f"there is no {name} at {given}")
        return given
    if found := shutil.which(name):
        return found
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    beside = Path(nvcc).resolve().with_name(name)
    return str(beside) if beside.is_file() else None


def toolkit_version() -> str:
    """The compiler's version, `13.0`, or `?` without nvcc."""
    nvcc = find_tool("nvcc", None)
    if nvcc is None:
        return "?"
    out = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"release (\d+\.\d+)", out)
    return match[1] if match else "?"


def sass_of(
    executable: Path, arch: int, disassembler: str, ptxas_args: list[str]
) -> tuple[list[disassembly.Kernel], dict[str, int]]:
    """The SASS kernels for one architecture, and the registers of each."""
    images = fatbin.entries(executable)
    with tempfile.TemporaryDirectory() as folder:
        cubins = []
        for index, image in enumerate(i for i in images if i.kind == "cubin" and i.arch == arch):
            cubins.append(Path(folder) / f"{index}.cubin")
            cubins[-1].write_bytes(image.payload)
        if not cubins:
            ptxas = find_tool("ptxas", None)
            if ptxas is None:
                raise UserError(f"{executable.name} has no code for sm_{arch}, and there is no ptxas to make it")
            for index, image in enumerate(i for i in images if i.kind == "ptx"):
                source = Path(folder) / f"{index}.ptx"
                source.write_bytes(image.payload)
                cubins.append(source.with_suffix(".cubin"))
                _run(
                    [
                        ptxas,
                        f"-arch=sm_{arch}",
                        *ptxas_args,
                        "-o",
                        str(cubins[-1]),
                        str(source),
                    ]
                )
        kernels: list[disassembly.Kernel] = []
        registers: dict[str, int] = {}
        for cubin in cubins:
            if Path(disassembler).name.startswith("nvdisasm"):
                kernels += disassembly.sass_kernels(_run([disassembler, str(cubin)]))
            else:
                kernels += disassembly.sass_kernels(_run([disassembler, "-sass", str(cubin)]))
                usage = _run([disassembler, "-res-usage", str(cubin)])
                registers.update((n, int(r)) for n, r in re.findall(r"Function (\S+):\s+REG:(\d+)", usage))
    return kernels, registers


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise UserError(f"{Path(command[0]).name} failed: {first[0]}")
    return done.stdout


def listed(executable: Path) -> list[Record]:
    """The variants a step lists: name and which one is the default."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "list.jsonl"
        paths = [str(SIMULATOR.parent), os.environ.get("LD_LIBRARY_PATH", "")]
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))}
        command = [str(executable), "--list", "--json", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0 or not out.is_file():
            raise UserError(f"{executable.name} --list failed: {(done.stderr or done.stdout).strip()[:200]}")
        return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines() if line.strip()]


def measure(step: registry.Step, build: Path, arch: int, disassembler: str | None) -> list[Record]:
    """The records of one step: each variant in PTX, and in SASS where it can be disassembled."""
    executable = build / "steps" / step.name
    if not executable.is_file():
        raise UserError(f"{step.name} is not built: meson compile -C {build.name} {step.name}")
    source = step.kernel.read_text(encoding="utf-8")
    ptx_images = [image for image in fatbin.entries(executable) if image.kind == "ptx"]
    ptx = [k for image in ptx_images for k in disassembly.ptx_kernels(image.payload.decode("utf-8", "replace"))]
    levels: list[tuple[str, str, list[disassembly.Kernel], dict[str, int]]] = []
    if ptx:
        levels.append(("ptx", f"compute_{ptx_images[0].arch}", ptx, {}))
    if disassembler:
        sass, registers = sass_of(executable, arch, disassembler, step.ptxas_args)
        levels.append(("sass", f"sm_{arch}", sass, registers))
    records = []
    cuda = toolkit_version()
    variants = {variant["variant"]: variant for variant in listed(executable) if not variant.get("leaves_out")}
    large = json.loads((DATA / "steps.json").read_text(encoding="utf-8")).get(step.name, {}).get("at_4096")
    for name, variant in variants.items():
        symbol = launched(executable, variants[large if large and variant["default"] else name])
        for level, target, kernels, registers in levels:
            kernel = next((kernel for kernel in kernels if kernel.name == symbol), None)
            if kernel is None:
                print(f"{step.name}: the {level} has no {symbol}; variant {name} is left out", file=sys.stderr)
                continue
            loop = disassembly.inner_loop(kernel)
            if loop is None:
                print(f"{step.name}: the {level} of variant {name} has no loop with FMAs; left out", file=sys.stderr)
                continue
            record: Record = {
                "step": step.name, "variant": name, "default": bool(variant.get("default")), "kernel": kernel.name,
                "level": level, "arch": target, "cuda": cuda,
            }  # fmt: skip
            record["source"] = fingerprint(source)
            if kernel.name in registers:
                record["registers"] = registers[kernel.name]
            record["loop"] = {"instructions": loop.instructions, **dict(sorted(loop.counts.items()))}
            record["fma_share"] = round((loop.counts["fma"] + loop.counts["tensor"]) / loop.instructions, 4)
            if variant.get("default") and step.name in BY_HAND:
                fmas, loads, depth = BY_HAND[step.name]
                record["by_hand"] = {"depth": depth, "fma": fmas * depth, "load_shared": loads * depth}
            records.append(record)
    return records


def save(records: list[Record], path: Path) -> None:
    """Writes the records of a step through a temporary file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    temporary.replace(path)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Count the instructions of each kernel's inner loop.")
    parser.add_argument("steps", nargs="*", help="steps, as 7 or 07_thread_tile_8x8 (default: all that are built)")
    parser.add_argument("--build", type=Path, default=BUILD, help="build directory (default: build)")
    parser.add_argument("--arch", type=int, default=90, help="architecture of the SASS (default: 90)")
    parser.add_argument("--disassembler", help="cuobjdump or nvdisasm (default: the one on PATH or beside nvcc)")
    parser.add_argument("--out", type=Path, default=DATA / "instruction_mix", help="folder to write to")
    options = parser.parse_args(arguments)
    try:
        disassembler = find_tool("cuobjdump", options.disassembler) or find_tool("nvdisasm", None)
        if disassembler is None:
            print("No cuobjdump or nvdisasm here: PTX only. CUDA's toolkit has them.", file=sys.stderr)
        every = registry.steps()
        chosen = [registry.find(asked, every) for asked in options.steps] or every
        if not options.steps:
            chosen = [step for step in chosen if (options.build / "steps" / step.name).is_file()]
            if not chosen:
                raise UserError(f"no step is built in {options.build}: meson compile -C {options.build}")
        for step in chosen:
            records = measure(step, options.build, options.arch, disassembler)
            if disassembler is None:
                records += _kept_sass(options.out / f"{step.name}.jsonl")
            save(records, options.out / f"{step.name}.jsonl")
            print(f"{step.name}: {len(records)} records")
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _kept_sass(path: Path) -> list[Record]:
    """The SASS records of an earlier run, kept where nothing here can disassemble."""
    if not path.is_file():
        return []
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [row for row in rows if row["level"] == "sass"]


if __name__ == "__main__":
    sys.exit(main())
