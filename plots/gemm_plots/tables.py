"""Tables for the write-ups, in both languages, made from the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from . import bottleneck_charts, count_charts, error_charts, step_charts, sweep_charts, swizzle_charts
from .course import Course, Step
from .records import BASELINES, CUBLASLT, Record, Records
from .style import Missing, number, say


class UnknownTable(Exception):
    """A marker names a table that does not exist."""


def table(course: Course, records: Records, name: str, language: str) -> str:
    """The table of that name as Markdown. Raises UnknownTable, or Missing where nothing is recorded yet."""
    kind, _, rest = name.partition(":")
    if kind.startswith("ladder-") and course.ladder(kind.removeprefix("ladder-")):
        return _ladder(course, records, kind.removeprefix("ladder-"), language)
    if name == "mix":
        return _mix(course, records, list(course.steps), language)
    if name in ("limits", "error"):
        return {"limits": _limits, "error": _error}[name](course, records, language)
    step = course.step(rest)
    makers: dict[str, Callable[[Course, Records, Step, str], str]] = {
        "step": _step,
        "variants": _variants,
        "sweep27": _sweep27,
        "hgemm27": partial(_sweep, sweep=sweep_charts.HGEMM27),
        "hgemm125": partial(_sweep, sweep=sweep_charts.HGEMM125),
        "swizzle": _swizzle,
        "bottlenecks": _bottlenecks,
        "error-over-k": _error_over_k,
        "counts": _counts,
        "count-variants": _count_variants,
        "mix": lambda course, records, step, language: _mix(course, records, [step], language, default_only=False),
    }
    if kind not in makers or step is None:
        raise UnknownTable(name)
    return makers[kind](course, records, step, language)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """A pipe table; the first `text_columns` columns to the left, figures to the right."""
    rule = ["---"] * text_columns + ["--:"] * (len(head) - text_columns)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def _percent(value: float | None) -> str:
    return f"{value:.1%}" if value is not None else "–"


def _figure(value: float | None) -> str:
    return number(value) if value is not None else "–"


def _where(records: Records, gpu: str, rows: Sequence[Record], language: str) -> str:
    """The line above a table: GPU, compiler, driver, date of the records in it."""
    dates = sorted({r["date"][:10] for r in rows if r.get("date")})
    driver = next((r["driver"] for r in rows if r.get("driver")), None)
    cuda = next((r["cuda"] for r in rows if r.get("cuda")), None)
    parts = [f"**{records.gpu_name(gpu)}**"]
    parts += [f"CUDA {cuda}"] if cuda else []
    parts += [say(language, f"driver {driver}", f"驱动 {driver}")] if driver else []
    parts += [dates[0] if len(dates) == 1 else f"{dates[0]} – {dates[-1]}"] if dates else []
    return say(language, ", ", "，").join(parts)


def _link(step: Step, language: str) -> str:
    page = say(language, "", "README.zh-CN.md")
    return f"[{step.name}](steps/{step.name}/{page})"


def _ladder(course: Course, records: Records, name: str, language: str) -> str:
    steps = course.ladder(name)
    names = [s.name for s in steps]
    gpus = records.gpus(names)
    if not gpus:
        raise Missing(f"no timing of the {name} ladder")
    parts = []
    of = say(language, "of {}", "相对 {}")
    for gpu in gpus:
        bases = _baselines(records.timings[gpu], names)
        ratios = [of.format(BASELINES[b]) for b in bases]
        head = [
            say(language, "step", "步骤"),
            say(language, "idea", "思路"),
            say(language, "TFLOPS at 4096³", "4096³ TFLOPS"),
            *ratios,
            say(language, "at 8192³", "8192³ TFLOPS"),
            *ratios,
            say(language, "of peak", "相对峰值"),
            say(language, "gain over the best before", "相对此前最好"),
        ]
        rows, used, best = [], [], 0.0
        for step in steps:
            at = [records.default_at(gpu, step.name, size) for size in (4096, 8192)]
            used += [r for r in at if r]
            peak = course.peak(gpu, step)
            top = max((r["tflops"] for r in at if r), default=None)
            now = at[0]["tflops"] if at[0] else None
            gain = f"×{now / best:.2f}" if now and best else "–"
            best = max(best, now or 0.0)
            cells = [_link(step, language), course.idea(step, language)]
            for record in at:
                cells += [_figure(record["tflops"] if record else None), *_ratios(records, gpu, record, bases)]
            rows.append([*cells, _percent(top / peak if top and peak else None), gain])
        for base in bases:
            speeds = [records.baseline_at(gpu, names, size, baseline=base) for size in (4096, 8192)]
            if any(speeds):
                peak = course.peak(gpu, steps[-1])
                cells = [BASELINES[base], ""]
                for speed in speeds:
                    cells += [_figure(speed), *("100%" if b == base else "" for b in bases)]
                share = max(v for v in speeds if v) / peak if peak else None
                rows.append([*cells, _percent(share) if share and share <= 1 else "", ""])
        parts.append(_where(records, gpu, used, language) + "\n\n" + _markdown(head, rows, 2))
    return "\n\n".join(parts)


def _baselines(rows: Sequence[Record], steps: Sequence[str]) -> list[str]:
    """The baselines that timings of these steps were taken beside: cuBLAS, and cublasLt where there is one."""
    seen = {r.get("baseline") for r in rows if r["step"] in steps}
    return [b for b in BASELINES if b in seen or b != CUBLASLT]


def _ratios(records: Records, gpu: str, record: Record | None, bases: Sequence[str]) -> list[str]:
    """A default variant's share of each baseline at the size of a record of it."""
    found = []
    for base in bases:
        size = [record[key] for key in ("m", "n", "k")] if record else []
        beside = records.default_at(gpu, record["step"], *size, baseline=base) if record else None
        found.append(_percent(beside.get("ratio") if beside else None))
    return found


