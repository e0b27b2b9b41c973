"""The titles of charts: what each shows, worked out from the records that it draws."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from records import BASELINES, BEST_LIBRARY, Record, Records

from . import panels, passes, style
from .course import Course, Step
from .style import say

Error = Mapping[int, float]
RESOLVED = 0.005  # half a per cent: a smaller difference between two steps is not told, however narrow their spreads
BETWEEN_DAYS = 0.03  # by so much timings of two days may differ, as docs/benchmarking says


def over_size(course: Course, records: Records, gpu: str, step: Step, language: str, by_ratios: bool = False) -> str:
    """At which sizes a step is faster or slower than the one before, by how much in TFLOPS, as in the step's table: where
    the middle 60 % of their rounds do not overlap and they differ by more than half a per cent. Beside the best library
    call, at the power limit, the ratios measured in turn have to say the same; a chart that draws these tells by how much
    they differ. Where both were timed one after the other in passes, these decide, and each has to tell of it. Of a first step
    the same beside the variant that it is compared with, or else its share of the library."""
    before, alike, sizes = course.before(step), course.alike(step), records.square_sizes(gpu, [step.name])
    timed: Mapping[int, Record | None]
    if before:
        timed = {size: records.default_at(gpu, before.name, size) for size in sizes}
        number, whose, kind = before.number, "", ""
    elif alike:
        timed = panels.of_variant(records, gpu, *alike)
        number, whose, kind = alike[0].number, f"'s {alike[1]}", f"（{alike[1]}）"
    else:
        return _share(course, records, gpu, step, sizes, language)
    english_name, chinese_name = f"step {number:02d}{whose}", f"步骤 {number:02d}{kind or ' '}"
    verdicts: dict[str, dict[int, float]] = {"faster": {}, "slower": {}, "alike": {}}
    _, in_passes = passes.beside(course, records, gpu, step)
    hidden = True  # by the spread, where no difference is told
    for size in sizes:
        record, other = records.default_at(gpu, step.name, size), timed.get(size)
        if record and other:
            ratio, apart = record["tflops"] / other["tflops"], panels.apart(record, other)
            if in_turn := _in_turn(course, records, gpu, step, size):
                apart = _apart_in_turn(*in_turn)
            if by_ratios and in_turn:
                ratio = in_turn[0]["ratio"] / in_turn[1]["ratio"]
            if size in in_passes:
                more = in_passes[size].more
                ratio, apart = 1 / (1 + statistics.median(more)), more[0] > RESOLVED or more[-1] < -RESOLVED
            level = abs(ratio - 1) <= RESOLVED or not apart
            hidden = hidden and not (level and apart)
            verdicts["alike" if level else "faster" if ratio > 1 else "slower"][size] = ratio
    same, both = verdicts.pop("alike"), sorted(size for each in verdicts.values() for size in each)
    in_turn_with_best = bool(before) and course.yardstick(step.ladder) == BEST_LIBRARY
    if not both and in_turn_with_best:
        return say(language, f"{step.short}: no difference from {english_name} that times and ratios both show",
                   f"{step.short} 与{chinese_name}相比，用时与比值没有一致的差别")  # fmt: skip
    if not both and not hidden:
        return say(language, f"{step.short}: no difference from {english_name} exceeds the spread and 0.5 %",
                   f"{step.short} 与{chinese_name}的差别都不超过波动范围或 0.5%")  # fmt: skip
    if not both:
        return say(language, f"{step.short}: the spread hides any difference from {english_name}",
                   f"{step.short} 与{chinese_name}的差别不超出波动范围")  # fmt: skip
    told = []
    for english, ratios in sorted(verdicts.items(), key=lambda one: -len(one[1])):
        if ratios:
            where, chinese = (
                _where(ratios, sizes, language),
                {"faster": "快", "slower": "慢"}[english],
            )
            than = say(language, "" if told else f" than {english_name}", "")
            told.append(say(language, f"{english}{than} {where} ({_times(ratios)})",
                            f"{where}更{chinese}（{_times(ratios)}）"))  # fmt: skip
    rest = ""
    if same:
        where, chinese = "elsewhere", "其余尺寸"
        if len(same) == 1 and both[0] < min(same) < both[-1] and len(told) == 1 and len(both) > 2:
            where, chinese = "there", "该尺寸"  # it has been named
        level = (f"; {where} the spreads overlap", f"；{chinese}的波动范围重叠")
        if in_turn_with_best:
            level = (f"; {where} within the noise", f"；{chinese}的差别在噪声之内")
        rest = say(language, *(level if hidden else (f"; {where} level", f"；{chinese}持平")))
    return say(language, f"{step.short} is {', '.join(told)}{rest}",
               f"{step.short} 与{chinese_name}相比，{'，'.join(told)}{rest}")  # fmt: skip


def _in_turn(course: Course, records: Records, gpu: str, step: Step, size: int) -> tuple[Record, Record] | None:
    """The step and the one before at a size, both beside the best library call; None: not both were."""
    if (before := course.before(step)) is None or course.yardstick(step.ladder) != BEST_LIBRARY:
        return None
    now, other = (records.default_at(gpu, s.name, size, baseline=BEST_LIBRARY) for s in (step, before))
    return (now, other) if now and other else None


def _apart_in_turn(record: Record, other: Record) -> bool:
    """Whether the ratios in turn tell of a difference, and the speeds, with the spreads of these ratios, of the same one."""
    more = record["ratio"] / other["ratio"] - 1
    by_speed = (record["tflops"] / other["tflops"] - 1) * more > 0 and panels.apart(
        record, other, panels.spread_in_turn
    )
    return by_speed and panels.shares_apart(record, other) and abs(more) > RESOLVED


def _share(course: Course, records: Records, gpu: str, step: Step, sizes: Sequence[int], language: str) -> str:
    baseline, size = course.yardstick(step.ladder), max(sizes)
    record = records.default_beside(gpu, step.name, size, baseline)
    library = BASELINES[baseline](language)
    if not record or record.get("baseline") != baseline:
        return step.short
    share = f"{100 * record['ratio']:.0f}"
    return say(language, f"{step.short} reaches {share} % of {library} at {size}³",
               f"{step.short} 在 {size}³ 达到{style.spaced(library)}的 {share}%")  # fmt: skip


def _where(found: Iterable[int], sizes: Sequence[int], language: str) -> str:
    """Some of these sizes in words: every one, from one on, up to one, all but one, or named."""
    named = sorted(found)
    if named == list(sizes):
        return say(language, "at every size", "各尺寸都")
    if len(named) > 1 and named == list(sizes)[-len(named) :]:
        return say(language, f"from {named[0]}³ on", f"{named[0]}³ 及以上")
    if len(named) > 1 and named == list(sizes)[: len(named)]:
        return say(language, f"up to {named[-1]}³", f"{named[-1]}³ 及以下")
    if len(named) > 2 and len(left := sorted(set(sizes) - set(named))) == 1:
        return say(language, f"at every size but {left[0]}³", f"除 {left[0]}³ 外各尺寸都")
    *others, last = [f"{size}³" for size in named]
    english = " and ".join([", ".join(others), last] if others else [last])
    return say(language, f"at {english}", "、".join([*others, last]) + " 时")


def _times(ratios: Mapping[int, float]) -> str:
    """×1.03–1.06, or the one there is."""
    low, high = (f"{pick(ratios.values()):.2f}" for pick in (min, max))
    return f"×{low}" if low == high else f"×{low}–{high}"


def among_variants(step: Step, rows: Sequence[Record], alike: Sequence[Record], language: str) -> str:
    """Whether a variant of the default's types and layout is faster than it by more than their rounds spread, and where
    they were timed on two days, by more than these may differ."""
    default = next((r for r in rows if r.get("default")), None)
    if default is None:
        return say(language, f"Variants of {step.short}", f"{step.short} 的各变体")
    if len(alike) == 1:
        return say(language, f"{step.short}: its types and layouts", f"{step.short} 的各种类型与布局")
    best = max(alike, key=lambda r: r["tflops"])
    if best is default:
        worst = min(alike, key=lambda r: r["tflops"])
        times = f"×{default['tflops'] / worst['tflops']:.2f}"
        if any(_level(default, other) for other in alike if other["variant"] != default["variant"]):
            return say(language, f"{step.short}: no variant is faster than the default, {times} beside {worst['variant']}",
                       f"{step.short}：没有变体快过默认变体，它是 {worst['variant']} 的 {times}")  # fmt: skip
        return say(language, f"{step.short}: the default is the fastest, {times} beside {worst['variant']}",
                   f"{step.short}：默认变体最快，是 {worst['variant']} 的 {times}")  # fmt: skip
    if _level(best, default):
        return say(language, f"{step.short}: none of its types and layout is faster beyond the spread",
                   f"{step.short}：同类型、同布局中，没有变体快出波动范围")  # fmt: skip
    if best.get("date") != default.get("date") and best["tflops"] / default["tflops"] - 1 <= BETWEEN_DAYS:
        days = f"{100 * BETWEEN_DAYS:.0f}"
        return say(language, f"{step.short}: {best['variant']}, timed on another day, is within {days} % of the default",
                   f"{step.short}：{best['variant']} 在另一天测量，与默认变体相差不到 {days}%")  # fmt: skip
    more = _faster(best, default)
    return say(language, f"{step.short}: {best['variant']} is {more} % faster than the default",
               f"{step.short}：{best['variant']} 比默认变体快 {more}%")  # fmt: skip


def conflicts_of_ladder(name: str, rows: Sequence[tuple[Step, float]], language: str) -> str:
    """Where a ladder's bank conflicts are the most, and what its last step has."""
    worst, most = max(rows, key=lambda row: row[1])
    last, left = rows[-1]
    many, few = (style.number(value) if value else "0" for value in (most, left))
    return say(
        language,
        f"{name}: bank conflicts per 1000 multiply-adds: {many} in step {worst.number:02d}, {few} in step {last.number:02d}",
        f"{name}：每 1000 次乘加的 bank 冲突：步骤 {worst.number:02d} {many}，步骤 {last.number:02d} {few}",
    )


