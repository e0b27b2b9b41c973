"""Thread-to-data maps: who computes which element of C, who reads which of A and B, and in how many sectors."""

from collections.abc import Iterable

from gemm_plots.figures import parts
from gemm_plots.figures.geometry import WARP, Cell, Kernel, kernels, sectors
from gemm_plots.figures.palette import INK, THREAD, A, B, C, Tone
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import say, title

NOTES = 668.0  # where the column of notes begins
LEFT = 40.0
GAP = 36.0


def pictures() -> Iterable[tuple[str, object]]:
    """File name and drawing function of each picture."""
    for kernel in kernels():
        yield f"{kernel.name}-threads", lambda language, kernel=kernel: draw(kernel, language)


def draw(kernel: Kernel, language: str) -> Canvas:
    """The map of one step: A's tile left of C's, B's above it, notes on the right."""
    shown_k = max(kernel.bk, 8)
    tile = (NOTES - 2 * LEFT - GAP) / 2 if kernel.bk == 32 else 372.0  # C's side on the picture
    k_size = tile if kernel.bk == 32 else min(NOTES - 2 * LEFT - GAP - tile, 18.0 * shown_k)
    k_width = k_size / shown_k
    c_x = NOTES - LEFT - tile
    a_x = c_x - GAP - k_size
    b_y = 92.0
    c_y = b_y + k_size + GAP
    c_height = tile * kernel.bm / kernel.bn if kernel.bn > kernel.bm else tile
    height = c_y + c_height + 74
    canvas = Canvas(
        960,
        height,
        say(language, f"{title(kernel.name)}: which thread takes what", f"{title(kernel.name)}：线程与数据的对应"),
    )
    one_block = say(
        language,
        f"one block: {kernel.bm}×{kernel.bn} of C, {kernel.threads} threads = {kernel.threads // WARP} warps",
        f"一个线程块：C 的 {kernel.bm}×{kernel.bn}，{kernel.threads} 个线程 = {kernel.threads // WARP} 个 warp",
    )
    if kernel.bk > 1:
        one_block += say(language, f"; slices of {kernel.bk} along K", f"；沿 K 每片 {kernel.bk}")
    parts.heading(canvas, one_block)

    lanes = range(WARP)
    c_h, c_w = c_height / kernel.bm, tile / kernel.bn
    warp_c = [cell for t in lanes for cell in kernel.computes[t]]
    _matrix(canvas, c_x, c_y, kernel.bm, kernel.bn, c_h, c_w, C, warp_c, kernel.computes[0], kernel.computes[1])
    first_a, first_b = kernel.reads_a[0], kernel.reads_b[0]
    all_a = [cell for request in kernel.reads_a for lane in request for cell in lane]
    all_b = [cell for request in kernel.reads_b for lane in request for cell in lane]
    _matrix(canvas, a_x, c_y, kernel.bm, shown_k, c_h, k_width, A, all_a, first_a[0], first_a[1])
    _matrix(canvas, c_x, b_y, shown_k, kernel.bn, k_width, c_w, B, all_b, first_b[0], first_b[1])
    if kernel.bk > 1:
        rows = sorted({r for r, _ in kernel.computes[0]})
        cols = sorted({c for _, c in kernel.computes[0]})
        parts.outline(canvas, a_x, c_y, [(r, 0) for r in rows], c_h, k_width, INK, 1.6)
        parts.outline(canvas, c_x, b_y, [(0, c) for c in cols], k_width, c_w, INK, 1.6)

    canvas.text(
        a_x + k_size / 2, c_y - 9, _tile_name("A", kernel.bm, kernel.bk, kernel.bk > 1), 13, A.ink, "middle", bold=True
    )
    canvas.text(
        c_x + tile / 2, b_y - 8, _tile_name("B", kernel.bk, kernel.bn, kernel.bk > 1), 13, B.ink, "middle", bold=True
    )
    canvas.text(c_x + tile / 2, c_y + c_height + 19, f"C  {kernel.bm}×{kernel.bn}", 13, C.ink, "middle", bold=True)
    canvas.text(a_x + k_size / 2, c_y + c_height + 19, "k →", 12, parts.MUTED, "middle")

    _notes(canvas, kernel, first_a, first_b, language)
    x = LEFT
    for colours, words in (
        ((A.middle, B.middle, C.middle), "warp 0"),
        ((A.strong, B.strong, C.strong), say(language, "thread 0", "线程 0")),
        ((THREAD.strong,), say(language, "thread 1", "线程 1")),
    ):
        for index, colour in enumerate(colours):
            canvas.rect(x + 13 * index, height - 31, 12, 12, colour)
        x += 13 * len(colours) + 6
        x += canvas.text(x, height - 20, words, 12) + 18
    if kernel.bk > 1:
        parts.key(
            canvas,
            x,
            height - 20,
            [(f"outline:{INK}", say(language, "what thread 0 multiplies at k = 0", "线程 0 在 k = 0 时相乘的数"))],
        )
    what = say(language, "A, B: read from global memory. C: computed.", "A、B：从全局内存读取。C：计算。")
    canvas.text(936, height - 20, what, 12, parts.MUTED, "end")
    return canvas