def _step(course: Course, records: Records, step: Step, language: str) -> str:
    gpus = [g for g in records.gpus([step.name]) if records.square_sizes(g, [step.name])]
    if not gpus:
        raise Missing(f"no timing of {step.name} at a square size")
    before = course.before(step)
    parts = []
    for gpu in gpus:
        bases = _baselines(records.timings[gpu], [step.name])
        head = [
            "M = N = K",
            *([before.short] if before else []),
            f"**{step.short}**",
            *(
                cell
                for b in bases
                for cell in (BASELINES[b], say(language, f"of {BASELINES[b]}", f"相对 {BASELINES[b]}"))
            ),
            say(language, "of peak", "相对峰值"),
            *([say(language, "gain", "提升")] if before else []),
        ]
        rows, used = [], []
        for size in records.square_sizes(gpu, [step.name]):
            now = records.default_at(gpu, step.name, size)
            if now is None:
                continue
            old = records.default_at(gpu, before.name, size) if before else None
            peak = course.peak(gpu, step)
            cells = [
                str(size),
                *([_figure(old["tflops"] if old else None)] if before else []),
                f"**{_figure(now['tflops'])}**",
                *(
                    cell
                    for b, ratio in zip(bases, _ratios(records, gpu, now, bases), strict=True)
                    for cell in (_figure(records.baseline_at(gpu, [step.name], size, baseline=b)), ratio)
                ),
                _percent(now["tflops"] / peak if peak else None),
            ]
            if before:
                cells.append(f"×{now['tflops'] / old['tflops']:.2f}" if old else "–")
            rows.append(cells)
            used.append(now)
        where = _where(records, gpu, used, language)
        unit = say(language, "TFLOPS, the default variants", "单位 TFLOPS，均为默认变体")
        parts.append(f"{where}{say(language, '; ', '；')}{unit}\n\n" + _markdown(head, rows, 0))
    return "\n\n".join(parts)


def _variants(course: Course, records: Records, step: Step, language: str) -> str:
    gpus = [g for g in records.gpus([step.name]) if step_charts.variant_rows(records, g, step)]
    if not gpus:
        raise Missing(f"no timing of {step.name} at 4096")
    covers = course.covers(step)
    parts = []
    for gpu in gpus:
        found = step_charts.variant_rows(records, gpu, step)
        bases = _baselines(records.timings[gpu], [step.name])
        kinds = len({step_charts.kind(r) for r in found}) > 1
        head = [
            say(language, "variant", "变体"),
            say(language, "published kernel it covers", "对应的已发表内核"),
            *([say(language, "types", "类型")] if kinds else []),
            say(language, "TFLOPS at 4096³", "4096³ TFLOPS"),
            *(say(language, f"of {BASELINES[b]}", f"相对 {BASELINES[b]}") for b in bases),
            say(language, "relative to the default", "相对默认变体"),
        ]
        default = next((r["tflops"] for r in found if r.get("default")), None)
        rows = [
            [
                f"**`{r['variant']}`**" if r.get("default") else f"`{r['variant']}`",
                ", ".join(covers.get(r["variant"], [])),
                *([step_charts.kind_in_words(r, language)] if kinds else []),
                _figure(r["tflops"]),
                *(_percent(r["versus"].get(b)) for b in bases),
                f"{r['tflops'] / default:.3f}" if default else "–",
            ]
            for r in found
        ]
        parts.append(_where(records, gpu, found, language) + "\n\n" + _markdown(head, rows, 3 if kinds else 2))
    return "\n\n".join(parts)


