"""Pictures of steps 12 and 13: halves in packs and pairs, and the two pipes that multiply them."""

from collections.abc import Iterable, Sequence

from plots.figures import layout, parts
from plots.figures.layout import MARGIN
from plots.figures.palette import EDGE, INK, MUTED, RED, A, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

TILE = 8  # rows and columns of step 12's thread tile
ROW, PAIR = 3, 2  # the shown product: a[3] by the third pair of B, columns 4 and 5
CYCLES = 12  # shown of a scheduler's time
PIPE_CYCLES = 2  # that a pipe of 16 lanes takes for a warp's instruction


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "12_half_pack", packs_and_pairs
    yield "13_half_double_buffer", two_pipes


def issued(picked: bool) -> list[tuple[int, int]]:
    """(cycle, pipe) of each HFMA2 that a scheduler issues; pipe 1 cannot pick one half of an operand."""
    free, found = [0, 0], []
    for cycle in range(CYCLES):
        pipe = 0 if picked else min((0, 1), key=lambda p: free[p])
        if free[pipe] <= cycle:
            found.append((cycle, pipe))
            free[pipe] = cycle + PIPE_CYCLES
    return found


def _registers(
    canvas: Canvas, x: float, y: float, halves: Sequence[str], tone: Tone, unit: float, chosen: Sequence[int] = ()
) -> None:
    """Halves side by side, two a register: a thin line within a register, a strong one around it."""
    high = 34.0
    for i, half in enumerate(halves):
        strong = i in chosen
        canvas.rect(x + i * unit, y, unit, high, tone.strong if strong else tone.pale, EDGE)
        canvas.text(
            x + (i + 0.5) * unit,
            y + 23,
            half,
            layout.SMALL,
            "#ffffff" if strong else tone.ink,
            "middle",
            strong,
            mono=True,
        )
    for i in range(0, len(halves), 2):
        canvas.rect(x + i * unit, y, 2 * unit, high, "none", tone.ink, 1.6)


def packs_and_pairs(language: str) -> Canvas:
    """Step 12: what a thread loads for one k, one HFMA2, and the sums in pairs."""
    canvas, top = layout.of_step(
        "12_half_pack",
        language,
        ("one access moves eight halves, one HFMA2 multiplies two", "一次访存搬八个 half，一条 HFMA2 乘两对"),
        (
            "one thread, one k; a strong frame is a 32-bit register with two halves",
            "一个线程，一个 k；粗框是一个 32 位寄存器，装两个 half",
        ),
    )
    unit, x = 56.0, MARGIN
    for y, name, letter, tone, chosen in (
        (top + 30, "As[k]", "a", A, [ROW]),
        (top + 100, "Bs[k]", "b", B, [2 * PAIR, 2 * PAIR + 1]),
    ):
        words = f"{name}: one access of 16 bytes", f"{name}：一次 16 字节访问"
        canvas.text(x, y - 9, say(language, *words), layout.SMALL, tone.ink, bold=True)
        _registers(canvas, x, y, [f"{letter}{i}" for i in range(TILE)], tone, unit, chosen)
    y = top + 174.0
    words = f"one HFMA2: a[{ROW}] picked for both halves", f"一条 HFMA2：两半都取 a[{ROW}]"
    canvas.text(x, y - 9, say(language, *words), bold=True)
    columns = (2 * PAIR, 2 * PAIR + 1)
    for left, halves, tone, sign in (
        (x, [f"a{ROW}", f"a{ROW}"], A, "×"),
        (x + 152, [f"b{col}" for col in columns], B, "+"),
        (x + 304, [f"c{ROW}{col}" for col in columns], C, ""),
    ):
        _registers(canvas, left, y, halves, tone, unit, [0, 1])
        canvas.text(left + 132, y + 24, sign, 20, INK, "middle", bold=True)
    canvas.text(x, y + 56, "HFMA2 R46, R27.H1_H1, R23, R46", layout.SMALL, MUTED, mono=True)

    wide, high, left, top = 46.0, 28.0, MARGIN + 28, y + 96
    for col in range(TILE):
        ink = B.ink if col // 2 == PAIR else MUTED
        canvas.text(
            left + (col + 0.5) * wide, top - 8, f"b{col}", layout.SMALL, ink, "middle", col // 2 == PAIR, mono=True
        )
    for row in range(TILE):
        ink = A.ink if row == ROW else MUTED
        canvas.text(left - 8, top + (row + 0.5) * high + 4, f"a{row}", layout.SMALL, ink, "end", row == ROW, mono=True)
    parts.grid(canvas, left, top, TILE, TILE, high, wide)
    parts.fill(canvas, left, top, [(r, c) for r in range(TILE) for c in range(TILE)], high, wide, C.pale)
    parts.fill(canvas, left, top, [(ROW, c) for c in columns], high, wide, C.strong)
    for row in range(TILE):
        for col in range(0, TILE, 2):
            canvas.rect(left + col * wide, top + row * high, 2 * wide, high, "none", C.ink, 1.2)
    right = left + TILE * wide + 20
    sums = "64 sums in 32 registers", "64 个累加结果，32 个寄存器"
    under = layout.paragraph(
        canvas, top + 60, language, sums, layout.SMALL, right, layout.RIGHT - right, fill=C.ink, bold=True
    )
    for words in (
        ("per k: 2 loads,", "每个 k：2 次读，"),
        ("32 HFMA2", "32 条 HFMA2"),
        ("(step 08: 4 loads,", "（步骤 08：4 次读，"),
        ("64 FFMA)", "64 条 FFMA）"),
    ):
        under = layout.paragraph(canvas, under + 2, language, words, layout.SMALL, right, layout.RIGHT - right)
    canvas.height = top + TILE * high + 20
    return canvas