def left_out(step: Step, gains: Iterable[tuple[str, float, int]], language: str) -> str:
    """Which piece of work costs the kernel most of its time, because nothing hides it."""
    what, gain, size = max(gains, key=lambda one: one[1])
    gap = " " if what[-1].isascii() else ""
    cost = f"{1 - 1 / gain:.0%}".replace("%", say(language, " %", "%"))
    return say(language, f"{step.short}: without {what} {size}³ takes {cost} less time",
               f"{step.short}：省去{' ' if what[0].isascii() else ''}{what}{gap}，{size}³ 的时间少 {cost}")  # fmt: skip


def beside(name: str, ratios: Sequence[float], mean: float, library: str, language: str) -> str:
    """At how many sizes of a sweep a kernel is at least as fast as a library, and its mean speed beside it."""
    above = sum(ratio >= 1 for ratio in ratios)
    return say(
        language,
        f"{name}: at or above {library} at {above} of {len(ratios)} sizes, mean ×{mean:.3f}",
        f"{name}：{len(ratios)} 种尺寸里有 {above} 种不低于{style.spaced(library).rstrip()}，平均 ×{mean:.3f}",
    )


def strides(step: Step, timed: Mapping[int, Mapping[int, Record]], language: str) -> str:
    """How much the stride matters at the largest size: between the slowest and the fastest one."""
    size = max(timed)
    given = sorted((r for stride, r in timed[size].items() if stride), key=lambda r: r["tflops"])
    worst, best = given[0], given[-1]
    if not panels.apart(best, worst):
        return say(language, f"{step.short}: at {size}³ no stride differs by more than the spread",
                   f"{step.short}：{size}³ 时各步长的差别不超出波动范围")  # fmt: skip
    more = _faster(best, worst)
    return say(language, f"{step.short}: at {size}³ the best stride is {more} % faster than the worst",
               f"{step.short}：{size}³ 时最好的步长比最差的快 {more}%")  # fmt: skip