def _sweep27(course: Course, records: Records, step: Step, language: str) -> str:
    gpus = [g for g in records.gpus([step.name]) if sweep_charts.swept(records, g, step.name)]
    if not gpus:
        raise Missing(f"no sweep of {step.name} over the 27 sizes")
    parts = []
    for gpu in gpus:
        found = sweep_charts.sweep_rows(records, gpu, step.name)
        head = ["M", "N", "K", step.short, "cuBLAS", say(language, "ratio", "比值")]
        rows = [
            [str(m), str(n), str(k), _figure(r["tflops"]), _figure(r["baseline_tflops"]), f"{r['ratio']:.3f}"]
            for (m, n, k), r in found.items()
        ]
        mean = f"**{sweep_charts.geometric_mean(found.values()):.3f}**"
        rows.append([say(language, "geometric mean", "几何平均"), "", "", "", "", mean])
        parts.append(_where(records, gpu, list(found.values()), language) + "\n\n" + _markdown(head, rows, 0))
    return "\n\n".join(parts)


def _sweep(course: Course, records: Records, step: Step, language: str, sweep: sweep_charts.Sweep) -> str:
    """The geometric means of a sweep, by K and in all, with the best and the worst size: the heat map has each size."""
    gpus = [g for g in records.gpus([step.name]) if sweep_charts.swept(records, g, step.name, sweep)]
    if not gpus:
        raise Missing(f"no sweep of {step.name} over the {len(sweep.sizes)} sizes")
    parts = []
    for gpu in gpus:
        found = {b: rows for b in BASELINES if (rows := sweep_charts.sweep_rows(records, gpu, step.name, sweep, b))}
        head = ["K", say(language, "sizes", "尺寸数"), "TFLOPS"]
        for base in found:
            name = BASELINES[base]
            head += [
                say(language, f"÷ {name}, mean", f"÷ {name}，平均"),
                say(language, "worst", "最差"),
                say(language, "best", "最好"),
            ]
        rows, first = [], next(iter(found.values()))
        for k in (*sweep.k, None):
            chosen = {b: {s: r for s, r in of.items() if k in (None, s[2])} for b, of in found.items()}
            if not all(chosen.values()):
                continue
            speeds = [r["tflops"] for s, r in first.items() if k in (None, s[2])]
            cells = [
                str(k) if k else say(language, "all", "全部"),
                str(len(speeds)),
                f"{_figure(min(speeds))}–{_figure(max(speeds))}",
            ]
            for of in chosen.values():
                ratios = [r["ratio"] for r in of.values()]
                mean = f"{sweep_charts.geometric_mean(of.values()):.3f}"
                cells += [mean if k else f"**{mean}**", f"{min(ratios):.3f}", f"{max(ratios):.3f}"]
            rows.append(cells)
        used = [r for of in found.values() for r in of.values()]
        note = say(language, "geometric means of the ratio", "比值取几何平均")
        parts.append(
            _where(records, gpu, used, language) + say(language, "; ", "；") + note + "\n\n" + _markdown(head, rows, 0)
        )
    return "\n\n".join(parts)


