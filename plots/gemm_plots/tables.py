"""Tables for the write-ups, in both languages, made from the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress

from gemm_plots.figures.text import Words

from . import (
    bottleneck_charts,
    count_charts,
    energy,
    error_charts,
    glossary,
    gpu_tables,
    latencies,
    panels,
    step_charts,
    stream_k,
    sweep_charts,
    swizzle_charts,
    traffic,
)
from .course import Course, Step
from .records import BASELINES, BEST_LIBRARY, CUBLASLT, CUTLASS, Record, Records
from .style import Missing, number, say

Cells = list[str]
SIZE = 4096  # of the table of all ladders
EMPTY = ("", "–")  # what a cell without an entry holds


class UnknownTable(Exception):
    """A marker names a table that does not exist."""


@dataclass(frozen=True)
class Page:
    """What a table is made from, and the language of the page that it stands on."""

    course: Course
    records: Records
    language: str

    def say(self, english: str, chinese: str) -> str:
        """The text in the page's language."""
        return say(self.language, english, chinese)

    def of(self, baseline: str) -> str:
        """The head of a column of ratios."""
        name = BASELINES[baseline](self.language)
        return self.say(f"of {name}", f"相对 {name}" if name[0].isascii() else f"相对{name}")

    def link(self, step: Step) -> str:
        """A step's name, linked to its chapter."""
        return f"[{step.name}](steps/{step.name}/{self.say('', 'README.zh-CN.md')})"


@dataclass
class Table:
    """A table: its head, its rows, the records in it; how many columns are text, and whether the last is, too.

    `note` is what the line above the table says.
    """

    head: Cells
    rows: list[Cells] = field(default_factory=list)
    used: list[Record] = field(default_factory=list)
    texts: int = 1
    remark: bool = False
    note: str = ""

    def __str__(self) -> str:
        """The table as Markdown: texts to the left, figures to the right; a column without any entry is left out."""
        rule = ["---"] * self.texts + ["--:"] * (len(self.head) - self.texts - self.remark) + ["---"] * self.remark
        kept = [any(row[i] not in EMPTY for row in self.rows) or not self.rows for i in range(len(self.head))]
        lines = (compress(cells, kept) for cells in (self.head, rule, *self.rows))
        return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def table(course: Course, records: Records, name: str, language: str) -> str:
    """The table of that name as Markdown. Raises UnknownTable, or Missing where nothing is recorded yet."""
    page = Page(course, records, language)
    kind, _, of = name.partition(":")
    for beginning, make in (("ladder-", _ladder), ("covers-", _covers)):
        if course.ladder(kind.removeprefix(beginning)):
            return make(page, kind.removeprefix(beginning))
    if not of and kind in OF_THE_COURSE:
        return OF_THE_COURSE[kind](page)
    step = course.step(of)
    if step is None or kind not in OF_A_STEP:
        raise UnknownTable(name)
    return OF_A_STEP[kind](page, step)


def _by_gpu(page: Page, steps: Iterable[Step], make: Callable[[str], Table | None], why: str) -> str:
    """A table per GPU that steps were timed on, under a line that names it; Missing where there is none."""
    made = ((gpu, make(gpu)) for gpu in page.records.gpus([s.name for s in steps]))
    parts = [f"{_where(page, gpu, table)}\n\n{table}" for gpu, table in made if table]
    if not parts:
        raise Missing(why)
    return "\n\n".join(parts)


def _where(page: Page, gpu: str, table: Table) -> str:
    """The line above a table: GPU, compiler, driver, date of the records in it; and its note."""
    dates = sorted({r["date"][:10] for r in table.used if r.get("date")})
    driver = next((r["driver"] for r in table.used if r.get("driver")), None)
    cuda = next((r["cuda"] for r in table.used if r.get("cuda")), None)
    parts = [f"**{page.records.gpu_name(gpu)}**"]
    parts += [f"CUDA {cuda}"] if cuda else []
    parts += [page.say(f"driver {driver}", f"驱动 {driver}")] if driver else []
    parts += [" – ".join(dict.fromkeys((dates[0], dates[-1])))] if dates else []
    return page.say(", ", "，").join(parts) + (page.say("; ", "；") + table.note if table.note else "")


def _percent(value: float | None) -> str:
    return f"{value:.1%}" if value is not None else "–"


def _figure(value: float | None) -> str:
    return number(value) if value is not None else "–"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _speed(record: Record | None) -> str:
    return _figure(record["tflops"] if record else None)


def _variant(record: Record) -> str:
    return f"**`{record['variant']}`**" if record.get("default") else f"`{record['variant']}`"


def _ratios(page: Page, gpu: str, record: Record | None, baselines: Sequence[str]) -> Cells:
    """A default variant's share of each baseline at the size of a record of it."""
    size = [record[key] for key in ("m", "n", "k")] if record else []
    beside = [page.records.default_at(gpu, record["step"], *size, baseline=b) if record else None for b in baselines]
    return [_percent(r.get("ratio") if r else None) for r in beside]


def _ratio_columns(baselines: Sequence[str]) -> list[str]:
    """The baselines that have a column of ratios: the best library call's makes that of cublasLt superfluous."""
    return [b for b in baselines if b != CUBLASLT or BEST_LIBRARY not in baselines]


