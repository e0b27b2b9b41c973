"""Charts of the 27-size sweep: heat maps of the ratio to cuBLAS, and TFLOPS over all sizes as lines."""

from __future__ import annotations

import math

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style
from .course import Course, Step
from .records import Record, Records
from .style import Missing, say

M_N = (4096, 8192, 16384)
K = (2048, 4096, 8192)
SWEEP27 = tuple((m, n, k) for k in K for m in M_N for n in M_N)

_COLOURS = LinearSegmentedColormap.from_list("ratio", ["#d1383d", "#f3c6bd", "#fbfbf7", "#bfe3cf", "#2e9e6b"])


def sweep_rows(records: Records, gpu: str, step: str) -> dict[tuple[int, int, int], Record]:
    """The default variant's record at each of the 27 sizes that were run beside cuBLAS."""
    rows = {size: records.default_at(gpu, step, *size) for size in SWEEP27}
    return {size: r for size, r in rows.items() if r and r.get("ratio")}


def geometric_mean(rows: dict[tuple[int, int, int], Record]) -> float:
    """Geometric mean of the ratios."""
    return math.exp(sum(math.log(r["ratio"]) for r in rows.values()) / len(rows))


def swept(records: Records, gpu: str, step: str) -> bool:
    """Whether a sweep was run, not only the square sizes that belong to it."""
    return any(not m == n == k for m, n, k in sweep_rows(records, gpu, step))


def heat_map(course: Course, records: Records, step: Step, language: str) -> Figure:
    """Ratio to cuBLAS over M and N, a panel per K (on the GPU with most records)."""
    gpu = next((g for g in records.gpus([step.name]) if swept(records, g, step.name)), None)
    if gpu is None:
        raise Missing(f"no sweep of {step.name} over the 27 sizes")
    rows = sweep_rows(records, gpu, step.name)
    reach = max(0.05, *(abs(r["ratio"] - 1) for r in rows.values()))
    height = 3.9
    drawn, axes = style.figure(9.0, height, columns=3, sharey=True)
    drawn.subplots_adjust(left=0.085, right=0.98, top=1 - 1.05 / height, bottom=0.58 / height, wspace=0.08)
    for ax, k in zip(axes, K, strict=True):
        for row, m in enumerate(M_N):
            for column, n in enumerate(M_N):
                record = rows.get((m, n, k))
                shade = _COLOURS(0.5 + (record["ratio"] - 1) / reach / 2) if record else style.GRID
                ax.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", lw=2))
                text = f"{record['ratio']:.3f}" if record else "–"
                ax.text(column + 0.5, row + 0.42, text, ha="center", va="center", fontsize=12, fontweight="bold")
                if record:
                    ax.text(
                        column + 0.5,
                        row + 0.72,
                        style.number(record["tflops"]),
                        ha="center",
                        va="center",
                        fontsize=8.5,
                        color="#36414f",
                    )
        ax.set_xlim(0, 3)
        ax.set_ylim(3, 0)
        ax.set_xticks([0.5, 1.5, 2.5], [str(n) for n in M_N])
        ax.set_yticks([0.5, 1.5, 2.5], [str(m) for m in M_N])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        ax.set_xlabel("N")
        ax.set_title(f"K = {k}", fontsize=10)
    axes[0].set_ylabel("M")
    mean = geometric_mean(rows)
    style.heading(
        drawn,
        say(
            language,
            f"{step.short} against cuBLAS over {len(rows)} sizes · {records.gpu_name(gpu)}",
            f"{step.short} 与 cuBLAS 在 {len(rows)} 种尺寸上的对比 · {records.gpu_name(gpu)}",
        ),
        say(
            language,
            f"speed relative to cuBLAS (TFLOPS below it); geometric mean {mean:.3f}",
            f"相对 cuBLAS 的速度（其下为 TFLOPS）；几何平均 {mean:.3f}",
        ),
    )
    return drawn


def lines(course: Course, records: Records, name: str, language: str) -> Figure:
    """TFLOPS over the 27 sizes: a line per step that was swept, and cuBLAS."""
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpu = next((g for g in records.gpus(names) if any(swept(records, g, s) for s in names)), None)
    if gpu is None:
        raise Missing(f"no sweep of a step of the {name} ladder over the 27 sizes")
    height = 4.7
    drawn, (ax,) = style.figure(10.0, height)
    drawn.subplots_adjust(left=0.062, right=0.985, top=1 - 0.95 / height, bottom=1.0 / height)
    entries: list[tuple[str, str, str]] = []
    colours = (style.GREY, style.VIOLET, style.GREEN, style.BLUE)
    shown = [s for s in steps if swept(records, gpu, s.name)]
    cublas: dict[tuple[int, int, int], list[float]] = {}
    for index, step in enumerate(shown):
        rows = sweep_rows(records, gpu, step.name)
        colour = colours[(index + len(colours) - len(shown)) % len(colours)]
        xs = [SWEEP27.index(size) for size in rows]
        ax.plot(xs, [r["tflops"] for r in rows.values()], color=colour, lw=1.8, marker="o", ms=4, zorder=3)
        entries.append(("line", colour, f"{step.short} ({geometric_mean(rows):.3f})"))
        for size, record in rows.items():
            cublas.setdefault(size, []).append(record["baseline_tflops"])
    xs = [x for x, size in enumerate(SWEEP27) if size in cublas]
    middle = [sorted(cublas[SWEEP27[x]])[len(cublas[SWEEP27[x]]) // 2] for x in xs]
    ax.plot(xs, middle, color=style.AMBER, lw=2, ls=(0, (5, 2)), marker="s", ms=3.5, zorder=2)
    entries.append(("dash", style.AMBER, "cuBLAS"))
    ax.set_xlim(-0.6, 26.6)
    low, high = ax.get_ylim()
    ax.set_ylim(max(0.0, low - (high - low) * 0.15), high)
    ax.set_xticks(range(27), [f"{m // 1024}\n{n // 1024}" for m, n, _ in SWEEP27], fontsize=8.5)
    ax.annotate(
        "M\nN",
        (-0.012, 0),
        (0, -7),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8.5,
    )
    ax.set_ylabel("TFLOPS")
    ax.grid(axis="y")
    for index, k in enumerate(K):
        if index:
            ax.axvline(9 * index - 0.5, color="#b8c2ce", lw=1)
        ax.annotate(
            f"K = {k}",
            (9 * index + 4, 0),
            (0, -44),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            fontsize=10,
        )
    style.heading(
        drawn,
        say(
            language,
            f"The 27-size sweep, {name.upper()} · {records.gpu_name(gpu)}",
            f"27 种尺寸的扫描，{name.upper()} · {records.gpu_name(gpu)}",
        ),
    )
    style.legend(drawn, entries, 0.60)
    style.footnote(
        drawn,
        say(
            language,
            "Below the axis: M and N in units of 1024. In brackets: geometric mean of the ratio to cuBLAS. "
            "The axis does not start at 0.",
            "横轴下方为 M 与 N（单位 1024）。括号内为相对 cuBLAS 的几何平均。纵轴不从 0 开始。",
        ),
    )
    return drawn