def _swizzle(course: Course, records: Records, step: Step, language: str) -> str:
    gpus = [g for g in records.gpus([step.name]) if swizzle_charts.default_over_stride(records, g, step.name)]
    if not gpus:
        raise Missing(f"{step.name} was not timed at two swizzle strides or more")
    parts = []
    for gpu in gpus:
        rates = swizzle_charts.hit_rates(records, gpu, step.name)
        rows, used = [], []
        for size, timed in swizzle_charts.default_over_stride(records, gpu, step.name).items():
            best = max(r["tflops"] for r in timed.values())
            for stride, record in timed.items():
                speed = _figure(record["tflops"])
                rate = rates.get(size, {}).get(stride)
                rows.append(
                    [
                        str(size),
                        str(stride) if stride else say(language, "the step's own", "这一步自选"),
                        f"**{speed}**" if record["tflops"] == best else speed,
                        _percent(record.get("ratio")),
                        f"{rate:.1f}%" if rate is not None else "–",
                    ]
                )
                used.append(record)
        head = [
            "M = N = K",
            say(language, "stride", "步长"),
            "TFLOPS",
            say(language, "of cuBLAS", "相对 cuBLAS"),
            say(language, "L2 hit rate", "L2 命中率"),
        ]
        parts.append(_where(records, gpu, used, language) + "\n\n" + _markdown(head, rows, 0))
    return "\n\n".join(parts)


def _bottlenecks(course: Course, records: Records, step: Step, language: str) -> str:
    gpus = [g for g in records.gpus([step.name]) if bottleneck_charts.left_out(records, g, step.name)]
    if not gpus:
        raise Missing(f"no kernel of {step.name} that leaves work out was timed")
    published = bottleneck_charts.published(course, step.name)
    parts = []
    for gpu in gpus:
        by_size = bottleneck_charts.left_out(records, gpu, step.name)
        full = {
            size: next((r.full for r in rows if r.full.get("default")), rows[0].full) for size, rows in by_size.items()
        }
        head = [say(language, "left out", "省去的工作")]
        cells = [say(language, "nothing: the full kernel", "无：完整 kernel")]
        for size, record in full.items():
            head += [say(language, f"TFLOPS at {size}³", f"{size}³ TFLOPS"), say(language, "÷ full", "÷ 完整")]
            cells += [_figure(record["tflops"]), "1.00"]
        if published:
            head += [say(language, "A100 notes, % of peak", "A100 笔记，峰值百分比"), say(language, "÷ full", "÷ 完整")]
            cells += [f"{next(iter(published.values()))[0]:.1f}", "1.00"]
        rows, used = [cells], [*full.values()]
        for variant in dict.fromkeys(r.record["variant"] for found in by_size.values() for r in found):
            at = {
                size: next((r for r in found if r.record["variant"] == variant), None)
                for size, found in by_size.items()
            }
            one = next(r for r in at.values() if r)
            cells = [one.words(language)]
            for found in at.values():
                cells += [_figure(found.record["tflops"]), f"{found.gain:.2f}"] if found else ["–", "–"]
                used += [found.record] if found else []
            if published:
                whole, value = published.get(variant, (0.0, 0.0))
                cells += [f"{value:.1f}", f"{value / whole:.2f}"] if value else ["–", "–"]
            rows.append(cells)
        parts.append(_where(records, gpu, used, language) + "\n\n" + _markdown(head, rows))
    return "\n\n".join(parts)


def _limits(course: Course, records: Records, language: str) -> str:
    if not records.limits:
        raise Missing("no instruction limit was measured")
    parts = []
    for gpu, found in sorted(records.limits.items()):
        head = [
            say(language, "instruction, operands in registers", "指令，操作数在寄存器中"),
            say(language, "elements", "元素"),
            say(language, "accumulator", "累加器"),
            "TFLOPS",
            "20–80 %",
            "SM MHz",
            "W",
        ]
        rows = [
            [
                f"`{r['limit']}`",
                step_charts.TYPE_NAMES.get(r["a"], r["a"]),
                step_charts.TYPE_NAMES.get(r["acc"], r["acc"]),
                _figure(r["tflops"]),
                f"{_figure(r['tflops_p20'])}–{_figure(r['tflops_p80'])}"
                if "tflops_p20" in r and "tflops_p80" in r
                else "–",
                f"{r['sm_mhz']:.0f}" if r.get("sm_mhz") else "–",
                f"{r['power_w']:.0f}" if r.get("power_w") else "–",
            ]
            for r in found
        ]
        name = next((r["gpu"] for r in found if r.get("gpu")), records.gpu_name(gpu))
        where = _where(records, gpu, found, language).replace(records.gpu_name(gpu), name, 1)
        parts.append(where + "\n\n" + _markdown(head, rows, 3))
    return "\n\n".join(parts)