def _ladder(page: Page, name: str) -> str:
    steps, records = page.course.ladder(name), page.records
    names = [s.name for s in steps]

    def of(gpu: str) -> Table:
        baselines = _ratio_columns(records.beside(gpu, names))
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
            cells += [_speed(small), *_ratios(page, gpu, small, baselines), _percent(speed / peak if peak else None)]
            cells += [_speed(large), *_ratios(page, gpu, large, baselines)]
            made.rows.append([*cells, f"×{speed / best:.2f}" if speed and best else "–"])
            best = max(best, speed)
        for base in panels.LOOKS:
            speeds = [records.baseline_at(gpu, names, size, baseline=base) for size in (4096, 8192)]
            peak = page.course.peak(gpu, steps[-1])
            share = speeds[0] / peak if speeds[0] and peak else None
            same = ["100%" if b == base else "" for b in baselines]
            cells = [_figure(speeds[0]), *same, _percent(share) if share and share <= 1 else ""]
            if any(speeds):
                made.rows.append([BASELINES[base](page.language), "", *cells, _figure(speeds[1]), *same, ""])
        made.note = page.say("gain: over the best step before", "提升：相对此前最快的一步")
        return made

    return _by_gpu(page, steps, of, f"no timing of the {name} ladder")


def _ladders(page: Page) -> str:
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
            missed = course.unreached(name, _speed(limit), page.language)
            peak = course.peak(gpu, step)
            numbers = f"{steps[0].number:02d}–{steps[-1].number:02d}"
            shares = [_percent(best.get("ratio")), _percent(best["tflops"] / peak if peak else None)]
            cells = [course.ladder_name(name, page.language), numbers, page.link(step), _speed(best)]
            made.rows.append([*cells, *shares, missed])
            made.used.append(best)
        made.note = page.say(
            "the library: cuBLAS, for Hopper the best library call", "库：cuBLAS；Hopper 为最快的库调用"
        )
        return made

    return _by_gpu(page, course.steps, of, f"no ladder timed at {SIZE}")


def _covers(page: Page, name: str) -> str:
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


def _step(page: Page, step: Step) -> str:
    before, records = page.course.before(step), page.records

    def of(gpu: str) -> Table | None:
        baselines = records.beside(gpu, [step.name])
        head = ["M = N = K", *([before.short] if before else []), f"**{step.short}**"]
        head += [cell for b in baselines for cell in (BASELINES[b](page.language), page.of(b))]
        head += [page.say("of peak", "相对峰值"), *([page.say("gain", "提升")] if before else [])]
        made = Table(head, texts=0, note=page.say("TFLOPS, the default variants", "单位 TFLOPS，均为默认变体"))
        peak = page.course.peak(gpu, step)
        for size in records.square_sizes(gpu, [step.name]):
            now = records.default_at(gpu, step.name, size)
            if now is None:
                continue
            old = records.default_at(gpu, before.name, size) if before else None
            cells = [str(size), *([_speed(old)] if before else []), f"**{_speed(now)}**"]
            for base, ratio in zip(baselines, _ratios(page, gpu, now, baselines), strict=True):
                cells += [_figure(records.baseline_at(gpu, [step.name], size, baseline=base)), ratio]
            cells.append(_percent(now["tflops"] / peak if peak else None))
            gain = f"×{now['tflops'] / old['tflops']:.2f}" if old else "–"
            made.rows.append([*cells, *([gain] if before else [])])
            made.used.append(now)
        return made if made.rows else None

    return _by_gpu(page, [step], of, f"no timing of {step.name} at a square size")


def _cutlass(page: Page) -> str:
    """Every timing beside CUTLASS, and the same variant's share of what its ladder is measured against."""

    def of(gpu: str) -> Table | None:
        head = [page.say("step", "步骤"), page.say("types", "类型"), "M = N = K", "TFLOPS", "CUTLASS"]
        head += [page.of(CUTLASS), page.say("of the library", "相对库")]
        made = Table([*head, page.say("its kernel", "它的 kernel")], texts=2, remark=True)
        for step in page.course.steps:
            rows = [r for r in page.records.of_step(gpu, step.name) if not r.get("options")]
            beside = page.course.yardstick(step.ladder)
            library = {_measured(r): r.get("ratio") for r in rows if r.get("baseline") == beside}
            of_step = [r for r in page.records.beside_cutlass.get(gpu, []) if r["step"] == step.name]
            for r in sorted(of_step, key=_measured):
                cells = [
                    f"{page.link(step)} `{r['variant']}`",
                    step_charts.kind_in_words(r, page.language),
                    str(r["m"]),
                ]
                cells += [_speed(r), _figure(r["baseline_tflops"]), _percent(r["ratio"])]
                made.rows.append([*cells, _percent(library.get(_measured(r))), r["baseline_kernel"]])
                made.used.append(r)
        made.note = page.say(
            "the library: cuBLAS, for Hopper the best library call, as in the tables of the steps",
            "库：cuBLAS，Hopper 为最快的库调用，与各步骤的表相同",
        )
        return made if made.rows else None

    return _by_gpu(page, page.course.steps, of, "no timing beside CUTLASS")