def _tile_name(name: str, rows: int, cols: int, tiled: bool) -> str:
    return f"{name}  {rows}×{cols}" if tiled else name


def _matrix(
    canvas: Canvas,
    x: float,
    y: float,
    rows: int,
    cols: int,
    height: float,
    width: float,
    tone: Tone,
    warp: list[Cell],
    thread: list[Cell],
    neighbour: list[Cell],
) -> None:
    """A tile with its warp's cells, its first thread's and that one's neighbour's."""
    every = 1 if min(height, width) > 5 else 8
    parts.grid(canvas, x, y, rows, cols, height, width, every)
    parts.fill(canvas, x, y, warp, height, width, tone.middle)
    parts.fill(canvas, x, y, neighbour, height, width, THREAD.strong)
    parts.fill(canvas, x, y, thread, height, width, tone.strong)
    parts.frame(canvas, x, y, rows, cols, height, width)


def _notes(canvas: Canvas, kernel: Kernel, first_a: list[list[Cell]], first_b: list[list[Cell]], language: str) -> None:
    """The column on the right: what a thread computes, and the sectors of a warp's first request."""
    y = 104.0
    rows = len({r for r, _ in kernel.computes[0]})
    cols = len({c for _, c in kernel.computes[0]})
    canvas.text(NOTES, y, say(language, "Each thread", "每个线程"), 14, C.ink, bold=True)
    y = canvas.lines(
        NOTES,
        y + 20,
        [
            say(
                language,
                f"computes {rows}×{cols} = {rows * cols} element{'s' if rows * cols > 1 else ''} of C",
                f"计算 C 的 {rows}×{cols} = {rows * cols} 个元素",
            ),
            _copies(kernel, language),
        ],
    )
    for name, tone, cells in (("A", A, first_a), ("B", B, first_b)):
        y += 14
        found = sectors(cells, kernel.leading)
        used = sum(len(v) for v in found.values())
        canvas.text(
            NOTES,
            y,
            say(language, f"A warp's request to {name}", f"一个 warp 对 {name} 的一次请求"),
            14,
            tone.ink,
            bold=True,
        )
        width = len(cells[0])
        distinct = len({cell for lane in cells for cell in lane})
        asked = say(language, f"32 lanes × {4 * width} bytes", f"32 个 lane × {4 * width} 字节")
        if distinct == 1:
            asked = say(language, "32 lanes, all the same float", "32 个 lane，都是同一个 float")
        share = used / (8 * len(found))
        y = canvas.lines(
            NOTES,
            y + 20,
            [
                asked,
                say(
                    language,
                    f"→ {len(found)} sector{'s' if len(found) > 1 else ''} of 32 bytes, {share:.1%} used".replace(
                        ".0%", "%"
                    ),
                    f"→ {len(found)} 个 32 字节扇区，用到 {share:.1%}".replace(".0%", "%"),
                ),
            ],
        )
        ordered = [found[key] for key in sorted(found)]
        y = parts.sector_strip(canvas, NOTES, y - 4, ordered, tone) + 14
    canvas.text(
        NOTES,
        y,
        say(language, f"leading dimensions {kernel.leading}", f"leading dimension 取 {kernel.leading}"),
        11,
        parts.MUTED,
    )


def _copies(kernel: Kernel, language: str) -> str:
    """How much of the tiles a thread copies."""
    a, b = kernel.reads_a, kernel.reads_b
    if kernel.bk == 1:
        return say(language, "reads 1 float of A and 1 of B per k", "每个 k 读 A、B 各 1 个 float")

    kinds = {1: "float", 4: "float4"}
    kind_a, kind_b = kinds[len(a[0][0])], kinds[len(b[0][0])]
    floats = kind_a + "s" if kind_a == "float" and len(a) > 1 else kind_a
    second = f"{len(b)}" if kind_a == kind_b else f"{len(b)} {kind_b}"
    return say(
        language,
        f"copies {len(a)} {floats} of A, {second} of B",
        f"每片拷贝 A {len(a)} 个 {kind_a}、B {len(b)} 个 {kind_b}",
    )
