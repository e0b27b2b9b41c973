"""The sizes that a variant is tested on: square, rectangular, ragged; few and many slices; scaled; wide rows."""

import math
from collections.abc import Container, Iterable

from step import Case, Variant

SQUARE = 256  # about this, as a multiple of the tile
LEAST_RAGGED = 16  # a block that is said to be smaller is taken for this, so that ragged sizes have something to miss
MORE_THAN_FIT = (24, 12)  # tiles of C: 288, more than 132 multiprocessors hold at two blocks each
SLICES = (1, 2, 3, 4, 5, 8)  # fewer than any pipeline has stages, as many, more
FEW_SLICES = (1, 3, 8)
LARGEST = 2**31 - 1  # elements of a matrix, and what an int holds
SCALED = ("--alpha", "-0.75", "--beta", "0.5")
SCALINGS = (SCALED, ("--alpha", "2", "--beta", "1"), ("--alpha", "0", "--beta", "1"))
STRIDES = ("1", "200", "1073741824", "2147483647")

Size = tuple[int, int, int]


def gpu_cases(variant: Variant) -> list[Case]:
    """Everything, for a GPU, where a size takes milliseconds; C has more tiles than blocks find room, too."""
    few = size_of(variant)
    runs = [*_plain(variant), *((size_of(variant, slices), ()) for slices in SLICES), *_scaled(variant, few)]
    runs += _several_tiles(variant, MORE_THAN_FIT, (1, 2, 5))
    return _unique(variant, [*runs, *_strides(variant, few), *_ragged(variant), *_longest(variant)]) + refused(variant)


def simulated_cases(variant: Variant, beside: Variant) -> list[Case]:
    """For the simulator, which takes its time: everything for a step's default, and for variants that take any size
    `beside` a default that does not; of the others a few numbers of slices on one tile, tiles beside and above each
    other, and wide rows with scaling. Random inputs on two of them: the deepest, and one scaled with wide rows."""
    few, two = size_of(variant), size_of(variant, 2, (1, 2))
    wide_and_scaled = (two, (*wide_rows(variant, two), *SCALED))
    everything = variant.default or (variant.any_size and not beside.any_size)
    runs = [(size_of(variant, slices, (1, 1)), ()) for slices in (SLICES if everything else FEW_SLICES)]
    random = (runs[-1], wide_and_scaled)
    if everything:
        runs += [*_plain(variant, SQUARE), *_scaled(variant, two), *_strides(variant, few), *_ragged(variant)]
    else:  # of those that take some sizes beside their tile's: a few, scaled and with wide rows
        runs += [_plain(variant)[0], wide_and_scaled, *_strides(variant, few)[-1:]]
        runs += _ragged(variant)[1:9:2]
    return _unique(variant, runs, random) + refused(variant)


def few_multiprocessors_cases(variant: Variant) -> list[Case]:
    """For the simulator with one multiprocessor or two: persistent blocks have to get from tile to tile."""
    runs = _several_tiles(variant, (2, 2), (1, 5))
    return _unique(variant, runs, runs[-1:] if variant.default else ())


def sanitized_cases(variant: Variant, slices: int) -> list[Case]:
    """The smallest size; one that no tile divides, too, where the variant takes it: that is where edges are."""
    size = size_of(variant, slices)
    return _unique(variant, [(size, ()), *(_one_less(variant, size) if variant.has_edges else [])])


def size_of(variant: Variant, slices: int = 3, tiles: tuple[int, int] = (2, 2)) -> Size:
    """So many tiles down and across, and so many slices of K."""
    return tiles[0] * variant.block[0], tiles[1] * variant.block[1], variant.k_of(slices)


