"""A product on two GPUs: what one of them does, over time, in four ways to move the other one's half of the sums."""

from collections.abc import Iterable
from dataclasses import dataclass

from plots.figures import layout
from plots.figures.palette import INK, MUTED, PALE_RED, RED, A, B, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import Words

SMS, HELD = 132, 20  # and how many of them NCCL holds: assumed
# Tenths of a ms, as docs/several-gpus measured them: the product alone of step 27 at once, and of steps 27 and 24 in chunks;
# NCCL's transfer at once and in chunks, that of the copy engines; half the time of one GPU with steps 27 and 24.
PRODUCT, CHUNKED_27, CHUNKED_24 = 62.2, 65.4, 65.9
COLLECTIVE, COLLECTIVES, COPIES = 10.9, 12.3, 7.9
HALF_27, HALF_24 = 62.3, 64.4
ADDED = 1.9  # the pass that adds what has come
CHUNKS = 4
LEFT, RIGHT, TRACK, STRIP = layout.MARGIN + 96, layout.RIGHT, 34.0, 9.0
SCALE = (RIGHT - LEFT) / 79.0


@dataclass(frozen=True)
class Bar:
    """What happens on a track, from one moment to another; a strip is the part of the SMs that NCCL takes."""

    start: float
    end: float
    colour: str
    words: str = ""
    strip: bool | None = None  # None: the whole height; True: the strip; False: all but the strip
    track: int = 0


@dataclass(frozen=True)
class Way:
    """One way to order arithmetic and communication."""

    name: Words
    says: Words
    tracks: tuple[Words, ...]
    bars: tuple[Bar, ...]
    end: float
    half: float


SM_TRACK = Words("SMs", "SM")
ENGINE = Words("copy engine", "拷贝引擎")


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "several-gpus-ways", ways


def _serial() -> Way:
    bars = (
        Bar(0, PRODUCT, C.middle, "1–4"),
        Bar(PRODUCT, PRODUCT + COLLECTIVE, B.strong, "1–4", strip=True),
        Bar(PRODUCT, PRODUCT + COLLECTIVE, PALE_RED, strip=False),
    )
    return Way(
        Words("serial, step 27", "serial，步骤 27"),
        Words("first multiply, then send", "先算完，再发送"),
        (SM_TRACK,),
        bars,
        PRODUCT + COLLECTIVE,
        HALF_27,
    )


def _persistent() -> Way:
    """The blocks on the SMs that NCCL holds begin their lists of tiles late, and the others wait for them at the end."""
    bars, at, part, sent = [], 0.0, CHUNKED_27 / CHUNKS, COLLECTIVES / CHUNKS
    for chunk in range(CHUNKS):
        colour = (C.middle, C.pale)[chunk % 2]
        if not chunk:
            bars.append(Bar(0, part, colour, "1"))
            at = part
            continue
        bars += [
            Bar(at, at + sent, B.strong, strip=True),
            Bar(at + sent, at + sent + part, colour, strip=True),
            Bar(at, at + part, colour, f"{chunk + 1}", strip=False),
            Bar(at + part, at + part + sent, PALE_RED, strip=False),
        ]
        at += part + sent
    bars += [Bar(at, at + sent, B.strong, strip=True), Bar(at, at + sent, PALE_RED, strip=False)]
    return Way(
        Words("chunked, step 27", "chunked，步骤 27"),
        Words(
            "NCCL's SMs start their lists of tiles late, and all wait for them",
            "NCCL 占用的 SM 较晚才开始算自己的分块，其余的都得等",
        ),
        (SM_TRACK,),
        tuple(bars),
        at + sent,
        HALF_27,
    )


