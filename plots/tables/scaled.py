"""Tables of products beside the plain ones: with beta = 0.5, and of few rows."""

from __future__ import annotations

from records import BEST_LIBRARY, Record

from .. import sweep_charts
from ..course import Step
from .page import Page, Table, by_gpu, in_tflops

BETA = 0.5
FEW_ROWS = (16, 64)  # of C
OF_FEW_ROWS = ("rows_16", "rows_64", "small", "split")  # the variants, in the order of their columns


def scaled(page: Page, step: Step) -> str:
    """A default's speed with beta = 0.5 beside that with beta = 0, each in turn with the libraries."""

    listed = {tuple(size) for size in step.recorded.get("scaled", ())}

    def of(gpu: str) -> Table | None:
        rows = [r for r in _beside_the_best(page, gpu, step) if r["default"] and _size(r) in listed]
        found = {(_size(r), r["beta"]): r for r in rows}
        best = page.of(BEST_LIBRARY)
        made = Table(["M × N × K", "TFLOPS, β = 0", best, f"TFLOPS, β = {BETA}", best], used=[*found.values()])
        for size in sorted({size for size, beta in found if beta == BETA}, key=lambda size: (size[2], size)):
            plain, with_c = found.get((size, 0.0)), found[size, BETA]
            made.rows.append(
                ["×".join(map(str, size)), in_tflops(plain), _ratio(plain), in_tflops(with_c), _ratio(with_c)]
            )
        made.used = [r for (size, _), r in found.items() if (size, BETA) in found]
        return made if made.rows else None

    return by_gpu(page, [step], of, f"{step.name} was not timed with beta = {BETA}")


def scaled_sweep(page: Page, step: Step) -> str:
    """The geometric means over the 125 sizes by K, with beta = 0 and with beta = 0.5, of the sizes that have both."""

    def of(gpu: str) -> Table | None:
        rows = [r for r in _beside_the_best(page, gpu, step) if r["default"]]
        by_beta = {beta: {_size(r): r for r in rows if r["beta"] == beta} for beta in (0.0, BETA)}
        both = [size for size in sweep_charts.HGEMM125.sizes if all(size in found for found in by_beta.values())]
        heads = [page.say(f"β = {beta:g}, mean", f"β = {beta:g}，平均") for beta in by_beta]
        made = Table(
            ["K", page.say("sizes", "尺寸数"), *heads, page.say("worst", "最差"), page.say("best", "最好")], texts=0
        )
        made.note = page.say("of the best library call", "相对最快的库调用")
        for k in (*sweep_charts.HGEMM125.k, None):
            chosen = [size for size in both if k in (None, size[2])]
            if not chosen:
                return None
            means = [sweep_charts.geometric_mean(found[size] for size in chosen) for found in by_beta.values()]
            ratios = [by_beta[BETA][size]["ratio"] for size in chosen]
            cells = [f"{value:.3f}" for value in (*means, min(ratios), max(ratios))]
            made.rows.append([str(k) if k else page.say("all", "全部"), str(len(chosen)), *cells])
        made.used = [by_beta[BETA][size] for size in both]
        return made

    return by_gpu(page, [step], of, f"{step.name} was not swept with beta = {BETA}")


def few_rows(page: Page, step: Step) -> str:
    """The variants for few rows beside others of the step: microseconds and the ratio to the best library call."""

    def of(gpu: str) -> Table | None:
        rows = [r for r in _beside_the_best(page, gpu, step) if r["m"] in FEW_ROWS and r["beta"] == 0]
        found = {(_size(r), r["variant"]): r for r in rows if r["variant"] in OF_FEW_ROWS}
        library = page.say("the best library call, µs", "最快的库调用，µs")
        made = Table(["M × N × K", library, *(f"`{name}`, µs" for name in OF_FEW_ROWS)], used=[*found.values()])
        for size in sorted({size for size, _ in found}):
            of_size = {name: r for (other, name), r in found.items() if other == size}
            fastest = min(of_size.values(), key=lambda r: r["ms"])
            cells = [_in_turn(of_size.get(name), fastest) for name in OF_FEW_ROWS]
            made.rows.append(["×".join(map(str, size)), f"{fastest['baseline_ms'] * 1e3:.1f}", *cells])
        return made if made.rows else None

    return by_gpu(page, [step], of, f"{step.name} was not timed with few rows")


def shapes(page: Page, step: Step) -> str:
    """Every recorded product with few rows or a short K, and with beta = 0.5, beside the best library call."""
    few = step.recorded.get("few_rows", {})
    wanted = {(tuple(size), name, 0.0) for size in few.get("sizes", ()) for name in few["variants"]}
    scaled_sizes = {tuple(size) for size in step.recorded.get("scaled", ())}
    scaled_names = step.recorded.get("scaled_variants")

    def is_wanted(r: Record) -> bool:
        if r["beta"] == BETA and _size(r) in scaled_sizes:
            return r["variant"] in scaled_names if scaled_names else r["default"]
        return (_size(r), r["variant"], r["beta"]) in wanted

    def of(gpu: str) -> Table | None:
        rows = [r for r in page.records.timings.get(gpu, []) if r["step"] == step.name and not r.get("options")]
        found: dict[tuple, Record] = {}
        for r in filter(is_wanted, rows):
            key = (r["beta"], _size(r), r["variant"])
            if key not in found or r["baseline"] == BEST_LIBRARY:  # where there is but one call, that one
                found[key] = r
        made = Table(["β", "M × N × K", page.say("variant", "变体"), "TFLOPS", page.of(BEST_LIBRARY)], texts=3)
        for (beta, size, name), r in sorted(found.items()):
            made.rows.append([f"{beta:g}", "×".join(map(str, size)), f"`{name}`", in_tflops(r), _ratio(r)])
            made.used.append(r)
        return made if made.rows else None

    return by_gpu(page, [step], of, f"{step.name} was not timed with few rows, nor with beta = {BETA}")


def _beside_the_best(page: Page, gpu: str, step: Step) -> list[Record]:
    rows = page.records.timings.get(gpu, [])
    return [r for r in rows if r["step"] == step.name and r.get("baseline") == BEST_LIBRARY and not r.get("options")]


def _size(record: Record) -> tuple[int, int, int]:
    return record["m"], record["n"], record["k"]


def _ratio(record: Record | None) -> str:
    return f"{record['ratio']:.3f}" if record else "–"


def _in_turn(record: Record | None, fastest: Record) -> str:
    """Microseconds and the ratio in turn: `33.9 (0.98)`; bold for the fastest."""
    if not record:
        return "–"
    text = f"{record['ms'] * 1e3:.1f} ({record['ratio']:.2f})"
    return f"**{text}**" if record is fastest else text
