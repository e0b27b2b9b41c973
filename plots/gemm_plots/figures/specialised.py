"""Step 24: what the barriers of the ring order, and where setmaxnreg moves the registers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gemm_plots.figures import motion, parts
from gemm_plots.figures.palette import DARK, EDGE, GRID, INK, MUTED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

NAME = "24_warp_specialised"
BM, BN, BK, STAGES = 128, 256, 64, 4
WARPGROUP, LAUNCHED, PRODUCER, CONSUMER = 128, 168, 40, 232  # threads; registers per thread
REGISTERS = 65536  # of an SM

SLICES = 8  # shown
LATENCY, LAG = 1.6, 0.7  # of a copy, of consumer 1 behind consumer 0; in the time of a slice's products
LEFT, TOP, SLICE, ROW = 118.0, 96.0, 83.0, 66.0


@dataclass(frozen=True)
class Slice:
    """When a slice is asked for, lands, is multiplied by each consumer (start and end), and its stage is empty."""

    asked: float
    landed: float
    products: tuple[tuple[float, float], tuple[float, float]]
    empty: float


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
    """File name and drawing function of each picture."""
    yield f"{NAME}-ring", ring
    yield f"{NAME}-registers", registers


def turns() -> list[Slice]:
    """The slices as the kernel's waits order them: a copy behind "empty", products behind "full"."""
    found: list[Slice] = []
    for number in range(SLICES):
        asked = found[number - STAGES].empty if number >= STAGES else 0.08 * number
        landed = asked + LATENCY
        before = found[-1].products if found else ((0.0, 0.0), (0.0, landed + LAG))
        starts = [max(landed, end) for _, end in before]
        products = tuple((start, start + 1) for start in starts)
        found.append(Slice(asked, landed, products, max(end for _, end in products)))  # type: ignore[arg-type]
    return found


def ring(language: str) -> Canvas:
    """The four stages over time: who touches each, and which end of a phase lets whom go on."""
    canvas = parts.of_step(
        NAME,
        TOP + STAGES * ROW + 64,
        language,
        ("each waits only for the one barrier it depends on", "谁依赖哪个屏障，就只等哪个屏障"),
        (
            f"BM = {BM}, BN = {BN}, BK = {BK}; a row is a stage of the ring; the number at a mark is the parity of the "
            "phase that ends there",
            f"BM = {BM}，BN = {BN}，BK = {BK}；一行是环里的一个 stage；标记旁的数字是在此结束的 phase 的奇偶",
        ),
    )
    right = LEFT + 9.9 * SLICE
    for stage in range(STAGES):
        y = TOP + stage * ROW
        canvas.text(LEFT - 12, y + 38, f"stage {stage}", 13, INK, "end")
        canvas.rect(LEFT, y + 17, right - LEFT, 36, "#ffffff", EDGE, 1, radius=3)
    for number, each in enumerate(turns()):
        _slice(canvas, number, each, TOP + number % STAGES * ROW, right)
    bottom = TOP + STAGES * ROW
    motion.sweep(canvas, LEFT, right, [(TOP - 2, bottom)])
    canvas.arrow(LEFT, bottom + 6, right, bottom + 6, MUTED, 1.2)
    canvas.text(LEFT - 12, bottom + 10, say(language, "time", "时间"), 12, MUTED, "end")
    end = parts.key(
        canvas,
        parts.MARGIN,
        bottom + 40,
        [
            (A.middle, say(language, "TMA loads the slice", "TMA 正在搬这一片")),
            (C.strong, say(language, "consumer 0 multiplies", "消费者 0 在计算")),
            (C.middle, say(language, "consumer 1 multiplies", "消费者 1 在计算")),
        ],
    )
    canvas.line(end, bottom + 28, end, bottom + 42, DARK, 2.5)
    end += 10 + canvas.text(end + 8, bottom + 40, say(language, "full: it has landed", "full：已到达"), 12) + 18
    canvas.line(end, bottom + 28, end, bottom + 42, B.strong, 2.5, "4 2.5")
    canvas.text(end + 8, bottom + 40, say(language, "empty: both have read it", "empty：两个消费者都已读完"), 12)
    return canvas


