"""Step 24: what the barriers of the ring order, and where setmaxnreg moves the registers."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout, motion, rings
from plots.figures.palette import DARK, EDGE, GRID, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

NAME = "24_warp_specialised"
BM, BN, BK = 128, 256, 64
WARPGROUP, LAUNCHED, PRODUCER, CONSUMER = 128, 168, 40, 232  # threads; registers per thread
REGISTERS = 65536  # of an SM

SLICES = 8  # shown
LATENCY, LAG = 1.6, 0.7  # of a copy, of consumer 1 behind consumer 0; in the time of a slice's products
LEFT, RIGHT, SLICE, ROW = 82.0, layout.RIGHT - 2, 53.5, 68.0  # at the right is room for the last mark


@dataclass(frozen=True)
class Slice:
    """When a slice is asked for, lands, is multiplied by each consumer (start and end), and its stage is empty."""

    asked: float
    landed: float
    products: tuple[tuple[float, float], tuple[float, float]]
    empty: float


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{NAME}-ring", ring
    yield f"{NAME}-registers", registers


def turns() -> list[Slice]:
    """The slices as the recorded waits order them: a copy behind "empty", products behind "full"."""
    found: list[Slice] = []
    for number, filled in enumerate(rings.filled(NAME)[:SLICES]):
        asked = 0.08 * number if filled.freed_by is None else found[filled.freed_by].empty
        landed = asked + LATENCY
        before = found[-1].products if found else ((0.0, 0.0), (0.0, landed + LAG))
        starts = [max(landed, end) for _, end in before]
        products = tuple((start, start + 1) for start in starts)
        found.append(Slice(asked, landed, products, max(end for _, end in products)))  # type: ignore[arg-type]
    return found


def ring(language: str) -> Canvas:
    """The four stages over time: who touches each, and which end of a phase lets whom go on."""
    canvas, top = layout.of_step(
        NAME,
        language,
        ("each waits only for the one barrier it depends on", "谁依赖哪个屏障，就只等哪个屏障"),
        (
            f"BM = {BM}, BN = {BN}, BK = {BK}; a row is a stage of the ring; the number at a mark is the parity of the "
            "phase that ends there",
            f"BM = {BM}，BN = {BN}，BK = {BK}；一行是环里的一个 stage；标记旁的数字是在此结束的 phase 的奇偶",
        ),
    )
    top += 8
    filled = rings.filled(NAME)
    stages = 1 + max(each.stage for each in filled)
    empty_stages(canvas, top, stages)
    for number, each in enumerate(turns()):
        _slice(canvas, number, each, filled[number].parity, top + filled[number].stage * ROW)
    bottom = top + stages * ROW
    motion.sweep(canvas, LEFT, RIGHT, [(top - 2, bottom)])
    time_axis(canvas, bottom + 6, language)
    entries = (
        (A.middle, ("TMA loads the slice", "TMA 正在搬这一片")),
        (C.strong, ("consumer 0 multiplies", "消费者 0 在计算")),
        (C.middle, ("consumer 1 multiplies", "消费者 1 在计算")),
        (f"line:{DARK}", ("full: it has landed", "full：已到达")),
        (f"dash:{B.strong}", ("empty: both have read it", "empty：两个消费者都已读完")),
    )
    canvas.height = layout.legend(canvas, bottom + 38, language, entries, 13.5)
    return canvas


def empty_stages(canvas: Canvas, y: float, count: int) -> None:
    """A row for each stage of a ring, with its name."""
    for stage in range(count):
        top = y + stage * ROW
        canvas.text(LEFT - 10, top + 40, f"stage {stage}", 14, INK, "end")
        canvas.rect(LEFT, top + 17, RIGHT - LEFT, 38, "#ffffff", EDGE, 1, radius=3)


def time_axis(canvas: Canvas, y: float, language: str) -> None:
    """The arrow of time under the stages."""
    canvas.arrow(LEFT, y, RIGHT, y, MUTED, 1.2)
    canvas.text(LEFT - 10, y + 4, say(language, "time", "时间"), 13, MUTED, "end")


def consumers(canvas: Canvas, y: float, number: int, spans: Iterable[tuple[float, float]]) -> None:
    """Both consumers' products of a slice in the row of its stage; `spans`: from which x to which, by consumer."""
    for consumer, (start, end) in enumerate(spans):
        top = y + 19.5 + consumer * 17
        canvas.rect(start + 2, top, end - start - 4, 16, (C.strong, C.middle)[consumer], radius=3)
        ink = ("#ffffff", C.ink)[consumer]
        canvas.text((start + end) / 2, top + 12.5, str(number), 13, ink, "middle", bold=True)


