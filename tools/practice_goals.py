"""The goals of a practice task: quantities that the simulator counts or observes, beside what is recorded of the step.

A quantity is reached when it is no worse than the step's, with a tenth to spare: a kernel may be written in more than
one way. What the step has brought to zero has to be zero.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.paths import BUILD, DATA
from base.registry import Step
from records import Record, read
from tools import bound_counts
from tools.bound_counts import Work
from tools.practice_tasks import Size, Task

SIZE: Size = (256, 256, 256)  # at which the counts are compared
TO_SPARE = 0.1  # of the step's value
FACTS_FILE = DATA / "practice.jsonl"  # written by python -m tools.practice_record

Counts = Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """Something that a goal is about."""

    names: Mapping[str, str]  # by language
    count: Callable[[Counts], int] | None  # of a kernel's counts, or of a line's; None: a fact of the run as a whole
    at_least: bool = False  # more is better


def _sum(*keys: str) -> Callable[[Counts], int]:
    return lambda counts: sum(counts.get(key, 0) for key in keys)


def _tma(key: str) -> Callable[[Counts], int]:
    return lambda counts: counts.get("tma", {}).get(key, 0)


def _class(*names: str) -> Callable[[Counts], int]:
    return lambda counts: sum(counts["by_class"].get(name, 0) for name in names)


def _named(english: str, chinese: str) -> dict[str, str]:
    return {"en": english, "zh-CN": chinese}


products = _class("fma", "tensor")  # instructions that multiply and add

QUANTITIES = {
    "instructions": Quantity(_named("warp instructions", "warp 指令"), _sum("instructions")),
    "fma": Quantity(_named("of them FMAs", "其中 FMA"), _class("fma")),
    "tensor_ops": Quantity(_named("tensor-core operations", "Tensor Core 操作次数"), _sum("tensor_ops")),
    "barriers": Quantity(_named("barriers (warps arriving)", "屏障（到达的 warp 数）"), _sum("barriers")),
    "global_requests": Quantity(
        _named("global read requests", "全局读请求"), _sum("global_load_requests", "cp_async_requests")
    ),
    "global_load_requests": Quantity(
        _named("global loads into registers (requests)", "读入寄存器的全局读请求"), _sum("global_load_requests")
    ),
    "global_sectors": Quantity(
        _named("global read sectors", "全局读扇区"), _sum("global_load_sectors", "cp_async_global_sectors")
    ),
    "cp_async_l1_sectors": Quantity(
        _named("sectors of cp.async in the L1", "cp.async 在 L1 的扇区"), _sum("cp_async_l1_sectors")
    ),
    "global_store_requests": Quantity(
        _named("stores of C from registers (requests)", "从寄存器写 C 的请求"), _sum("global_store_requests")
    ),
    "global_store_sectors": Quantity(_named("global store sectors", "全局写扇区"), _sum("global_store_sectors")),
    "shared_load_requests": Quantity(_named("shared load requests", "共享内存读请求"), _sum("shared_load_requests")),
    "shared_load_wavefronts": Quantity(
        _named("shared load wavefronts", "共享内存读 wavefront"), _sum("shared_load_wavefronts")
    ),
    "shared_load_conflicts": Quantity(
        _named("bank conflicts of shared loads", "共享内存读的 bank 冲突"), _sum("shared_load_conflicts")
    ),
    "shared_store_requests": Quantity(_named("shared store requests", "共享内存写请求"), _sum("shared_store_requests")),
    "shared_store_conflicts": Quantity(
        _named("bank conflicts of shared stores", "共享内存写的 bank 冲突"), _sum("shared_store_conflicts")
    ),
    "tma_load_requests": Quantity(_named("TMA load requests", "TMA 读请求"), _tma("load_requests")),
    "tma_load_bytes": Quantity(_named("bytes loaded by TMA", "TMA 读的字节"), _tma("load_bytes")),
    "multicast_bytes": Quantity(
        _named("bytes saved by multicast", "多播省下的字节"), _tma("multicast_saved_bytes"), at_least=True
    ),
    "blocks": Quantity(_named("blocks launched for 512×512 on one SM", "只有一个 SM 时 512×512 启动的线程块数"), None),
    "blocks_at_once": Quantity(
        _named("blocks launched for 512×512 on 132 SMs", "有 132 个 SM 时 512×512 启动的线程块数"), None, at_least=True
    ),
    "threads": Quantity(_named("threads per block", "每个线程块的线程数"), None, at_least=True),
    "stored_behind_products": Quantity(
        _named("C being stored while the next tile is multiplied (1: yes)", "计算下一个分块时 C 仍在写回（1：是）"),
        None,
        at_least=True,
    ),
    "k_ahead": Quantity(_named("k asked for before the first is read", "读第一片之前已请求的 k"), None, at_least=True),
}


@dataclass(frozen=True)
class Goal:
    """One goal, as it was reached or missed."""

    quantity: Quantity
    yours: int
    before: int | None  # of the step before; None where there is none, or nothing comparable is recorded
    wanted: int  # of the step
    lines: Sequence[tuple[int, int]] = ()  # of the reader's file: line and count, the largest counts first
    binding: bool = True  # False: instructions made by another compiler than the recorded ones

    @property
    def reached(self) -> bool:
        """No worse than the step, with a tenth to spare."""
        if not self.binding:
            return True
        if self.quantity.at_least:
            return self.yours >= self.wanted * (1 - TO_SPARE)
        return self.yours <= self.wanted * (1 + TO_SPARE)


def facts_of(task: Task) -> tuple[str, ...]:
    """The goals of a task that are facts of a run, not counts."""
    return tuple(name for name in task.goals if quantity(name).count is None)


def quantity(name: str) -> Quantity:
    """The quantity of a goal's name."""
    if name not in QUANTITIES:
        raise UserError(f"'{name}' is no quantity for a goal; there are {', '.join(QUANTITIES)}")
    return QUANTITIES[name]