def _measured(record: Record) -> tuple[str, int, int, int]:
    return record["variant"], record["m"], record["n"], record["k"]


def _variants(page: Page, step: Step) -> str:
    covers = page.records.covers(step.name)

    def of(gpu: str) -> Table | None:
        found = step_charts.variant_rows(page.records, gpu, step)
        baselines = page.records.beside(gpu, [step.name])
        kinds = len({step_charts.kind(r) for r in found}) > 1
        head = [page.say("variant", "变体"), page.say("published kernel it covers", "对应的公开 kernel")]
        head += [page.say("types", "类型")] if kinds else []
        head += [page.say("TFLOPS at 4096³", "4096³ TFLOPS"), *map(page.of, baselines)]
        made = Table([*head, page.say("relative to the default", "相对默认变体")], used=found, texts=2 + kinds)
        default = next((r["tflops"] for r in found if r.get("default")), None)
        for r in found:
            cells = [_variant(r), ", ".join(covers.get(r["variant"], []))]
            cells += [step_charts.kind_in_words(r, page.language)] if kinds else []
            cells += [_speed(r), *(_percent(r["versus"].get(b)) for b in baselines)]
            made.rows.append([*cells, f"{r['tflops'] / default:.3f}" if default else "–"])
        return made if found else None

    return _by_gpu(page, [step], of, f"no timing of {step.name} at 4096")


def _sweep27(page: Page, step: Step) -> str:
    def of(gpu: str) -> Table | None:
        found = sweep_charts.sweep_rows(page.records, gpu, step.name, sweep_charts.SGEMM27)
        made = Table(
            ["M", "N", "K", step.short, "cuBLAS", page.say("ratio", "比值")], used=list(found.values()), texts=0
        )
        for size, r in found.items():
            made.rows.append([*map(str, size), _speed(r), _figure(r["baseline_tflops"]), f"{r['ratio']:.3f}"])
        if found:
            mean = f"**{sweep_charts.geometric_mean(found.values()):.3f}**"
            made.rows.append([page.say("geometric mean", "几何平均"), "", "", "", "", mean])
        return made if found else None

    return _by_gpu(page, [step], of, f"no sweep of {step.name} over the 27 sizes")


def _sweep(page: Page, step: Step, sweep: sweep_charts.Sweep) -> str:
    """The geometric means of a sweep, by K and in all, with the best and the worst size: the heat map has each size."""

    def of(gpu: str) -> Table | None:
        by_baseline = {b: sweep_charts.sweep_rows(page.records, gpu, step.name, sweep, b) for b in BASELINES}
        found = {b: rows for b, rows in by_baseline.items() if rows}
        made = Table(["K", page.say("sizes", "尺寸数"), "TFLOPS"], texts=0)
        made.note = page.say("geometric means of the ratio", "比值取几何平均")
        for base in found:
            mean = page.say(f"÷ {BASELINES[base]('en')}, mean", f"÷ {BASELINES[base]('zh-CN')}，平均")
            made.head += [mean, page.say("worst", "最差"), page.say("best", "最好")]
        for k in (*sweep.k, None):
            chosen = [[r for size, r in rows.items() if k in (None, size[2])] for rows in found.values()]
            if not chosen or not all(chosen):
                continue
            speeds = [r["tflops"] for r in chosen[0]]
            cells = [str(k) if k else page.say("all", "全部"), str(len(speeds))]
            cells.append(f"{_figure(min(speeds))}–{_figure(max(speeds))}")
            for rows in chosen:
                ratios, mean = [r["ratio"] for r in rows], f"{sweep_charts.geometric_mean(rows):.3f}"
                cells += [mean if k else f"**{mean}**", f"{min(ratios):.3f}", f"{max(ratios):.3f}"]
            made.rows.append(cells)
            made.used += [] if k else [r for rows in chosen for r in rows]
        return made if found else None

    return _by_gpu(page, [step], of, f"no sweep of {step.name} over the {len(sweep.sizes)} sizes")


def _swizzle(page: Page, step: Step) -> str:
    def of(gpu: str) -> Table | None:
        rates = swizzle_charts.hit_rates(page.records, gpu, step.name)
        head = ["M = N = K", page.say("stride", "步长"), "TFLOPS", page.of("cublas")]
        made = Table([*head, page.say("L2 hit rate", "L2 命中率")], texts=0)
        for size, timed in swizzle_charts.default_over_stride(page.records, gpu, step.name).items():
            best = max(r["tflops"] for r in timed.values())
            for stride, r in timed.items():
                rate = rates.get(size, {}).get(stride)
                cells = [str(size), str(stride) if stride else page.say("the step's own", "这一步自选")]
                cells += [f"**{_speed(r)}**" if r["tflops"] == best else _speed(r), _percent(r.get("ratio"))]
                made.rows.append([*cells, f"{rate:.1f}%" if rate is not None else "–"])
                made.used.append(r)
        return made if made.rows else None

    return _by_gpu(page, [step], of, f"{step.name} was not timed at two swizzle strides or more")