def wide_rows(variant: Variant, size: Size) -> tuple[str, ...]:
    """Leading dimensions that are wider than the matrices, by as little as the variant takes."""
    options: list[str] = []
    for matrix, width, multiple in zip("abc", _widths(variant, size), variant.ld_multiples, strict=True):
        options += [f"--ld{matrix}", str((width // multiple + 1) * multiple)]
    return tuple(options)


def refused(variant: Variant) -> list[Case]:
    fine = size_of(variant)
    cases = [*_refused_sizes(variant, fine), *_refused_rows(variant, fine), *_refused_grids(variant)]
    if not variant.takes_stride:
        words = f"variant {variant.name} takes no --swizzle-stride"
        cases.append(Case(variant.name, (*_arguments(fine), "--swizzle-stride", "512"), words))
    return cases


Run = tuple[Size, tuple[str, ...]]


def _plain(variant: Variant, largest: int = LARGEST) -> list[Run]:
    """Tiles below each other, beside each other, and a square up to the largest."""
    bm, bn, _ = variant.block
    side = math.lcm(*variant.multiples, *variant.block)
    square = max(1, SQUARE // side) * side
    sizes = [(3 * bm, bn, variant.k_of(2)), (bm, 5 * bn, variant.k_of(7))]
    return [(size, ()) for size in sizes + [(square, square, square)] * (square <= largest)]


def _scaled(variant: Variant, size: Size) -> list[Run]:
    wide = wide_rows(variant, size)
    return [(size, options) for options in (*SCALINGS, wide, (*wide, *SCALED))]


def _strides(variant: Variant, size: Size) -> list[Run]:
    """Bands of one tile, of two, and of more than there are, up to what an int holds."""
    return [(size, ("--swizzle-stride", stride)) for stride in STRIDES] if variant.takes_stride else []


def _several_tiles(variant: Variant, tiles: tuple[int, int], slices: tuple[int, ...]) -> list[Run]:
    """So many tiles, with fewer slices than a pipeline has stages, and with more."""
    sizes = [size_of(variant, count, tiles) for count in slices]
    return [*((size, ()) for size in sizes), *(_one_less(variant, sizes[-1]) if variant.has_edges else [])]


def _one_less(variant: Variant, size: Size) -> list[Run]:
    """A little less in each direction, so that no tile divides it, with rows as wide as the variant needs."""
    less = tuple(max(edge - multiple, multiple) for edge, multiple in zip(size, variant.multiples, strict=True))
    return [(less, wide_rows(variant, less))]


def _ragged(variant: Variant) -> list[Run]:
    """Sizes that no tile divides, down to a single element, each also with scaling and wide rows."""
    if not variant.has_edges:
        return []
    bm, bn, bk = (max(LEAST_RAGGED, edge) for edge in variant.block)
    # Operands that are cut err twice as much as rounded ones, for which the bound is: a single product shows it.
    least_k = 4 if variant.name == "cut" else 1
    sizes = [
        (1, 1, least_k),
        (1, bn + 1, bk + 1),
        (bm + 1, 1, 2 * bk - 1),
        (bm - 1, bn - 1, bk - 1),
        (bm + 3, 2 * bn + 5, 3 * bk + 1),
        (127, 129, 131),
        (37, 41, least_k),
        (2 * bm, 2 * bn, 2 * bk + 1),
        (2 * bm + 1, 2 * bn, 2 * bk),
        (2 * bm, 2 * bn + 1, 2 * bk),
    ]
    sizes = [variant.taken(size) for size in sizes]
    return [(size, options) for size in sizes for options in ((), (*wide_rows(variant, size), *SCALED))]


def _longest(variant: Variant) -> list[Run]:
    """As many rows or columns of blocks as the grid takes along its second axis, where C may be as narrow as one."""
    rows, columns = (most * edge for most, edge in zip(variant.most_blocks, variant.block[:2], strict=True))
    if not variant.has_edges:
        return []
    longest = (((rows, 1, 3), rows), ((1, columns, 3), columns))
    return [(variant.taken(size), ()) for size, limit in longest if limit < LARGEST // 8]


def _refused_sizes(variant: Variant, fine: Size) -> Iterable[Case]:
    for at, dimension in enumerate("mnk"):
        multiple = variant.multiples[at]
        if multiple <= 2:
            continue
        for more, nearest in ((1, 0), (multiple - 1, multiple)):  # beside this multiple, and beside the next
            wrong = [*fine]
            wrong[at] += more
            words = f"variant {variant.name} needs {dimension} to be a multiple of {multiple}, not {wrong[at]}; "
            words += f"the nearest that works is {fine[at] + nearest}"
            yield Case(variant.name, _arguments((wrong[0], wrong[1], wrong[2])), words)


def _refused_rows(variant: Variant, fine: Size) -> Iterable[Case]:
    for at, matrix in enumerate("abc"):
        option, width, multiple = f"--ld{matrix}", _widths(variant, fine)[at], variant.ld_multiples[at]
        words = f"{option} {width - 1} is narrower than the matrix's {width} columns; use at least {width}"
        yield Case(variant.name, (*_arguments(fine), option, str(width - 1)), words)
        if multiple > 2 and width % multiple == 0:
            words = f"needs ld{matrix} to be a multiple of {multiple}, not {width + 1}"
            yield Case(variant.name, (*_arguments(fine), option, str(width + 1)), words)


def _refused_grids(variant: Variant) -> Iterable[Case]:
    """One row or column of blocks more than the grid takes, where the matrices are not too large already."""
    bm, bn, _ = variant.block
    k = variant.k_of(1)
    for at, (m, n) in enumerate((((variant.most_blocks[0] + 1) * bm, bn), (bm, (variant.most_blocks[1] + 1) * bn))):
        if max(m * k, n * k, m * n) <= LARGEST:
            limit = variant.most_blocks[at] * variant.block[at]
            yield Case(variant.name, _arguments((m, n, k)), f"takes {'mn'[at]} up to {limit}, not {(m, n)[at]}")


def _widths(variant: Variant, size: Size) -> Size:
    _, n, k = size
    return k, k if variant.layout == "TN" else n, n


def _arguments(size: Size) -> tuple[str, ...]:
    return tuple(word for name, edge in zip("mnk", size, strict=True) for word in (f"--{name}", str(edge)))


def _unique(variant: Variant, runs: Iterable[Run], random: Container[Run] | None = None) -> list[Case]:
    """Each run once; on random inputs as well those of `random`, or all."""
    exact_alone = {(*_arguments(run[0]), *run[1]): random is not None and run not in random for run in runs}
    return [Case(variant.name, arguments, exact_alone=alone) for arguments, alone in exact_alone.items()]
