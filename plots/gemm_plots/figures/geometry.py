"""Where the threads of each step's default variant work: the kernels' index arithmetic, once for all pictures.

Everything is counted inside one block's tile. A request is one memory instruction of a warp.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gemm_plots.figures.text import Words

WARP = 32
SECTOR_FLOATS = 8  # 32 bytes
LEADING = 4096  # leading dimension that sectors are worked out with

Cell = tuple[int, int]  # row and column inside a tile


@dataclass(frozen=True)
class SharedAccess:
    """One kind of access to shared memory: what it is, bytes per lane, byte address by thread."""

    what: Words
    operand: str  # A or B
    formula: str
    size: int
    address: Callable[[int], int]

    def addresses(self, warp: int = 0) -> list[int]:
        """The byte addresses of a warp's lanes."""
        return [self.address(warp * WARP + lane) for lane in range(WARP)]


@dataclass(frozen=True)
class Kernel:
    """A step's default variant: tile sizes, and by thread the elements of C, and of A and B that it reads or copies."""

    name: str
    bm: int
    bn: int
    bk: int
    threads: int
    computes: Callable[[int], list[Cell]]
    reads_a: Callable[[int], list[list[Cell]]]  # by request: the floats of A (row, k) taken from global memory
    reads_b: Callable[[int], list[list[Cell]]]  # by request: the floats of B (k, column)
    shared: tuple[SharedAccess, ...] = ()
    variant: str = ""  # whose tiles these are, where the default chooses by the size of C


def block(rows: Sequence[int], cols: Sequence[int]) -> list[Cell]:
    """All cells of the given rows and columns."""
    return [(row, col) for row in rows for col in cols]