def _l2_traffic(page: Page, step: Step) -> str:
    """What a step and the one before it received by TMA, and what crossed from L2 for that."""
    steps = {s.name: s for s in (page.course.before(step), step) if s}

    def of(gpu: str) -> Table | None:
        head = ["M = N = K", page.say("step", "步骤"), *(page.say(*names) for *names, _ in traffic.COLUMNS)]
        made = Table(head, texts=2)
        made.note = page.say(
            "default variants where none is named, each launch counted once by Nsight Compute",
            "未注明的均为默认变体，每项由 Nsight Compute 计数一次",
        )
        for (size, name, variant), counts in traffic.counted(page.records, gpu, steps).items():
            default = page.records.default_at(gpu, name, size)
            is_default = default is None or variant == default["variant"]
            short = steps[name].short if is_default else f"{steps[name].short}, `{variant}`"
            short = f"**{short}**" if name == step.name and is_default else short
            made.rows.append([str(size), short, *(cell(counts) for *_, cell in traffic.COLUMNS)])
        return made if made.rows else None

    return _by_gpu(page, [step], of, f"no traffic of {step.name} was counted: python -m lab.l2_traffic")


def _bottlenecks(page: Page, step: Step) -> str:
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
            full += [_speed(one), "1.00"]
            made.used.append(one)
        if published:
            made.head += [page.say("A100 notes, % of peak", "A100 笔记，峰值百分比"), share]
            full += [f"{whole:.1f}", "1.00"]
        made.rows.append(full)
        for variant in dict.fromkeys(r.record["variant"] for rows in by_size.values() for r in rows):
            at = [next((r for r in rows if r.record["variant"] == variant), None) for rows in by_size.values()]
            cells = [next(r for r in at if r).words(page.language)]
            for one in at:
                cells += [_speed(one.record), f"{one.gain:.2f}"] if one else ["–", "–"]
            if published:
                value = published.get(variant, (0.0, 0.0))[1]
                cells += [f"{value:.1f}", f"{value / whole:.2f}"] if value else ["–", "–"]
            made.rows.append(cells)
            made.used += [one.record for one in at if one]
        return made if by_size else None

    return _by_gpu(page, [step], of, f"no kernel of {step.name} that leaves work out was timed")


def _bottlenecks_in_turn(page: Page, step: Step) -> str:
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
            head = [page.say(f"TFLOPS at {size}³", f"{size}³ TFLOPS"), page.of(one["baseline"]), "20–80 %"]
            made.head += [*head, page.say("÷ full", "÷ 完整")]
            full += [*_in_turn(one), "1.00"]
            made.used.append(one)
        made.rows.append(full)
        for variant in dict.fromkeys(name for name, _ in pairs):
            at = [pairs.get((variant, size)) for size in by_size]
            cells = [next(r for r in at if r).words(page.language)]
            for r in at:
                cells += [*_in_turn(r.record), f"{r.gain_in_turn:.2f}"] if r else ["–"] * 4
            made.rows.append(cells)
            made.used += [r.record for r in at if r]
        made.note = page.say("÷ full divides the ratios, not the TFLOPS", "“÷ 完整”是两个比值之商，不是 TFLOPS 之商")
        return made if pairs else None

    return _by_gpu(page, [step], of, f"no kernel of {step.name} that leaves work out was timed in turn with a library")


def _in_turn(record: Record) -> Cells:
    """TFLOPS, and the ratio to the library in turn with its 20th and 80th percentile."""
    span = (record[key] for key in ("ratio_p20", "ratio_p80"))
    return [_speed(record), f"{record['ratio']:.3f}", "–".join(f"{ratio:.3f}" for ratio in span)]


def _with_spread(record: Record | None) -> str:
    """Its TFLOPS, and those of its 80th and 20th percentile of time: `461 (353–483)`."""
    if not record:
        return "–"
    return f"{_speed(record)} ({'–'.join(map(_figure, panels.spread(record)))})"


def _beside_the_first(record: Record | None, first: Record | None) -> str:
    """How many times as fast as on the first GPU; bold where the spreads of the two do not overlap and it is not 1.00."""
    if not record or not first:
        return "–"
    ratio = f"{record['tflops'] / first['tflops']:.2f}"
    return f"**{ratio}**" if panels.apart(record, first) and ratio != "1.00" else ratio


def _other_gpus(page: Page) -> str:
    """Every step's default on each GPU at 4096 and 8192, and what it is there to the first GPU."""
    course, records = page.course, page.records
    names = [gpu_tables.short_name(records, gpu) for gpu in gpu_tables.compared(records)]
    if len(names) < 2:
        raise Missing("the steps were timed on one GPU alone")
    made = Table([page.say("step", "步骤")])
    for size in (4096, 8192):
        made.head += [f"{name}, {size}³" for name in names] + [f"{name} ÷ {names[0]}" for name in names[1:]]
    for step in course.steps:
        small, large = (gpu_tables.timed(course, records, step, size) for size in (4096, 8192))
        if not all(small[1:]):
            continue
        cells = [page.link(step)]
        for found in (small, large):
            cells += [_with_spread(r) for r in found] + [_beside_the_first(r, found[0]) for r in found[1:]]
        made.rows.append(cells)
    note = page.say(
        "TFLOPS of the defaults (in brackets: 20–80 %); a ratio other than 1.00 is bold where the two spreads do not overlap",
        "默认变体的 TFLOPS（括号内为 20–80 %）；两块 GPU 的范围不重叠且比值不是 1.00 时，比值用粗体",
    )
    return f"{note}\n\n{made}"


