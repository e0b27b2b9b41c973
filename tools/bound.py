"""`./gemm bound`: what a GPU's units allow a kernel, worked out from the simulator's counts and from its machine code."""

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base import build, environment, registry, venv
from base.environment import Environment
from base.errors import UserError
from base.languages import ENGLISH, Words, language, said
from base.paths import BUILD, DISASSEMBLER_REQUIREMENTS
from base.registry import Step
from lab import instruction_mix
from records import REFERENCE_GPU, Records
from tools import bound_counts, bound_limits, measured
from tools.bound_counts import Work
from tools.bound_limits import Bound, Bounds, Gpu
from tools.text_table import aligned

LARGEST = 65536  # beyond, no matrix fits a GPU's memory
DISASSEMBLER_GB = 0.05
BY_SIZE = "by_size("  # in a kernel whose default chooses among tiles
CLOSE = 0.85  # of the lowest bound, as the chapters name it, without waves: what is missing there needs no words


def chooses(step: Step) -> bool:
    """Whether the step's default may take another tile at 4096 than at the small size at which it is counted."""
    if step.at_4096:
        return False
    return "chosen_from" in step.recorded or BY_SIZE in step.kernel.read_text(encoding="utf-8")


@dataclass(frozen=True)
class Plan:
    """What was asked for."""

    step: Step
    variant: str  # "": what the default takes at 4096
    gpu: Gpu
    size: int
    spoken: str


def plan(parsed: argparse.Namespace) -> Plan:
    """The command line, checked: everything that can be refused before something is built."""
    step = registry.find(parsed.step, registry.steps())
    gpu = bound_limits.gpu(parsed.gpu or REFERENCE_GPU)
    if not step.runs_on(gpu.arch):
        raise UserError(f"{step.name} needs {step.needs}; {gpu.name} has {gpu.capability}")
    if not 1 <= parsed.size <= LARGEST:
        raise UserError(f"--size {parsed.size}: has to be between 1 and {LARGEST}")
    return Plan(step, parsed.variant or "", gpu, parsed.size, language(parsed.zh))


def run(chosen: Plan, setup: bool) -> None:
    """Builds the step, counts, disassembles, and prints the bounds."""
    tools = environment.ensure_build(setup)
    build.configure(tools)
    build.compile_targets(tools, [f"steps/{chosen.step.name}", build.SIMULATOR_TARGET])
    ensure_disassembler(setup)
    executable = BUILD / "steps" / chosen.step.name
    variant = _variant(chosen, tools)
    recorded = measured.load()
    work = bound_counts.of(executable, chosen.step, variant, chosen.gpu.arch, tools.variables)
    found = bound_limits.bounds(chosen.step, work, chosen.gpu, chosen.size, recorded)
    print("\n".join(report(chosen, variant, found, _speed(chosen, variant, recorded), work.loop is not None)))


def ensure_disassembler(setup: bool) -> None:
    """Installs what reads machine code into .venv, where the toolkit does not bring it."""
    try:
        instruction_mix.find_tool("cuobjdump")
    except UserError:
        if setup:
            venv.install(DISASSEMBLER_REQUIREMENTS, "Installing the disassembler into .venv", DISASSEMBLER_GB)


def _variant(chosen: Plan, tools: Environment) -> Mapping[str, Any]:
    known = build.variants(f"steps/{chosen.step.name}", tools)
    asked = chosen.variant or chosen.step.at_4096
    for variant in known:
        if variant["variant"] == asked or (not asked and variant["default"]):
            return variant
    names = ", ".join(variant["variant"] for variant in known)
    raise UserError(f"{chosen.step.name} has no variant '{asked}'; it has {names}")


def _speed(chosen: Plan, variant: Mapping[str, Any], recorded: Records) -> float | None:
    """TFLOPS that are recorded of it on this GPU at this size."""
    by_default = variant["variant"] == chosen.step.at_4096 or variant["default"]
    if not chosen.variant and by_default:
        record = recorded.default_at(chosen.gpu.key, chosen.step.name, chosen.size)
        return record["tflops"] if record else None
    rows = [
        record["tflops"]
        for record in recorded.of_step(chosen.gpu.key, chosen.step.name)
        if record["variant"] == variant["variant"]
        and record["m"] == record["n"] == record["k"] == chosen.size
        and not record.get("options")
        and record.get("beta", 0) == 0
    ]
    return rows[-1] if rows else None


