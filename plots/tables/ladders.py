"""Tables of whole ladders."""

from __future__ import annotations

from records import BASELINES

from .. import panels, shares_chart
from ..style import Missing
from .page import Page, Table, as_figure, by_gpu, in_percent, in_tflops, ratio_columns, ratios_of

SIZE = 4096  # of the table of all ladders


def ladder(page: Page, name: str) -> str:
    """A ladder's steps with speed, shares and gain, and the libraries below them."""
    steps, records = page.course.ladder(name), page.records
    names = [s.name for s in steps]

    def of(gpu: str) -> Table:
        baselines = ratio_columns(records.beside(gpu, names), page.course.yardstick(name))
        ratios = [page.of(b) for b in baselines]
        head = [
            page.say("step", "步骤"),
            page.say("idea", "思路"),
            page.say("TFLOPS at 4096³", "4096³ TFLOPS"),
            *ratios,
        ]
        head += [page.say("of peak at 4096³", "4096³ 相对峰值"), page.say("TFLOPS at 8192³", "8192³ TFLOPS"), *ratios]
        made = Table([*head, page.say("gain at 4096³", "4096³ 提升")], texts=2)
        best = 0.0
        for step in steps:
            small, large = (records.default_at(gpu, step.name, size) for size in (4096, 8192))
            made.used += [r for r in (small, large) if r]
            speed, peak = small["tflops"] if small else 0.0, page.course.peak(gpu, step)
            named = f" `{small['variant']}`" if small and not small.get("default") else ""
            cells = [page.link(step) + named, page.course.idea(step, page.language)]
            cells += [
                in_tflops(small),
                *ratios_of(page, gpu, small, baselines),
                in_percent(speed / peak if peak else None),
            ]
            cells += [in_tflops(large), *ratios_of(page, gpu, large, baselines)]
            made.rows.append([*cells, f"×{speed / best:.2f}" if speed and best else "–"])
            best = max(best, speed)
        for base in panels.LOOKS:
            speeds = [records.baseline_at(gpu, names, size, baseline=base) for size in (4096, 8192)]
            peak = page.course.peak(gpu, steps[-1])
            share = speeds[0] / peak if speeds[0] and peak else None
            same = ["100%" if b == base else "" for b in baselines]
            cells = [as_figure(speeds[0]), *same, in_percent(share) if share and share <= 1 else ""]
            if any(speeds):
                made.rows.append([BASELINES[base](page.language), "", *cells, as_figure(speeds[1]), *same, ""])
        made.note = page.say("gain: over the best step before", "提升：相对此前最快的一步")
        return made

    return by_gpu(page, steps, of, f"no timing of the {name} ladder")


def all_ladders(page: Page) -> str:
    """Every ladder with its fastest step at 4096, what that reaches, and in words what it does not reach."""
    course, records = page.course, page.records

    def of(gpu: str) -> Table:
        head = [page.say("ladder", "阶梯"), page.say("steps", "步骤"), page.say("fastest at 4096³", "4096³ 最快")]
        head += ["TFLOPS", page.say("of the library", "相对库"), page.say("of peak", "相对峰值")]
        made = Table([*head, page.say("what it does not reach", "没有达到什么")], texts=3, remark=True)
        for name in course.ladders:
            steps, beside = course.ladder(name), course.yardstick(name)
            timed = [(s, r) for s in steps if (r := records.default_beside(gpu, s.name, SIZE, beside))]
            if not timed:
                continue
            step, best = max(timed, key=lambda pair: pair[1]["tflops"])
            limit = records.limit(gpu, best["a"], best["acc"], "mma")
            missed = course.unreached(name, in_tflops(limit), page.language)
            peak = course.peak(gpu, step)
            numbers = f"{steps[0].number:02d}–{steps[-1].number:02d}"
            shares = [in_percent(best.get("ratio")), in_percent(best["tflops"] / peak if peak else None)]
            cells = [course.ladder_name(name, page.language), numbers, page.link(step), in_tflops(best)]
            made.rows.append([*cells, *shares, missed])
            made.used.append(best)
        made.note = course.the_library(page.language)
        return made

    return by_gpu(page, course.steps, of, f"no ladder timed at {SIZE}")


def questions(page: Page) -> str:
    """Every step once: the question that its chapter answers, its speed, and its share of the library."""
    course, records = page.course, page.records

    def of(gpu: str) -> Table:
        head = [
            page.say("step", "步骤"),
            page.say("the question", "问题"),
            "TFLOPS",
            page.say("of the library", "相对库"),
        ]
        made = Table(head, texts=2)
        for name in course.ladders:
            made.rows.append([f"**{course.ladder_name(name, page.language)}**", "", "", ""])
            for step in course.ladder(name):
                r = shares_chart.headline(course, records, gpu, step)
                question = step.questions.get(page.language, step.idea(page.language))
                one_by_one = page.say(" (one by one)", "（逐次）") if r and step.headline == "alone" else ""
                share = f"{r['ratio']:.0%}" if r else "–"
                made.rows.append([page.link(step), question, in_tflops(r) + one_by_one, share])
                made.used += [r] if r else []
        made.note = page.say(
            "M = N = K = 4096, each step in turn with the library", "M = N = K = 4096，每一步与库轮流运行"
        )
        return made

    return by_gpu(page, course.steps, of, "no step was timed")


def covers(page: Page, name: str) -> str:
    """A ladder's steps with the published kernels that their variants cover."""
    if not page.records.variants:
        raise Missing("what the variants cover is not recorded: python -m lab.variants")
    made = Table([
        page.say("step", "步骤"),
        page.say("idea", "思路"),
        page.say("published kernels and the variants that cover them", "公开的 kernel 与覆盖它的变体"),
    ], texts=3)  # fmt: skip
    for step in page.course.ladder(name):
        by_kernel: dict[str, list[str]] = {}
        for variant, kernels in page.records.covers(step.name).items():
            for kernel in kernels:
                by_kernel.setdefault(kernel, []).append(f"`{variant}`")
        covered = "; ".join(f"{kernel}: {', '.join(variants)}" for kernel, variants in by_kernel.items())
        made.rows.append([page.link(step), page.course.idea(step, page.language), covered or page.say("none", "无")])
    return str(made)