def _other_gpus_latencies(page: Page) -> str:
    """The latency of a load on each GPU, by the bytes that the loads go round in."""
    records = page.records
    gpus = [gpu for gpu in gpu_tables.compared(records) if records.latencies.get(gpu)]
    if len(gpus) < 2:
        raise Missing("latencies were measured on one GPU alone")
    made = Table([page.say("the loads go round in", "依次访问的总字节数")])
    for name in (gpu_tables.short_name(records, gpu) for gpu in gpus):
        made.head += [page.say(f"{name}, cycles", f"{name}，周期"), "20–80 %"]
    for kb in latencies.KB_COMPARED:
        found = [latencies.find(records, gpu, latencies.LOAD, {"ring_kb": kb}) for gpu in gpus]
        if not all(found):
            continue
        cells = [latencies.in_bytes(kb)]
        for r in found:
            cells += latencies.in_cycles(r)
        made.rows.append(cells)
    return str(made)


def _published(page: Page) -> str:
    """What others published of kernels that resemble a step, on other GPUs."""
    facts = page.course.published().get("speeds", {})
    head = ["GPU", "kernel", page.say("resembles", "相近的步骤")]
    head += ["TFLOPS", page.of("cublas"), page.say("of peak", "相对峰值"), page.say("source", "来源")]
    made = Table(head, texts=3, remark=True)
    for r in facts.get("figures", []):
        step = page.course.step(r["step"])
        share = r["tflops"] / r["cublas"] if "cublas" in r else None
        cells = [r["gpu"], f"`{r['kernel']}`", page.link(step) if step else "", _figure(r["tflops"]), _percent(share)]
        made.rows.append([*cells, _percent(r["tflops"] / r["peak"]), facts["sources"][r["source"]][page.language]])
    if not made.rows:
        raise Missing("published.json has no speeds")
    return str(made)


def _several_gpus(page: Page, layout: str) -> str:
    """One product on several GPUs, a way per row."""

    def of(gpu: str) -> str | None:
        found = gpu_tables.several(page.records, gpu, layout)
        head = [page.say("GPUs", "GPU 数"), page.say("way", "方式"), page.say("product", "乘法")]
        head += [page.say("chunks", "chunk 数"), page.say("ms", "毫秒"), "20–80 %", "TFLOPS"]
        head += [page.say("speed-up", "加速比"), page.say("arithmetic alone", "只有计算")]
        head += [page.say("communication alone", "只有通信"), page.say("exposed", "未掩盖")]
        made = Table([*head, page.say("hidden", "掩盖的比例")], used=found, texts=3)
        for r in found:
            of_step = page.course.steps[int(r["product"]) - 1].short if r["product"].isdigit() else "torch.matmul"
            cells = [str(r["gpus"]), f"`{r['way']}`", of_step, str(r["chunks"]) if r["chunks"] > 1 else "–"]
            cells += [f"{r['ms']:.2f}", f"{r['ms_p20']:.2f}–{r['ms_p80']:.2f}", _speed(r), f"**{r['speed_up']:.2f}**"]
            moved = f"{r['communication_ms']:.2f}" if "communication_ms" in r else "–"
            share = f"{r['hidden']:.0%}" if "hidden" in r else "–"
            made.rows.append([*cells, f"{r['arithmetic_ms']:.2f}", moved, f"{r['exposed_ms']:.2f}", share])
        if not found:
            return None
        first = found[0]
        made.note = page.say(
            f"{first['m']}³ in BF16, PyTorch {first['torch'].partition('+')[0]}, NCCL {first['nccl']}; times in ms",
            f"BF16，{first['m']}³，PyTorch {first['torch'].partition('+')[0]}，NCCL {first['nccl']}；时间单位为毫秒",
        )
        return f"{_where(page, gpu, made)}\n\n{made}"

    parts = [part for gpu in sorted(page.records.several) if (part := of(gpu))]
    if not parts:
        raise Missing("no product on several GPUs is recorded: python/examples/tensor_parallel.py")
    return "\n\n".join(parts)


def _glossary(page: Page) -> str:
    names = [step.name for step in page.course.steps]
    return glossary.page(glossary.load(page.course.root), names, page.language)


def _limits(page: Page) -> str:
    def of(gpu: str) -> Table | None:
        found = page.records.limits.get(gpu, [])
        head = [page.say("instruction, operands in registers", "指令，操作数在寄存器中"), page.say("elements", "元素")]
        head += [page.say("accumulator", "累加器"), "TFLOPS", "20–80 %", "SM MHz", "W"]
        made = Table(head, used=found, texts=3)
        for r in found:
            span = [r[key] for key in ("tflops_p20", "tflops_p80") if key in r]
            cells = [
                f"`{r['limit']}`",
                *(step_charts.TYPE_NAMES.get(r[key], r[key]) for key in ("a", "acc")),
                _speed(r),
            ]
            cells.append("–".join(map(_figure, span)) if len(span) == 2 else "–")
            made.rows.append([*cells, *(f"{r[key]:.0f}" if r.get(key) else "–" for key in ("sm_mhz", "power_w"))])
        return made if found else None

    return _by_gpu(page, page.course.steps, of, "no instruction limit was measured")


