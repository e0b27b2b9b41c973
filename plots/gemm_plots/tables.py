"""Tables for the write-ups, in both languages, made from the records."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import count_charts, step_charts, sweep_charts
from .course import Course, Step
from .records import Record, Records
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
    step = course.step(rest)
    makers: dict[str, Callable[[Course, Records, Step, str], str]] = {
        "step": _step,
        "variants": _variants,
        "sweep27": _sweep27,
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
    for gpu in gpus:
        head = [
            say(language, "step", "步骤"),
            say(language, "idea", "思路"),
            say(language, "TFLOPS at 4096³", "4096³ TFLOPS"),
            say(language, "of cuBLAS", "相对 cuBLAS"),
            say(language, "at 8192³", "8192³ TFLOPS"),
            say(language, "of cuBLAS", "相对 cuBLAS"),
            say(language, "of peak", "相对峰值"),
            say(language, "gain over the best before", "相对此前最好"),
        ]
        rows, used, best = [], [], 0.0
        for step in steps:
            small, large = (records.default_at(gpu, step.name, size) for size in (4096, 8192))
            used += [r for r in (small, large) if r]
            peak = course.peak(gpu, step)
            top = max((r["tflops"] for r in (small, large) if r), default=None)
            now = small["tflops"] if small else None
            gain = f"×{now / best:.2f}" if now and best else "–"
            best = max(best, now or 0.0)
            rows.append(
                [
                    _link(step, language),
                    course.idea(step, language),
                    _figure(now),
                    _percent(small.get("ratio") if small else None),
                    _figure(large["tflops"] if large else None),
                    _percent(large.get("ratio") if large else None),
                    _percent(top / peak if top and peak else None),
                    gain,
                ]
            )
        cublas = [records.baseline_at(gpu, names, size) for size in (4096, 8192)]
        if any(cublas):
            peak = course.peak(gpu, steps[0])
            share = _percent(max(c for c in cublas if c) / peak) if peak else "–"
            rows.append(["cuBLAS", "", _figure(cublas[0]), "100%", _figure(cublas[1]), "100%", share, ""])
        parts.append(_where(records, gpu, used, language) + "\n\n" + _markdown(head, rows, 2))
    return "\n\n".join(parts)


def _step(course: Course, records: Records, step: Step, language: str) -> str:
    gpus = [g for g in records.gpus([step.name]) if records.square_sizes(g, [step.name])]
    if not gpus:
        raise Missing(f"no timing of {step.name} at a square size")
    before = course.before(step)
    parts = []
    for gpu in gpus:
        head = [
            "M = N = K",
            *([before.short] if before else []),
            f"**{step.short}**",
            "cuBLAS",
            say(language, "of cuBLAS", "相对 cuBLAS"),
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
                _figure(now.get("baseline_tflops")),
                _percent(now.get("ratio")),
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
        head = [
            say(language, "variant", "变体"),
            say(language, "published kernel it covers", "对应的已发表内核"),
            say(language, "TFLOPS at 4096³", "4096³ TFLOPS"),
            say(language, "of cuBLAS", "相对 cuBLAS"),
            say(language, "relative to the default", "相对默认变体"),
        ]
        default = next((r["tflops"] for r in found if r.get("default")), None)
        rows = [
            [
                f"**`{r['variant']}`**" if r.get("default") else f"`{r['variant']}`",
                ", ".join(covers.get(r["variant"], [])),
                _figure(r["tflops"]),
                _percent(r.get("ratio")),
                f"{r['tflops'] / default:.3f}" if default else "–",
            ]
            for r in found
        ]
        parts.append(_where(records, gpu, found, language) + "\n\n" + _markdown(head, rows, 2))
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
        mean = f"**{sweep_charts.geometric_mean(found):.3f}**"
        rows.append([say(language, "geometric mean", "几何平均"), "", "", "", "", mean])
        parts.append(_where(records, gpu, list(found.values()), language) + "\n\n" + _markdown(head, rows, 0))
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
