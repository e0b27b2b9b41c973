"""The picture that a link to the course shows in a message: 1280×640 pixels, as PNG: `python -m plots.card FILE`."""

from __future__ import annotations

import argparse
from itertools import cycle
from pathlib import Path

from matplotlib.figure import Figure

import records
from base.paths import ROOT

from . import shares_chart, style
from .course import Course
from .ladder_charts import COLOURS

PIXELS = 1280, 640
DPI = 100
_INCHES = tuple(pixels / DPI for pixels in PIXELS)


def draw(course: Course, recorded: records.Records) -> Figure:
    """The course in one line, and a bar per step: its share of the library."""
    gpu, groups = shares_chart.by_ladder(course, recorded)
    steps = course.steps
    ladders = [max(r["ratio"] for _, r in rows) for name, rows in groups if name in ("fp32", "hopper")]
    first = groups[0][1][0][1]["ratio"]
    drawn = style.plt.figure(figsize=_INCHES)
    drawn.text(0.05, 0.87, "Matrix multiplication on a GPU", fontsize=40, fontweight="bold", va="center")
    drawn.text(0.05, 0.765, f"in {len(steps)} steps of CUDA: from {first:.0%} of the library to "
               f"{max(ladders):.0%}", fontsize=21, color=style.MUTED, va="center")  # fmt: skip
    ax = drawn.add_axes((0.085, 0.16, 0.865, 0.5))
    x = 0.0
    for (ladder, rows), colour in zip(groups, cycle(COLOURS)):
        ax.bar([x + at for at in range(len(rows))], [r["ratio"] for _, r in rows], 0.8, color=colour, zorder=2)
        middle, name = x + (len(rows) - 1) / 2, shares_chart.name_of(ladder)
        ax.text(middle, -0.04, name, ha="center", va="top", fontsize=16, fontweight="bold", color=style.ink(colour))
        x += len(rows) + 0.9
    ax.axhline(1, color=style.INK, lw=2, zorder=3)
    ax.set_xlim(-0.8, x - 1.1)
    ax.set_yticks([0, 0.5, 1], ["0", "50%", "100%"])
    ax.tick_params(labelsize=15)
    ax.set_xticks([])
    ax.grid(axis="y")
    drawn.text(0.05, 0.045, f"share of cuBLAS or the best library call, {shares_chart.SIZE}³, "
               f"{recorded.gpu_name(gpu)} · every kernel runs without a GPU, in a simulator", fontsize=14.5,
               color=style.MUTED, va="center")  # fmt: skip
    return drawn


def write(file: Path, root: Path = ROOT) -> None:
    """Writes the picture. Raises style.Missing where no step was timed."""
    style.apply()
    recorded = records.load(root / "records", root)
    recorded.shown = frozenset([records.REFERENCE_GPU]) if records.REFERENCE_GPU in recorded.timings else None
    drawn = draw(Course(root, root / "records"), recorded)
    file.parent.mkdir(parents=True, exist_ok=True)
    drawn.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    style.plt.close(drawn)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    write(parser.parse_args().file)


if __name__ == "__main__":
    main()