def stages(step: Step, families: Mapping[str, Mapping[tuple[int, int], Record]], language: str) -> str:
    """Which tile gains most from more than the fewest stages, and what the others gain at most; each at its best stride."""
    gains = []
    for family, grid in families.items():
        fewest = min(depth for depth, _ in grid)
        few, more = (
            max((r for (depth, _), r in grid.items() if (depth == fewest) == least), key=lambda r: r["tflops"])
            for least in (True, False)
        )
        gains.append((more["tflops"] / few["tflops"] - 1, family, fewest, panels.apart(more, few)))
    gains.sort(reverse=True)
    gain, family, fewest, resolved = gains[0]
    if not resolved or gain < 0:
        return say(language, f"{step.short}: stages matter less than the spread",
                   f"{step.short}：stage 数的影响小于波动范围")  # fmt: skip
    told = say(language, f"{step.short}: more than {fewest} stages make {family} {gain:.0%} faster",
               f"{step.short}：多于 {fewest} 个 stage 使 {family} 快 {gain:.0%}")  # fmt: skip
    others = max(0.0, gains[1][0]) if len(gains) > 1 else None
    if others is not None:
        told += say(language, f", the other tiles at most {others:.0%}", f"，其他分块最多快 {others:.0%}")
    return told.replace("%", say(language, " %", "%"))