def _error(course: Course, records: Records, language: str) -> str:
    found = error_charts.errors(course, records)
    found = {kind: rows for kind, rows in found.items() if len(rows) > 1}
    if not found:
        raise Missing("no errors at two K or more")
    depths = sorted({k for rows in found.values() for k in rows})
    head = [say(language, "elements, accumulator", "元素，累加器"), *(f"K = {k}" for k in depths)]
    rows = [
        [error_charts.kind_name(kind, language), *(f"{rows[k]:.1e}" if k in rows else "–" for k in depths)]
        for kind, rows in found.items()
    ]
    return _markdown(head, rows)


def _error_over_k(course: Course, records: Records, step: Step, language: str) -> str:
    """The error of the default and of the variant with FP32 sums by K, and the worst element's share of its bound."""
    gpus = [g for g in records.gpus([step.name]) if len(error_charts.over_k(records, g, step.name)[1]) > 2]
    if not gpus:
        raise Missing(f"no errors of {step.name} with FP16 and FP32 sums at three K or more")
    parts = []
    for gpu in gpus:
        (m, n), pairs = error_charts.over_k(records, gpu, step.name)
        narrow, wide = (step_charts.TYPE_NAMES[r["acc"]] for r in next(iter(pairs.values())))
        head = [
            "K",
            say(language, f"{narrow} sums", f"{narrow} 累加"),
            say(language, "growth", "增长"),
            say(language, f"{wide} sums", f"{wide} 累加"),
            f"{narrow} ÷ {wide}",
            say(language, f"{narrow}, of the bound", f"{narrow}，占上界"),
            say(language, f"{wide}, of the bound", f"{wide}，占上界"),
        ]
        rows, before = [], None
        for k, pair in pairs.items():
            errors = [r["error"] for r in pair]
            rows.append(
                [
                    str(k),
                    f"{errors[0]:.5f}",
                    f"×{errors[0] / before:.2f}" if before else "",
                    f"{errors[1]:.5f}",
                    f"{errors[0] / errors[1]:.0f}",
                    *(_percent(r.get("worst_of_bound")) for r in pair),
                ]
            )
            before = errors[0]
        size = f"M = N = {m}" if m == n else f"M = {m}, N = {n}"
        note = say(
            language,
            f"; {size}, ‖C − reference‖ / ‖reference‖; of the bound: the worst element",
            f"；{size}，‖C − 参考‖ / ‖参考‖；占上界：最差的元素",
        )
        used = [r for pair in pairs.values() for r in pair]
        parts.append(_where(records, gpu, used, language) + note + "\n\n" + _markdown(head, rows, 0))
    return "\n\n".join(parts)


def _counts(course: Course, records: Records, step: Step, language: str) -> str:
    now = records.counts_of(step.name)
    if now is None:
        raise Missing(f"no simulator counts of {step.name}")
    before = course.before(step)
    old = records.counts_of(before.name) if before else None
    size = f"{now['m']}×{now['n']}×{now['k']}"
    same = old is not None and (old["m"], old["n"], old["k"]) == (now["m"], now["n"], now["k"])
    head = [
        say(language, f"at {size}", f"尺寸 {size}"),
        *([before.short] if before and same else []),
        f"**{step.short}**",
    ]
    lines: list[tuple[str, str, Callable[[Record], float | None]]] = [
        ("warp instructions", "warp 指令", lambda r: r["counts"].get("instructions")),
        ("of them FMAs", "其中 FMA", lambda r: r["counts"].get("by_class", {}).get("fma")),
        ("global read requests", "全局读请求", lambda r: _sum(r, "global_load_requests", "cp_async_requests")),
        ("global read sectors", "全局读扇区", count_charts.read_sectors),
        ("sectors per read request", "每次读请求的扇区", count_charts.sectors_per_request),
        ("FLOP per byte read", "每读一字节的 FLOP", count_charts.flop_per_byte),
        ("global store sectors", "全局写扇区", lambda r: r["counts"].get("global_store_sectors")),
        ("shared load wavefronts", "共享读波前", lambda r: r["counts"].get("shared_load_wavefronts")),
        ("of them bank conflicts", "其中 bank 冲突", lambda r: r["counts"].get("shared_load_conflicts")),
        ("shared store wavefronts", "共享写波前", lambda r: r["counts"].get("shared_store_wavefronts")),
        ("of them bank conflicts", "其中 bank 冲突", lambda r: r["counts"].get("shared_store_conflicts")),
        (
            "wavefronts of asynchronous copies",
            "异步拷贝的波前",
            lambda r: r["counts"].get("cp_async_shared_wavefronts"),
        ),
        ("barriers (warps arriving)", "屏障（到达的 warp 数）", lambda r: r["counts"].get("barriers")),
        ("tensor-core operations", "张量核心操作", lambda r: r["counts"].get("tensor_ops")),
        ("divergent branches", "分歧的分支", lambda r: r["counts"].get("divergent_branches")),
    ]
    rows = []
    for english, chinese, value in lines:
        shown = [value(r) for r in ([old] if same and old else []) + [now]]
        if any(shown):
            rows.append([say(language, english, chinese), *map(_count, shown)])
    return _markdown(head, rows)


