"""The ring of stages in step 17: which stage is read, which are on their way, drawn from the kernel's trace."""

from collections.abc import Iterable

from plots.figures import layout, motion, parts, traces
from plots.figures.palette import DARK, INK, A, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

TRACE = "17_wmma_stages"
TURNS = 6  # shown; the trace has more, so that the ring is full in all of them
SHOWN = 3  # the turn that is told below
LEFT, TURN, ROW = 88.0, 80.0, 42.0
BEFORE = 48.0  # width of what comes before the first turn


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield "17_wmma_stages-ring", ring


def ring(language: str) -> Canvas:
    """Step 17: three stages over the slices of K, and what one turn's wait guarantees."""
    read, copies = traces.stages(TRACE)
    bm, bn, bk = traces.load(TRACE)["tile"]
    count = len(set(read))
    canvas, y = layout.of_step(
        "17_wmma_stages",
        language,
        (
            f"with {count} stages a copy has the time of {count - 1} slices",
            f"{count} 个 stage，拷贝有 {count - 1} 片的时间",
        ),
        (
            f"BM = {bm}, BN = {bn}, BK = {bk}; a row is a stage, a column the time of one slice's products",
            f"BM = {bm}，BN = {bn}，BK = {bk}；一行是一个 stage，一列是计算一片 K 的时间",
        ),
    )
    top = y + 34
    first = LEFT + BEFORE
    right = first + TURNS * TURN
    bottom = top + count * ROW
    canvas.rect(first + SHOWN * TURN, top - 24, TURN, bottom - top + 80, "#f1f4f8", radius=4)
    for stage in range(count):
        canvas.text(LEFT - 10, top + (stage + 0.5) * ROW + 4.5, f"stage {stage}", layout.SMALL, INK, "end")
        canvas.rect(LEFT, top + stage * ROW + 4, right - LEFT, ROW - 8, "none", "#d3dae3", 1, radius=3)
    for turn in range(TURNS):
        x = first + turn * TURN
        name = say(language, f"slice {turn}", f"切片 {turn}")
        canvas.text(x + TURN / 2, top - 9, name, layout.SMALL, C.ink, "middle", turn == SHOWN)
        canvas.line(x, top - 4, x, bottom + 4, DARK, 2.5)
    for number, (stage, turn) in enumerate(copies):
        start = max(turn, -BEFORE / TURN) * TURN + first + 5
        end = min(number, TURNS) * TURN + first - 4
        if end <= start:
            continue
        y = top + stage * ROW
        canvas.rect(start, y + 10, end - start, ROW - 20, A.middle, A.strong, radius=3)
        where = (start + end) / 2 if turn >= 0 else end - 14
        canvas.text(where, y + ROW / 2 + 4.5, str(number), layout.SMALL, A.ink, "middle", bold=True)
    for turn in range(TURNS):
        x, y = first + turn * TURN, top + read[turn] * ROW
        canvas.rect(x + 4, y + 5, TURN - 8, ROW - 10, C.strong, C.ink, radius=3)
        canvas.text(x + TURN / 2, y + ROW / 2 + 4.5, str(turn), layout.SMALL, "#ffffff", "middle", bold=True)
    written = {turn: stage for stage, turn in copies}
    for line, (name, stages, tone) in enumerate(
        (
            (say(language, "read", "读取位置"), dict(enumerate(read)), C),
            (say(language, "write", "写入位置"), written, A),
        )
    ):
        y = bottom + 23 + line * 22
        canvas.text(LEFT - 10, y, name, layout.SMALL, tone.ink, "end", bold=True)
        for turn in range(TURNS):
            canvas.text(first + (turn + 0.5) * TURN, y, f"stage {stages[turn]}", layout.SMALL, tone.ink, "middle")
    motion.sweep(canvas, LEFT, right, [(top - 24, bottom + 54)])
    y = _turn(canvas, bottom + 72, count, read, written, language)
    entries = (
        (C.strong, ("read and multiplied", "读取并计算")),
        (A.middle, ("a slice on its way, its number inside", "在途的切片，框内为编号")),
        (f"line:{DARK}", (f"cp.async.wait_group {count - 2}, __syncthreads()",) * 2),
    )
    canvas.height = layout.legend(canvas, y + 14, language, entries)
    return canvas


def _turn(canvas: Canvas, y: float, count: int, read: list[int], written: dict[int, int], language: str) -> float:
    """What is known of each stage in the turn that is shown; returns the y under it."""
    now, next_one, last = SHOWN, SHOWN + 1, SHOWN + count - 1
    cards = (
        (
            C.ink,
            (f"stage {read[now]}: slice {now} is read", f"stage {read[now]}：正在读取切片 {now}"),
            (
                f"wait_group {count - 2} leaves at most {count - 2} group open, so slice {now} has landed; the barrier "
                "makes it so for every thread",
                f"wait_group {count - 2} 最多放过 {count - 2} 组未完成，所以切片 {now} 已经到达；"
                "经过屏障，对所有线程都是如此",
            ),
        ),
        (
            A.ink,
            (
                f"stage {read[next_one]}: slice {next_one} is on its way",
                f"stage {read[next_one]}：切片 {next_one} 在途",
            ),
            (
                "the group that may still be open: it began one slice earlier and has until the wait before slice "
                f"{next_one} to land",
                f"可能尚未完成的就是这一组：它在上一片时发出，到切片 {next_one} 之前的等待才必须到达",
            ),
        ),
        (
            A.ink,
            (f"stage {written[now]}: slice {last} starts", f"stage {written[now]}：开始拷贝切片 {last}"),
            (
                f"it held slice {now - 1}: after the barrier everyone has read that, so that it may be overwritten; "
                f"{count - 1} slices' time to land",
                f"这里原是切片 {now - 1}：过了屏障，所有线程都已读完，可以覆盖；新的一片有 {count - 1} 片的时间到达",
            ),
        ),
    )
    for ink, heading, words in cards:
        lines = layout.wrap(say(language, *words), layout.SMALL, layout.INNER - 24)
        high = 38 + 19.0 * len(lines)
        parts.card(canvas, layout.MARGIN, y, layout.INNER, high, say(language, *heading), ink)
        canvas.lines(layout.MARGIN + 12, y + 42, lines, 1.4)
        y += high + 10
    return y