def ladder(name: str, records: Sequence[Record], library: str, language: str) -> str:
    """From what share of the library a ladder rises to what."""
    shares = [record["ratio"] for record in records if record.get("ratio")]
    if len(shares) < 2:
        return say(language, f"The {name} ladder", f"{name} 阶梯")
    return say(
        language,
        f"{name}: from {shares[0]:.0%} to {max(shares):.0%} of {library} in {len(records)} steps",
        f"{name}：{len(records)} 步，从{style.spaced(library)}的 {shares[0]:.0%} 到 {max(shares):.0%}",
    )


def fastest(name: str, at: Mapping[int, tuple[Step, float]], language: str) -> str:
    """Which step is the fastest, at the least and at the largest size; by size the fastest one."""
    (small, _), (large, _) = at[min(at)], at[max(at)]
    if small == large:
        return say(language, f"{name}: step {large.number:02d} is the fastest from {min(at)}³ to {max(at)}³",
                   f"{name}：从 {min(at)}³ 到 {max(at)}³，步骤 {large.number:02d} 都是最快的")  # fmt: skip
    return say(
        language,
        f"{name}: step {small.number:02d} is the fastest at {min(at)}³, step {large.number:02d} at {max(at)}³",
        f"{name}：{min(at)}³ 时最快的是步骤 {small.number:02d}，{max(at)}³ 时是步骤 {large.number:02d}",
    )


def all_ladders(speeds: Sequence[float], size: int, language: str) -> str:
    """The slowest and the fastest step of the course."""
    low, high = style.number(min(speeds)), style.number(max(speeds))
    return say(language, f"From {low} to {high} TFLOPS at {size}³", f"{size}³：从 {low} 到 {high} TFLOPS")


def joules(ladder: Sequence[tuple[Step, float]], language: str) -> str:
    """What a FLOP of a ladder's first and of its last step costs: the same work, and not the same energy."""
    (first, most), (last, least) = ladder[0], ladder[-1]
    high, low = style.number(most), style.number(least)
    return say(
        language,
        f"The same FMAs cost {high} pJ per FLOP in step {first.number:02d}, {low} in step {last.number:02d}",
        f"同样的 FMA，每 FLOP 的能量：步骤 {first.number:02d} 是 {high} pJ，步骤 {last.number:02d} 是 {low} pJ",
    )


def intensity(name: str, points: Sequence[tuple[float, float, Step]], language: str) -> str:
    """How FLOP per byte grow along a ladder."""
    (low, _, first), (high, _, last) = points[0], points[-1]
    low, high = style.number(low), style.number(high)
    return say(
        language,
        f"{name}: from {low} FLOP per byte in step {first.number:02d} to {high} in step {last.number:02d}",
        f"{name}：每字节的 FLOP，步骤 {first.number:02d} 是 {low}，步骤 {last.number:02d} 是 {high}",
    )


def accumulators(narrow: Error, wide: Error, language: str) -> str:
    """How much larger the error of FP16 sums is than that of FP32 sums, at the largest K that both have."""
    k = max(narrow.keys() & wide.keys())
    times = f"{narrow[k] / wide[k]:.0f}"
    return say(language, f"FP16 sums err {times} times as much as FP32 sums at K = {k}",
               f"K = {k} 时，FP16 累加的误差是 FP32 累加的 {times} 倍")  # fmt: skip


def shares(rows: Sequence[tuple[Step, float]], language: str) -> str:
    """The least and the largest share of FMAs or mma."""
    (low, least), (high, most) = min(rows, key=lambda row: row[1]), max(rows, key=lambda row: row[1])
    return say(
        language,
        f"FMAs or mma are {least:.0%} of the inner loop in step {low.number:02d}, {most:.0%} in step {high.number:02d}",
        f"内层循环里 FMA 或 mma 的比例：步骤 {low.number:02d} 是 {least:.0%}，步骤 {high.number:02d} 是 {most:.0%}",
    )


def _level(one: Record, other: Record) -> bool:
    """Are two timings of one day no further apart than they spread or than is told?"""
    return not panels.apart(one, other) or abs(one["tflops"] / other["tflops"] - 1) <= RESOLVED


def _faster(one: Record, other: Record) -> str:
    """By how many per cent one timing is faster than another."""
    return f"{100 * (one['tflops'] / other['tflops'] - 1):.0f}"
