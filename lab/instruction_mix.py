"""Counts the instructions of each kernel's inner loop: `python -m lab.instruction_mix [STEP …]`.

From each built step it takes the PTX and, for one architecture, the SASS; a step built without machine code for it is
compiled by ptxas first. Writes records/instruction_mix/<step>.jsonl. Needs cuobjdump and ptxas of the CUDA Toolkit.
"""

import argparse
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from base import build, cuda, process, registry, venv
from base.errors import UserError
from base.paths import BUILD, DATA, DISASSEMBLER_REQUIREMENTS, ROOT
from lab import disassembly
from lab.variant_kernels import launched
from records import Record, files
from records.sources import step_fingerprint


@dataclass
class Level:
    """The kernels of one step in one language: PTX, or the SASS of one architecture."""

    name: str  # ptx, sass
    arch: str  # compute_80, sm_90
    kernels: list[disassembly.Kernel] = field(default_factory=list)
    registers: dict[str, int] = field(default_factory=dict)  # by kernel


def find_tool(name: str) -> str:
    """A tool of the toolkit: on PATH, beside nvcc, or as a package in .venv."""
    nvcc = Path(shutil.which("nvcc") or cuda.USUAL_PLACE / "bin" / "nvcc").resolve()
    places = (nvcc.parent, venv.site_packages() / "nvidia" / "cu13" / "bin")
    if found := shutil.which(name) or next((str(at / name) for at in places if (at / name).is_file()), None):
        return found
    raise UserError(f"there is no {name}: it comes with the CUDA Toolkit, and with {DISASSEMBLER_REQUIREMENTS.name}")


def output(*command: object, folder: Path = ROOT) -> str:
    """What a tool prints."""
    code, text = process.output([str(word) for word in command], cwd=folder)
    if code != 0:
        raise UserError(f"{Path(str(command[0])).name} failed: {(text.splitlines() or ['no message'])[0]}")
    return text


def machine_arch(arch: int, step: registry.Step) -> str:
    """The architecture of a step's machine code for a GPU: 90, or 90a where the step is for that GPU alone."""
    if not step.runs_on(str(arch)):
        raise UserError(f"{step.name} is for sm_{step.arch}: there is no SASS of it for sm_{arch}")
    return step.arch if step.arch.endswith("a") else str(arch)


def target_of(ptx: str) -> str:
    """The architecture that a PTX module is for: 80, 90a. An executable also holds the harness's, for another one."""
    return re.search(r"^\.target\s+sm_(\w+)", ptx, re.MULTILINE)[1]


def levels(executable: Path, arch: int, step: registry.Step, only: str = "") -> list[Level]:
    """A step's kernels in PTX and in SASS; `only`: the symbol of one that is asked for, which takes less time."""
    machine = machine_arch(arch, step)
    cuobjdump = find_tool("cuobjdump")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output(cuobjdump, "-xptx", "all", "-xelf", f"sm_{machine}", executable, folder=folder)
        texts = {file: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.ptx"))}
        sources = [file for file, text in texts.items() if target_of(text) == step.arch and only in text]
        entry = ("--entry", only) if only else ()
        cubins = sorted(folder.glob("*.cubin"))
        if not cubins:
            cubins = [source.with_suffix(".cubin") for source in sources]
            for source, cubin in zip(sources, cubins, strict=True):
                arguments = step.ptxas_args(source.name.split(".")[0])
                output(find_tool("ptxas"), f"-arch=sm_{machine}", *arguments, *entry, "-o", cubin, source)
        ptx, sass = Level("ptx", f"compute_{step.arch}"), Level("sass", f"sm_{machine}")
        for source in sources:
            ptx.kernels += disassembly.ptx_kernels(texts[source])
        for cubin in cubins:
            sass.kernels += disassembly.sass_kernels(
                output(cuobjdump, "-sass", *(("-fun", only) if only else ()), cubin)
            )
            usage = output(cuobjdump, "-res-usage", cubin)
            sass.registers |= {name: int(count) for name, count in re.findall(r"Function (\S+):\s+REG:(\d+)", usage)}
    return [ptx, sass]


def measure(step: registry.Step, folder: Path, arch: int) -> list[Record]:
    """The records of one step: each variant in PTX and in SASS."""
    executable = folder / "steps" / step.name
    variants = {one["variant"]: one for one in build.variants(executable) if not one.get("leaves_out")}
    found = levels(executable, arch, step)
    release = re.search(r"release (\d+\.\d+)", output(find_tool("nvcc"), "--version"))
    source = step_fingerprint(step)
    records = []
    for name, variant in variants.items():
        symbol = launched(executable, variants[step.at_4096 if step.at_4096 and variant["default"] else name])
        for level in found:
            kernel = next((kernel for kernel in level.kernels if kernel.name == symbol), None)
            loop = disassembly.inner_loop(kernel) if kernel else None
            if loop is None:
                print(
                    f"{step.name}: no loop with FMAs in the {level.name} of variant {name}; left out", file=sys.stderr
                )
                continue
            record: Record = {
                **{"step": step.name, "variant": name, "default": variant["default"], "kernel": symbol},
                **{"level": level.name, "arch": level.arch, "cuda": release[1] if release else "?", "source": source},
                **({"registers": level.registers[symbol]} if symbol in level.registers else {}),
                "loop": {"instructions": loop.instructions, **dict(sorted(loop.counts.items()))},
                "fma_share": round((loop.counts["fma"] + loop.counts["tensor"]) / loop.instructions, 4),
            }
            if variant["default"] and "depth" in step.by_hand:
                per_k, depth = (step.by_hand["fmas_per_k"], step.by_hand["shared_loads_per_k"]), step.by_hand["depth"]
                record["by_hand"] = {"depth": depth, "fma": per_k[0] * depth, "load_shared": per_k[1] * depth}
            if variant["default"] and level.name == "sass" and step.recorded.get("order"):
                record["order"] = disassembly.order(kernel, loop)
            records.append(record)
    return records


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Count the instructions of each kernel's inner loop.")
    parser.add_argument("steps", nargs="*", help="steps, as 7 or 07_thread_tile_8x8 (default: all)")
    parser.add_argument("--build", type=Path, default=BUILD, help="build directory (default: build)")
    parser.add_argument("--arch", type=int, default=90, help="architecture of the SASS (default: 90)")
    parser.add_argument("--out", type=Path, default=DATA / "instruction_mix", help="folder to write to")
    asked = parser.parse_args(arguments)
    try:
        ladder = registry.steps()
        for step in [registry.find(name, ladder) for name in asked.steps] or ladder:
            records = measure(step, asked.build.resolve(), asked.arch)
            files.write(asked.out / f"{step.name}.jsonl", records)
            print(f"{step.name}: {len(records)} records", flush=True)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
