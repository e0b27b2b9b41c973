"""Chart of the instruction mix: the share of FMAs, or of mma, among the instructions of each kernel's inner loop."""

from __future__ import annotations

from matplotlib.figure import Figure

from records import Records

from . import findings, layout, panels, style
from .course import Course, Step
from .layout import Panel, Texts
from .style import Missing, say

LEVELS = (("ptx", style.BLUE, "PTX"), ("sass", style.GREEN, "SASS"))


def fma_share(course: Course, records: Records, language: str) -> Figure:
    """A row per step, grouped by ladder: the share in PTX and in SASS joined by a line, and what others published."""
    groups = [(name, [s for s in course.ladder(name) if counts_slices(records, s)]) for name in course.ladders]
    groups = [(name, steps) for name, steps in groups if steps]
    if not groups:
        raise Missing("no instruction mix of any step: run python -m lab.instruction_mix")
    published = course.published().get("fma_share", {})
    shown = [(step, _shares(records, step)[-1][0]) for _, steps in groups for step in steps]
    source = published.get("source", {}).get(language, "")
    cuda = next((r.get("cuda") for r in records.mixes if r.get("cuda")), "?")
    texts = Texts(
        findings.shares(shown, language),
        legend=[
            *(("box", colour, name) for _, colour, name in LEVELS),
            ("box", style.AMBER, say(language, "published", "公开的数字")),
        ],
        foot=say(language, f"nvcc {cuda}; at the right: FMAs or mma of all, in SASS. Amber: {source}.",
                 f"nvcc {cuda}；右侧：SASS 中 FMA 或 mma 的条数与总条数。橙色：{source}。"),
    )  # fmt: skip
    height = 0.22 * sum(len(steps) + 1.3 for _, steps in groups)
    drawn, (ax,) = layout.page(texts, [Panel(height, below=0.3)], layout.NAMES, 1.6)
    y, places, names = 0.0, [], []
    for ladder, steps in groups:
        style.group_name(ax, y, course.ladder_name(ladder, language))
        for step in steps:
            y += 1
            shares = _shares(records, step)
            ax.plot([s for s, *_ in shares], [y] * len(shares), color=style.GREY, lw=2, zorder=2)
            for share, colour, _ in shares:
                ax.plot(share, y, "o", color=colour, ms=6.5, mec="white", mew=0.8, zorder=4)
            ax.text(1.04, y, shares[-1][2], fontsize=style.SMALL, va="center", transform=ax.get_yaxis_transform())
            for mark in published.get("marks", []):
                if mark["step"] == step.name:
                    share = mark["fma"] / mark["instructions"]
                    ax.plot([share] * 2, [y - 0.36, y + 0.36], color=style.AMBER, lw=2.4, zorder=3)
            places.append(y)
            names.append(step.short)
        y += 1.3
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    panels.named_rows(ax, names, places, 0.7)
    ax.grid(True)
    return drawn


def counts_slices(records: Records, step: Step) -> bool:
    """Is the counted loop of a step the one over slices? In machine code for one architecture alone, that of wgmma, it is
    the loop over tiles, with the store in it."""
    return any(not r.get("arch", "").endswith("a") for r in records.mixes_of(step.name, "sass"))


def _shares(records: Records, step: Step) -> list[tuple[float, str, str]]:
    """A step's default by level: the share, the level's colour, and the share in figures."""
    found = []
    for level, colour, _ in LEVELS:
        loop = next((r["loop"] for r in records.mixes_of(step.name, level)), {})
        if loop.get("instructions"):
            chosen, of = loop.get("fma", 0) + loop.get("tensor", 0), loop["instructions"]
            found.append((chosen / of, colour, f"{chosen}/{of} = {chosen / of:.1%}"))
    return found
