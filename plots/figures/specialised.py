"""Step 24: what the barriers of the ring order, and where setmaxnreg moves the registers."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from plots.figures import layout, motion, rings
from plots.figures.palette import DARK, EDGE, GRID, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

NAME = "24_warp_specialised"
BM, BN, BK = 128, 256, 64
WARPGROUP, LAUNCHED, PRODUCER, CONSUMER = 128, 168, 40, 232  # threads; registers per thread
REGISTERS = 65536  # of an SM

SLICES = 8  # shown
# In the time of a slice's products: of a copy; of consumer 1 behind consumer 0; from the end of a slice's products until
# wgmma_wait<1> has returned and the arrivals have come.
LATENCY, LAG, RELEASE = 1.6, 0.7, 0.2
LEFT, RIGHT, SLICE, ROW = 82.0, layout.RIGHT - 2, 47.0, 68.0  # at the right is room for the last mark
TOLD = 1  # the slice whose release the words under the picture tell


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
    """The slices as the recorded waits order them: a copy behind "empty", products behind "full".

    A consumer releases a slice behind the products of the next, which therefore have to be under way by then.
    """
    found: list[Slice] = []
    for number, filled in enumerate(rings.filled(NAME)[:SLICES]):
        asked = 0.08 * number if filled.freed_by is None else found[filled.freed_by].empty
        landed = asked + LATENCY
        before = found[-1].products if found else ((0.0, 0.0), (0.0, landed + LAG))
        starts = [max(landed, end) for _, end in before]
        products = tuple((start, start + 1) for start in starts)
        found.append(Slice(asked, landed, products, max(end for _, end in products) + RELEASE))  # type: ignore[arg-type]
    if any(later.landed > each.empty for each, later in pairwise(found)):
        raise ValueError("a slice is drawn as released before the next one can have been started")
    return found


def ring(language: str) -> Canvas:
    """The four stages over time: who touches each, and which end of a phase lets whom go on."""
    canvas, top = layout.of_step(
        NAME,
        language,
        ("each role waits only for the barrier that it needs", "每个角色只等自己需要的屏障"),
        (
            f"BM = {BM}, BN = {BN}, BK = {BK}; schematic; a row is a stage of the ring; the number at a mark is the "
            "parity of the phase that ends there",
            f"BM = {BM}，BN = {BN}，BK = {BK}；示意图；标记旁的数字是在此结束的 phase 的奇偶；每行一个 stage",
        ),
    )
    top += 8
    filled = rings.filled(NAME)
    stages = 1 + max(each.stage for each in filled)
    empty_stages(canvas, top, stages)
    found = turns()
    for number, each in enumerate(found):
        _slice(canvas, number, each, filled[number].parity, top + filled[number].stage * ROW)
    released, y = _at(found[TOLD].empty), top + filled[TOLD].stage * ROW
    canvas.line(released, y + 57, released, y + ROW + 54, B.strong, 2.5, "1 3")
    bottom = top + stages * ROW
    motion.sweep(canvas, LEFT, RIGHT, [(top - 2, bottom)])
    time_axis(canvas, bottom + 6, language)
    entries = (
        (A.middle, ("TMA loads the slice", "TMA 正在拷贝这一片")),
        (C.strong, ("consumer 0 multiplies", "消费者 0 在计算")),
        (C.middle, ("consumer 1 multiplies", "消费者 1 在计算")),
        (f"line:{DARK}", ("full: it has landed", "full：已到达")),
        (f"dash:{B.strong}", ("empty: both have read it", "empty：两个消费者都已读完")),
    )
    y = layout.legend(canvas, bottom + 38, language, entries)
    words = (
        f"Dotted: after issuing the products of slice {TOLD + 1}, both consumers release slice {TOLD} when wgmma_wait<1> "
        f"returns. Those of slice {TOLD} are done then, and those of slice {TOLD + 1} run on.",
        f"点线：两个消费者都是发出第 {TOLD + 1} 片的乘法之后，等 wgmma_wait<1> 返回，才释放第 {TOLD} 片。"
        f"这时第 {TOLD} 片已经算完，第 {TOLD + 1} 片还在算。",
    )
    canvas.height = layout.paragraph(canvas, y + 4, language, words, fill=MUTED)
    return canvas


def empty_stages(canvas: Canvas, y: float, count: int) -> None:
    """A row for each stage of a ring, with its name."""
    for stage in range(count):
        top = y + stage * ROW
        canvas.text(LEFT - 10, top + 40, f"stage {stage}", layout.SMALL, INK, "end")
        canvas.rect(LEFT, top + 17, RIGHT - LEFT, 38, "#ffffff", EDGE, 1, radius=3)


def time_axis(canvas: Canvas, y: float, language: str) -> None:
    """The arrow of time under the stages."""
    canvas.arrow(LEFT, y, RIGHT, y, MUTED, 1.2)
    canvas.text(LEFT - 10, y + 4, say(language, "time", "时间"), layout.SMALL, MUTED, "end")


def consumers(canvas: Canvas, y: float, number: int, spans: Iterable[tuple[float, float]]) -> None:
    """Both consumers' products of a slice in the row of its stage; `spans`: from which x to which, by consumer."""
    for consumer, (start, end) in enumerate(spans):
        top = y + 19.5 + consumer * 17
        canvas.rect(start + 2, top, end - start - 4, 16, (C.strong, C.middle)[consumer], radius=3)
        ink = ("#ffffff", C.ink)[consumer]
        canvas.text((start + end) / 2, top + 12.5, str(number), layout.SMALL, ink, "middle", bold=True)


