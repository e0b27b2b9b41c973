"""The ladder: read from steps/meson.build, the one list of steps."""

import ast
import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from base.errors import UserError
from base.paths import REGISTRY

# The list as it stands in steps/meson.build, which is a Python literal, too.
LIST = re.compile(r"^step_list = (\[.*?^\])", re.MULTILINE | re.DOTALL)
ON_CUDA_CORES = ("fp32", "fp16")


@dataclass(frozen=True)
class Step:
    """One line of the registry."""

    name: str  # 07_thread_tile_8x8
    arch: str  # the least compute capability it needs, as in compute_80; the only one where it ends in `a`: 90a
    ladder: str  # fp32, fp16, wmma, mma, hopper
    types: str  # of A and B, the accumulator and C, as shown to people
    also: tuple[str, ...] = ()  # names of the sources in its folder also/
    cuda_args: tuple[str, ...] = ()  # of the compiler, beside those of every step
    also_cuda_args: dict[str, list[str]] = field(default_factory=dict, hash=False)  # of sources in also/, instead
    home: Path = REGISTRY.parent  # the folder that holds every step's

    @property
    def number(self) -> int:
        """Its place in the ladder: 7 for 07_thread_tile_8x8."""
        return int(self.name.split("_", 1)[0])

    def runs_on(self, capability: str) -> bool:
        """Whether a GPU of this compute capability, such as 89, can run it."""
        needed, here = int(self.arch.rstrip("a")), int(capability)
        return here == needed if self.arch.endswith("a") else here >= needed

    @property
    def needs(self) -> str:
        """The GPU that it needs, in words."""
        number = self.arch.rstrip("a")
        alone = "alone" if self.arch.endswith("a") else "or newer"
        return f"compute capability {number[:-1]}.{number[-1]} {alone}"

    @property
    def folder(self) -> Path:
        """Where its kernel and its chapters are."""
        return self.home / self.name

    @property
    def kernel(self) -> Path:
        """The source of the step's own kernel."""
        return self.folder / "kernel.cu"

    @property
    def sources(self) -> list[Path]:
        """Every source: the kernel, then those of the variants that take another path."""
        return [self.kernel, *(self.folder / "also" / f"{name}.cu" for name in self.also)]

    def ptxas_args(self, source: str = "kernel") -> list[str]:
        """What nvcc hands on to ptxas for one of the sources, by its name without `.cu`."""
        arguments = self.also_cuda_args.get(source, self.cuda_args)
        return [now for before, now in pairwise(arguments) if before == "-Xptxas"]

    @property
    def element(self) -> str:
        """The element type of A and B: the first of its types."""
        return self.types.split()[0]

    @property
    def on_tensor_cores(self) -> bool:
        """Whether its ladder runs on tensor cores."""
        return self.ladder not in ON_CUDA_CORES

    @property
    def instruction(self) -> str:
        """The tensor-core instruction whose limit is its limit: mma, or wgmma, which sm_90a alone has; "" without."""
        return "wgmma" if self.arch == "90a" else "mma" if self.on_tensor_cores else ""

    @property
    def short(self) -> str:
        """`07 thread tile 8×8` for `07_thread_tile_8x8`."""
        return re.sub(r"(\d)x(\d)", r"\1×\2", self.name.replace("_", " "))

    def idea(self, language: str = "en") -> str:
        """The step's idea in a few words, in a language (en, zh-CN), as records/steps.json has it."""
        file = self.home.parent / "records" / "steps.json"
        ideas = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return ideas.get(self.name, {}).get(language, self.short)


def steps(registry: Path = REGISTRY) -> list[Step]:
    """Every step, in the order of the ladder."""
    try:
        text = registry.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"the list of steps cannot be read: {error}") from None
    found = LIST.search(text)
    try:
        entries = ast.literal_eval(found[1]) if found else []
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{registry}: step_list is no list of plain values: {error}") from None
    if not entries:
        raise UserError(f"{registry} lists no step")
    return [_step(entry, registry) for entry in entries]


def _step(entry: dict, registry: Path) -> Step:
    try:
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        return Step(**{**entry, **lists}, home=registry.parent)
    except TypeError as error:  # a key too few or too many
        what = str(error).split("() ", 1)[-1]
        raise UserError(f"{registry}: the step {entry.get('name', entry)} {what}") from None


def runnable(ladder: list[Step], capability: str) -> tuple[list[Step], str]:
    """The steps that a GPU of this compute capability can run, and what to say of the others; "" without any."""
    fitting = [step for step in ladder if step.runs_on(capability)]
    others = [step for step in ladder if step not in fitting]
    told = [
        f"{', '.join(step.name for step in others if step.needs == needs)} needs {needs}"
        for needs in dict.fromkeys(step.needs for step in others)
    ]
    return fitting, f"{'; '.join(told)}; this GPU has {capability[:-1]}.{capability[-1]}" if told else ""


def find(asked: str, ladder: list[Step]) -> Step:
    """The step that a reader means by `7`, `07` or `07_thread_tile_8x8`."""
    for step in ladder:
        if asked == step.name or (asked.isascii() and asked.isdigit() and int(asked) == step.number):
            return step
    known = f"{ladder[0].number:02d} to {ladder[-1].number:02d}"
    raise UserError(f"there is no step '{asked}'; the ladder has {known}, ./gemm list shows them")


def of_ladder(asked: str, ladder: list[Step]) -> list[Step]:
    """The steps of one part of the ladder: fp32, fp16, wmma, mma, hopper."""
    chosen = [step for step in ladder if step.ladder == asked]
    if not chosen:
        names = ", ".join(dict.fromkeys(step.ladder for step in ladder))
        raise UserError(f"there is no ladder '{asked}'; choose from: {names}")
    return chosen


def find_many(asked: str, ladder: list[Step]) -> list[Step]:
    """The steps that `01-04,07` or `1,2,11_warp_tiling` name, in the order of the ladder."""
    chosen: set[Step] = set()
    for part in filter(None, (piece.strip() for piece in asked.split(","))):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        first, last = (find(end, ladder).number for end in (ends.groups() if ends else (part, part)))
        chosen.update(step for step in ladder if first <= step.number <= last)
    if not chosen:
        raise UserError(f"'{asked}' names no step; write for instance --steps 01-04,07")
    return [step for step in ladder if step in chosen]
