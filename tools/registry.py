"""The ladder: read from steps/meson.build, the one list of steps."""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tools.errors import UserError
from tools.paths import REGISTRY, STEPS

ENTRY = re.compile(r"^\s*\{(?P<fields>\s*'name'\s*:.*)\}\s*,?\s*(#.*)?$")
FIELD = re.compile(r"'(?P<key>\w+)'\s*:\s*'(?P<value>[^']*)'")
LIST = re.compile(r"'(?P<key>\w+)'\s*:\s*\[(?P<values>[^]]*)\]")
HEADING = re.compile(r"^#\s+(?P<text>.+?)\s*#*\s*$", re.MULTILINE)
STEP_NUMBER = re.compile(r"^(?:step\s*)?0*(?P<number>\d+)[\s:.·–—-]*", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """One line of the registry."""

    name: str  # 07_thread_tile_8x8
    arch: str  # the least compute capability it needs, as in compute_80
    ladder: str  # fp32, fp16, wmma, mma
    types: str  # of A and B, the accumulator and C, as shown to people
    also: tuple[str, ...] = ()  # names of the sources in its folder also/
    cuda_args: tuple[str, ...] = ()  # of the compiler, beside those of every step

    @property
    def number(self) -> int:
        """Its place in the ladder: 7 for 07_thread_tile_8x8."""
        return int(self.name.split("_", 1)[0])

    @property
    def folder(self) -> Path:
        """Where its kernel and its chapters are."""
        return STEPS / self.name

    @property
    def kernel(self) -> Path:
        """The source of the step's own kernel."""
        return self.folder / "kernel.cu"

    @property
    def ptxas_args(self) -> list[str]:
        """Those of its cuda_args that nvcc hands on to ptxas."""
        return [now for before, now in pairwise(self.cuda_args) if before == "-Xptxas"]

    @property
    def sources(self) -> list[Path]:
        """Every source: the kernel, then published kernels that are built differently."""
        return [self.kernel, *(self.folder / "also" / f"{name}.cu" for name in self.also)]

    def idea(self, language: str = "") -> str:
        """The heading of its chapter, less the number: `language` is "" for English or "zh-CN"."""
        readme = self.folder / (f"README.{language}.md" if language else "README.md")
        try:
            heading = HEADING.search(readme.read_text(encoding="utf-8"))
        except OSError:
            heading = None
        if heading is None:
            return self.name.split("_", 1)[1].replace("_", " ")
        return STEP_NUMBER.sub("", heading["text"]).replace("`", "")


def steps(registry: Path = REGISTRY) -> list[Step]:
    """Every step, in the order of the ladder."""
    try:
        text = registry.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"the list of steps cannot be read: {error}") from None
    found = []
    for line_number, line in enumerate(text.splitlines(), 1):
        entry = ENTRY.match(line)
        if entry is None:
            continue
        fields = {field["key"]: field["value"] for field in FIELD.finditer(entry["fields"])}
        lists = {field["key"]: re.findall(r"'([^']*)'", field["values"]) for field in LIST.finditer(entry["fields"])}
        more = {key: tuple(lists.get(key, ())) for key in ("also", "cuda_args")}
        try:
            found.append(Step(fields["name"], fields["arch"], fields["ladder"], fields["types"], **more))
        except KeyError as missing:
            raise UserError(f"{registry}, line {line_number}: the step has no {missing}") from None
    if not found:
        raise UserError(f"{registry} lists no step")
    return found


def find(asked: str, ladder: list[Step]) -> Step:
    """The step that a reader means by `7`, `07` or `07_thread_tile_8x8`."""
    for step in ladder:
        if asked == step.name or (asked.isascii() and asked.isdigit() and int(asked) == step.number):
            return step
    known = f"{ladder[0].number:02d} to {ladder[-1].number:02d}"
    raise UserError(f"there is no step '{asked}'; the ladder has {known}, ./gemm list shows them")


def of_ladder(asked: str, ladder: list[Step]) -> list[Step]:
    """The steps of one part of the ladder: fp32, fp16, wmma, mma."""
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
        if ends is None:
            chosen.add(find(part, ladder))
            continue
        first, last = find(ends[1], ladder).number, find(ends[2], ladder).number
        chosen.update(step for step in ladder if first <= step.number <= last)
    if not chosen:
        raise UserError(f"'{asked}' names no step; write for instance --steps 01-04,07")
    return [step for step in ladder if step in chosen]
