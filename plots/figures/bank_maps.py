"""The bank of every lane's access: 32 lanes down, 32 banks across, what must wait in red."""

from collections.abc import Iterable, Sequence

from plots.figures import banks, layout, parts, traces
from plots.figures.geometry import (
    WARP,
    Kernel,
    SharedAccess,
    conflict_free,
    thread_tile_4x4,
    thread_tile_8x8,
    vector_load,
    warp_tiling,
)
from plots.figures.layout import Pair
from plots.figures.palette import GRID, INK, MUTED, RED, THREAD, A, B, C
from plots.figures.svg import SMALL, Canvas, Draw
from plots.figures.text import Words, say, title

BANK = 6.5  # a bank's width on the picture
LANE = 6.5  # a lane's height
PITCH = 304.0  # from one map to the next
BROADCAST = "#cfd6df"
NEITHER = "lane"  # as an operand: an access that belongs to no matrix
TONES = {"A": A, "B": B, NEITHER: THREAD}
FINDINGS = {  # what the maps of a step show
    "05": ("lanes in pairs read B in 2 wavefronts, not 4", "lane 成对时，读 B 用 2 个 wavefront，而不是 4 个"),
    "06": ("of four accesses only the store of A has a conflict", "四种访问里只有写 A 有冲突"),
    "07": (
        "eight neighbouring columns per thread double the read of B",
        "每个线程取相邻八列，读 B 的 wavefront 就加倍",
    ),
    "08": ("split 4 + 4, the read of B has no conflict", "拆成 4 + 4，读 B 就没有冲突"),
    "11": ("both reads take 2 wavefronts and have no conflict", "两种读各用 2 个 wavefront，没有冲突"),
}


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    for kernel in (vector_load(), thread_tile_4x4(), thread_tile_8x8(), conflict_free(), warp_tiling()):
        yield f"{kernel.name}-banks", lambda language, kernel=kernel: draw(kernel, language)
    yield "banks-basics", basics
    yield "banks-rule", rule


def draw(kernel: Kernel, language: str) -> Canvas:
    """Every kind of access of one step, two maps a row."""
    english, chinese = FINDINGS[kernel.name[:2]]
    heading = (f"{title(kernel.name)}: {english}", f"{title(kernel.name)}：{chinese}")
    note = (
        "the accesses of warp 0 (t: its thread, k = 0): a row is a lane, a column a bank",
        "warp 0 的访问（t 为线程号，k = 0）：一行是一个 lane，一列是一个 bank",
    )
    return sheet(heading, note, kernel.shared, language)


def sheet(heading: Pair, note: Pair, accesses: Sequence[SharedAccess], language: str) -> Canvas:
    """Maps of accesses, two a row."""
    canvas, y = layout.page(language, heading, note)
    drawn: set[str] = set()
    for two in (accesses[at : at + 2] for at in range(0, len(accesses), 2)):
        tops = []
        for column, access in enumerate(two):
            tops.append(_words(canvas, layout.MARGIN + column * PITCH, y + 16, access, language))
        for column, access in enumerate(two):
            x = layout.MARGIN + 20 + column * PITCH
            drawn |= access_map(canvas, x, max(tops), access.access, access.operand, language)
        y = max(tops) + WARP * LANE + 24
    canvas.height = legend(canvas, y + 16, language, drawn)
    return canvas


def pattern(english: str, chinese: str, operand: str, formula: str, source: str) -> SharedAccess:
    """An access of lab/micro/bank_patterns.cu, by the line that makes it."""
    return SharedAccess(Words(english, chinese), operand, formula, traces.shared("bank_patterns", source))