def _latencies(page: Page) -> str:
    def of(gpu: str) -> Table | None:
        found = [(words, latencies.find(page.records, gpu, *which)) for *which, words in latencies.ROWS]
        head = [page.say("the result of", "等待的结果"), page.say("cycles", "周期"), "20–80 %", "ns"]
        made = Table(head, used=[r for _, r in found if r])
        for words, r in found:
            if r:
                made.rows.append([words(page.language), *latencies.in_cycles(r), latencies.figure(r["nanoseconds"])])
        return made if made.rows else None

    return _by_gpu(page, page.course.steps, of, "no latency was measured: build/lab/latency/latency")


def _wgmma_alone(page: Page) -> str:
    """wgmma with resident operands: by type, with random data and with zeros."""

    def of(gpu: str) -> Table | None:
        found = [r for r in page.records.main_loops.get(gpu, []) if energy.resident(r)]
        found = [r for r in found if r["options"]["tile"] == energy.FITTED_TILE]
        head = [
            page.say("elements", "元素"),
            page.say("accumulator", "累加器"),
            page.say("zeros in A and B", "A 和 B 中零的比例"),
        ]
        made = Table([*head, *_LOOP_FIGURES, _PER_GHZ(page.language), "pJ/FLOP"], used=found, texts=2)
        for r in sorted(found, key=lambda r: (_TYPES_IN_ORDER.index((r["a"], r["acc"])), r["options"]["zeros"])):
            types = [step_charts.TYPE_NAMES.get(r[key], r[key]) for key in ("a", "acc")]
            share = f"{r['options']['zeros']:.0%}"
            cells = [*types, share, *_loop_figures(r), f"{energy.per_ghz(r):.0f}", f"{energy.per_flop(r):.3f}"]
            made.rows.append(cells)
        return made if found else None

    return _by_gpu(page, page.course.steps, of, "no main loop was measured: build/lab/main_loop/main_loop")


def _main_loops(page: Page) -> str:
    """The main loops in BF16 by what a stage receives, beside what the model of their energy says."""

    def of(gpu: str) -> Table | None:
        loops = page.records.main_loops.get(gpu, [])
        model = energy.fit(loops)
        head = [page.say("tile", "分块"), page.say("KB per stage from L2", "每个 stage 来自 L2 的 KB")]
        head += [page.say("from the partner", "来自另一线程块"), page.say("from memory", "来自显存"), *_LOOP_FIGURES]
        head += [
            _PER_GHZ(page.language),
            page.say("µJ per 128×256×64", "每 128×256×64 的 µJ"),
            page.say("TFLOPS by the model", "模型给出的 TFLOPS"),
        ]
        made = Table(head, used=energy.of_bf16(loops))
        for r in made.used:
            told = r["options"]
            pair = page.say(", pairs", "，成对") if told["cluster"] > 1 else ""
            partner = told["received_kb"] - told["l2_kb"] - told["dram_kb"]
            cells = [
                told["tile"].replace("x", "×") + pair,
                *(str(kb) for kb in (told["l2_kb"], partner, told["dram_kb"])),
            ]
            said = _figure(model.tflops(r)) if model and not told["dram_kb"] else "–"
            cells += [*_loop_figures(r), f"{energy.per_ghz(r):.0f}", f"{energy.per_unit(r):.2f}", said]
            made.rows.append(cells)
        return made if made.used else None

    return _by_gpu(page, page.course.steps, of, "no main loop was measured: build/lab/main_loop/main_loop")


def _stream_k(page: Page) -> str:
    """Stream-K beside step 27: speeds relative to it in the same pass, and of the best library call."""

    def of(gpu: str) -> Table | None:
        found = page.records.stream_k.get(gpu, [])
        names = stream_k.variants(found)
        default = next((r["variant"] for r in found if r["default"]), "")
        head = ["M×N×K", page.say("step 27, TFLOPS", "步骤 27，TFLOPS")]
        head += [page.say(f"`{name}` ÷ step 27", f"`{name}` ÷ 步骤 27") for name in names]
        head += [page.say(f"{of_what} of the best library call", f"{of_what}相对最快的库调用") for of_what in
                 (page.say("step 27", "步骤 27 "), page.say("best stream-K", "最快的 stream-K "))]  # fmt: skip
        made = Table(head, used=found)
        for size in dict.fromkeys(map(stream_k.size_of, found)):
            name = f"{size[0]}³" if len(set(size)) == 1 else "×".join(map(str, size))
            speeds = {variant: stream_k.beside_default(found, size, variant) for variant in names}
            fastest = max(names, key=lambda variant: speeds[variant].median)
            cells = [name, _figure(stream_k.tflops(found, size))]
            cells += [f"{one.median:.2f} ({one.least:.2f}–{one.most:.2f})" for one in speeds.values()]
            cells += [f"{stream_k.beside_library(found, size, one):.3f}" for one in (default, fastest)]
            made.rows.append(cells)
        return made if found else None

    return _by_gpu(page, page.course.steps, of, "stream-K was not timed beside step 27")