def _count_variants(course: Course, records: Records, step: Step, language: str) -> str:
    found = records.counted_variants(step.name)
    if not found:
        raise Missing(f"no simulator counts of {step.name}")
    head = [
        say(language, "variant", "变体"),
        say(language, "warp instructions", "warp 指令"),
        say(language, "read sectors", "读扇区"),
        say(language, "per request", "每次请求"),
        say(language, "load wavefronts", "读波前"),
        say(language, "conflicts", "其中冲突"),
        say(language, "store wavefronts", "写波前"),
        say(language, "conflicts", "其中冲突"),
    ]
    keys = ("shared_load_wavefronts", "shared_load_conflicts", "shared_store_wavefronts", "shared_store_conflicts")
    rows = [
        [
            f"**`{r['variant']}`**" if r.get("default") else f"`{r['variant']}`",
            _count(r["counts"].get("instructions")),
            _count(count_charts.read_sectors(r)),
            _count(count_charts.sectors_per_request(r)),
            *(_count(r["counts"].get(key)) for key in keys),
        ]
        for r in found
    ]
    size = f"{found[0]['m']}×{found[0]['n']}×{found[0]['k']}"
    return say(language, f"Counted at {size}:", f"尺寸 {size} 下的计数：") + "\n\n" + _markdown(head, rows)


def _sum(record: Record, *keys: str) -> int:
    return sum(record["counts"].get(key, 0) for key in keys)


def _count(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def _mix(course: Course, records: Records, steps: Sequence[Step], language: str, default_only: bool = True) -> str:
    found = [
        (step, record)
        for step in steps
        for level in ("ptx", "sass")
        for record in records.mixes_of(step.name, level, default_only)
    ]
    if not found:
        raise Missing(
            f"no instruction mix of {', '.join(s.name for s in steps) or 'any step'}: run tools/instruction_mix.py"
        )
    head = [
        say(language, "step", "步骤") if default_only else say(language, "variant", "变体"),
        say(language, "level", "层次"),
        say(language, "loop", "循环指令"),
        "FMA",
        say(language, "shared loads", "共享读"),
        say(language, "shared stores", "共享写"),
        say(language, "global", "全局"),
        say(language, "integer", "整数"),
        say(language, "other", "其他"),
        say(language, "FMA share", "FMA 占比"),
        say(language, "registers", "寄存器"),
        say(language, "by hand: FMA, shared loads", "手算：FMA、共享读"),
    ]
    rows = []
    for step, record in found:
        loop = record["loop"]
        parts = [
            loop.get("fma", 0) + loop.get("tensor", 0),
            loop.get("load_shared", 0),
            loop.get("store_shared", 0),
            loop.get("load_global", 0) + loop.get("store_global", 0) + loop.get("cp_async", 0),
            loop.get("integer", 0),
        ]
        other = loop["instructions"] - sum(parts)
        share = parts[0] / loop["instructions"] if loop["instructions"] else 0.0
        level = f"{record['level'].upper()} ({record['arch']})" if record.get("arch") else record["level"].upper()
        rows.append(
            [
                step.name if default_only else f"`{record['variant']}`",
                level,
                str(loop["instructions"]),
                *map(str, parts),
                str(other),
                f"{share:.1%}",
                str(record.get("registers", "–")),
                _by_hand(record),
            ]
        )
    return _markdown(head, rows, 2)


def _by_hand(record: Record) -> str:
    """What the loop should hold by hand: the figures of a slice, as often as the loop's FMAs say it was unrolled."""
    hand = record.get("by_hand")
    if not hand or not hand["fma"]:
        return ""
    slices = max(1, round(record["loop"].get("fma", 0) / hand["fma"]))
    return f"{hand['fma'] * slices}, {hand['load_shared'] * slices}"