def basics(language: str) -> Canvas:
    """What a bank conflict is: six patterns of 4-byte loads."""
    accesses = [
        pattern("neighbouring words", "相邻的字", NEITHER, "4·lane", "load_4_bytes(start + 4 * lane)"),
        pattern("one word for all: broadcast", "所有 lane 同一个字：广播", NEITHER, "0", "load_4_bytes(start)"),
        pattern("every other word", "隔一个字", NEITHER, "8·lane", "load_4_bytes(start + 8 * lane)"),
        pattern(
            "down a column, 32 floats per row",
            "每行 32 个 float 的一列",
            NEITHER,
            "128·lane",
            "load_4_bytes(start + 128 * lane)",
        ),
        pattern(
            "down a column, 33 floats per row",
            "每行 33 个 float 的一列",
            NEITHER,
            "132·lane",
            "load_4_bytes(start + 132 * lane)",
        ),
        pattern(
            "two rows of 16 lanes, same words",
            "两排 16 个 lane，同样的字",
            NEITHER,
            "4·(lane % 16)",
            "load_4_bytes(start + 4 * (lane % 16))",
        ),
    ]
    heading = ("Shared memory has 32 banks, each 4 bytes wide", "共享内存有 32 个 bank，各宽 4 字节")
    note = (
        "word w lies in bank w % 32; a bank gives one word per pass, to as many lanes as want it",
        "字 w 在 bank w % 32 中；一个 bank 每趟送出一个字，可同时给任意多个 lane",
    )
    return sheet(heading, note, accesses, language)


def rule(language: str) -> Canvas:
    """How 64- and 128-bit accesses are cut into groups of lanes, and when groups merge."""
    accesses = [
        pattern("64 bits, neighbouring", "64 位，相邻", NEITHER, "8·lane", "load_8_bytes(start + 8 * lane)"),
        pattern(
            "64 bits, lanes in pairs: halves merge",
            "64 位，lane 成对：两半合并",
            NEITHER,
            "8·(lane / 2)",
            "load_8_bytes(start + 8 * (lane / 2))",
        ),
        pattern("128 bits, neighbouring", "128 位，相邻", NEITHER, "16·lane", "load_16_bytes(start + 16 * lane)"),
        pattern(
            "128 bits, lanes in pairs: quarters merge",
            "128 位，lane 成对：四分之一两两合并",
            NEITHER,
            "16·(lane / 2)",
            "load_16_bytes(start + 16 * (lane / 2))",
        ),
        pattern(
            "128 bits, stride of 32 bytes",
            "128 位，步长 32 字节",
            NEITHER,
            "32·lane",
            "load_16_bytes(start + 32 * lane)",
        ),
        pattern(
            "128 bits, the same eight twice: no merging",
            "128 位，同样八个重复：不合并",
            NEITHER,
            "16·(lane % 8)",
            "load_16_bytes(start + 16 * (lane % 8))",
        ),
    ]
    heading = ("Wide accesses go out in halves and quarters of a warp", "宽访问按半个、四分之一个 warp 发出")
    note = (
        "the wavefronts of each pattern are as measured on an H200",
        "各模式的 wavefront 数均与 H200 上的实测一致",
    )
    return sheet(heading, note, accesses, language)


def legend(canvas: Canvas, y: float, language: str, drawn: set[str]) -> float:
    """What the colours mean that the maps have."""
    entries = (
        (A.strong, ("A, first pass", "A，第一趟")),
        (B.strong, ("B, first pass", "B，第一趟")),
        (THREAD.strong, ("first pass", "第一趟")),
        (BROADCAST, ("same word as a lane above: broadcast", "与上方 lane 同一个字：广播")),
        (RED, ("another word in a taken bank: one more pass", "bank 已被另一个字占用：多一趟")),
    )
    return layout.legend(canvas, y, language, [entry for entry in entries if entry[0] in drawn])