def phases(canvas: Canvas, y: float, full: float, empty: float, parity: int) -> None:
    """The ends of a stage's two phases: its barriers' names with the parity, where there is room for them."""
    canvas.line(full, y + 15, full, y + 57, DARK, 2.5)
    canvas.text(full, y + 11, f"full {parity}", layout.SMALL, DARK, "middle")
    canvas.line(empty, y + 15, empty, y + 57, B.strong, 2.5, "4 2.5")
    if empty < RIGHT - 16:
        canvas.text(empty, y + 11, f"empty {parity}", layout.SMALL, B.ink, "middle")


def _at(time: float) -> float:
    """Where a time is, in pixels."""
    return LEFT + 4 + time * SLICE


def _slice(canvas: Canvas, number: int, each: Slice, parity: int, y: float) -> None:
    """One slice in its stage: its copy, both consumers' products, the two barriers' phases."""
    asked, landed = _at(each.asked), _at(each.landed)
    canvas.rect(asked + 2, y + 21, landed - asked - 3, 30, A.middle, A.strong, radius=3)
    canvas.text((asked + landed) / 2, y + 41, str(number), layout.SMALL, A.ink, "middle", bold=True)
    consumers(canvas, y, number, [(_at(start), _at(end)) for start, end in each.products])
    phases(canvas, y, landed, _at(each.empty), parity)


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
        canvas.text(left, y + 22, label, layout.SMALL, INK, bold=True)
        x, y = left, y + 32
        canvas.rect(left, y, width, 50, "#ffffff", GRID)
        for (role, tone, _), share in zip(roles, shares, strict=True):
            taken = share * WARPGROUP / REGISTERS * width
            canvas.rect(x + 1, y, taken - 2, 50, tone.middle, tone.strong, radius=3)
            total = f"{share} · {WARPGROUP} = {share * WARPGROUP:,}"
            if taken < 120:  # room for the number alone: the role stands under it
                canvas.text(x + taken / 2, y + 30, str(share), layout.SMALL, tone.ink, "middle", bold=True)
                canvas.text(x, y + 68, f"{role} {total}", layout.SMALL, tone.ink)
            else:
                canvas.text(x + taken / 2, y + 22, role, layout.SMALL, tone.ink, "middle", bold=True)
                canvas.text(x + taken / 2, y + 41, total, layout.SMALL, tone.ink, "middle")
            x += taken
        y += 58
    total = 3 * LAUNCHED * WARPGROUP
    words = (
        f"both rows add up to {total:,}; a consumer thread keeps {BN // 2} sums in its registers",
        f"两行之和都是 {total:,}；消费者每线程的 {BN // 2} 个累加结果放在消费者的寄存器里",
    )
    canvas.height = layout.paragraph(canvas, y + 36, language, words, fill=MUTED)
    return canvas