def report(
    chosen: Plan, variant: Mapping[str, Any], found: Bounds, speed: float | None, disassembled: bool = True
) -> list[str]:
    """What is printed, line by line."""
    spoken = chosen.spoken
    gpu = f"{chosen.gpu.name}, {chosen.gpu.sms} SMs, {chosen.gpu.clock_mhz:g} MHz"
    head = f"{chosen.step.short} ({variant['variant']}), {chosen.size}³: {gpu}"
    rows = [_row(one, spoken) for one in sorted(found.all, key=lambda one: (one.fitted, one.tflops))]
    titles = [said(spoken, "bound", "上界"), "TFLOPS", said(spoken, "because", "依据")]
    rounds = said(
        spoken,
        f"Waves: {found.tiles} tiles on {chosen.gpu.sms} SMs are {found.rounds:.2f} rounds, {100 * found.filled:.1f} % filled"
        + (f"; {100 * found.inside:.1f} % of the tiles' elements lie in C." if found.inside < 1 else "."),
        f"wave：{found.tiles} 个分块分给 {chosen.gpu.sms} 个 SM，合 {found.rounds:.2f} 轮，填满 {found.filled:.1%}"
        + (f"；分块的元素有 {found.inside:.1%} 在 C 之内。" if found.inside < 1 else "。"),
    )
    by_size = not chosen.variant and chooses(chosen.step)
    lines = [head, "", *aligned([titles, *rows], right=(1,)), "", rounds]
    predicted = said(
        spoken,
        f"Predicted: {_number(found.predicted)} TFLOPS, by the {found.lowest.name.english}",
        f"预测：{_number(found.predicted)} TFLOPS，{_apart('由', found.lowest.name.chinese, '决定')}",
    )
    if speed is None:
        return [
            *lines,
            predicted + said(spoken, "; nothing is recorded.", "；没有记录。"),
            *_left_out(found, None, spoken),
        ]
    percent = f"{100 * speed / found.predicted:.0f}"
    lines.append(
        predicted
        + said(
            spoken, f"; recorded: {_number(speed)}, {percent} % of it.", f"；记录：{_number(speed)}，为其 {percent}%。"
        )
    )
    lines += _left_out(found, speed, spoken)
    if by_size:
        words = (
            "The default takes its tile by the size; counted is the one of a small size: name another with --variant."
        )
        lines.append(said(spoken, words, "默认变体按尺寸选分块，这里数的是小尺寸的那一个；用 --variant 指定别的。"))
    if not disassembled:
        words = "The machine code was not read: no cuobjdump. Issue slots and joined loads are left out."
        lines.append(said(spoken, words, "没有 cuobjdump，未读机器码：发射槽和合并的加载未计入。"))
    return lines


def _apart(*words: str) -> str:
    """Chinese words in a row, with a space beside those in Latin letters."""
    return re.sub(r"(?<=[a-zA-Z0-9])(?=[一-鿿])|(?<=[一-鿿])(?=[a-zA-Z0-9])", " ", "".join(words))


def _row(bound: Bound, spoken: str) -> list[str]:
    return [bound.name(spoken), _number(bound.tflops), bound.why(spoken)]


def _number(tflops: float) -> str:
    return f"{tflops:,.0f}" if tflops >= 100 else f"{tflops:.3g}"


def _left_out(found: Bounds, speed: float | None, spoken: str) -> list[str]:
    """What no bound holds, where the speed is far below the lowest; "fitted" says which rows are models of ours."""
    lines = []
    if speed is None or speed < CLOSE * found.lowest.tflops:
        words = "Bounds leave out waiting: latencies that too few warps hide, barriers, misses of L1 and L2."
        chinese = "上界不含等待：warp 不够而未掩盖的延迟、屏障、L1 和 L2 未命中。"
        if any(one.name is bound_limits.BANKS for one in found.all):
            words = words[:-1] + "; and register banks, but for the fitted row."
            chinese = chinese[:-1] + "；也不含寄存器 bank，仅拟合的一行计入。"
        lines.append(said(spoken, words, chinese))
    if any(one.fitted for one in found.all):
        words = "Fitted rows follow from a model of ours, so they may lie below what is measured."
        lines.append(said(spoken, words, "拟合行来自我们的模型，可能低于实测值。"))
    return lines