def recorded_counts(step: Step, size: Size = SIZE) -> dict[str, Any] | None:
    """What is recorded of the variant of a step that is compared with; None where nothing is."""
    variant = step.own or step.at_4096
    for record in read(DATA / "simulator" / f"{step.name}.jsonl"):
        wanted = record["variant"] == variant if variant else record["default"]
        if wanted and (record["m"], record["n"], record["k"]) == size:
            return record
    return None


def recorded_facts(task: Task, step: Step) -> dict[str, int]:
    """The recorded facts of a step, observed as the task's kernel is."""
    return _recorded(task, step).get("facts", {})


def recorded_work(task: Task) -> Work | None:
    """The recorded work of the step, whose bounds the reader's are compared with; None where nothing is."""
    work = _recorded(task, task.step).get("work")
    return bound_counts.of_record(work) if work else None


def _recorded(task: Task, step: Step) -> Record:
    found = (record for record in read(FACTS_FILE) if (record["task"], record["step"]) == (task.step.name, step.name))
    return next(found, {})


def judged(task: Task, counted: dict[str, Any], facts: dict[str, int], source: Path, compiler: str) -> list[Goal]:
    """The task's goals, for a kernel's record at SIZE and its facts. `compiler`: the version that made it, 13.0."""
    steps = [task.before, task.step] if task.before else [task.step]
    recorded = [recorded_counts(step) for step in steps]
    if recorded[-1] is None:
        raise UserError(f"nothing is recorded of {task.step.name} at {SIZE[0]}: python -m lab.counts build --update")
    same_compiler = recorded[-1].get("compiler", "").startswith(f"{compiler}.")
    found = []
    for name in task.goals:
        one = quantity(name)
        if one.count is None:
            values = [recorded_facts(task, step).get(name) for step in steps]
            if values[-1] is None or name not in facts:
                raise UserError(
                    f"the fact '{name}' of {task.step.name} is not recorded: python -m tools.practice_record"
                )
            found.append(Goal(one, facts[name], values[0] if task.before else None, values[-1]))
            continue
        values = [record and one.count(record["counts"]) for record in recorded]
        own = [line for line in counted["lines"] if source_of(line) == source.resolve()]
        lines = [(line["line"], one.count(line["counts"])) for line in own]
        most = sorted((line for line in lines if line[1]), key=lambda line: -line[1])
        yours = one.count(counted["counts"])
        binding = same_compiler or name not in ("instructions", "fma")
        found.append(Goal(one, yours, values[0] if task.before else None, values[-1], most, binding))
    return found


def source_of(line: dict[str, Any]) -> Path:
    """The file of a counted line; the compiler is told its files from the build directory."""
    return (BUILD / line["file"]).resolve()


def least_products(task: Task) -> int:
    """Fewer instructions that multiply than this cannot make the result at SIZE: half of the step's or the one before."""
    steps = [task.before, task.step] if task.before else [task.step]
    return min(products(record["counts"]) for step in steps if (record := recorded_counts(step))) // 2
