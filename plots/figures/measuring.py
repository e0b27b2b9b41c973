"""Pictures of the long reads: the outer product's arithmetic, and how a ratio is measured."""

from collections.abc import Iterable

from plots.figures import layout
from plots.figures.ideas_tiles import outer
from plots.figures.palette import EDGE, INK, MUTED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

SHAPES = ((1, 1), (4, 4), (8, 8), (16, 8))


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "outer-product", outer_product
    yield "benchmark-in-turn", benchmark_in_turn


def loads_per_k(rows: int, cols: int) -> int:
    """Shared loads a thread makes per k: float4 where its fragments are multiples of four, floats else."""
    return sum(-(-n // 4) if n % 4 == 0 else n for n in (rows, cols))


def outer_product(language: str) -> Canvas:
    """Shared loads and FMAs per k for four shapes of thread tile."""
    canvas, y = layout.page(
        language,
        ("A larger tile per thread needs fewer loads per FMA", "每个线程的分块越大，每次 FMA 的读越少"),
        (
            "loads grow with the sum of the tile's sides, FMAs with their product",
            "读取随边长之和增长，FMA 随边长之积增长",
        ),
    )
    unit, y = 15.0, y + 26
    for index, (rows, cols) in enumerate(SHAPES):
        x = layout.MARGIN + unit + 7 + index % 2 * 300
        canvas.text(x - unit - 7, y, f"{rows}×{cols}", 16, bold=True)
        top = y + 36
        outer(canvas, x, top, rows, cols, unit)
        left = x + cols * unit + 18
        loads, fmas = loads_per_k(rows, cols), rows * cols
        kind = "" if rows % 4 else " float4"
        plural = say(language, f"{loads}{kind} loads", f"{loads} 次{kind} 读".replace("次 读", "次读"))
        canvas.lines(left, top + 4, [plural, f"{fmas} FMA"])
        share = fmas / (fmas + loads)
        canvas.text(left, top + 58, f"{share:.0%}", 24, C.ink, bold=True)
        among = ("FMAs among\nthe two", "FMA 占\n两者之和")
        canvas.lines(left, top + 78, say(language, *among).split("\n"), 1.3, fill=MUTED)
        if index % 2:
            y += 70 + max(SHAPES[index][0], 7) * unit
    entries = (
        (A.strong, ("fragment of A", "A 的 fragment")),
        (B.strong, ("fragment of B", "B 的 fragment")),
        (C.middle, ("accumulators", "累加器")),
    )
    canvas.height = layout.legend(canvas, y, language, entries)
    return canvas


def benchmark_in_turn(language: str) -> Canvas:
    """Kernel and baseline in turn, inputs rotated, the ratio taken round by round."""
    canvas, y = layout.page(
        language,
        ("Kernel and library run in turn, so a slow drift meets both", "kernel 与库轮流运行，缓慢的漂移两者都遇到"),
        (
            "one after the other for a while: at the power limit each side has a clock of its own",
            "双方各连续跑一段：在功耗上限下，两者各有各的频率",
        ),
    )
    y, x, wide = y + 10, layout.MARGIN, 78.0
    canvas.rect(x, y, 76, 46, "#d5dce5", EDGE, radius=5)
    canvas.text(x + 38, y + 28, say(language, "warm-up", "预热"), layout.SMALL, INK, "middle")
    x += 86
    for number in range(1, 4):
        for at, colour, text in ((x, C.strong, "kernel"), (x + wide + 3, B.strong, "cuBLAS")):
            canvas.rect(at, y, wide, 46, colour, EDGE, radius=5)
            canvas.text(at + wide / 2, y + 28, text, layout.SMALL, "#ffffff", "middle", bold=True)
        canvas.path(f"M{x:g} {y + 54:g}v8h{2 * wide + 3:g}v-8", MUTED)
        words = say(language, f"round {number}: ratio {number}", f"第 {number} 轮：比值 {number}")
        canvas.text(x + wide + 1.5, y + 82, words, layout.SMALL, INK, "middle")
        x += 2 * wide + 13
    ratio = (
        "ratio = median over rounds, with the 20th and 80th percentile beside it",
        "比值 = 各轮的中位数，并给出第 20、80 百分位",
    )
    y = layout.paragraph(canvas, y + 116, language, ratio)
    words = ("Within one bar: many launches on rotating inputs", "一个色块之内：在轮换的输入上多次启动")
    y = layout.paragraph(canvas, y + 24, language, words, bold=True)
    for index in range(9):
        x = layout.MARGIN + 66 * index
        canvas.rect(x, y - 4, 62, 36, C.middle, EDGE, radius=4)
        words = say(language, f"set {index % 4}", f"第 {index % 4} 组")
        canvas.text(x + 31, y + 19, words, layout.SMALL, C.ink, "middle", bold=True)
    y += 54
    texts = (
        ("… until 0.1 s (tensor cores 0.5 s)", "……直到 0.1 s（Tensor Core 0.5 s）"),
        (
            "The sets together are larger than twice the L2 cache: no launch finds its inputs there.",
            "各组合起来大于 L2 的两倍：任何一次启动都不会在 L2 中找到自己的输入。",
        ),
        (
            "A CUDA event stands before the first batch of launches and after each; verified before and after.",
            "第一批启动之前、每一批之后各有一个 CUDA event；计时前后都验证结果。",
        ),
    )
    canvas.height = layout.paragraphs(canvas, y, language, texts, 4)
    return canvas
