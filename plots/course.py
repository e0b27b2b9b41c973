"""What the charts know of the course itself: the steps and their ladders, their ideas, the GPUs' peaks."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from base import registry
from base.paths import DATA, DEVICES
from base.registry import Step
from plots.figures.text import Words
from records import BEST_LIBRARY, CUBLAS

LADDERS = {
    "fp32": Words("FP32 on CUDA cores", "CUDA core 上的 FP32"),
    "fp16": Words("FP16 on CUDA cores", "CUDA core 上的 FP16"),
    "wmma": Words("tensor cores through WMMA", "通过 WMMA 使用 Tensor Core"),
    "mma": Words("tensor cores through PTX mma.sync", "通过 PTX mma.sync 使用 Tensor Core"),
    "hopper": Words("tensor cores through TMA and wgmma", "通过 TMA 与 wgmma 使用 Tensor Core"),
    "precision": Words("numbers narrower and wider than 16 bits", "比 16 位更窄和更宽的数"),
}
# What a ladder's fastest kernel does not reach, and why; {limit}: what its instruction reaches from registers.
UNREACHED = {
    "fp32": Words(
        "the peak: registers in one bank, the last wave and instructions other than FMAs take the rest",
        "峰值：同 bank 的寄存器、最后一个 wave 和 FMA 之外的指令占去了其余部分",
    ),
    "fp16": Words(
        "cuBLAS, which multiplies FP16 on tensor cores; the peak is that of `half2` FMAs",
        "cuBLAS，它用 Tensor Core 计算 FP16；峰值指 `half2` FMA 的峰值",
    ),
    "wmma": Words(
        "the {limit} TFLOPS of `mma.sync`: part of the copies and fragment loads is not hidden",
        "`mma.sync` 的 {limit} TFLOPS：一部分拷贝和 fragment 加载没有被掩盖",
    ),
    "mma": Words(
        "cuBLAS, which uses Hopper's `wgmma`: `mma.sync` ends at {limit} TFLOPS",
        "cuBLAS，它用 Hopper 的 `wgmma`；`mma.sync` 最多 {limit} TFLOPS",
    ),
    "hopper": Words(
        "the peak: the card reaches its power limit first, and so does the library",
        "峰值：显卡先碰到功耗上限，库也一样",
    ),
    "precision": Words(
        "the peak: the card reaches its power limit first, as in steps 22 to 27",
        "峰值：显卡先碰到功耗上限，与 22 到 27 各步一样",
    ),
}
# What a ladder's kernels are measured against where it is not cuBLAS
_YARDSTICKS = {"hopper": BEST_LIBRARY, "precision": BEST_LIBRARY}
# The variant that a ladder's first step is compared with: of the same types and tile, in the ladder before
_ALIKE = {"22_tma": ("20_mma_warp_swizzle", "bf16")}
# The key of a peak in devices.json where it is not the element type: FP16 on CUDA cores has a peak of its own.
_PEAK_KEYS = {"fp16": "f16_cuda_cores"}
_SAME_CHIP = re.compile(r"(sxm\d?)?(\d+gb)?(hbm\d\w?)?")


class Course:
    """The steps in order and the tables beside the records."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.data = data

    @cached_property
    def steps(self) -> list[Step]:
        """The steps of the registry."""
        return registry.steps(self.root / "steps" / "meson.build")

    @property
    def ladders(self) -> list[str]:
        """The ladders' names, in order."""
        return list(dict.fromkeys(step.ladder for step in self.steps))

    def ladder(self, name: str) -> list[Step]:
        """The steps of one ladder."""
        return [step for step in self.steps if step.ladder == name]

    def ladder_name(self, name: str, language: str) -> str:
        """A ladder's name as a heading."""
        words = LADDERS[name](language) if name in LADDERS else name
        return words[0].upper() + words[1:]

    def yardstick(self, ladder: str) -> str:
        """The baseline by which a ladder's charts tell who is ahead."""
        return _YARDSTICKS.get(ladder, CUBLAS)

    def the_library(self, language: str) -> str:
        """What "the library" is, in words: cuBLAS, and from which step on the fastest call."""
        first = next((step.number for step in self.steps if self.yardstick(step.ladder) == BEST_LIBRARY), 0)
        words = Words("the library: cuBLAS", "库：cuBLAS")(language)
        later = Words(
            f", from step {first:02d} on the fastest call of cuBLAS and cublasLt",
            f"，从步骤 {first:02d} 起为 cuBLAS 与 cublasLt 中最快的调用",
        )
        return words + later(language) if first else words

    def unreached(self, ladder: str, limit: str, language: str) -> str:
        """What a ladder's fastest kernel does not reach; `limit`: that of its instruction in TFLOPS."""
        return UNREACHED[ladder](language).format(limit=limit) if ladder in UNREACHED else ""

    def step(self, name: str) -> Step | None:
        """The step of that name."""
        return next((step for step in self.steps if step.name == name), None)

    def before(self, step: Step) -> Step | None:
        """The step before in the same ladder."""
        ladder = self.ladder(step.ladder)
        at = ladder.index(step)
        return ladder[at - 1] if at else None

    def alike(self, step: Step) -> tuple[Step, str] | None:
        """The step and variant of another ladder that a ladder's first step is compared with."""
        name, variant = _ALIKE.get(step.name, ("", ""))
        other = self.step(name)
        return (other, variant) if other else None

    def idea(self, step: Step, language: str) -> str:
        """The step's idea in a few words."""
        return step.idea(language)

    def at_4096(self, step: Step) -> str | None:
        """The variant whose tile a default that chooses by size takes at 4096, where a small size takes another."""
        return step.at_4096 or None

    def load_store_per_instruction(self, step: Step) -> float | None:
        """Wavefronts and cache look-ups per FMA, HMMA or, on Hopper, 4096 FLOP of the default, as its chapter counts them."""
        return step.by_hand.get("load_store_per_instruction")

    def gpu(self, gpu: str) -> dict[str, Any]:
        """Peaks and sizes of a GPU, empty when the table has none; `a100sxm480gb` is an `a100`, `a100pcie` is not."""
        table = json.loads(DEVICES.read_text(encoding="utf-8"))["gpus"]
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
            path = DATA / name
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
