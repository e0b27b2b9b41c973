"""Pictures of the long reads: the outer product's arithmetic, and how a ratio is measured."""

from collections.abc import Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.ideas_tiles import outer
from gemm_plots.figures.palette import EDGE, INK, MUTED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

SHAPES = ((1, 1), (4, 4), (8, 8), (16, 8))


def pictures() -> Iterable[tuple[str, object]]:
    """File name and drawing function of each picture."""
    yield "outer-product", outer_product
    yield "benchmark-in-turn", benchmark_in_turn


def loads_per_k(rows: int, cols: int) -> int:
    """Shared loads a thread makes per k: float4 where its fragments are multiples of four, floats else."""
    return sum(-(-n // 4) if n % 4 == 0 else n for n in (rows, cols))


def outer_product(language: str) -> Canvas:
    """Shared loads and FMAs per k for four shapes of thread tile."""
    canvas = Canvas(
        960, 426, say(language, "What a thread loads and multiplies per k", "每个 k，一个线程读多少、乘多少")
    )
    parts.heading(
        canvas,
        say(
            language,
            "loads grow with the sum of the tile's sides, FMAs with their product",
            "读取随边长之和增长，FMA 随边长之积增长",
        ),
    )
    unit = 15.0
    x = 62.0
    for rows, cols in SHAPES:
        canvas.text(x - unit - 7, 92, f"{rows}×{cols}", 15, bold=True)
        outer(canvas, x, 132, rows, cols, unit)
        left = x + cols * unit + 18
        loads, fmas = loads_per_k(rows, cols), rows * cols
        kind = "" if rows % 4 else " float4"
        plural = say(language, f"{loads}{kind} loads", f"{loads} 次{kind} 读".replace("次 读", "次读"))
        canvas.lines(left, 144, [plural, f"{fmas} FMA"], 13)
        share = fmas / (fmas + loads)
        canvas.text(left, 196, f"{share:.0%}", 22, C.ink, bold=True)
        canvas.lines(left, 214, say(language, "FMAs among\nthe two", "FMA 占\n两者之和").split("\n"), 11.5, fill=MUTED)
        x = left + 128
    parts.key(
        canvas,
        40,
        408,
        [
            (A.strong, say(language, "fragment of A", "A 的 fragment")),
            (B.strong, say(language, "fragment of B", "B 的 fragment")),
            (C.middle, say(language, "accumulators", "累加器")),
        ],
    )
    return canvas


def benchmark_in_turn(language: str) -> Canvas:
    """Kernel and baseline in turn, inputs rotated, the ratio taken round by round."""
    canvas = Canvas(960, 390, say(language, "How a ratio is measured", "比值是怎样测出来的"))
    parts.heading(
        canvas,
        say(
            language,
            "kernel and cuBLAS in turn, so that both meet the same clocks and temperature",
            "kernel 与 cuBLAS 轮流运行，使两者处于相同的频率与温度",
        ),
    )
    y, x = 84.0, 40.0
    canvas.rect(x, y, 92, 46, "#d5dce5", EDGE, radius=5)
    canvas.text(x + 46, y + 28, say(language, "warm-up", "预热"), 13, INK, "middle")
    x += 106
    for number in range(1, 4):
        start = x
        for width, colour, text in ((118, C.strong, say(language, "kernel", "kernel")), (118, B.strong, "cuBLAS")):
            canvas.rect(x, y, width, 46, colour, EDGE, radius=5)
            canvas.text(x + width / 2, y + 28, text, 14, "#ffffff", "middle", bold=True)
            x += width + 3
        canvas.path(f"M{start} {y + 54}v8h{x - start - 3}v-8", MUTED)
        canvas.text(
            (start + x - 3) / 2,
            y + 82,
            say(language, f"round {number}: ratio {number}", f"第 {number} 轮：比值 {number}"),
            13,
            INK,
            "middle",
        )
        x += 12
    canvas.text(
        936,
        y + 112,
        say(
            language,
            "ratio = median over rounds, with the 20th and 80th percentile beside it",
            "比值 = 各轮的中位数，并给出第 20、80 百分位",
        ),
        13,
        INK,
        "end",
    )
    y = 236.0
    canvas.text(
        40,
        y,
        say(language, "Within one bar: many launches on rotating inputs", "一个色块之内：在轮换的输入上多次启动"),
        14,
        bold=True,
    )
    x = 40.0
    for index in range(9):
        canvas.rect(x, y + 16, 58, 36, C.middle, EDGE, radius=4)
        canvas.text(
            x + 29, y + 39, say(language, f"set {index % 4}", f"第 {index % 4} 组"), 12.5, C.ink, "middle", bold=True
        )
        x += 62
    canvas.text(
        x + 12, y + 40, say(language, "… until 0.1 s (tensor cores 0.5 s)", "……直到 0.1 s（Tensor Core 0.5 s）"), 13
    )
    canvas.lines(
        40,
        y + 82,
        [
            say(
                language,
                "The sets together are larger than twice the L2 cache: no launch finds its inputs there.",
                "各组合起来大于 L2 的两倍：任何一次启动都不会在 L2 中找到自己的输入。",
            ),
            say(
                language,
                "CUDA events stand before the first and after the last launch; verified before and after.",
                "CUDA 事件放在第一次启动之前与最后一次之后；计时前后都验证结果。",
            ),
        ],
        13,
    )
    return canvas
