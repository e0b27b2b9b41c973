"""How busy a launch keeps the tensor cores and the memory: Nsight Compute's counts, ours and cuBLAS's beside them."""

from __future__ import annotations

from records import metrics

from ..course import Step
from .page import Page, Table, by_gpu

_GIGA = 1e9


def busy(page: Page, step: Step) -> str:
    """The cycles of a call, the share of them in which the tensor cores of its longest kernel worked, and its bytes."""

    def of(gpu: str) -> Table | None:
        found: dict[tuple[int, str], dict[str, float]] = {}
        for r in page.records.profiles.get(gpu, []):
            if r["step"] == step.name and r["m"] == r["n"] == r["k"]:
                found.setdefault((r["m"], r["variant"]), {})[r["metric"]] = r["value"]
        made = Table(
            [
                "M = N = K",
                page.say("kernel", "kernel"),
                page.say("thousand cycles", "千周期"),
                page.say("the whole call", "整个调用"),
                page.say("tensor cores busy", "Tensor Core 忙"),
                page.say("received by the SMs, GB", "SM 收到，GB"),
                page.say("read from DRAM, GB", "从显存读，GB"),
                page.say("written, GB", "写回，GB"),
            ],
            texts=2,
        )
        made.note = page.say(
            "the longest kernel of one call, of cuBLAS's the first, counted once by Nsight Compute with empty caches",
            "一次调用中最长的 kernel（cuBLAS 取第一个），由 Nsight Compute 在缓存清空后计数一次",
        )
        for (size, variant), counts in sorted(found.items(), key=lambda item: item[0][0]):
            if metrics.CALL_CYCLES not in counts:
                continue
            ours, of_library, _ = variant.partition(f" {metrics.BESIDE_CUBLAS}")
            name = page.say(f"cuBLAS beside `{ours}`", f"`{ours}` 旁的 cuBLAS") if of_library else f"**`{ours}`**"
            share = counts[metrics.TENSOR_ANY]
            # Of the library's call lab.pipes takes one kernel.
            call = "–" if of_library else f"{counts[metrics.CALL_CYCLES] / 1e3:.0f}"
            made.rows.append(
                [
                    str(size),
                    name,
                    f"{counts[metrics.CYCLES] / 1e3:.0f}",
                    call,
                    f"{share:.1f}%" if share else "–",
                    f"{counts[metrics.RECEIVED_SECTORS] * metrics.SECTOR_BYTES / _GIGA:.2f}",
                    f"{counts[metrics.DRAM_READ] / _GIGA:.2f}",
                    f"{counts[metrics.DRAM_WRITTEN] / _GIGA:.2f}",
                ]
            )
        return made if made.rows else None

    return by_gpu(page, [step], of, f"no launch of {step.name} was counted: python -m lab.pipes")