def _slice(canvas: Canvas, number: int, each: Slice, y: float, right: float) -> None:
    """One slice in its stage: its copy, both consumers' products, the two barriers' phases."""

    def at(time: float) -> float:
        return min(LEFT + 4 + time * SLICE, right - 2)

    parity = number // STAGES % 2
    canvas.rect(at(each.asked) + 2, y + 21, at(each.landed) - at(each.asked) - 3, 28, A.middle, A.strong, radius=3)
    canvas.text((at(each.asked) + at(each.landed)) / 2, y + 40, str(number), 13, A.ink, "middle", bold=True)
    for consumer, (start, end) in enumerate(each.products):
        top = y + 20 + consumer * 16
        canvas.rect(at(start) + 2, top, at(end) - at(start) - 4, 14, (C.strong, C.middle)[consumer], radius=3)
        ink = ("#ffffff", C.ink)[consumer]
        canvas.text((at(start) + at(end)) / 2, top + 11, str(number), 11, ink, "middle", bold=True)
    canvas.line(at(each.landed), y + 15, at(each.landed), y + 55, DARK, 2.5)
    canvas.text(at(each.landed), y + 11, f"full {parity}", 11.5, DARK, "middle")
    canvas.line(at(each.empty), y + 15, at(each.empty), y + 55, B.strong, 2.5, "4 2.5")
    if at(each.empty) < right - 24:
        canvas.text(at(each.empty), y + 11, f"empty {parity}", 11.5, B.ink, "middle")


def registers(language: str) -> Canvas:
    """The register file of an SM, as launched and after setmaxnreg."""
    canvas = parts.of_step(
        NAME,
        254,
        language,
        (
            f"setmaxnreg moves {LAUNCHED - PRODUCER} registers per thread to the consumers",
            f"setmaxnreg 把生产者每线程 {LAUNCHED - PRODUCER} 个寄存器转给消费者",
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
    left, width = 150.0, 786.0
    rows = (
        (say(language, "as launched", "启动时"), [LAUNCHED] * 3),
        (say(language, "after setmaxnreg", "setmaxnreg 之后"), [each for _, _, each in roles]),
    )
    for row, (label, shares) in enumerate(rows):
        x, y = left, 78 + row * 74.0
        canvas.text(left - 12, y + 29, label, 12.5, INK, "end")
        canvas.rect(left, y, width, 48, "#ffffff", GRID)
        for (role, tone, _), share in zip(roles, shares, strict=True):
            taken = share * WARPGROUP / REGISTERS * width
            canvas.rect(x + 1, y, taken - 2, 48, tone.middle, tone.strong, radius=3)
            if taken < 150:  # room for the number alone: the role stands under it
                canvas.text(x + taken / 2, y + 29, str(share), 13, tone.ink, "middle", bold=True)
                canvas.text(x + 2, y + 64, f"{role} {share} · {WARPGROUP} = {share * WARPGROUP:,}", 12, tone.ink)
            else:
                canvas.text(x + taken / 2, y + 21, role, 13, tone.ink, "middle", bold=True)
                total = f"{share} · {WARPGROUP} = {share * WARPGROUP:,}"
                canvas.text(x + taken / 2, y + 39, total, 12.5, tone.ink, "middle")
            x += taken
    total = 3 * LAUNCHED * WARPGROUP
    canvas.text(
        left + width,
        canvas.height - 16,
        say(
            language,
            f"both rows add up to {total:,}; the consumers keep {BN // 2} sums per thread in them",
            f"两行之和都是 {total:,}；消费者每线程的 {BN // 2} 个累加结果就放在这里",
        ),
        12.5,
        MUTED,
        "end",
    )
    return canvas
