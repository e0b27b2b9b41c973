"""Tables of variants that leave out work."""

from __future__ import annotations

from .. import bottleneck_charts
from ..course import Step
from .page import MIDDLE, Page, Table, by_gpu, in_tflops, in_turn


def bottlenecks(page: Page, step: Step) -> str:
    """A step's variants that leave out work, beside the default and what others published of the same."""
    published = bottleneck_charts.published(page.course, step.name)
    whole = next(iter(published.values()), (0.0, 0.0))[0]

    def of(gpu: str) -> Table | None:
        by_size = bottleneck_charts.left_out(page.records, gpu, step.name)
        share = page.say("÷ full", "÷ 完整")
        made = Table([page.say("left out", "省去的工作")])
        full = [page.say("nothing: the full kernel", "无：完整 kernel")]
        for size, rows in by_size.items():
            one = next((r.full for r in rows if r.full.get("default")), rows[0].full)
            made.head += [page.say(f"TFLOPS at {size}³", f"{size}³ TFLOPS"), share]
            full += [in_tflops(one), "1.00"]
            made.used.append(one)
        if published:
            made.head += [page.say("A100 notes, % of peak", "A100 笔记，峰值百分比"), share]
            full += [f"{whole:.1f}", "1.00"]
        made.rows.append(full)
        for variant in dict.fromkeys(r.record["variant"] for rows in by_size.values() for r in rows):
            at = [next((r for r in rows if r.record["variant"] == variant), None) for rows in by_size.values()]
            cells = [next(r for r in at if r).words(page.language)]
            for one in at:
                cells += [in_tflops(one.record), f"{one.gain:.2f}"] if one else ["–", "–"]
            if published:
                value = published.get(variant, (0.0, 0.0))[1]
                cells += [f"{value:.1f}", f"{value / whole:.2f}"] if value else ["–", "–"]
            made.rows.append(cells)
            made.used += [one.record for one in at if one]
        return made if by_size else None

    return by_gpu(page, [step], of, f"no kernel of {step.name} that leaves work out was timed")


def bottlenecks_in_turn(page: Page, step: Step) -> str:
    """What each piece of work left out gains, as ratios to the library that each kernel was timed in turn with."""

    def of(gpu: str) -> Table | None:
        by_size = bottleneck_charts.left_out(page.records, gpu, step.name)
        pairs = {(r.record["variant"], size): r for size, rows in by_size.items() for r in rows if r.in_turn}
        made = Table([page.say("left out", "省去的工作")])
        full = [page.say("nothing: the full kernel", "无：完整 kernel")]
        for size in by_size:
            one = next((r.full for (_, at), r in pairs.items() if at == size), None)
            if not one:
                return None
            head = [page.say(f"TFLOPS at {size}³", f"{size}³ TFLOPS"), page.of(one["baseline"]), MIDDLE(page.language)]
            made.head += [*head, page.say("÷ full", "÷ 完整")]
            full += [*in_turn(one), "1.00"]
            made.used.append(one)
        made.rows.append(full)
        for variant in dict.fromkeys(name for name, _ in pairs):
            at = [pairs.get((variant, size)) for size in by_size]
            cells = [next(r for r in at if r).words(page.language)]
            for r in at:
                cells += [*in_turn(r.record), f"{r.gain_in_turn:.2f}"] if r else ["–"] * 4
            made.rows.append(cells)
            made.used += [r.record for r in at if r]
        made.note = page.say("÷ full divides the ratios, not the TFLOPS", "“÷ 完整”是两个比值之商，不是 TFLOPS 之商")
        return made if pairs else None

    return by_gpu(page, [step], of, f"no kernel of {step.name} that leaves work out was timed in turn with a library")
