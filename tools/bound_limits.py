"""What a GPU does at most, by its data sheet and our measurements, and the bounds that follow for a kernel."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from base.errors import UserError
from base.languages import Words
from base.paths import DEVICES
from base.registry import Step
from plots import energy
from records import Records
from tools.bound_counts import ELEMENT_BYTES, Work

ISSUED = 4  # instructions of warps that an SM issues in a cycle
LANES = 128  # FP32 FMAs of an SM in a cycle
L2_TB_PER_S = {"h200": 12.6}  # at the least: the most that we have seen (docs/start-here.md)
COLLISION = (
    0.9  # cycles that an FMA takes more which fetches two operands of one parity: fitted, docs/instruction-mix.md
)
# The key of a peak in devices.json where it is not the type of A.
_PEAKS = {"e4m3": "fp8", "e5m2": "fp8"}
_NUMBERS = {"sms": int, "clock_mhz": float, "capability": str, "dram_tb_per_s": float, "peak_tflops": float}

LOAD_STORE = Words("load/store unit", "LSU")
SHARED = Words("shared memory", "共享内存")  # of wgmma and TMA, which reach it without the load/store unit
ISSUE = Words("issue slots", "发射槽")
PIPE = Words("FMA units", "FMA 单元")
TENSOR = Words("tensor cores", "Tensor Core")
MEASURED = Words("tensor cores, measured", "Tensor Core（实测）")
DRAM = Words("DRAM", "显存")
L2 = Words("L2", "L2")
POWER = Words("power (fitted)", "功耗（拟合）")
BANKS = Words("register banks (fitted)", "寄存器 bank（拟合）")


@dataclass(frozen=True)
class Gpu:
    """What has to be known of a GPU."""

    key: str  # of its records; "" where it is given by numbers
    name: str
    sms: int
    clock_mhz: float
    capability: str  # 9.0
    peaks: Mapping[str, float] = field(default_factory=dict)  # TFLOPS
    dram_tb_per_s: float | None = None

    @property
    def cycles(self) -> float:
        """Of all SMs, in a second."""
        return self.sms * self.clock_mhz * 1e6

    @property
    def arch(self) -> str:
        """As the compiler writes it: 90."""
        return self.capability.replace(".", "")


def gpu(asked: str) -> Gpu:
    """A GPU of sim/devices.json, or one given by its numbers: sms=132,clock_mhz=1980,capability=9.0,…"""
    if "=" in asked:
        return _by_numbers(asked)
    table = json.loads(DEVICES.read_text(encoding="utf-8"))["gpus"]
    complete = {key: one for key, one in table.items() if one.keys() >= {"clock_mhz", "capability"}}
    by_hand = f"or give its numbers: --gpu {','.join(f'{name}=…' for name in _NUMBERS)}"
    if asked not in table:
        raise UserError(f"--gpu {asked}: there is no such GPU; choose from {', '.join(complete)}, {by_hand}")
    if asked not in complete:
        raise UserError(f"--gpu {asked}: its clock or compute capability is not in sim/devices.json; {by_hand}")
    one = table[asked]
    numbers = (one["sms"], one["clock_mhz"], one["capability"], one.get("peak_tflops", {}), one.get("dram_tb_per_s"))
    return Gpu(asked, one["name"], *numbers)


def _by_numbers(asked: str) -> Gpu:
    found: dict[str, Any] = {}
    for part in asked.split(","):
        name, _, value = part.partition("=")
        try:
            found[name] = _NUMBERS[name](value)
            if name != "capability" and not 0 < found[name] < math.inf:
                raise ValueError
        except KeyError:
            raise UserError(f"--gpu: there is no number '{name}'; there are {', '.join(_NUMBERS)}") from None
        except ValueError:
            raise UserError(f"--gpu: {name}={value}: that is no number for it") from None
    if missing := [name for name in ("sms", "clock_mhz", "capability") if name not in found]:
        raise UserError(f"--gpu: it lacks {' and '.join(missing)}")
    if not found["capability"].replace(".", "").isdigit() or "." not in found["capability"]:
        raise UserError(f"--gpu: capability={found['capability']}: write it as 9.0")
    peak = found.get("peak_tflops")
    peaks = dict.fromkeys(("f32", "f16", "bf16", "tf32", "s8", "fp8", "f16_cuda_cores"), peak) if peak else {}
    dram = found.get("dram_tb_per_s")
    return Gpu("", "the GPU asked for", found["sms"], found["clock_mhz"], found["capability"], peaks, dram)


@dataclass(frozen=True)
class Bound:
    """TFLOPS that a resource allows, and why."""

    name: Words
    tflops: float
    why: Words
    fitted: bool = False  # follows from a model of ours: not among those whose lowest is the prediction


@dataclass(frozen=True)
class Bounds:
    """All bounds of one variant at one size."""

    all: list[Bound]
    tiles: int
    rounds: float  # tiles by SMs
    inside: float = 1  # the share of the tiles' elements that lie in C

    @property
    def lowest(self) -> Bound:
        """The one that is the limit."""
        return min((one for one in self.all if not one.fitted), key=lambda one: one.tflops)

    @property
    def filled(self) -> float:
        """The share of the SMs' time that has a tile, where each takes whole ones."""
        return self.rounds / math.ceil(self.rounds)

    @property
    def predicted(self) -> float:
        """TFLOPS: the lowest bound, less the SMs that idle in the last round and what tiles compute beyond C's edges.

        Memory waits for neither.
        """
        lowest = self.lowest
        return lowest.tflops * (1 if lowest.name in (DRAM, L2) else self.filled * self.inside)


