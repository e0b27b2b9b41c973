"""Chart of the instruction mix: the share of FMAs, or of mma, among the instructions of each kernel's inner loop."""

from __future__ import annotations

from matplotlib.figure import Figure

from . import panels, style
from .course import Course, Step
from .records import Records
from .style import Missing, say

LEVELS = (("ptx", style.BLUE, "PTX"), ("sass", style.GREEN, "SASS"))


def fma_share(course: Course, records: Records, name: str, language: str) -> Figure:
    """FMA share of the inner loop per step, PTX and SASS, with the published marks."""
    steps = [s for s in course.ladder(name) if any(records.mixes_of(s.name, level) for level, *_ in LEVELS)]
    if not steps:
        raise Missing(f"no instruction mix of the {name} ladder: run tools/instruction_mix.py")
    published = course.published().get("fma_share", {})
    groups = [(step, _bars(course, records, step)) for step in steps]
    height = 1.6 + sum(0.22 * len(bars) + 0.16 for _, bars in groups)
    drawn, (ax,) = style.figure(9.4, height)
    drawn.subplots_adjust(left=2.0 / 9.4, right=1 - 0.3 / 9.4, top=1 - 0.86 / height, bottom=0.62 / height)
    y, ticks = 0.0, []
    for _, bars in groups:
        ticks.append(y + 0.22 * (len(bars) - 1) / 2)
        for colour, text, fma, instructions in bars:
            share = fma / instructions
            ax.barh(y, share, 0.19, color=colour, zorder=2)
            panels.bar_text(ax, share, y, f"{text}{fma}/{instructions} = {share:.1%}", share > 0.35, size=8.5)
            y += 0.22
        y += 0.16
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.set_ylim(y - 0.2, -0.2)
    ax.set_yticks(ticks, [step.short for step, _ in groups])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    what = "mma" if steps[0].on_tensor_cores else "FMA"
    among = "mma instructions" if steps[0].on_tensor_cores else "FMAs"
    style.heading(
        drawn, say(language, f"{among} among the inner loop's instructions", f"内层循环指令中 {what} 所占比例")
    )
    entries = [
        ("box", colour, text) for level, colour, text in LEVELS if any(records.mixes_of(s.name, level) for s in steps)
    ]
    cuda = next((r.get("cuda") for r in records.mixes if r.get("cuda")), "?")
    note = f"nvcc {cuda}"
    if any(mark["step"] == step.name for mark in published.get("marks", []) for step in steps):
        entries.append(("box", style.AMBER, say(language, "published for the V100", "V100 上已发表的数字")))
        source = published.get("source", {}).get(language, "")
        note = say(language, f"{note}. Amber: {source}.", f"{note}。橙色：{source}。")
    style.legend(drawn, entries, 0.60)
    style.footnote(drawn, note)
    return drawn


def _bars(course: Course, records: Records, step: Step) -> list[tuple[str, str, int, int]]:
    """One step's bars: colour, a word before the figure, FMAs or mma, instructions; ours, then the published."""
    bars = []
    for level, colour, _ in LEVELS:
        record = next(iter(records.mixes_of(step.name, level)), None)
        if record and record["loop"].get("instructions"):
            loop = record["loop"]
            bars.append((colour, "", loop.get("fma", 0) + loop.get("tensor", 0), loop["instructions"]))
    for mark in course.published().get("fma_share", {}).get("marks", []):
        if mark["step"] == step.name:
            bars.append((style.AMBER, f"{mark['label']}: ", mark["fma"], mark["instructions"]))
    return bars
