"""Where the threads of each step's default variant work, as the simulator traced it: warp 0 of the first block.

A request is one memory instruction of a warp.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from plots.figures import traces
from plots.figures.text import Words
from plots.figures.traces import Access, Cell

WARP = 32
SECTOR_FLOATS = 8  # 32 bytes


@dataclass(frozen=True)
class SharedAccess:
    """One kind of access to shared memory: what it is, of which operand, how the kernel finds the address."""

    what: Words
    operand: str  # A or B
    formula: str
    access: Access


@dataclass(frozen=True)
class Kernel:
    """A step's default variant: tile sizes, and by lane the elements of C, and of A and B that it reads or copies."""

    name: str
    bm: int
    bn: int
    bk: int
    threads: int
    computes: list[list[Cell]]  # of warp 0, then of the other warps where these are traced, too
    reads_a: list[list[list[Cell]]]  # by request: the floats of A (row, k) that each lane takes from global memory
    reads_b: list[list[list[Cell]]]  # by request: the floats of B (k, column)
    leading: int  # dimension, of all three matrices
    shared: tuple[SharedAccess, ...] = ()


def sectors(cells_by_lane: Sequence[Sequence[Cell]], leading: int) -> dict[int, set[int]]:
    """The 32-byte sectors that a request touches, and which of the 8 floats of each it uses."""
    found: dict[int, set[int]] = {}
    for cells in cells_by_lane:
        for row, col in cells:
            place = row * leading + col
            found.setdefault(place // SECTOR_FLOATS, set()).add(place % SECTOR_FLOATS)
    return found


def traced(step: str, *shared: SharedAccess, variant: str = "") -> Kernel:
    """A step as its trace shows it."""
    name = f"{step}-{variant}" if variant else step
    trace = traces.load(name)
    warps = [kernel["warp"] for kernel in trace["kernels"]]
    computes: list[list[Cell]] = []
    for warp in warps:
        stores = [lanes for _, lanes in traces.requests(name, traces.C, warp)]
        computes += [[cell for lanes in stores for cell in lanes[lane]] for lane in range(WARP)]
    return Kernel(
        step,
        *trace["tile"],
        prod(trace["kernels"][0]["block"]),
        computes,
        [lanes for _, lanes in traces.requests(name, traces.A)],
        [lanes for _, lanes in traces.requests(name, traces.B)],
        trace["leading"],
        shared,
    )


READ_A, READ_B = Words("read As", "读 As"), Words("read Bs", "读 Bs")
STORE_A, STORE_B = Words("store As", "写 As"), Words("store Bs", "写 Bs")
COPY_B = Words("cp.async into Bs", "cp.async 写入 Bs")


def smem_padding() -> Kernel:
    """Step 04: As transposed with one more column, two rows per thread."""
    store = "As[tile_col][tile_row + i * ROW_STEP] ="
    return traced(
        "04_smem_padding",
        SharedAccess(
            Words("store As, pitch 32 (unpadded)", "写 As，行距 32（无填充）"),
            "A",
            "As[tile_col][tile_row]",
            traces.shared("04_smem_padding-unpadded", store),
        ),
        SharedAccess(
            Words("store As, pitch 33 (padded)", "写 As，行距 33（填充）"),
            "A",
            "As[tile_col][tile_row]",
            traces.shared("04_smem_padding", store),
        ),
    )


def vector_load() -> Kernel:
    """Step 05: float4 copies, four columns per thread, lanes in pairs that share their columns."""
    step = "05_vector_load"
    read_b = "float4_at(&Bs[k][tile_col])"
    return traced(
        step,
        SharedAccess(STORE_A, "A", "As[copy_col][copy_row]", traces.shared(step, "As[copy_col + 0][copy_row] =")),
        SharedAccess(
            STORE_B, "B", "Bs[copy_row][copy_col]", traces.shared(step, "float4_at(&Bs[copy_row][copy_col]) =")
        ),
        SharedAccess(
            Words("read Bs, lanes in rows of 8 (unpaired)", "读 Bs，lane 每 8 个一行（未配对）"),
            "B",
            "Bs[k][tile_col]",
            traces.shared(f"{step}-unpaired_lanes", read_b),
        ),
        SharedAccess(
            Words("read Bs, lanes in pairs", "读 Bs，lane 两两配对"),
            "B",
            "Bs[k][tile_col]",
            traces.shared(step, read_b),
        ),
    )


def thread_tile_4x4() -> Kernel:
    """Step 06: 64×64×16, 4×4 per thread, As padded by 4."""
    step = "06_thread_tile_4x4"
    return traced(
        step,
        SharedAccess(STORE_A, "A", "As[t%4*4][t/4]", traces.shared(step, "As[a_col + 0][a_row] =")),
        SharedAccess(STORE_B, "B", "Bs[t/16][t%16*4]", traces.shared(step, "float4_at(&Bs[b_row][b_col]) =")),
        SharedAccess(READ_A, "A", "As[k][t/16*4]", traces.shared(step, "= float4_at(&As[k][tile_row])")),
        SharedAccess(READ_B, "B", "Bs[k][t%16*4]", traces.shared(step, "= float4_at(&Bs[k][tile_col])")),
    )


def thread_tile_8x8() -> Kernel:
    """Step 07: 128×128×8, 8×8 neighbouring elements per thread."""
    step = "07_thread_tile_8x8"
    return traced(
        step,
        SharedAccess(STORE_A, "A", "As[t%2*4][t/2]", traces.shared(step, "As[a_col + 0][a_row] =")),
        SharedAccess(STORE_B, "B", "Bs[t/32][t%32*4]", traces.shared(step, "float4_at(&Bs[b_row][b_col]) =")),
        SharedAccess(READ_A, "A", "As[k][t/16*8]", traces.shared(step, "= float4_at(&As[k][tile_row])")),
        SharedAccess(READ_B, "B", "Bs[k][t%16*8]", traces.shared(step, "= float4_at(&Bs[k][tile_col])")),
    )


def conflict_free() -> Kernel:
    """Step 08: the thread's 8×8 split 4 + 4."""
    step = "08_conflict_free"
    store, read = "As[a_col + 0][a_row] =", "= float4_at(&Bs[k][tile_col])"
    return traced(
        step,
        SharedAccess(
            Words("store As, pitch 128 (variant no_offset)", "写 As，行距 128（变体 no_offset）"),
            "A",
            "As[t%2*4][t/2]",
            traces.shared(f"{step}-no_offset", store),
        ),
        SharedAccess(
            Words("store As, pitch 132", "写 As，行距 132"), "A", "As[t%2*4][t/2]", traces.shared(step, store)
        ),
        SharedAccess(
            Words("read Bs, as in step 07", "读 Bs，如步骤 07"),
            "B",
            "Bs[k][t%16*8]",
            traces.shared("07_thread_tile_8x8", read),
        ),
        SharedAccess(
            Words("read Bs, split 4 + 4", "读 Bs，拆成 4 + 4"), "B", "Bs[k][t%16*4]", traces.shared(step, read)
        ),
    )


def warp_tiling() -> Kernel:
    """Step 11: warp tiles of 64×64 in 128×256, 16×8 per thread in pieces of 4×4; the variant that large C take."""
    name = "11_warp_tiling-large_tiles"
    return traced(
        "11_warp_tiling",
        SharedAccess(STORE_A, "A", "As[st][t%4*4][t/4]", traces.shared(name, "to[0 * A_PITCH] =")),
        SharedAccess(COPY_B, "B", "Bs[st][t/64][t%64*4]", traces.shared(name, "cp_async_16(Bs_copy")),
        SharedAccess(READ_A, "A", "As[st][k][row]", traces.shared(name, "As_read + stage")),
        SharedAccess(READ_B, "B", "Bs[st][k][col]", traces.shared(name, "Bs_read + stage")),
        variant="large_tiles",
    )


def kernels() -> list[Kernel]:
    """The steps of the FP32 ladder from 02 on, in order; the threads of step 09 take what those of step 08 take."""
    return [
        traced("02_coalesced"),
        traced("03_smem_tiling"),
        smem_padding(),
        vector_load(),
        thread_tile_4x4(),
        thread_tile_8x8(),
        conflict_free(),
        traced("10_cp_async"),
        warp_tiling(),
    ]