def per_instruction(step: Step) -> int:
    """FLOP of the instruction that a ladder's wavefronts are counted for: a warp-wide FMA, or an HMMA's worth."""
    return {"fp32": 64, "fp16": 128}.get(step.ladder, 4096)


def bounds(step: Step, work: Work, gpu: Gpu, size: int, recorded: Records) -> Bounds:
    """Each bound of a step's variant, at m = n = k = size."""
    bm, bn, _ = work.variant["block"]
    tiles = math.ceil(size / bm) * math.ceil(size / bn)
    found = [load_store(step, work.load_store, gpu), issue(step, work, gpu), *pipes(step, work, gpu, recorded)]
    found += [_dram(work, gpu, size), _l2(work, gpu), _power(step, work, gpu, recorded), _register_banks(work, gpu)]
    rounds, inside = tiles * work.sms_per_tile / gpu.sms, size**2 / (tiles * bm * bn)
    return Bounds([one for one in found if one], tiles, rounds, inside)


def load_store(step: Step, cycles_per_flop: float, gpu: Gpu) -> Bound | None:
    """One wavefront or look-up in a cycle of an SM. For step 01, whose loop does nothing else, that rate was chosen."""
    if not cycles_per_flop:
        return None
    each = cycles_per_flop * per_instruction(step)
    by_lanes = step.instruction != "wgmma"
    asked = (
        Words("wavefronts and look-ups", "个 wavefront 与查缓存行") if by_lanes else Words("wavefronts", "个 wavefront")
    )
    unit = (
        Words("warp-wide FMA", "每条 warp FMA") if per_instruction(step) < 4096 else Words("4096 FLOP", "每 4096 FLOP")
    )
    why = Words(
        f"{each:.3g} {asked.english} per {unit.english}, one per cycle and SM",
        f"{unit.chinese} {each:.3g} {asked.chinese}，每 SM 每周期一个",
    )
    return Bound(LOAD_STORE if by_lanes else SHARED, gpu.cycles / cycles_per_flop / 1e12, why)


def issue(step: Step, work: Work, gpu: Gpu) -> Bound | None:
    """Four instructions in a cycle of an SM. The loops of wgmma are many, and far from this bound."""
    loop = work.loop
    if loop is None or not loop.flop or step.instruction == "wgmma":
        return None
    multiply = loop.counts["fma"] + loop.counts["tensor"]
    why = Words(
        f"{multiply} of {loop.instructions} instructions of the loop multiply, {ISSUED} per cycle and SM",
        f"循环的 {loop.instructions} 条指令中有 {multiply} 条做乘法，每 SM 每周期发射 {ISSUED} 条",
    )
    return Bound(ISSUE, gpu.cycles * ISSUED * loop.flop / loop.instructions / 1e12, why)