def phases(canvas: Canvas, y: float, full: float, empty: float, parity: int) -> None:
    """The ends of a stage's two phases: its barriers' names with the parity, where there is room for them."""
    canvas.line(full, y + 15, full, y + 57, DARK, 2.5)
    canvas.text(full, y + 11, f"full {parity}", layout.SMALL, DARK, "middle")
    canvas.line(empty, y + 15, empty, y + 57, B.strong, 2.5, "4 2.5")
    if empty < RIGHT - 16:
        canvas.text(empty, y + 11, f"empty {parity}", layout.SMALL, B.ink, "middle")


def _slice(canvas: Canvas, number: int, each: Slice, parity: int, y: float) -> None:
    """One slice in its stage: its copy, both consumers' products, the two barriers' phases."""

    def at(time: float) -> float:
        return min(LEFT + 4 + time * SLICE, RIGHT - 2)

    canvas.rect(at(each.asked) + 2, y + 21, at(each.landed) - at(each.asked) - 3, 30, A.middle, A.strong, radius=3)
    canvas.text((at(each.asked) + at(each.landed)) / 2, y + 41, str(number), 14, A.ink, "middle", bold=True)
    consumers(canvas, y, number, [(at(start), at(end)) for start, end in each.products])
    phases(canvas, y, at(each.landed), at(each.empty), parity)


def registers(language: str) -> Canvas:
    """The register file of an SM, as launched and after setmaxnreg."""
    canvas, y = layout.of_step(
        NAME,
        language,
        (
            f"a producer thread gives up {LAUNCHED - PRODUCER} registers, a consumer thread gains {CONSUMER - LAUNCHED}",
            f"生产者每线程让出 {LAUNCHED - PRODUCER} 个寄存器，消费者每线程多出 {CONSUMER - LAUNCHED} 个",
        ),
        (
            f"the {REGISTERS:,} registers of an SM; {WARPGROUP} threads per warpgroup",
            f"一个 SM 的 {REGISTERS:,} 个寄存器；每个 warpgroup {WARPGROUP} 个线程",
        ),
    )
    roles = (
        (say(language, "producer", "生产者"), A, PRODUCER),
        (say(language, "consumer 0", "消费者 0"), C, CONSUMER),
        (say(language, "consumer 1", "消费者 1"), C, CONSUMER),
    )
    left, width = layout.MARGIN, layout.INNER
    rows = (
        (say(language, "as launched", "启动时"), [LAUNCHED] * 3),
        (say(language, "after setmaxnreg", "setmaxnreg 之后"), [each for _, _, each in roles]),
    )
    for label, shares in rows:
        canvas.text(left, y + 22, label, 14.5, INK, bold=True)
        x, y = left, y + 32
        canvas.rect(left, y, width, 50, "#ffffff", GRID)
        for (role, tone, _), share in zip(roles, shares, strict=True):
            taken = share * WARPGROUP / REGISTERS * width
            canvas.rect(x + 1, y, taken - 2, 50, tone.middle, tone.strong, radius=3)
            total = f"{share} · {WARPGROUP} = {share * WARPGROUP:,}"
            if taken < 120:  # room for the number alone: the role stands under it
                canvas.text(x + taken / 2, y + 30, str(share), 14, tone.ink, "middle", bold=True)
                canvas.text(x, y + 68, f"{role} {total}", 13.5, tone.ink)
            else:
                canvas.text(x + taken / 2, y + 22, role, 14, tone.ink, "middle", bold=True)
                canvas.text(x + taken / 2, y + 41, total, 13.5, tone.ink, "middle")
            x += taken
        y += 58
    total = 3 * LAUNCHED * WARPGROUP
    words = (
        f"both rows add up to {total:,}; the consumers keep {BN // 2} sums per thread in them",
        f"两行之和都是 {total:,}；消费者每线程的 {BN // 2} 个累加结果就放在这里",
    )
    canvas.height = layout.paragraph(canvas, y + 36, language, words, 13.5, fill=MUTED)
    return canvas
