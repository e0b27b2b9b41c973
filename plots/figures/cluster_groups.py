"""Which group of SMs computes which pair of step 26's first wave, as clusters are dealt out and group after group."""

from collections.abc import Iterable, Sequence

from plots.figures import layout
from plots.figures.clusters import STEP, of_the_kernel
from plots.figures.palette import EDGE, GRID, INK, MUTED, B, C
from plots.figures.svg import Canvas, Draw

# Clusters of two that each group of SMs has room for, and those on SMs of no group: where they landed on our H200, by
# the trial that the step's page of data tells of. Which of the groups have nine is not known: here it is the last two.
GROUPS = (4, 8, 8, 8, 8, 8, 9, 9)
ALONE = 4
BAND = 2048  # rows of C, DEFAULT_BAND of the kernel
SHOWN = 3  # the group that is marked
CELL, HIGH = 30.0, 24.0


def pictures() -> Iterable[tuple[str, Draw]]:
    """File name and drawing function of each picture."""
    yield f"{STEP}-groups", groups


def dealt() -> list[int]:
    """The group of each cluster, in the order of their numbers: in turn, as long as a group has room. 0: of no group."""
    room, found = list(GROUPS), [0] * ALONE
    while any(room):
        for group, left in enumerate(room):
            if left:
                found.append(group + 1)
                room[group] -= 1
    return found


def in_order() -> list[int]:
    """The group of the cluster that gets each pair, where pairs go from group to group."""
    return sorted(dealt())


def groups(language: str) -> Canvas:
    """The pairs of the first wave in C, each with the number of its group."""
    of = of_the_kernel()
    rows = BAND // of.bm
    canvas, y = layout.of_step(
        STEP,
        language,
        (
            "only in the order of the groups do pairs that need the same B run in one group",
            "按组分配，需要同样几列 B 的分块对才落在同一组",
        ),
        (
            f"The first {len(dealt())} pairs, {of.bm}×{of.cluster * of.bn} of C each, at every size from 4096³. The number is the group "
            f"of SMs that computes the pair, as a trial found on our H200; –: two of {2 * ALONE} SMs that belong to no group",
            f"C 的前 {len(dealt())} 对，每对 {of.bm}×{of.cluster * of.bn}，4096³ 及以上都是如此。数字是计算这一对的 SM 所属的组，"
            f"由我们的 H200 上的一次试验得出；–：由不属于任何一组的 SM 计算，共有 {2 * ALONE} 个这样的 SM",
        ),
    )
    panels = (
        (dealt(), ("as_dealt: the groups in turn", "as_dealt：轮流分给各组")),
        (in_order(), ("step 26: group after group", "步骤 26：一组接一组")),
    )
    wide = -(-len(dealt()) // rows) * CELL
    for index, (found, words) in enumerate(panels):
        _panel(canvas, layout.MARGIN + index * (layout.INNER - wide), y + 22, found, rows, words, language)
    entries = (
        (C.strong, (f"group {SHOWN}", f"第 {SHOWN} 组")),
        (C.pale, ("another group", "其他各组")),
        (B.middle, ("384 columns of B, one column of pairs", "B 的 384 列，一列分块对共用")),
    )
    canvas.height = layout.legend(canvas, y + 104 + rows * HIGH, language, entries)
    return canvas


def _panel(
    canvas: Canvas, x: float, y: float, found: Sequence[int], rows: int, words: layout.Pair, language: str
) -> None:
    """The pairs in C, column after column, under the columns of B that they need."""
    cols = -(-len(found) // rows)
    layout.paragraph(canvas, y, language, words, layout.SMALL, x, cols * CELL, fill=INK, bold=True)
    top = y + 42
    canvas.text(x, top - 20, "B", layout.SMALL, B.ink, bold=True)
    for col in range(cols):
        canvas.rect(x + col * CELL + 1, top - 12, CELL - 2, 8, B.middle)
    for index, group in enumerate(found):
        left, at = x + index // rows * CELL, top + index % rows * HIGH
        marked = group == SHOWN
        canvas.rect(left, at, CELL, HIGH, C.strong if marked else C.pale if group else GRID, EDGE)
        name = str(group) if group else "–"
        canvas.text(
            left + CELL / 2,
            at + 17,
            name,
            layout.SMALL,
            "#ffffff" if marked else C.ink if group else MUTED,
            "middle",
            marked,
        )