def pipes(step: Step, work: Work, gpu: Gpu, recorded: Records) -> list[Bound]:
    """The data sheet's peak; for tensor cores also what we measured of the instruction, with operands in place."""
    variant = work.variant
    times = work.products
    if not step.on_tensor_cores:
        key = "f16_cuda_cores" if step.ladder == "fp16" else "f32"
        lanes = gpu.cycles * LANES * 2 * (2 if step.ladder == "fp16" else 1) / 1e12
        peak = gpu.peaks.get(key) or (lanes if key == "f32" else None)
        return [Bound(PIPE, peak, Words("the peak", "峰值"))] if peak else []
    element = work.element
    peak = gpu.peaks.get(_PEAKS.get(element, element))
    more = Words(f", {times} products for one", f"，一个乘积要做 {times} 次") if times > 1 else Words("", "")
    found = [Bound(TENSOR, peak / times, Words(f"the peak{more.english}", f"峰值{more.chinese}"))] if peak else []
    limit = recorded.limit(gpu.key, variant["a"], variant["acc"], step.instruction)
    if limit and times == 1:
        why = Words(f"{limit['limit']} alone, in the record of limits", f"单独的 {limit['limit']}，见上限的记录")
        found.append(Bound(MEASURED, limit["tflops"], why))
    return found


def _dram(work: Work, gpu: Gpu, size: int) -> Bound | None:
    """A, B and C once."""
    if not gpu.dram_tb_per_s:
        return None
    each = (
        sum(ELEMENT_BYTES[work.variant[matrix]] for matrix in "ac")
        + ELEMENT_BYTES[work.variant.get("b", work.variant["a"])]
    )
    moved = each * size**2
    why = Words(
        f"{moved / 1e6:.0f} MB at the least, at {gpu.dram_tb_per_s:g} TB/s",
        f"至少 {moved / 1e6:.0f} MB，{gpu.dram_tb_per_s:g} TB/s",
    )
    return Bound(DRAM, 2 * size**3 / (moved / gpu.dram_tb_per_s), why)


def l2_bytes(work: Work) -> float:
    """Per FLOP. Each block takes its rows of A and columns of B once; what a cluster shares comes once for all."""
    bm, bn, _ = work.variant["block"]
    bytes_each = ELEMENT_BYTES[work.variant["a"]]
    return min((bm + bn) * bytes_each / (2 * bm * bn), work.loaded_bytes or math.inf)


def _l2(work: Work, gpu: Gpu) -> Bound | None:
    speed = L2_TB_PER_S.get(gpu.key)
    if not speed:
        return None
    per_flop = l2_bytes(work)
    why = Words(
        f"{1 / per_flop:.3g} FLOP per byte that a block loads, at the {speed:.1f} TB/s that we have seen",
        f"线程块每加载一字节做 {1 / per_flop:.3g} FLOP，按实测到的 {speed:.1f} TB/s",
    )
    return Bound(L2, speed / per_flop, why)


def _power(step: Step, work: Work, gpu: Gpu, recorded: Records) -> Bound | None:
    """The model of docs/power.md: energy of the products, and of each KB that a stage receives."""
    loops = recorded.main_loops.get(gpu.key, [])
    model = energy.fit(loops) if step.instruction == "wgmma" and work.variant["a"] == "bf16" else None
    if model is None:
        return None
    watts = max(loop["power_w"] for loop in energy.of_bf16(loops))
    kilobytes = work.loaded_bytes * energy.UNIT_MFLOP * 1e6 / 1024
    tflops = watts * energy.UNIT_MFLOP / (model.products + model.per_kb * kilobytes)
    why = Words(
        f"{kilobytes:.3g} KB received for 128×256×64, at {watts:.0f} W (docs/power.md)",
        f"每 128×256×64 接收 {kilobytes:.3g} KB，{watts:.0f} W（docs/power.md）",
    )
    return Bound(POWER, tflops, why, fitted=True)


def _register_banks(work: Work, gpu: Gpu) -> Bound | None:
    """Cycles that FMAs of floats lose which fetch two operands from registers of one parity."""
    loop = work.loop
    if loop is None or not loop.collisions:
        return None
    cycles = loop.instructions + COLLISION * loop.collisions
    why = Words(
        f"{loop.collisions} FMAs fetch two operands of one parity, {COLLISION} cycles each",
        f"{loop.collisions} 条 FMA 从同奇偶的寄存器取两个操作数，每次 {COLLISION} 个周期",
    )
    return Bound(BANKS, gpu.cycles * ISSUED * loop.flop / cycles / 1e12, why, fitted=True)