_PER_GHZ = Words("TFLOPS per GHz", "每 GHz 的 TFLOPS")
_LOOP_FIGURES = ("TFLOPS", "20–80 %", "SM MHz", "W")
_TYPES_IN_ORDER = (("bf16", "f32"), ("f16", "f32"), ("f16", "f16"), ("tf32", "f32"), ("e4m3", "f32"))


def _loop_figures(r: Record) -> Cells:
    span = "–".join(_figure(r[key]) for key in ("tflops_p20", "tflops_p80") if key in r)
    return [_speed(r), span or "–", f"{r['sm_mhz']:.0f}" if r.get("sm_mhz") else "–", f"{r['power_w']:.0f}"]


def _error(page: Page) -> str:
    found = error_charts.errors(page.course, page.records)
    found = {kind: rows for kind, rows in found.items() if len(rows) > 1}
    if not found:
        raise Missing("no errors at two K or more")
    depths = sorted({k for rows in found.values() for k in rows})
    made = Table([page.say("elements, accumulator", "元素，累加器"), *(f"K = {k}" for k in depths)])
    for kind, rows in found.items():
        figures = [f"{rows[k]:.1e}" if k in rows else "–" for k in depths]
        made.rows.append([error_charts.kind_name(kind, page.language), *figures])
    return str(made)


def _error_over_k(page: Page, step: Step) -> str:
    """The error of the default and of the variant with FP32 sums by K, and the worst element's share of its bound."""

    def of(gpu: str) -> Table | None:
        (m, n), pairs = error_charts.over_k(page.records, gpu, step.name)
        if len(pairs) < 3:
            return None
        names = [step_charts.TYPE_NAMES[r["acc"]] for r in next(iter(pairs.values()))]
        sums = [page.say(f"{name} sums", f"{name} 累加") for name in names]
        bounds = [page.say(f"{name}, of the bound", f"{name}，占上界") for name in names]
        made = Table(["K", sums[0], page.say("growth", "增长"), sums[1], " ÷ ".join(names), *bounds], texts=0)
        size = f"M = N = {m}" if m == n else f"M = {m}, N = {n}"
        made.note = page.say(
            f"{size}, ‖C − reference‖ / ‖reference‖; of the bound: the worst element",
            f"{size}，‖C − 参考‖ / ‖参考‖；占上界：最差的元素",
        )
        before = 0.0
        for k, pair in pairs.items():
            narrow, wide = (r["error"] for r in pair)
            cells = [str(k), f"{narrow:.5f}", f"×{narrow / before:.2f}" if before else "", f"{wide:.5f}"]
            made.rows.append([*cells, f"{narrow / wide:.0f}", *(_percent(r.get("worst_of_bound")) for r in pair)])
            made.used += pair
            before = narrow
        return made

    return _by_gpu(page, [step], of, f"no errors of {step.name} with FP16 and FP32 sums at three K or more")


def _counter(key: str) -> Callable[[Record], int | None]:
    return lambda r: r["counts"].get(key)


def _of_tma(key: str) -> Callable[[Record], int | None]:
    return lambda r: r["counts"].get("tma", {}).get(key)


COUNTED: tuple[tuple[str, str, Callable[[Record], float | None]], ...] = (
    ("warp instructions", "warp 指令", _counter("instructions")),
    ("of them FMAs", "其中 FMA", lambda r: r["counts"].get("by_class", {}).get("fma")),
    ("global read requests", "全局读请求", count_charts.read_requests),
    ("global read sectors", "全局读扇区（sector）", count_charts.read_sectors),
    ("sectors per read request", "每次读请求的扇区", count_charts.sectors_per_request),
    ("FLOP per byte read", "每读一字节的 FLOP", count_charts.flop_per_byte),
    ("global store sectors", "全局写扇区", _counter("global_store_sectors")),
    ("shared load wavefronts", "共享内存读波前（wavefront）", _counter("shared_load_wavefronts")),
    ("of them bank conflicts", "其中 bank 冲突", _counter("shared_load_conflicts")),
    ("shared store wavefronts", "共享内存写波前", _counter("shared_store_wavefronts")),
    ("of them bank conflicts", "其中 bank 冲突", _counter("shared_store_conflicts")),
    ("wavefronts of asynchronous copies", "异步拷贝的波前", _counter("cp_async_shared_wavefronts")),
    ("TMA loads asked for", "TMA 加载请求", _of_tma("load_requests")),
    ("bytes that TMA read", "TMA 读取的字节", _of_tma("load_bytes")),
    ("bytes that TMA delivered", "TMA 送达的字节", _of_tma("shared_bytes")),
    ("of them saved by multicast", "其中多播省下的读取", _of_tma("multicast_saved_bytes")),
    ("bytes that TMA stored", "TMA 写回的字节", _of_tma("store_bytes")),
    ("wavefronts of wgmma's operands", "wgmma 操作数的波前", _counter("wgmma_wavefronts")),
    ("barriers (warps arriving)", "屏障（到达的 warp 数）", _counter("barriers")),
    ("tensor-core operations", "Tensor Core 操作次数", _counter("tensor_ops")),
    ("divergent branches", "发散的分支", _counter("divergent_branches")),
)


