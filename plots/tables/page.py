"""Pages and tables: what every table is made of, and how figures stand in its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

from base.languages import Words
from records import BASELINES, BEST_LIBRARY, CUBLAS, CUBLAS_F32_SUMS, CUBLASLT, Record, Records

from .. import panels
from ..course import Course, Step
from ..style import Missing, number, say

Cells = list[str]


EMPTY = ("", "–")  # what a cell without an entry holds
MIDDLE = Words("20–80 %", "20–80%")  # the head of a column of 20th and 80th percentiles


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


def by_gpu(page: Page, steps: Iterable[Step], make: Callable[[str], Table | None], why: str) -> str:
    """A table per GPU that steps were timed on, under a line that names it; Missing where there is none."""
    made = ((gpu, make(gpu)) for gpu in page.records.gpus([s.name for s in steps]))
    parts = [f"{where(page, gpu, table)}\n\n{table}" for gpu, table in made if table]
    if not parts:
        raise Missing(why)
    return "\n\n".join(parts)


def where(page: Page, gpu: str, table: Table) -> str:
    """The line above a table: GPU, compiler, driver, date of the records in it; and its note."""
    dates = sorted({r["date"][:10] for r in table.used if r.get("date")})
    driver = next((r["driver"] for r in table.used if r.get("driver")), None)
    cuda = next((r["cuda"] for r in table.used if r.get("cuda")), None)
    parts = [f"**{page.records.gpu_name(gpu)}**"]
    parts += [f"CUDA {cuda}"] if cuda else []
    parts += [page.say(f"driver {driver}", f"驱动 {driver}")] if driver else []
    parts += [" – ".join(dict.fromkeys((dates[0], dates[-1])))] if dates else []
    return page.say(", ", "，").join(parts) + (page.say("; ", "；") + table.note if table.note else "")


def in_percent(value: float | None) -> str:
    """`12.3%`; a dash for nothing."""
    return f"{value:.1%}" if value is not None else "–"


def as_figure(value: float | None) -> str:
    """Three digits that count; a dash for nothing."""
    return number(value) if value is not None else "–"


def as_count(value: float | None) -> str:
    """A count with thousands apart, a mean with two decimals; a dash for nothing."""
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


def in_tflops(record: Record | None) -> str:
    """A record's TFLOPS; a dash for no record."""
    return as_figure(record["tflops"] if record else None)


def variant_name(record: Record) -> str:
    """A variant as code, the default in bold."""
    return f"**`{record['variant']}`**" if record.get("default") else f"`{record['variant']}`"


def ratios_of(page: Page, gpu: str, record: Record | None, baselines: Sequence[str]) -> Cells:
    """A default variant's share of each baseline at the size of a record of it."""
    return [in_percent(ratio) for ratio in shares_of(page, gpu, record, baselines).values()]


def shares_of(page: Page, gpu: str, record: Record | None, baselines: Sequence[str]) -> dict[str, float | None]:
    """The same as numbers, by the baseline."""
    size = [record[key] for key in ("m", "n", "k")] if record else []
    beside = {b: page.records.default_at(gpu, record["step"], *size, baseline=b) if record else None for b in baselines}
    return {b: r.get("ratio") if r else None for b, r in beside.items()}


def by_rounds(page: Page, rows: Iterable[Mapping[str, float | None]]) -> str:
    """Why a ratio to the best library call lies above that to another call, where one does as the tables print them."""
    calls = (CUBLAS, CUBLAS_F32_SUMS, CUBLASLT)  # of which the best is chosen
    for shares in rows:
        best = shares.get(BEST_LIBRARY)
        others = [ratio for call in calls if (ratio := shares.get(call)) is not None]
        if best is not None and round(best, 3) > min((round(ratio, 3) for ratio in others), default=best):
            return page.say(
                "the best library call is the one with the lowest median time, but a ratio is the median of the "
                "rounds' ratios, so the ratio to another call can be lower",
                "最快的库调用是耗时中位数最小的那个，而比值是各轮比值的中位数，所以相对另一个库调用的比值可能更低",
            )
    return ""


def ratio_columns(baselines: Sequence[str], yardstick: str) -> list[str]:
    """The baselines that have a column of ratios: of cublasLt and the best library call one, by the ladder's yardstick."""
    superfluous = CUBLASLT if yardstick == BEST_LIBRARY else BEST_LIBRARY
    return [b for b in baselines if b != superfluous or BEST_LIBRARY not in baselines]


def in_turn(record: Record) -> Cells:
    """TFLOPS, and the ratio to the library in turn with its 20th and 80th percentile."""
    span = (record[key] for key in ("ratio_p20", "ratio_p80"))
    return [in_tflops(record), f"{record['ratio']:.3f}", "–".join(f"{ratio:.3f}" for ratio in span)]


def with_spread(record: Record | None) -> str:
    """Its TFLOPS, and those of its 80th and 20th percentile of time: `461 (353–483)`."""
    if not record:
        return "–"
    return f"{in_tflops(record)} ({'–'.join(map(as_figure, panels.spread(record)))})"


def beside_the_first(record: Record | None, first: Record | None) -> str:
    """How many times as fast as on the first GPU; bold where the spreads of the two do not overlap and it is not 1.00."""
    if not record or not first:
        return "–"
    ratio = f"{record['tflops'] / first['tflops']:.2f}"
    return f"**{ratio}**" if panels.apart(record, first) and ratio != "1.00" else ratio