def counted(executable: Path, step: Step, asked: str, variables: Mapping[str, str]) -> Work:
    """What a variant of an executable asks for on the course's own GPU; its default, where it has none of that name."""
    known = build.variants(executable)
    named = [one for one in known if one["variant"] == asked]
    variant = (named or [one for one in known if one["default"]])[0]
    return bound_counts.of(executable, step, variant, bound_limits.gpu(REFERENCE_GPU).arch, variables)


def beside(step: Step, mine: Work, theirs: Work, spoken: str = ENGLISH) -> list[str]:
    """A reader's kernel beside the step's: a line for each bound that a kernel can move, then what they come to."""
    gpu, recorded = bound_limits.gpu(REFERENCE_GPU), measured.load()
    yours, its = (bound_limits.bounds(step, work, gpu, measured.FIGURE_SIZE, recorded) for work in (mine, theirs))
    lines = []
    for one, other in ((one, other) for one in yours.all for other in its.all if one.name is other.name):
        you, it = _need(step, mine, one), _need(step, theirs, other)
        if you and it:
            lines.append(_beside(step, (one, other), (you[0], it[0]), you[1](spoken), spoken))
    if mine.loop is None:
        words = "The machine code was not read: no cuobjdump, which ./gemm bound installs. Issue slots are left out."
        return [*lines, said(spoken, words, "没有 cuobjdump（./gemm bound 会安装），未读机器码：发射槽未计入。")]
    if step.own or not chooses(step):  # else the tile that was counted is not the one of this size
        lines.append(_predicted(step, yours, its, spoken))
    return lines


def _need(step: Step, work: Work, bound: Bound) -> tuple[float, Words] | None:
    """What a kernel needs of a unit per FMA, per HMMA or, with wgmma, per 4096 FLOP; None of what no kernel can move."""
    flop = bound_limits.per_instruction(step)
    if bound.name is bound_limits.LOAD_STORE:
        return work.load_store * flop, Words("wavefronts and look-ups", "个 wavefront 与查缓存行")
    if bound.name is bound_limits.SHARED:
        return work.load_store * flop, Words("wavefronts", "个 wavefront")
    if bound.name is bound_limits.ISSUE and work.loop:
        return work.loop.instructions / work.loop.flop * flop, Words("instructions", "条指令")
    if bound.name is bound_limits.L2 and step.on_tensor_cores:
        return bound_limits.l2_bytes(work) * flop, Words("bytes", "字节")
    return None


def _beside(step: Step, both: tuple[Bound, Bound], needs: tuple[float, float], unit: str, spoken: str) -> str:
    mine, theirs = (_number(bound.tflops) for bound in both)
    per = "FMA" if not step.on_tensor_cores else "HMMA" if step.instruction == "mma" else "4096 FLOP"
    each = f" {per}" if per == "4096 FLOP" else f"条 {per}"
    name = both[0].name(spoken)
    return said(
        spoken,
        f"bound, {name}: yours {mine}, step {step.number:02d}'s {theirs} TFLOPS: "
        f"you need {needs[0]:.3g} {unit} per {per}, it needs {needs[1]:.3g}",
        f"{_apart(name, '的上界：你的')} {mine}，步骤 {step.number:02d} 的 {theirs} TFLOPS："
        f"你每{each} 需要 {needs[0]:.3g} {unit}，它需要 {needs[1]:.3g}",
    )


def _predicted(step: Step, mine: Bounds, theirs: Bounds, spoken: str) -> str:
    """The lowest of either's bounds, less the SMs that idle in the last wave."""
    size = f"{measured.FIGURE_SIZE}³"
    return said(
        spoken,
        f"predicted at {size}, waves included: yours {_number(mine.predicted)} ({mine.lowest.name.english}), "
        f"step {step.number:02d}'s {_number(theirs.predicted)} TFLOPS ({theirs.lowest.name.english})",
        f"{size} 的预测，计入 wave：你的 {_number(mine.predicted)} TFLOPS，{_apart('由', mine.lowest.name.chinese, '决定')}；"
        f"步骤 {step.number:02d} 的 {_number(theirs.predicted)}，{_apart('由', theirs.lowest.name.chinese, '决定')}",
    )