def _counts(page: Page, step: Step) -> str:
    """A step's counts beside those of the step before, each of the tile that it has at 4096."""
    steps = [s for s in (page.course.before(step), step) if s]
    found = [(s, count_charts.counts_as_at_4096(page.course, page.records, s)) for s in steps]
    now = found[-1][1]
    if now is None:
        raise Missing(f"no simulator counts of {step.name}")
    size = [now[key] for key in ("m", "n", "k")]
    shown = [(s, r) for s, r in found if r and [r[key] for key in ("m", "n", "k")] == size]
    names = [s.short + ("" if r.get("default") else f" `{r['variant']}`") for s, r in shown]
    at = "×".join(map(str, size))
    made = Table([page.say(f"at {at}", f"尺寸 {at}"), *names[:-1], f"**{names[-1]}**"])
    for english, chinese, value in COUNTED:
        values = [value(r) for _, r in shown]
        if any(values):
            made.rows.append([page.say(english, chinese), *map(_count, values)])
    return str(made)


def _count_variants(page: Page, step: Step) -> str:
    found = page.records.counted_variants(step.name)
    if not found:
        raise Missing(f"no simulator counts of {step.name}")
    conflicts = page.say("conflicts", "其中冲突")
    head = [page.say("variant", "变体"), page.say("warp instructions", "warp 指令"), page.say("read sectors", "读扇区")]
    head += [page.say("per request", "每次请求"), page.say("load wavefronts", "读波前"), conflicts]
    made = Table([*head, page.say("store wavefronts", "写波前"), conflicts])
    keys = [f"shared_{kind}" for kind in ("load_wavefronts", "load_conflicts", "store_wavefronts", "store_conflicts")]
    for r in found:
        values = [r["counts"].get("instructions"), count_charts.read_sectors(r), count_charts.sectors_per_request(r)]
        made.rows.append([_variant(r), *map(_count, values), *(_count(r["counts"].get(key)) for key in keys)])
    at = "×".join(str(found[0][key]) for key in ("m", "n", "k"))
    return page.say(f"Counted at {at}:", f"尺寸 {at} 下的计数：") + f"\n\n{made}"


def _mix(page: Page, steps: Sequence[Step], default_only: bool) -> str:
    found = [r for s in steps for level in ("ptx", "sass") for r in page.records.mixes_of(s.name, level, default_only)]
    if not found:
        raise Missing("no instruction mix is recorded: run python -m lab.instruction_mix")
    head = [page.say("step", "步骤") if default_only else page.say("variant", "变体"), page.say("level", "层次")]
    head += [page.say("loop", "循环指令"), "FMA", page.say("shared loads", "共享内存读")]
    head += [page.say("shared stores", "共享内存写"), page.say("global", "全局内存"), page.say("integer", "整数")]
    head += [page.say("other", "其他"), page.say("FMA share", "FMA 占比"), page.say("registers", "寄存器")]
    made = Table(head, texts=2)
    for r in found:
        loop = r["loop"]
        counts = [sum(loop.get(key, 0) for key in keys) for keys in MIXED]
        share = counts[0] / loop["instructions"] if loop["instructions"] else 0.0
        level = r["level"].upper() + (f" ({r['arch']})" if r.get("arch") else "")
        cells = [r["step"] if default_only else f"`{r['variant']}`", level, str(loop["instructions"])]
        cells += [*map(str, counts), str(loop["instructions"] - sum(counts)), f"{share:.1%}"]
        made.rows.append([*cells, str(r.get("registers", "–"))])
    return str(made)


MIXED = (
    ("fma", "tensor"),
    ("load_shared",),
    ("store_shared",),
    ("load_global", "store_global", "cp_async"),
    ("integer",),
)
OF_THE_COURSE: dict[str, Callable[[Page], str]] = {
    "glossary": _glossary,
    "ladders": _ladders,
    "cutlass": _cutlass,
    "limits": _limits,
    "latencies": _latencies,
    "wgmma-alone": _wgmma_alone,
    "main-loops": _main_loops,
    "stream-k": _stream_k,
    "error": _error,
    "other-gpus": _other_gpus,
    "other-gpus-latencies": _other_gpus_latencies,
    "published-speeds": _published,
    "several-gpus-row": partial(_several_gpus, layout="row"),
    "several-gpus-column": partial(_several_gpus, layout="column"),
    "mix": lambda page: _mix(page, page.course.steps, default_only=True),
}
OF_A_STEP: dict[str, Callable[[Page, Step], str]] = {
    "step": _step,
    "variants": _variants,
    "sweep27": _sweep27,
    "hgemm27": partial(_sweep, sweep=sweep_charts.HGEMM27),
    "hgemm125": partial(_sweep, sweep=sweep_charts.HGEMM125),
    "swizzle": _swizzle,
    "l2-traffic": _l2_traffic,
    "bottlenecks": _bottlenecks,
    "bottlenecks-in-turn": _bottlenecks_in_turn,
    "error-over-k": _error_over_k,
    "counts": _counts,
    "count-variants": _count_variants,
    "mix": lambda page, step: _mix(page, [step], default_only=False),
}