def _words(canvas: Canvas, x: float, y: float, access: SharedAccess, language: str) -> float:
    """What is above a map: the access, its formula and bytes, its wavefronts. Returns the map's upper edge."""
    tone = TONES[access.operand]
    served, what = access.access, access.what
    wide = PITCH - 20
    y = layout.paragraph(canvas, y, language, (what.english, what.chinese), SMALL, x, wide, 1.25, tone.ink, bold=True)
    y = layout.paragraph(canvas, y, language, (access.formula, access.formula), layout.SMALL, x, wide, fill=MUTED)
    size = f"{served.size} bytes per lane", f"每 lane {served.size} 字节"
    if len(served.groups) > 1:
        lanes = len(served.groups[0].lanes)
        merged = served.size == 16 and lanes == 16
        size = (
            f"{size[0]}, {'quarters merge in pairs' if merged else f'groups of {lanes} lanes'}",
            f"{size[1]}，{'四分之一 warp 两两合并' if merged else f'每组 {lanes} 个 lane'}",
        )
    y = layout.paragraph(canvas, y, language, size, layout.SMALL, x, wide, fill=MUTED)
    count, conflicts = served.wavefronts, served.conflicts
    result = (
        f"{count} wavefront{'s' * (count != 1)}, {conflicts} conflict{'s' * (conflicts != 1)}",
        f"{count} 个 wavefront，{conflicts} 次冲突",
    )
    canvas.text(x, y + 4, say(language, *result), SMALL, RED if conflicts else C.ink, bold=True)
    return y + 14


def access_map(canvas: Canvas, x: float, top: float, served: traces.Access, operand: str, language: str) -> set[str]:
    """One map, with the wavefronts of its groups of lanes on the right; the colours that it has."""
    tone = TONES[operand]
    parts.grid(canvas, x, top, WARP, banks.BANKS, LANE, BANK)
    drawn: set[str] = set()
    for group in served.groups:
        lanes = [(lane, served.addresses[lane]) for lane in group.lanes]
        drawn |= _group(canvas, x, top, lanes, served.size, tone.strong)
    parts.frame(canvas, x, top, WARP, banks.BANKS, LANE, BANK)
    right = x + banks.BANKS * BANK
    for group in served.groups if len(served.groups) > 1 else ():
        first, last, count = group.first, group.last, group.wavefronts
        canvas.line(x, top + (last + 1) * LANE, right + 5, top + (last + 1) * LANE, "#8793a3", 1)
        canvas.line(right + 5, top + first * LANE, right + 5, top + (last + 1) * LANE, "#8793a3", 1)
        middle = top + (first + last + 1) / 2 * LANE
        passes = _passes(count, language)
        canvas.text(right + 10, middle + 4, passes, layout.SMALL, RED if count > 1 else INK, bold=count > 1)
    for lane in (0, 8, 16, 24, 31):
        canvas.text(x - 4, top + (lane + 0.5) * LANE + 4, str(lane), layout.SMALL, MUTED, "end")
    for bank in (0, 8, 16, 24, 31):
        canvas.text(x + (bank + 0.5) * BANK, top + WARP * LANE + 14, str(bank), layout.SMALL, MUTED, "middle")
    return drawn


def _passes(count: int, language: str) -> str:
    return say(language, f"{count} pass" if count == 1 else f"{count} passes", f"{count} 趟")


def _group(canvas: Canvas, x: float, top: float, lanes: list[tuple[int, int]], size: int, colour: str) -> set[str]:
    """The cells of lanes that go out together: first in its bank, broadcast, or one more wavefront; their colours."""
    taken: dict[int, int] = {}
    seen: set[int] = set()
    cells: dict[str, list[tuple[int, int]]] = {colour: [], BROADCAST: [], RED: []}
    for lane, address in lanes:
        for word in banks.words(address, size):
            bank = word % banks.BANKS
            kind = BROADCAST if word in seen else colour if bank not in taken else RED
            taken.setdefault(bank, word)
            seen.add(word)
            cells[kind].append((lane, bank))
    for kind, found in cells.items():
        parts.fill(canvas, x, top, found, LANE, BANK, kind)
    lines = "".join(f"M{x:g} {top + lane * LANE:g}h{banks.BANKS * BANK:g}" for lane, _ in lanes[1:])
    canvas.path(lines, GRID, line=0.5)
    return {kind for kind, found in cells.items() if found}
