"""The bank of every lane's access: 32 lanes down, 32 banks across, what must wait in red."""

from collections.abc import Iterable, Sequence

from gemm_plots.figures import banks, parts, traces
from gemm_plots.figures.geometry import (
    WARP,
    Kernel,
    SharedAccess,
    conflict_free,
    smem_padding,
    thread_tile_4x4,
    thread_tile_8x8,
    vector_load,
    warp_tiling,
)
from gemm_plots.figures.palette import GRID, INK, MUTED, RED, A, B, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import Words, say, title

BANK = 8.0  # a bank's width on the picture
LANE = 6.5  # a lane's height
PANEL = 452.0  # from one map to the next


def pictures() -> Iterable[tuple[str, object]]:
    """File name and drawing function of each picture."""
    for kernel in (smem_padding(), vector_load(), thread_tile_4x4(), thread_tile_8x8(), conflict_free(), warp_tiling()):
        yield f"{kernel.name}-banks", lambda language, kernel=kernel: draw(kernel, language)
    yield "banks-basics", basics
    yield "banks-rule", rule


def draw(kernel: Kernel, language: str) -> Canvas:
    """Every kind of access of one step, two maps a row."""
    heading = say(language, f"{title(kernel.name)}: banks of shared memory", f"{title(kernel.name)}：共享内存的 bank")
    note = say(
        language,
        "the accesses of warp 0 (t: its thread, k = 0): a row is a lane, a column a bank",
        "warp 0 的访问（t 为线程号，k = 0）：一行是一个 lane，一列是一个 bank",
    )
    return sheet(heading, note, kernel.shared, language)


