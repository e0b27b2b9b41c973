"""The ring of stages in step 17: which stage is read, which are on their way, drawn from the kernel's trace."""

from collections.abc import Callable, Iterable

from gemm_plots.figures import motion, parts, traces
from gemm_plots.figures.palette import DARK, INK, A, C
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say

TRACE = "17_wmma_stages"
TURNS = 6  # shown; the trace has more, so that the ring is full in all of them
SHOWN = 3  # the turn that is told below
LEFT, TOP, TURN, ROW = 156.0, 112.0, 118.0, 40.0
BEFORE = 66.0  # width of what comes before the first turn


def pictures() -> Iterable[tuple[str, Callable[[str], Canvas]]]:
    """File name and drawing function of each picture."""
    yield "17_wmma_stages-ring", ring


def ring(language: str) -> Canvas:
    """Step 17: three stages over the slices of K, and what one turn's wait guarantees."""
    read, copies = traces.stages(TRACE)
    bm, bn, bk = traces.load(TRACE)["tile"]
    count = len(set(read))
    canvas = parts.of_step(
        "17_wmma_stages",
        460,
        language,
        (
            f"with {count} stages a copy has the time of {count - 1} slices",
            f"{count} 个 stage，拷贝有 {count - 1} 片的时间",
        ),
        (
            f"BM = {bm}, BN = {bn}, BK = {bk}; a row is a stage, a column the time in which one slice of K is multiplied",
            f"BM = {bm}，BN = {bn}，BK = {bk}；一行是一个 stage，一列是计算一片 K 的时间",
        ),
    )
    first = LEFT + BEFORE
    right = first + TURNS * TURN
    bottom = TOP + count * ROW
    canvas.rect(first + SHOWN * TURN, TOP - 24, TURN, bottom - TOP + 78, "#f1f4f8", radius=4)
    for stage in range(count):
        canvas.text(LEFT - 12, TOP + (stage + 0.5) * ROW + 4.5, f"stage {stage}", 13, INK, "end")
        canvas.rect(LEFT, TOP + stage * ROW + 4, right - LEFT, ROW - 8, "none", "#d3dae3", 1, radius=3)
    for turn in range(TURNS):
        x = first + turn * TURN
        canvas.text(
            x + TURN / 2, TOP - 9, say(language, f"slice {turn}", f"切片 {turn}"), 12.5, C.ink, "middle", turn == SHOWN
        )
        canvas.line(x, TOP - 4, x, bottom + 4, DARK, 2.5)
    for number, (stage, turn) in enumerate(copies):
        start = max(turn, -BEFORE / TURN) * TURN + first + 5
        end = min(number, TURNS) * TURN + first - 4
        if end <= start:
            continue
        y = TOP + stage * ROW
        canvas.rect(start, y + 10, end - start, ROW - 20, A.middle, A.strong, radius=3)
        where = (start + end) / 2 if turn >= 0 else end - 20
        canvas.text(where, y + ROW / 2 + 4.5, str(number), 12.5, A.ink, "middle", bold=True)
    for turn in range(TURNS):
        x, y = first + turn * TURN, TOP + read[turn] * ROW
        canvas.rect(x + 4, y + 5, TURN - 8, ROW - 10, C.strong, C.ink, radius=3)
        canvas.text(x + TURN / 2, y + ROW / 2 + 4.5, str(turn), 13, "#ffffff", "middle", bold=True)
    written = {turn: stage for stage, turn in copies}
    for line, (name, stages, tone) in enumerate(
        (
            (say(language, "read", "读取位置"), dict(enumerate(read)), C),
            (say(language, "write", "写入位置"), written, A),
        )
    ):
        y = bottom + 22 + line * 21
        canvas.text(LEFT - 12, y, name, 12.5, tone.ink, "end", bold=True)
        for turn in range(TURNS):
            canvas.text(first + (turn + 0.5) * TURN, y, f"stage {stages[turn]}", 12.5, tone.ink, "middle")
    motion.sweep(canvas, LEFT, right, [(TOP - 24, bottom + 54)])
    _turn(canvas, bottom + 72, count, read, written, language)
    x = parts.key(
        canvas,
        parts.MARGIN,
        canvas.height - 20,
        [
            (C.strong, say(language, "read and multiplied", "读取并计算")),
            (A.middle, say(language, "a slice on its way, its number inside", "在途的切片，框内为编号")),
        ],
    )
    canvas.line(x, canvas.height - 32, x, canvas.height - 18, DARK, 2.5)
    canvas.text(x + 8, canvas.height - 20, f"cp.async.wait_group {count - 2}, __syncthreads()", 12, mono=True)
    return canvas


def _turn(canvas: Canvas, y: float, count: int, read: list[int], written: dict[int, int], language: str) -> None:
    """What is known of each stage in the turn that is shown."""
    now, next_one, last = SHOWN, SHOWN + 1, SHOWN + count - 1
    wide = (936 - parts.MARGIN - 2 * 12) / 3
    cards = (
        (
            C.ink,
            say(language, f"stage {read[now]}: slice {now} is read", f"stage {read[now]}：正在读取切片 {now}"),
            (
                say(
                    language,
                    f"wait_group {count - 2} leaves at most {count - 2} group",
                    f"wait_group {count - 2} 最多放过 {count - 2} 组未完成，",
                ),
                say(language, f"open, so slice {now} has landed; the", f"所以切片 {now} 已经到达；经过屏障，"),
                say(language, "barrier makes it so for every thread", "对所有线程都是如此"),
            ),
        ),
        (
            A.ink,
            say(
                language,
                f"stage {read[next_one]}: slice {next_one} is on its way",
                f"stage {read[next_one]}：切片 {next_one} 在途",
            ),
            (
                say(language, "the group that may still be open: it", "可能尚未完成的就是这一组："),
                say(language, "began one slice earlier and has until", "它在上一片时发出，"),
                say(language, f"the wait before slice {next_one} to land", f"到切片 {next_one} 之前的等待才必须到达"),
            ),
        ),
        (
            A.ink,
            say(language, f"stage {written[now]}: slice {last} starts", f"stage {written[now]}：开始拷贝切片 {last}"),
            (
                say(language, f"it held slice {now - 1}: after the barrier", f"这里原是切片 {now - 1}：过了屏障，"),
                say(language, "everyone has read that, so that it may", "所有线程都已读完，可以覆盖；"),
                say(
                    language,
                    f"be overwritten; {count - 1} slices' time to land",
                    f"新的一片有 {count - 1} 片的时间到达",
                ),
            ),
        ),
    )
    for index, (ink, heading, lines) in enumerate(cards):
        x = parts.MARGIN + index * (wide + 12)
        parts.card(canvas, x, y, wide, 98, heading, ink)
        canvas.lines(x + 12, y + 43, lines, 12.5)