def _pipes(canvas: Canvas, x: float, y: float, picked: bool, language: str) -> None:
    """A scheduler's HFMA2s on its two pipes."""
    unit, high, gap = 42.0, 28.0, 8.0
    tone = A if picked else C
    for pipe, name in enumerate(("HFMA2", "HFMA2.MMA")):
        top = y + pipe * (high + gap)
        canvas.text(x - 8, top + 19, name, layout.SMALL, INK, "end", mono=True)
        canvas.rect(x, top, CYCLES * unit, high, "#ffffff", EDGE)
        if picked and pipe == 1:
            canvas.rect(x, top, CYCLES * unit, high, "none", RED, 1.2, dash="4 3")
            canvas.text(
                x + CYCLES * unit / 2,
                top + 19,
                say(language, "idle: this pipe cannot pick a half", "闲置：这条 pipe 不会挑一半"),
                layout.SMALL,
                RED,
                "middle",
            )
    for number, (cycle, pipe) in enumerate(issued(picked)):
        top = y + pipe * (high + gap)
        wide = min(PIPE_CYCLES, CYCLES - cycle) * unit
        canvas.rect(x + cycle * unit, top, wide, high, tone.middle, tone.ink)
        canvas.text(x + cycle * unit + wide / 2, top + 19, str(number), layout.SMALL, tone.ink, "middle", bold=True)


def two_pipes(language: str) -> Canvas:
    """Step 13: an operand with a picked half uses one pipe, a doubled one both."""
    canvas, y = layout.of_step(
        "13_half_double_buffer",
        language,
        ("every half of A twice, and both pipes multiply", "A 的每个元素存两份，两条 pipe 都在乘"),
        (
            "registers of A's fragment, and below one scheduler: a box is a warp's HFMA2 and lasts two cycles",
            "A 的 fragment 所占的寄存器，下面是一个调度器：每格是一个 warp 的一条 HFMA2，占两个周期",
        ),
    )
    unit, x = 37.0, MARGIN + 84
    for picked in (True, False):
        tone = A if picked else C
        heading = "stored once, a half is picked", "存一份，乘时挑一半"
        if not picked:
            heading = "stored twice, nothing to pick", "存两份，不必再挑"
        canvas.text(MARGIN, y + 20, say(language, *heading), layout.SMALL, tone.ink, bold=True)
        halves = [f"a{i}" for i in range(4)] if picked else [f"a{i // 2}" for i in range(8)]
        _registers(canvas, MARGIN, y + 30, halves, A, unit, [0] if picked else [0, 1])
        code = "HFMA2 R45, R16.H0_H0, R13, R45" if picked else "HFMA2.MMA R46, R70, R76, R46"
        canvas.text(layout.RIGHT, y + 52, code, layout.SMALL, MUTED, "end", mono=True)
        words = (
            f"16×16 per thread: {8 if picked else 16} registers, {4 if picked else 6} loads per k",
            f"每线程 16×16：每个 k {8 if picked else 16} 个寄存器、{4 if picked else 6} 次读",
        )
        canvas.text(MARGIN, y + 86, say(language, *words))
        _pipes(canvas, x, y + 102, picked, language)
        count = len(issued(picked))
        words = f"{count} HFMA2 in {CYCLES} cycles", f"{CYCLES} 个周期 {count} 条 HFMA2"
        canvas.text(x, y + 188, say(language, *words), layout.SMALL, tone.ink, bold=True)
        y += 208
    words = (
        "The peak of 133.8 TFLOPS counts both pipes; one of them ends at 66.9.",
        "133.8 TFLOPS 的峰值是两条 pipe 之和，只用一条最多 66.9。",
    )
    canvas.height = layout.paragraph(canvas, y + 12, language, words, fill=MUTED)
    return canvas
