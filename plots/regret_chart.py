"""docs/chooser: by how much each way to choose is slower than the fastest kernel, over the 125 sizes."""

from __future__ import annotations

import re
import statistics

from matplotlib.figure import Figure

from records import Records, costs

from . import layout, panels, style
from .course import Course
from .layout import Panel, Texts
from .style import Missing, say
from .sweep_charts import HGEMM125

STEP, OLD, ALWAYS = "29_split_k", "27_by_size", "large"
TOP = 40.0  # percent, of the axis
RIGHT = 1.95  # inches for the names at the ends of the lines
# What step 27's launcher goes by, as its kernel.cu lists it: a slice and a tile, in the time of a slice of 128×256.
_COST = re.compile(r"\{(\w+)::BM, \1::BN, ([\d.]+), ([\d.]+),")
Rule = dict[str, tuple[float, float]]
_BY_NAME = {way.name: way for way in costs.WAYS}


def of_125(course: Course, records: Records, language: str) -> Figure:
    """A line per way to choose, its sizes sorted from the least to the most time that the choice costs."""
    for gpu in records.gpus([STEP]):
        if times := costs.times_of(r for r in records.of_step(gpu, STEP) if not r.get("beta")):
            break
    else:
        raise Missing(f"the kernels of {STEP} were not timed in turn")
    old = course.step(OLD)
    rule = (
        {name.lower(): (float(one), float(two)) for name, one, two in _COST.findall(old.kernel.read_text())}
        if old
        else {}
    )
    if not rule:
        raise Missing(f"{OLD}/kernel.cu lists no costs of its tiles")
    fitted, sizes = costs.fitted(times), [size for size in HGEMM125.sizes if size in times]
    estimated: set[costs.Size] = set()

    def slower(size: costs.Size, name: str) -> float:
        """Percent over the fastest; of a kernel that was too far behind to be timed, by the launcher's estimates."""
        least = min(times[size].values())
        if name in times[size]:
            return 100 * times[size][name] / least - 100
        estimated.add(size)
        return max(0.0, 100 * costs.estimate(fitted, _BY_NAME[name], size) / least - 100)

    found = {
        "launcher": [100 * loss for loss in costs.losses(times, sizes).values()],
        "unseen": [100 * loss for loss in costs.losses(times, sizes, left_out=True).values()],
        "rule": [slower(size, _by_the_old_rule(rule, size)) for size in sizes],
        "always": [slower(size, ALWAYS) for size in sizes],
    }
    names = {
        "launcher": say(language, "the launcher", "启动函数"),
        "unseen": say(language, "size not fitted", "不拟合该尺寸"),
        "rule": say(language, "step 27's rule", "步骤 27 的规则"),
        "always": say(language, "always 128×256", "一律 128×256"),
    }
    means = {name: f"{statistics.mean(values):.1f}" for name, values in found.items()}
    texts = Texts(
        say(
            language,
            f"The launcher's choice takes {means['launcher']} % longer than the fastest kernel in the mean, "
            f"step 27's {means['rule']} %",
            f"与最快的 kernel 相比，启动函数平均多用 {means['launcher']}% 的时间，步骤 27 的规则多用 {means['rule']}%",
        ),
        say(
            language,
            f"Time over that of the fastest of the ten kernels and of two for one C, timed in turn, {records.gpu_name(gpu)}; {len(sizes)} sizes, "
            "sorted for each line" + _estimates(len(estimated), language),
            f"比十种 kernel 和两个 kernel 合算一个 C 里最快的多用的时间，交替计时，{records.gpu_name(gpu)}；{len(sizes)} 种尺寸，每条线各自排序"
            + _estimates(len(estimated), language),
        ),
    )
    drawn, (ax,) = layout.page(texts, [Panel(2.4, above=0.12)], layout.SPEEDS, RIGHT)
    looks = (
        ("always", style.GREY, "-"),
        ("rule", style.AMBER, "-"),
        ("unseen", style.BLUE, panels.DOTTED),
        ("launcher", style.BLUE, "-"),
    )
    labels = []
    for name, colour, dashes in looks:
        values = sorted(found[name])
        ax.plot(range(1, len(values) + 1), values, color=colour, lw=2.4, ls=dashes, zorder=3)
        most = f"{values[-1]:.0f}"
        words = say(language, f"{names[name]}, to {most} %", f"{names[name]}，最多 {most}%")
        labels.append((len(values), min(values[-1], TOP), words, colour))
    ax.set_xlim(0, len(sizes) + 1)
    ax.set_ylim(0, TOP)
    for (x, y, words, colour), place in zip(
        labels, style.spread([y for _, y, _, _ in labels], TOP * 0.165 / 2.4), strict=True
    ):
        style.name_beside(ax, (x, y), words, place / TOP, colour)
    ax.set_xlabel(say(language, "sizes", "尺寸数"))
    ax.set_ylabel(say(language, "% longer", "多用的时间，%"))
    ax.grid(True)
    return drawn


def _estimates(number: int, language: str) -> str:
    if not number:
        return ""
    return say(
        language,
        f"; at {number} of them a kernel so far behind that it was not timed, by its estimate",
        f"；其中 {number} 种选到的 kernel 落后太多、没有计时，用估计值",
    )


def _by_the_old_rule(rule: Rule, size: costs.Size) -> str:
    """The kernel that step 27 launches."""
    m, n, k = size

    def cost(name: str) -> float:
        way, (per_slice, per_tile) = _BY_NAME[name], rule[name]
        waves = -(-(-(-m // way.bm) * -(-n // way.bn)) // costs.MULTIPROCESSORS)
        return waves * (-(-k // costs.BK) * per_slice + per_tile)

    return min(rule, key=cost)