def _block_per_tile() -> Way:
    """A block per tile: the other SMs take over what NCCL's SMs do not do."""
    bars, at, part, sent = [], 0.0, CHUNKED_24 / CHUNKS, COLLECTIVES / CHUNKS
    lost = sent * HELD / SMS
    for chunk in range(CHUNKS):
        colour, end = (C.middle, C.pale)[chunk % 2], at + part + (lost if chunk else 0)
        bars.append(Bar(at, end, colour, f"{chunk + 1}", strip=False))
        if chunk:
            bars.append(Bar(at, at + sent, B.strong, strip=True))
        bars.append(Bar(at + sent if chunk else at, end, colour, strip=True))
        at = end
    bars += [Bar(at, at + sent, B.strong, strip=True), Bar(at, at + sent, PALE_RED, strip=False)]
    return Way(
        Words("chunked, step 24", "chunked，步骤 24"),
        Words(
            "a block per tile: other SMs take over, and the last chunk is exposed",
            "每个分块一个线程块：别的 SM 接手，最后一批没有被掩盖",
        ),
        (SM_TRACK,),
        tuple(bars),
        at + sent,
        HALF_24,
    )


def _copied() -> Way:
    """The other GPU's rows first, each chunk sent by the copy engine; the own rows hide the last one."""
    bars, part, sent = [], CHUNKED_24 / 2 / CHUNKS, COPIES / CHUNKS
    for chunk in range(CHUNKS):
        at = chunk * part
        bars.append(Bar(at, at + part, (C.middle, C.pale)[chunk % 2], f"{chunk + 1}"))
        bars.append(Bar(at + part, at + part + sent, A.strong, track=1))
    own = Words("own rows", "自己的行")
    bars += [Bar(CHUNKED_24 / 2, CHUNKED_24, C.middle, own.english), Bar(CHUNKED_24, CHUNKED_24 + ADDED, MUTED)]
    return Way(
        Words("copied, step 24", "copied，步骤 24"),
        Words("the other GPU's rows first; a copy engine needs no SM", "先算对方的行；拷贝引擎不占 SM"),
        (SM_TRACK, ENGINE),
        tuple(bars),
        CHUNKED_24 + ADDED,
        HALF_24,
    )


def ways(language: str) -> Canvas:
    """The four ways on one scale, with the time that a perfect half of the product takes."""
    canvas, y = layout.page(
        language,
        (
            "What moves the bytes decides whether anything hides them",
            "谁来搬运，决定了通信能不能被掩盖",
        ),
        (
            "one of two GPUs, row-parallel, four chunks; schematic, lengths close to those measured",
            "两块 GPU 中的一块，按行并行，分四批；示意图，长度与实测相近",
        ),
    )
    for way in (_serial(), _persistent(), _block_per_tile(), _copied()):
        canvas.text(layout.MARGIN, y + 28, way.name(language), bold=True)
        y = layout.paragraph(canvas, y + 47, language, (way.says.english, way.says.chinese), fill=MUTED, step=1.3) - 8
        for track, name in enumerate(way.tracks):
            canvas.text(LEFT - 8, y + track * TRACK + TRACK / 2 + 5, name(language), layout.SMALL, INK, "end")
        for bar in way.bars:
            _bar(canvas, bar, y, language)
        half = LEFT + way.half * SCALE
        canvas.line(half, y - 3, half, y + 3 + TRACK * len(way.tracks), RED, 1.6, "4 3")
        y += TRACK * len(way.tracks)
    entries = (
        (C.middle, ("multiplies a chunk", "计算一批")),
        (B.strong, ("NCCL's blocks", "NCCL 的线程块")),
        (A.strong, ("a copy", "拷贝")),
        (MUTED, ("adds what has come", "相加收到的部分")),
        (PALE_RED, ("SMs wait", "SM 在等待")),
        (f"dash:{RED}", ("half the time of one GPU", "一块 GPU 用时的一半")),
    )
    canvas.height = layout.legend(canvas, y + 30, language, entries)
    return canvas


def _bar(canvas: Canvas, bar: Bar, y: float, language: str) -> None:
    top, high = y + 3 + bar.track * TRACK, TRACK - 6
    if bar.strip is True:
        top, high = top + high - STRIP, STRIP
    elif bar.strip is False:
        high -= STRIP
    x, wide = LEFT + bar.start * SCALE, (bar.end - bar.start) * SCALE
    canvas.rect(x, top, wide, high, bar.colour, "#ffffff" if bar.colour != PALE_RED else "", 1)
    if bar.words and not bar.strip:
        words = Words(bar.words, "自己的行" if bar.words == "own rows" else bar.words)
        canvas.text(x + wide / 2, top + high / 2 + 5, words(language), layout.SMALL, INK, "middle", bold=True)
