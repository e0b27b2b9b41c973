"""What the charts know of the course itself: the steps and their ladders, their ideas, the GPUs' peaks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from gemm_plots.figures.text import Words

LADDERS = {
    "fp32": Words("FP32 on CUDA cores", "CUDA core 上的 FP32"),
    "fp16": Words("FP16 on CUDA cores", "CUDA core 上的 FP16"),
    "wmma": Words("tensor cores through WMMA", "通过 WMMA 使用 Tensor Core"),
    "mma": Words("tensor cores through PTX mma.sync", "通过 PTX mma.sync 使用 Tensor Core"),
    "hopper": Words("Hopper", "Hopper"),
}
ON_CUDA_CORES = ("fp32", "fp16")
# The key of a peak in gpus.json where it is not the element type: FP16 on CUDA cores has a peak of its own.
_PEAK_KEYS = {"fp16": "f16_cuda_cores"}

_STEP_LINE = re.compile(r"\{\s*'name'\s*:\s*'(?P<name>[^']+)'(?P<rest>[^}]*)\}")
_COVERED = re.compile(r"(?P<published>[^:;|]+): `(?P<variant>\w+)`")
_SAME_CHIP = re.compile(r"(sxm\d?)?(\d+gb)?(hbm\d\w?)?")
_FIELD = re.compile(r"'(\w+)'\s*:\s*'([^']*)'")


@dataclass(frozen=True)
class Step:
    """One step of the course: folder name, ladder, element types."""

    name: str
    ladder: str
    types: str

    @property
    def number(self) -> str:
        """Its place in the ladder, two digits."""
        return self.name.split("_")[0]

    @property
    def element(self) -> str:
        """The element type of A and B: the first of its types."""
        return self.types.split()[0]

    @property
    def on_tensor_cores(self) -> bool:
        """Whether its ladder runs on tensor cores."""
        return self.ladder not in ON_CUDA_CORES

    @property
    def short(self) -> str:
        """`07 thread tile 8×8` for `07_thread_tile_8x8`."""
        words = self.name.replace("_", " ")
        return re.sub(r"(\d)x(\d)", r"\1×\2", words)


class Course:
    """The steps in order and the tables beside the records."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.data = data

    @cached_property
    def steps(self) -> list[Step]:
        """The registry in steps/meson.build, the one list of steps."""
        registry = self.root / "steps" / "meson.build"
        if not registry.is_file():
            return []
        steps = []
        for match in _STEP_LINE.finditer(registry.read_text(encoding="utf-8")):
            fields = dict(_FIELD.findall(match["rest"]))
            steps.append(Step(match["name"], fields.get("ladder", "fp32"), fields.get("types", "f32")))
        return steps

    def ladder(self, name: str) -> list[Step]:
        """The steps of one ladder."""
        return [step for step in self.steps if step.ladder == name]

    def step(self, name: str) -> Step | None:
        """The step of that name."""
        return next((step for step in self.steps if step.name == name), None)

    def before(self, step: Step) -> Step | None:
        """The step before in the same ladder."""
        ladder = self.ladder(step.ladder)
        at = ladder.index(step)
        return ladder[at - 1] if at else None

    def idea(self, step: Step, language: str) -> str:
        """The step's idea in a few words."""
        return self._json("steps.json").get(step.name, {}).get(language, step.short)

    def at_4096(self, step: Step) -> str | None:
        """The variant whose tile a default that chooses by size takes at 4096, where a small size takes another."""
        return self._json("steps.json").get(step.name, {}).get("at_4096")

    def covers(self, step: Step) -> dict[str, list[str]]:
        """Published kernels that each variant of a step covers, as docs/ladder.md says; a test holds it to them."""
        page = self.root / "docs" / "ladder.md"
        lines = page.read_text(encoding="utf-8").splitlines() if page.is_file() else []
        found: dict[str, list[str]] = {}
        for line in lines:
            if line.startswith(f"| `{step.name}` |"):
                for pair in _COVERED.finditer(line.split("|")[3]):
                    found.setdefault(pair["variant"], []).append(pair["published"].strip())
        return found

    def gpu(self, gpu: str) -> dict[str, Any]:
        """Peaks and sizes of a GPU, empty when the table has none; `a100sxm480gb` is an `a100`, `a100pcie` is not."""
        table = self._json("gpus.json")
        for name, facts in table.items():
            if gpu == name or (gpu.startswith(name) and _SAME_CHIP.fullmatch(gpu.removeprefix(name))):
                return facts
        return {}

    def peak(self, gpu: str, step: Step) -> float | None:
        """Peak TFLOPS of a GPU for what a step computes with."""
        return self.gpu(gpu).get("peak_tflops", {}).get(_PEAK_KEYS.get(step.ladder, step.element))

    def published(self) -> dict[str, Any]:
        """Figures that others published, drawn as marks with their source."""
        return self._json("published.json")

    def _json(self, name: str) -> dict[str, Any]:
        path = self.data / name
        if not path.is_file():
            path = Path(__file__).resolve().parents[1] / "data" / name
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
