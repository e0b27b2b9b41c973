"""A product on two GPUs: what one of them did, over time, in four ways to move the other one's half of the sums; from
recorded timelines."""

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from base.paths import DATA, ROOT
from plots import gpu_timeline
from plots.figures import layout
from plots.figures.palette import INK, MUTED, RED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words
from records import REFERENCE_GPU, SEVERAL_FILE, TIMELINE_FILE, Record, read

# Way, product and what it shows.
WAYS = (
    ("serial", "27", Words("first multiply, then send", "先算完，再发送")),
    (
        "chunked",
        "27",
        Words(
            "NCCL has to wait until a whole product has left the SMs",
            "NCCL 要等一次乘法离开 SM，才有地方运行",
        ),
    ),
    ("chunked", "24", Words("NCCL waits for one block per SM at most", "NCCL 最多等每个 SM 上的一个线程块")),
    (
        "copied",
        "27",
        Words(
            "copy engines need no SM; own rows, without a number, come last",
            "拷贝引擎不占 SM；最后算自己的行，不标数字",
        ),
    ),
)
COLOURS = {"product": (C.middle, C.pale), "collective": (B.strong,), "copy": (A.strong,), "sum": (MUTED,)}
LEFT, RIGHT, LANE, GAP = layout.MARGIN + 96, layout.RIGHT, 19.0, 3.0
WIDE_ENOUGH = 14.0  # a bar that has room for its chunk's number
IN_TURN = 5.0  # microseconds by which two products may overlap that still share a lane
AT_ONCE = 20.0  # microseconds from which a collective is drawn as one that waited for SMs


@dataclass(frozen=True)
class Bar:
    """A kernel or a copy, and the chunk whose sums it computes or moves; 0: it is of no chunk that is moved."""

    kind: str
    start: float
    end: float
    chunk: int


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "several-gpus-ways", ways


def recorded(way: str, product: str) -> list[Bar]:
    """What ran on one GPU in one call, in microseconds from its beginning."""
    rows = [r for r in _timelines() if (r["way"], r["product"]) == (way, product)]
    chunks, seen, bars = rows[0]["chunks"], Counter(), []
    products = sum(r["kernel"] == "product" for r in rows)
    for r in rows:
        number = seen[r["kernel"]]
        seen[r["kernel"]] += 1
        chunk = number * chunks // products if r["kernel"] == "product" and way != "copied" else number
        own = r["kernel"] == "sum" or (r["kernel"] == "product" and way == "copied" and number >= chunks)
        bars.append(Bar(r["kernel"], r["start_us"], r["start_us"] + r["us"], 0 if own else chunk + 1))
    return bars


def ways(language: str) -> Canvas:
    """The four ways on one scale, with half of the time that one GPU takes."""
    drawn = [(way, product, says, recorded(way, product)) for way, product, says in WAYS]
    longest, least = (
        gpu_timeline.of(_timelines(), "row", way, product).lost for way, product, *_ in drawn if way == "chunked"
    )
    canvas, y = layout.page(
        language,
        (
            f"A transfer delays the products of step 27 by {longest:.2f} ms, those of step 24 by {least:.2f} ms",
            f"一次传输使步骤 27 的乘法推迟 {longest:.2f} ms，步骤 24 的推迟 {least:.2f} ms",
        ),
        (
            "every kernel of one call on one of two GPUs, row-parallel, four chunks; recorded by PyTorch's profiler",
            "两块 GPU 中的一块，一次调用的全部 kernel，按行并行，分四批；由 PyTorch 的 profiler 记录",
        ),
    )
    scale = (RIGHT - LEFT) / max(bar.end for *_, bars in drawn for bar in bars)
    for way, product, says, bars in drawn:
        name = Words(f"{way}, step {product}", f"{way}，步骤 {product}")
        canvas.text(layout.MARGIN, y + 28, name(language), bold=True)
        y = layout.paragraph(canvas, y + 47, language, (says.english, says.chinese), fill=MUTED, step=1.3) - 4
        top = y
        y = _lanes(canvas, bars, y, scale, language)
        half = LEFT + _half(product) * scale
        canvas.line(half, top - 3, half, y + 1, RED, 1.6, "4 3")
    entries = (
        (C.middle, ("multiplies; the number: the chunk", "乘法；数字是第几批")),
        (B.strong, ("reduce-scatter of NCCL", "NCCL 的 reduce-scatter")),
        (f"line:{B.strong}", ("waits for SMs", "等待 SM")),
        (A.strong, ("a copy", "拷贝")),
        (MUTED, ("adds what has come", "相加收到的部分")),
        (f"dash:{RED}", ("half the time of one GPU", "一块 GPU 用时的一半")),
    )
    canvas.height = layout.legend(canvas, y + 30, language, entries)
    return canvas


def _lanes(canvas: Canvas, bars: list[Bar], y: float, scale: float, language: str) -> float:
    """Products in two lanes, since one may begin before the one before has ended, and below them what moves the sums."""
    ready = {bar.chunk: bar.end for bar in bars if bar.kind == "product"}
    products = [bar for bar in bars if bar.kind == "product"]
    single = not any(one.end > other.start + IN_TURN for one, other in itertools.pairwise(products))
    moved = next(bar.kind for bar in bars if bar.kind in ("collective", "copy"))
    below = y + LANE * (1 if single else 2) + GAP
    names = (
        (y + (below - GAP - y) / 2, Words("products", "乘法")),
        (below + LANE / 2, Words("NCCL", "NCCL") if moved == "collective" else Words("copies", "拷贝")),
    )
    for middle, name in names:
        canvas.text(LEFT - 8, middle + 5, name(language), layout.SMALL, INK, "end")
    number, chunks = 0, max(bar.chunk for bar in bars)
    for bar in bars:
        x, wide = LEFT + bar.start * scale, (bar.end - bar.start) * scale
        top = y if bar.kind in ("product", "sum") else below
        colours = COLOURS[bar.kind]
        if bar.kind == "product":
            top += 0 if single else LANE * (number % 2)
            number += 1
        colour = colours[(bar.chunk - 1) % len(colours)] if bar.chunk else colours[0]
        if bar.kind == "collective" and bar.start - ready[bar.chunk] > AT_ONCE:
            from_ = LEFT + ready[bar.chunk] * scale
            canvas.line(from_, top + LANE / 2, x, top + LANE / 2, B.strong, 2)
            canvas.line(from_, top + 4, from_, top + LANE - 4, B.strong, 2)
        canvas.rect(x, top + 1, wide, LANE - 2, colour, "#ffffff", 1)
        if bar.chunk and chunks > 1 and wide > WIDE_ENOUGH and bar.kind == "product":
            canvas.text(x + wide / 2, top + LANE / 2 + 5, str(bar.chunk), layout.SMALL, INK, "middle", bold=True)
    return below + LANE


def _half(product: str) -> float:
    """Half of the time that one GPU takes with a step, in microseconds."""
    rows = read(DATA / REFERENCE_GPU / f"{SEVERAL_FILE}.jsonl", ROOT, "several")
    return 500 * next(r for r in rows if r["product"] == product)["one_gpu_ms"]


def _timelines() -> list[Record]:
    return read(DATA / REFERENCE_GPU / f"{TIMELINE_FILE}.jsonl", ROOT, "timeline")
