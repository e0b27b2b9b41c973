"""Pictures of step 19: the ring of stages and larger tiles, and which lane copies which row."""

from collections.abc import Iterable

from plots.figures import layout, parts, traces
from plots.figures.layout import INNER, MARGIN
from plots.figures.mma import HIGH, columns
from plots.figures.palette import INK, MUTED, RED, A, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

TILE, STAGES = 256, 3  # the default: the side of its square tile, its stages


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "19_mma_stages", stages
    yield "19_mma_stages-copies", copies


def _ring(canvas: Canvas, x: float, y: float, language: str) -> None:
    """The stages over slices of time: when each is filled, when it is read."""
    slots, wide, high = 8, 60.0, 28.0
    for stage in range(STAGES):
        canvas.text(x, y + stage * 40 + 19, f"stage {stage}", layout.SMALL, MUTED)
    left, bottom = x + 62, y + STAGES * 40
    for number in range(1, slots):
        canvas.line(left + number * wide - 0.5, y - 6, left + number * wide - 0.5, bottom, "#8793a3", 1, "3 3")
    for number in range(slots + STAGES - 1):
        start, top = max(0, number - (STAGES - 1)), y + number % STAGES * 40
        end = min(number, slots)
        if end > start:
            canvas.rect(left + start * wide, top + 5, (end - start) * wide - 1, high - 10, A.middle, A.strong)
            canvas.text(left + (start + end) / 2 * wide, top + 18.5, str(number), layout.SMALL, A.ink, "middle")
        if number < slots:
            canvas.rect(left + number * wide, top, wide - 1, high, C.strong, C.ink)
            canvas.text(
                left + (number + 0.5) * wide, top + 19, str(number), layout.SMALL, "#ffffff", "middle", bold=True
            )
    entries = (
        (A.middle, ("slice on its way", "切片在途")),
        (C.strong, ("read and multiplied", "读取并计算")),
        ("dash:#8793a3", ("barrier", "屏障")),
    )
    layout.legend(canvas, bottom + 24, language, entries, x=left)


def stages(language: str) -> Canvas:
    """Step 19: copy further ahead, and multiply for longer."""
    canvas, y = layout.of_step(
        "19_mma_stages",
        language,
        ("copy further ahead, and multiply for longer", "拷贝提前得更多，每片算得更久"),
        (
            f"BM = BN = {TILE}, BK = 64, {STAGES} stages, one block per SM",
            f"BM = BN = {TILE}，BK = 64，{STAGES} 个 stage，每个 SM 一个线程块",
        ),
    )
    y += 6
    parts.card(canvas, MARGIN, y, INNER, 214, say(language, "further ahead: a ring", "提前得更多：环形缓冲"))
    _ring(canvas, MARGIN + 16, y + 42, language)
    copied = f"a copy has the time of {STAGES - 1} slices", f"每次拷贝有 {STAGES - 1} 片的时间"
    canvas.text(MARGIN + 78, y + 204, say(language, *copied), layout.SMALL, MUTED)
    y += 226
    parts.card(canvas, MARGIN, y, INNER, 172, say(language, "for longer: a larger tile", "算得更久：加大分块"))
    for left, side, deep in ((MARGIN + 16, 128, 16), (MARGIN + 260, TILE, 64)):
        wide = side / 2.2
        top = y + 40 + (TILE - side) / 2.2
        canvas.rect(left, top, wide, wide, C.middle, C.strong)
        canvas.text(left + wide / 2, top + wide / 2 + 5, f"{side}²", layout.SMALL, C.ink, "middle", bold=True)
        lines = (
            (f"slices of {deep} k", f"切片深 {deep}"),
            (f"{side // 2} FLOP per byte", f"每字节 {side // 2} FLOP"),
        )
        for line, words in enumerate(lines):
            canvas.text(left + wide + 14, y + 122 + line * 22, say(language, *words), layout.SMALL, INK)
    canvas.height = y + 190
    return canvas


def copies(language: str) -> Canvas:
    """Step 19: which rows eight lanes copy at a time, into rows of five chunks."""
    canvas, y = layout.of_step(
        "19_mma_stages",
        language,
        ("rows four apart cost 4 wavefronts per copy, not 8", "相隔四行拷贝，每次只要 4 个 wavefront，而不是 8 个"),
        (
            "BK = 32: rows of 64 bytes, 80 with the pad; eight lanes write two rows at a time (the default's BK = 64: "
            "one)",
            "BK = 32：每行 64 字节，含填充 80 字节；8 个 lane 一次写两行（默认变体 BK = 64，一次一行）",
        ),
    )
    in_turn = traces.shared("bank_patterns", "store_16_bytes(start + 80 * row + 16 * chunk)")
    as_dealt = traces.shared("19_mma_stages-wide_stages3", "cp_async_16(to + i * STEP * PITCH")
    for x, served, name in (
        (MARGIN, in_turn, ("rows in turn", "按行号依次")),
        (MARGIN + 308, as_dealt, ("rows four apart", "相隔四行")),
    ):
        addresses, colour = served.addresses, RED if served.conflicts else C.ink
        canvas.text(x, y + 22, say(language, *name), layout.SMALL, colour, bold=True)
        for quarter in range(4):
            rows = [addresses[quarter * 8 + at : quarter * 8 + at + 4] for at in (0, 4)]
            top = y + 36 + quarter * 48
            columns(canvas, x + 58, top, rows, (A.strong, A.middle), 24.0)
            for line, row in enumerate(lanes[0] // 80 for lanes in rows):
                of_lanes = say(language, f"row {row}", f"第 {row} 行")
                canvas.text(x + 50, top + line * HIGH + 13, of_lanes, layout.SMALL, A.ink, "end")
        canvas.text(x + 58, y + 256, str(served.wavefronts), 28, colour, bold=True)
        canvas.text(x + 88, y + 254, say(language, "wavefronts per copy", "个 wavefront（每次拷贝）"))
    words = (
        "across: the eight 16-byte columns of the banks; red: taken by another lane, one more pass",
        "横向：bank 合成的八列，每列 16 字节；红色：已被另一个 lane 占用，多一趟",
    )
    canvas.height = layout.paragraph(canvas, y + 286, language, words, fill=MUTED)
    return canvas