def sheet(heading: str, note: str, accesses: Sequence[SharedAccess], language: str) -> Canvas:
    """Maps of accesses, two a row."""
    tall = 44 + WARP * LANE + 46
    canvas = Canvas(960, 76 + -(-len(accesses) // 2) * tall + 30, heading)
    parts.heading(canvas, note)
    for index, access in enumerate(accesses):
        access_map(canvas, 44 + index % 2 * PANEL, 76 + index // 2 * tall, access, language)
    legend(canvas, canvas.height - 20, language)
    return canvas


def pattern(english: str, chinese: str, operand: str, formula: str, source: str) -> SharedAccess:
    """An access of lab/micro/bank_patterns.cu, by the line that makes it."""
    return SharedAccess(Words(english, chinese), operand, formula, traces.shared("bank_patterns", source))


def basics(language: str) -> Canvas:
    """What a bank conflict is: six patterns of 4-byte loads."""
    accesses = [
        pattern("neighbouring words", "相邻的字", "A", "4·lane", "load_4_bytes(start + 4 * lane)"),
        pattern("one word for all: broadcast", "所有 lane 同一个字：广播", "A", "0", "load_4_bytes(start)"),
        pattern("every other word", "隔一个字", "A", "8·lane", "load_4_bytes(start + 8 * lane)"),
        pattern(
            "down a column, 32 floats per row",
            "每行 32 个 float 的一列",
            "A",
            "128·lane",
            "load_4_bytes(start + 128 * lane)",
        ),
        pattern(
            "down a column, 33 floats per row",
            "每行 33 个 float 的一列",
            "A",
            "132·lane",
            "load_4_bytes(start + 132 * lane)",
        ),
        pattern(
            "two rows of 16 lanes, same words",
            "两排 16 个 lane，同样的字",
            "A",
            "4·(lane % 16)",
            "load_4_bytes(start + 4 * (lane % 16))",
        ),
    ]
    heading = say(language, "Shared memory has 32 banks, each 4 bytes wide", "共享内存有 32 个 bank，各宽 4 字节")
    note = say(
        language,
        "word w lies in bank w % 32; a bank gives one word a pass, to as many lanes as want it",
        "字 w 在 bank w % 32 中；一个 bank 每趟送出一个字，可同时给任意多个 lane",
    )
    return sheet(heading, note, accesses, language)


def rule(language: str) -> Canvas:
    """How 64- and 128-bit accesses are cut into groups of lanes, and when groups merge."""
    accesses = [
        pattern("64 bits, neighbouring", "64 位，相邻", "A", "8·lane", "load_8_bytes(start + 8 * lane)"),
        pattern(
            "64 bits, lanes in pairs: halves merge",
            "64 位，lane 成对：两半合并",
            "A",
            "8·(lane / 2)",
            "load_8_bytes(start + 8 * (lane / 2))",
        ),
        pattern("128 bits, neighbouring", "128 位，相邻", "B", "16·lane", "load_16_bytes(start + 16 * lane)"),
        pattern(
            "128 bits, lanes in pairs: quarters merge",
            "128 位，lane 成对：四分之一两两合并",
            "B",
            "16·(lane / 2)",
            "load_16_bytes(start + 16 * (lane / 2))",
        ),
        pattern(
            "128 bits, stride of 32 bytes",
            "128 位，步长 32 字节",
            "B",
            "32·lane",
            "load_16_bytes(start + 32 * lane)",
        ),
        pattern(
            "128 bits, the same eight twice: no merging",
            "128 位，同样八个重复：不合并",
            "B",
            "16·(lane % 8)",
            "load_16_bytes(start + 16 * (lane % 8))",
        ),
    ]
    heading = say(
        language, "Wide accesses go out in halves and quarters of a warp", "宽访问按半个、四分之一个 warp 发出"
    )
    note = say(
        language,
        "the wavefronts of each pattern are as measured on an H200",
        "各模式的波前数均与 H200 上的实测一致",
    )
    return sheet(heading, note, accesses, language)


def legend(canvas: Canvas, y: float, language: str) -> None:
    """What the colours of the maps mean."""
    parts.key(
        canvas,
        44,
        y,
        [
            (A.strong, say(language, "A, first pass", "A，第一趟")),
            (B.strong, say(language, "B, first pass", "B，第一趟")),
            ("#cfd6df", say(language, "same word as a lane above: broadcast", "与上方 lane 同一个字：广播")),
            (RED, say(language, "another word in a taken bank: one more pass", "bank 已被另一个字占用：多一趟")),
        ],
    )


def access_map(canvas: Canvas, x: float, y: float, access: SharedAccess, language: str) -> None:
    """One map with its name above, its groups of lanes and wavefronts on the right."""
    tone = A if access.operand == "A" else B
    served = access.access
    addresses = served.addresses
    canvas.text(x, y + 16, access.what(language), 13, tone.ink, bold=True)
    canvas.text(
        x,
        y + 33,
        f"{access.formula}  ·  {say(language, f'{served.size} bytes per lane', f'每 lane {served.size} 字节')}",
        11.5,
        MUTED,
        mono=False,
    )
    top = y + 44
    parts.grid(canvas, x, top, WARP, banks.BANKS, LANE, BANK)
    for group in served.groups:
        _group(canvas, x, top, [(lane, addresses[lane]) for lane in group.lanes], served.size, tone.strong)
    parts.frame(canvas, x, top, WARP, banks.BANKS, LANE, BANK)
    right = x + banks.BANKS * BANK
    for group in served.groups:
        first, last, count = group.first, group.last, group.wavefronts
        if len(served.groups) > 1:
            canvas.line(x, top + (last + 1) * LANE, right + 8, top + (last + 1) * LANE, "#8793a3", 1)
            canvas.line(right + 8, top + first * LANE, right + 8, top + (last + 1) * LANE, "#8793a3", 1)
        middle = top + (first + last + 1) / 2 * LANE
        canvas.text(right + 16, middle + 4, _wavefronts(count, language), 12, RED if count > 1 else INK, bold=count > 1)
    for lane in (0, 8, 16, 24, 31):
        canvas.text(x - 5, top + (lane + 0.5) * LANE + 3.5, str(lane), 9.5, MUTED, "end")
    for bank in (0, 8, 16, 24, 31):
        canvas.text(x + (bank + 0.5) * BANK, top + WARP * LANE + 12, str(bank), 9.5, MUTED, "middle")
    text_x = right + 104
    canvas.text(text_x, top + 22, str(served.wavefronts), 26, RED if served.conflicts else C.ink, bold=True)
    canvas.text(text_x, top + 40, say(language, "wavefront" if served.wavefronts == 1 else "wavefronts", "个波前"), 12)
    conflicts = say(
        language, f"{served.conflicts} conflict{'s' if served.conflicts != 1 else ''}", f"{served.conflicts} 次冲突"
    )
    canvas.text(text_x, top + 58, conflicts, 12, RED if served.conflicts else C.ink, bold=True)
    if len(served.groups) > 1:
        lanes = len(served.groups[0].lanes)
        merged = served.size == 16 and lanes == 16
        canvas.lines(
            text_x,
            top + 84,
            say(
                language,
                "quarter-warps\nmerge in pairs" if merged else f"groups of\n{lanes} lanes",
                "四分之一 warp\n两两合并" if merged else f"每组 {lanes}\n个 lane",
            ).split("\n"),
            11,
            fill=MUTED,
        )


def _wavefronts(count: int, language: str) -> str:
    return say(language, f"{count} pass" if count == 1 else f"{count} passes", f"{count} 趟")


def _group(canvas: Canvas, x: float, top: float, lanes: list[tuple[int, int]], size: int, colour: str) -> None:
    """The cells of lanes that go out together: first in its bank, broadcast, or one more wavefront."""
    taken: dict[int, int] = {}
    seen: set[int] = set()
    cells: dict[str, list[tuple[int, int]]] = {colour: [], "#cfd6df": [], RED: []}
    for lane, address in lanes:
        for word in banks.words(address, size):
            bank = word % banks.BANKS
            kind = "#cfd6df" if word in seen else colour if bank not in taken else RED
            taken.setdefault(bank, word)
            seen.add(word)
            cells[kind].append((lane, bank))
    for kind, found in cells.items():
        inset = [(row, col) for row, col in found]
        parts.fill(canvas, x, top, inset, LANE, BANK, kind)
    lines = "".join(f"M{x:g} {top + lane * LANE:g}h{banks.BANKS * BANK:g}" for lane, _ in lanes[1:])
    canvas.path(lines, GRID, line=0.5)
