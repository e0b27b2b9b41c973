"""Thread-to-data maps: who computes which element of C, who reads which of A and B, and in how many sectors."""

from collections.abc import Iterable

from plots.figures import layout, parts
from plots.figures.geometry import WARP, Cell, Kernel, kernels, sectors
from plots.figures.layout import Pair
from plots.figures.palette import INK, MUTED, THREAD, A, B, C, Tone
from plots.figures.svg import Canvas, Draw
from plots.figures.text import title

LEFT = layout.MARGIN
GAP = 36.0  # between A's tile and C's, and between B's and C's
COLUMN = 304.0  # from the notes on A to those on B


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    for kernel in kernels():
        yield f"{kernel.name}-threads", lambda language, kernel=kernel: draw(kernel, language)


FINDINGS = {  # what the map of a step shows
    "02": ("a warp reads 32 neighbouring floats of B", "一个 warp 读 B 的 32 个相邻 float"),
    "03": ("a thread copies one float of each tile", "一个线程拷贝两个分块的各一个 float"),
    "04": ("a thread computes two rows of C, 16 apart", "一个线程计算 C 的两行，相距 16 行"),
    "05": ("a thread copies 16 bytes of each tile at once", "一个线程一次拷贝两个分块的各 16 字节"),
    "06": ("each float serves four FMAs", "每个 float 供四次 FMA"),
    "07": ("each float serves eight FMAs", "每个 float 供八次 FMA"),
    "08": ("neighbours lie four columns apart", "相邻线程只隔四列"),
    "10": ("a thread's results lie in groups of four columns", "一个线程的结果按四列一组分布"),
    "11": ("a warp fills 64×64 of C", "一个 warp 的结果占满 64×64 的正方形"),
}


def draw(kernel: Kernel, language: str) -> Canvas:
    """The map of one step: A's tile left of C's, B's above it, what a thread does in the corner, sectors below."""
    warps = kernel.threads // WARP
    english, chinese = FINDINGS[kernel.name[:2]]
    canvas, top = layout.page(
        language,
        (f"{title(kernel.name)}: {english}", f"{title(kernel.name)}：{chinese}"),
        (
            f"one block: {kernel.bm}×{kernel.bn} of C, {kernel.threads} threads = {warps} warps",
            f"一个线程块：C 的 {kernel.bm}×{kernel.bn}，{kernel.threads} 个线程 = {warps} 个 warp",
        ),
    )
    both = layout.INNER - GAP
    shown_k = max(kernel.bk, 8)
    tile = both / 2 if kernel.bk == 32 else 372.0  # C's width on the picture
    k_size = tile if kernel.bk == 32 else min(both - tile, 18.0 * shown_k)
    k_width = k_size / shown_k
    c_x = layout.RIGHT - tile
    a_x = c_x - GAP - k_size
    b_y = top + 24
    c_y = b_y + k_size + GAP
    c_height = tile * kernel.bm / kernel.bn if kernel.bn > kernel.bm else tile

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

    bottom = c_y + c_height + 19
    for x, y, name, tone in (
        (a_x + k_size / 2, c_y - 9, _tile_name("A", kernel.bm, kernel.bk, kernel.bk > 1), A),
        (c_x + tile / 2, b_y - 9, _tile_name("B", kernel.bk, kernel.bn, kernel.bk > 1), B),
        (c_x + tile / 2, bottom, f"C  {kernel.bm}×{kernel.bn}", C),
    ):
        canvas.text(x, y, name, layout.SMALL, tone.ink, "middle", bold=True)
    canvas.text(a_x + k_size / 2, bottom, "k →", layout.SMALL, MUTED, "middle")
    _thread(canvas, kernel, b_y - 9, a_x - GAP / 2 + k_size, language)
    under = max(
        _request(canvas, LEFT + column * COLUMN, bottom + 34, name, tone, cells, kernel.leading, language)
        for column, (name, tone, cells) in enumerate((("A", A, first_a), ("B", B, first_b)))
    )
    canvas.height = _legend(canvas, under + 22, kernel, language)
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


