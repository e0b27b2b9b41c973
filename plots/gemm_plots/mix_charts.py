"""Chart of the instruction mix: the share of FMAs among the instructions of each kernel's inner loop."""

from __future__ import annotations

from matplotlib.figure import Figure

from . import style
from .course import Course
from .records import Records
from .style import Missing, say

LEVELS = (("ptx", style.BLUE, "PTX"), ("sass", style.GREEN, "SASS"))


def fma_share(course: Course, records: Records, name: str, language: str) -> Figure:
    """FMA share of the inner loop per step, PTX and SASS, with the published marks."""
    steps = [s for s in course.ladder(name) if any(records.mixes_of(s.name, level) for level, *_ in LEVELS)]
    if not steps:
        raise Missing(f"no instruction mix of the {name} ladder: run tools/instruction_mix.py")
    published = course.published().get("fma_share", {})
    height = 1.75 + 0.5 * len(steps)
    drawn, (ax,) = style.figure(9.4, height)
    drawn.subplots_adjust(left=2.0 / 9.4, right=1 - 0.3 / 9.4, top=1 - 0.98 / height, bottom=0.62 / height)
    for row, step in enumerate(steps):
        for index, (level, colour, _) in enumerate(LEVELS):
            record = next(iter(records.mixes_of(step.name, level)), None)
            if record is None:
                continue
            loop = record["loop"]
            share = loop.get("fma", 0) / loop["instructions"] if loop["instructions"] else 0
            y = row - 0.2 + 0.4 * index
            ax.barh(y, share, 0.36, color=colour, zorder=2)
            inside = share > 0.35
            text = f"{loop.get('fma', 0)}/{loop['instructions']} = {share:.1%}"
            ax.annotate(
                text, (share, y), (-5 if inside else 5, 0), textcoords="offset points", va="center", fontsize=8.5, zorder=4,
                ha="right" if inside else "left", color="white" if inside else style.INK,
            )
    rows = {step.name: row for row, step in enumerate(steps)}
    for mark in published.get("marks", []):
        if mark["step"] in rows:
            share, row = mark["fma"] / mark["instructions"], rows[mark["step"]]
            ax.plot([share, share], [row - 0.44, row + 0.44], color=style.AMBER, lw=2.4, zorder=5)
            # Beside the bars of small shares there is room at the top of the row only.
            ax.annotate(
                f"{mark['label']}: {mark['fma']}/{mark['instructions']}", (share, row - 0.44), (0, 1), textcoords="offset points",
                ha="center", va="bottom", fontsize=8, color="#a35f08", zorder=6,
            )
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.set_ylim(len(steps) - 0.45, -0.72)
    ax.set_yticks(range(len(steps)), [s.short for s in steps])
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    style.heading(drawn, say(language, "FMAs among the inner loop's instructions", "内层循环指令中 FMA 所占比例"))
    entries = [("box", colour, text) for level, colour, text in LEVELS if any(records.mixes_of(s.name, level) for s in steps)]
    entries.append(("line", style.AMBER, say(language, "published for the V100", "V100 上已发表的数字")))
    style.legend(drawn, entries, 0.60)
    source = published.get("source", {}).get(language, "")
    cuda = next((r.get("cuda") for r in records.mixes if r.get("cuda")), "?")
    style.footnote(drawn, say(language, f"nvcc {cuda}. Marks: {source}.", f"nvcc {cuda}。标记：{source}。"))
    return drawn