def sectors(cells_by_lane: Sequence[Sequence[Cell]], leading: int = LEADING) -> dict[int, set[int]]:
    """The 32-byte sectors that a request touches, and which of the 8 floats of each it uses."""
    found: dict[int, set[int]] = {}
    for cells in cells_by_lane:
        for row, col in cells:
            place = row * leading + col
            found.setdefault(place // SECTOR_FLOATS, set()).add(place % SECTOR_FLOATS)
    return found


def _run(row: int, col: int, width: int) -> list[Cell]:
    return [(row, col + i) for i in range(width)]


def _float4_copies(bm: int, bn: int, bk: int, threads: int) -> tuple[Callable[[int], list[list[Cell]]], ...]:
    """Copies of whole tiles in float4, threads side by side along the rows of A's and of B's tile."""

    def a(tid: int) -> list[list[Cell]]:
        at = range(tid, bm * bk // 4, threads)
        return [_run(i // (bk // 4), i % (bk // 4) * 4, 4) for i in at]

    def b(tid: int) -> list[list[Cell]]:
        at = range(tid, bk * bn // 4, threads)
        return [_run(i // (bn // 4), i % (bn // 4) * 4, 4) for i in at]

    return a, b


def _fragments(
    what_a: Words,
    what_b: Words,
    pitch: int,
    bn: int,
    row: Callable[[int], int],
    col: Callable[[int], int],
    a_text: str,
    b_text: str,
) -> tuple[SharedAccess, SharedAccess]:
    """The float4 loads of a fragment of A and of B at k = 0."""
    return (
        SharedAccess(what_a, "A", a_text, 16, lambda tid: 4 * row(tid)),
        SharedAccess(what_b, "B", b_text, 16, lambda tid: 4 * col(tid)),
    )


READ_A, READ_B = Words("read As", "读 As"), Words("read Bs", "读 Bs")
STORE_A, STORE_B = Words("store As", "写 As"), Words("store Bs", "写 Bs")
COPY_A, COPY_B = Words("cp.async into As", "cp.async 写入 As"), Words("cp.async into Bs", "cp.async 写入 Bs")


def naive() -> Kernel:
    """Step 01: neighbours along a column of C; the reads of one k."""
    return Kernel(
        "01_naive",
        32,
        32,
        1,
        1024,
        lambda t: [(t % 32, t // 32)],
        lambda t: [[(t % 32, 0)]],
        lambda t: [[(0, t // 32)]],
    )


def coalesced() -> Kernel:
    """Step 02: neighbours along a row of C; the reads of one k."""
    return Kernel(
        "02_coalesced",
        32,
        32,
        1,
        1024,
        lambda t: [(t // 32, t % 32)],
        lambda t: [[(t // 32, 0)]],
        lambda t: [[(0, t % 32)]],
    )


def smem_tiling() -> Kernel:
    """Step 03: each thread copies a float of each tile; the tiles lie as in global memory."""
    one = lambda t: [[(t // 32, t % 32)]]  # noqa: E731
    return Kernel(
        "03_smem_tiling",
        32,
        32,
        32,
        1024,
        lambda t: [(t // 32, t % 32)],
        one,
        one,
        (
            SharedAccess(STORE_A, "A", "As[ty][tx]", 4, lambda t: 4 * (t // 32 * 32 + t % 32)),
            SharedAccess(STORE_B, "B", "Bs[ty][tx]", 4, lambda t: 4 * (t // 32 * 32 + t % 32)),
            SharedAccess(READ_A, "A", "As[ty][k]", 4, lambda t: 4 * (t // 32 * 32)),
            SharedAccess(READ_B, "B", "Bs[k][tx]", 4, lambda t: 4 * (t % 32)),
        ),
    )


def smem_padding() -> Kernel:
    """Step 04: As transposed with one more column, two rows a thread."""
    copy = lambda t: [[(t // 32, t % 32)], [(t // 32 + 16, t % 32)]]  # noqa: E731
    return Kernel(
        "04_smem_padding",
        32,
        32,
        32,
        512,
        lambda t: [(t // 32, t % 32), (t // 32 + 16, t % 32)],
        copy,
        copy,
        (
            SharedAccess(
                Words("store As, pitch 32 (unpadded)", "写 As，行距 32（无填充）"),
                "A",
                "As[tx][ty]",
                4,
                lambda t: 4 * (t % 32 * 32 + t // 32),
            ),
            SharedAccess(
                Words("store As, pitch 33 (padded)", "写 As，行距 33（填充）"),
                "A",
                "As[tx][ty]",
                4,
                lambda t: 4 * (t % 32 * 33 + t // 32),
            ),
            SharedAccess(READ_A, "A", "As[k][ty]", 4, lambda t: 4 * (t // 32)),
            SharedAccess(READ_B, "B", "Bs[k][tx]", 4, lambda t: 4 * (t % 32)),
        ),
    )


def vector_load() -> Kernel:
    """Step 05: float4 copies, four columns per thread, lanes in pairs that share their columns."""
    row = lambda t: t // 32 * 4 + t // 16 % 2 * 2 + t % 2  # noqa: E731
    quad = lambda t: t // 2 % 8  # noqa: E731
    a, b = _float4_copies(32, 32, 32, 256)
    return Kernel(
        "05_vector_load",
        32,
        32,
        32,
        256,
        lambda t: _run(row(t), quad(t) * 4, 4),
        a,
        b,
        (
            SharedAccess(STORE_A, "A", "As[t%8*4][t/8]", 4, lambda t: 4 * (t % 8 * 4 * 33 + t // 8)),
            SharedAccess(STORE_B, "B", "Bs[t/8][t%8*4]", 16, lambda t: 4 * (t // 8 * 32 + t % 8 * 4)),
            SharedAccess(
                Words("read Bs, lanes in rows of 8 (unpaired)", "读 Bs，lane 每 8 个一行（未配对）"),
                "B",
                "Bs[k][t%8*4]",
                16,
                lambda t: 4 * (t % 8 * 4),
            ),
            SharedAccess(
                Words("read Bs, lanes in pairs", "读 Bs，lane 两两配对"),
                "B",
                "Bs[k][t/2%8*4]",
                16,
                lambda t: 4 * (quad(t) * 4),
            ),
        ),
    )


def thread_tile_4x4() -> Kernel:
    """Step 06: 64×64×16, 4×4 a thread, As padded by 4."""
    a, b = _float4_copies(64, 64, 16, 256)
    return Kernel(
        "06_thread_tile_4x4",
        64,
        64,
        16,
        256,
        lambda t: block(range(t // 16 * 4, t // 16 * 4 + 4), range(t % 16 * 4, t % 16 * 4 + 4)),
        a,
        b,
        (
            SharedAccess(STORE_A, "A", "As[t%4*4][t/4]", 4, lambda t: 4 * (t % 4 * 4 * 68 + t // 4)),
            SharedAccess(STORE_B, "B", "Bs[t/16][t%16*4]", 16, lambda t: 4 * (t // 16 * 64 + t % 16 * 4)),
            *_fragments(
                READ_A, READ_B, 68, 64, lambda t: t // 16 * 4, lambda t: t % 16 * 4, "As[k][t/16*4]", "Bs[k][t%16*4]"
            ),
        ),
    )


def thread_tile_8x8() -> Kernel:
    """Step 07: 128×128×8, 8×8 neighbouring elements a thread."""
    a, b = _float4_copies(128, 128, 8, 256)
    return Kernel(
        "07_thread_tile_8x8",
        128,
        128,
        8,
        256,
        lambda t: block(range(t // 16 * 8, t // 16 * 8 + 8), range(t % 16 * 8, t % 16 * 8 + 8)),
        a,
        b,
        (
            SharedAccess(STORE_A, "A", "As[t%2*4][t/2]", 4, lambda t: 4 * (t % 2 * 4 * 132 + t // 2)),
            SharedAccess(STORE_B, "B", "Bs[t/32][t%32*4]", 16, lambda t: 4 * (t // 32 * 128 + t % 32 * 4)),
            *_fragments(
                READ_A, READ_B, 132, 128, lambda t: t // 16 * 8, lambda t: t % 16 * 8, "As[k][t/16*8]", "Bs[k][t%16*8]"
            ),
        ),
    )


def _halves(tid: int) -> list[Cell]:
    """Four 4×4 tiles half a block tile of 128×128 apart."""
    rows = [tid // 16 * 4 + i // 4 * 64 + i % 4 for i in range(8)]
    cols = [tid % 16 * 4 + i // 4 * 64 + i % 4 for i in range(8)]
    return block(rows, cols)


def conflict_free() -> Kernel:
    """Step 08: the thread's 8×8 split 4 + 4."""
    a, b = _float4_copies(128, 128, 8, 256)
    return Kernel(
        "08_conflict_free",
        128,
        128,
        8,
        256,
        _halves,
        a,
        b,
        (
            SharedAccess(
                Words("store As, pitch 128 (variant no_offset)", "写 As，行距 128（变体 no_offset）"),
                "A",
                "As[t%2*4][t/2]",
                4,
                lambda t: 4 * (t % 2 * 4 * 128 + t // 2),
            ),
            SharedAccess(
                Words("store As, pitch 132", "写 As，行距 132"),
                "A",
                "As[t%2*4][t/2]",
                4,
                lambda t: 4 * (t % 2 * 4 * 132 + t // 2),
            ),
            SharedAccess(
                Words("read Bs, as in step 07", "读 Bs，如步骤 07"),
                "B",
                "Bs[k][t%16*8]",
                16,
                lambda t: 4 * (t % 16 * 8),
            ),
            SharedAccess(
                Words("read Bs, split 4 + 4", "读 Bs，拆成 4 + 4"), "B", "Bs[k][t%16*4]", 16, lambda t: 4 * (t % 16 * 4)
            ),
        ),
    )


def double_buffer() -> Kernel:
    """Step 09: slices of 16, copied in two requests of 8 each."""
    return Kernel(
        "09_double_buffer",
        128,
        128,
        16,
        256,
        _halves,
        lambda t: [_run(t // 2, t % 2 * 4 + i, 4) for i in (0, 8)],
        lambda t: [_run(t // 32 + i, t % 32 * 4, 4) for i in (0, 8)],
        (
            SharedAccess(STORE_A, "A", "As[buf][t%2*4][t/2]", 4, lambda t: 4 * (t % 2 * 4 * 132 + t // 2)),
            SharedAccess(STORE_B, "B", "Bs[buf][t/32][t%32*4]", 16, lambda t: 4 * (t // 32 * 128 + t % 32 * 4)),
            *_fragments(
                READ_A,
                READ_B,
                132,
                128,
                lambda t: t // 16 * 4,
                lambda t: t % 16 * 4,
                "As[buf][k][t/16*4]",
                "Bs[buf][k][t%16*4]",
            ),
        ),
    )


def cp_async() -> Kernel:
    """Step 10: 128×256×16, 8×16 a thread; A in 4-byte copies that transpose, B in 16-byte ones; warps of 4×8."""

    def row(tid: int) -> int:
        lane = tid % 32
        return (tid // 32 // 2 * 4 + lane // 16 * 2 + lane % 2) * 4

    def col(tid: int) -> int:
        return (tid // 32 % 2 * 8 + tid % 32 // 2 % 8) * 4

    return Kernel(
        "10_cp_async",
        128,
        256,
        16,
        256,
        lambda t: block(
            [row(t) + i * 64 + j for i in range(2) for j in range(4)],
            [col(t) + i * 64 + j for i in range(4) for j in range(4)],
        ),
        lambda t: [[(t // 8 + i, t % 8 + k)] for k in (0, 8) for i in range(0, 128, 32)],
        lambda t: [_run(t // 64 + k, t % 64 * 4, 4) for k in (0, 4, 8, 12)],
        (
            SharedAccess(COPY_A, "A", "As[st][t%8][t/8]", 4, lambda t: 4 * (t % 8 * 132 + t // 8)),
            SharedAccess(COPY_B, "B", "Bs[st][t/64][t%64*4]", 16, lambda t: 4 * (t // 64 * 256 + t % 64 * 4)),
            SharedAccess(READ_A, "A", "As[st][k][tile_row]", 16, lambda t: 4 * row(t)),
            SharedAccess(READ_B, "B", "Bs[st][k][tile_col]", 16, lambda t: 4 * col(t)),
        ),
    )


def warp_tiling(*, small: bool = False) -> Kernel:
    """Step 11: warp tiles of 64×64 in 128×256, 16×8 a thread in pieces of 4×4; small: of 64×32 in 64×128, 8×8."""
    bm, bn, lanes_m, lanes_n, tm, threads = (64, 128, 8, 4, 8, 128) if small else (128, 256, 4, 8, 16, 256)
    warps_n = bn // (lanes_n * 8)

    def row(tid: int) -> int:
        lane = tid % 32
        lane_row = lane // 2 % 2 + lane // (2 * lanes_n) * 2
        return tid // 32 // warps_n * 64 + lane_row * 4

    def col(tid: int) -> int:
        lane_col = tid % 2 + tid // 4 % (lanes_n // 2) * 2
        return tid // 32 % warps_n * lanes_n * 8 + lane_col * 4

    pitch, b_quads, b_rows = bm + 4, bn // 4, threads // (bn // 4)
    return Kernel(
        "11_warp_tiling",
        bm,
        bn,
        16,
        threads,
        lambda t: block(
            [row(t) + i * 4 * lanes_m + j for i in range(tm // 4) for j in range(4)],
            [col(t) + i * 4 * lanes_n + j for i in range(2) for j in range(4)],
        ),
        lambda t: [_run(t // 4 + i, t % 4 * 4, 4) for i in range(0, bm, threads // 4)],
        lambda t: [_run(t // b_quads + k, t % b_quads * 4, 4) for k in range(0, 16, b_rows)],
        (
            SharedAccess(STORE_A, "A", "As[st][t%4*4][t/4]", 4, lambda t: 4 * (t % 4 * 4 * pitch + t // 4)),
            SharedAccess(
                COPY_B,
                "B",
                f"Bs[st][t/{b_quads}][t%{b_quads}*4]",
                16,
                lambda t: 4 * (t // b_quads * bn + t % b_quads * 4),
            ),
            SharedAccess(READ_A, "A", "As[st][k][row]", 16, lambda t: 4 * row(t)),
            SharedAccess(READ_B, "B", "Bs[st][k][col]", 16, lambda t: 4 * col(t)),
        ),
        "small_tiles" if small else "large_tiles",
    )


def kernels() -> list[Kernel]:
    """The steps of the FP32 ladder, in order."""
    return [
        naive(),
        coalesced(),
        smem_tiling(),
        smem_padding(),
        vector_load(),
        thread_tile_4x4(),
        thread_tile_8x8(),
        conflict_free(),
        double_buffer(),
        cp_async(),
        warp_tiling(),
    ]