def _thread(canvas: Canvas, kernel: Kernel, y: float, right: float, language: str) -> None:
    """In the corner that the three tiles leave free: what a thread computes and copies."""
    rows, cols = (len({cell[i] for cell in kernel.computes[0]}) for i in (0, 1))
    y = layout.paragraph(canvas, y + 10, language, ("Each thread", "每个线程"), fill=C.ink, bold=True)
    results = (
        f"computes {rows}×{cols} = {rows * cols} element{'s' * (rows * cols > 1)} of C",
        f"计算 C 的 {rows}×{cols} = {rows * cols} 个元素",
    )
    for words in (results, *_copies(kernel)):
        y = layout.paragraph(canvas, y + 3, language, words, width=right - LEFT, step=1.3)


def _copies(kernel: Kernel) -> tuple[Pair, Pair]:
    """How much of the tiles a thread copies, in two lines."""
    a, b = kernel.reads_a, kernel.reads_b
    if kernel.bk == 1:
        return ("reads per k:", "每个 k 读取："), ("1 float of A, 1 of B", "A、B 各 1 个 float")

    kinds = {1: "float", 4: "float4"}
    kind_a, kind_b = kinds[len(a[0][0])], kinds[len(b[0][0])]
    floats = kind_a + "s" if kind_a == "float" and len(a) > 1 else kind_a
    second = f"{len(b)}" if kind_a == kind_b else f"{len(b)} {kind_b}"
    return (
        (f"copies per slice of {kernel.bk}:", f"每片（K 方向 {kernel.bk}）拷贝："),
        (f"{len(a)} {floats} of A, {second} of B", f"A {len(a)} 个 {kind_a}，B {len(b)} 个 {kind_b}"),
    )


def _request(
    canvas: Canvas, x: float, y: float, name: str, tone: Tone, cells: list[list[Cell]], leading: int, language: str
) -> float:
    """The sectors of a warp's first request to a matrix; returns the y under them."""
    found = sectors(cells, leading)
    used = sum(len(v) for v in found.values())
    heading = f"A warp's request to {name}", f"一个 warp 对 {name} 的一次请求"
    y = layout.paragraph(canvas, y, language, heading, layout.SMALL, x, fill=tone.ink, bold=True)
    width = len(cells[0])
    asked = f"32 lanes × {4 * width} bytes", f"32 个 lane × {4 * width} 字节"
    if len({cell for lane in cells for cell in lane}) == 1:
        asked = "32 lanes, all the same float", "32 个 lane，都是同一个 float"
    share = f"{used / (8 * len(found)):.1%}".replace(".0%", "%")
    moved = (
        f"→ {len(found)} sector{'s' * (len(found) > 1)} of 32 bytes, {share} used",
        f"→ {len(found)} 个 32 字节扇区，用到 {share}",
    )
    for words in (asked, moved):
        y = layout.paragraph(canvas, y, language, words, layout.SMALL, x)
    return parts.sector_strip(canvas, x, y - 4, [found[key] for key in sorted(found)], tone)


def _legend(canvas: Canvas, y: float, kernel: Kernel, language: str) -> float:
    """What the colours mean; a warp and its first thread have a colour for each matrix."""
    x = LEFT
    for colours, words in (
        ((A.middle, B.middle, C.middle), ("warp 0", "warp 0")),
        ((A.strong, B.strong, C.strong), ("thread 0", "线程 0")),
        ((THREAD.strong,), ("thread 1", "线程 1")),
    ):
        for index, colour in enumerate(colours):
            canvas.rect(x + 13 * index, y - 11, 12, 12, colour)
        x += 13 * len(colours) + 6
        layout.paragraph(canvas, y, language, words, layout.SMALL, x)
        x += 84
    if kernel.bk > 1:
        words = "thread 0 multiplies these at k = 0", "线程 0 在 k = 0 时相乘的数"
        y = layout.legend(canvas, y + 21, language, [(f"outline:{INK}", words)]) - 21
    what = (
        f"A, B: read from global memory; C: computed; leading dimensions {kernel.leading}",
        f"A、B：从全局内存读取；C：计算；leading dimension 取 {kernel.leading}",
    )
    return layout.paragraph(canvas, y + 22, language, what, fill=MUTED)
