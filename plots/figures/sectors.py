"""Step 20: which sectors of global memory a row of A comes from, by the sectors of shared memory that its copies write."""

from collections.abc import Iterable

from plots.figures import layout, parts, traces
from plots.figures.palette import INK, MUTED, RED, WARPS, C
from plots.figures.svg import Canvas, Draw
from plots.figures.text import say

STEP = "20_mma_warp_swizzle"
SECTOR = 32  # bytes
COLOURS = WARPS[:4]  # by sector of global memory
CELL, HIGH = 43.0, 34.0


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-sectors", sectors


def rows() -> tuple[list[int], list[int]]:
    """Where the chunks of an even and of an odd row of A lie in step 19's shared memory, in bytes; as traced."""
    access = traces.shared("19_mma_stages", "cp_async_16(to")
    by_row = [list(access.addresses[group.first : group.last + 1]) for group in access.groups]
    assert access.size * len(by_row[0]) == 4 * SECTOR
    even, odd = by_row[:2]
    assert even[0] % SECTOR == 0 and odd[0] % SECTOR == SECTOR // 2
    return even, odd


def filled_from(addresses: list[int], size: int) -> dict[int, set[int]]:
    """For each sector of shared memory the sectors of global memory, by number, whose bytes it takes."""
    found: dict[int, set[int]] = {}
    for chunk, address in enumerate(addresses):
        found.setdefault(address // SECTOR, set()).add(chunk * size // SECTOR)
    return found


def sectors(language: str) -> Canvas:
    """A row in global memory, and in shared memory an even and an odd row with a pad."""
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "a pad shifts every other row by half a sector",
            "填充使每隔一行错开半个扇区",
        ),
        (
            "one row of A in a slice, 128 bytes; a cell is a chunk, a frame a sector, a colour a sector of global memory",
            "A 在一片里的一行，128 字节；一格是一个 chunk，一个框是一个扇区，一种颜色是全局内存的一个扇区",
        ),
    )
    size = traces.shared("19_mma_stages", "cp_async_16(to").size
    even, odd = rows()
    plain = [chunk * size for chunk in range(len(even))]
    y += 26
    for addresses, words in (
        (plain, ("global memory", "全局内存")),
        (even, ("shared memory with a pad, an even row", "有填充的共享内存，偶数行")),
        (odd, ("shared memory with a pad, an odd row", "有填充的共享内存，奇数行")),
    ):
        canvas.text(layout.MARGIN, y, say(language, *words), layout.SMALL, INK, bold=True)
        found = filled_from(addresses, size)
        _strip(canvas, y + 12, addresses, size)
        top = y + 12 + HIGH
        if addresses is not plain:
            begin = addresses[0] - addresses[0] % SECTOR
            for sector, sources in found.items():
                x = layout.MARGIN + (sector * SECTOR - begin + SECTOR / 2) / size * CELL
                canvas.text(x, top + 21, str(len(sources)), layout.SMALL, RED if len(sources) > 1 else INK, "middle")
            asked = sum(map(len, found.values()))
            x = layout.MARGIN + (len(even) + 2) * CELL + 14
            worse = asked > len(found)
            words = (f"{len(found)} sectors,", f"{len(found)} 个扇区，")
            canvas.text(x, y + 12 + 15, say(language, *words), layout.SMALL, RED if worse else C.ink, bold=True)
            words = (f"{asked} requested", f"请求 {asked} 个")
            canvas.text(x, y + 12 + 35, say(language, *words), layout.SMALL, RED if worse else C.ink, bold=True)
            top += 24
        y = top + 32
    words = (
        "Under a sector of shared memory: the sectors of global memory that fill it, if each is filled by requests of its own.",
        "扇区下面的数字：如果共享内存的每个扇区各自请求数据，要从全局内存取几个扇区。",
    )
    canvas.height = layout.paragraph(canvas, y - 4, language, words, fill=MUTED)
    return canvas


def _strip(canvas: Canvas, y: float, addresses: list[int], size: int) -> None:
    """Chunks with their numbers, in frames of whole sectors from the first that is touched."""
    begin = addresses[0] - addresses[0] % SECTOR
    for chunk, address in enumerate(addresses):
        x = layout.MARGIN + (address - begin) / size * CELL
        canvas.rect(x, y, CELL, HIGH, COLOURS[chunk * size // SECTOR])
        canvas.text(x + CELL / 2, y + HIGH / 2 + 5, str(chunk), layout.SMALL, INK, "middle")
    wide = SECTOR // size
    many = (addresses[-1] - begin) // SECTOR + 1
    for sector in range(many):
        parts.outline(canvas, layout.MARGIN + sector * wide * CELL, y, [(0, 0), (0, 1)], HIGH, CELL, INK, 1.8)
