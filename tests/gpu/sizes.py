"""The sizes that a variant is tested on: square, rectangular, ragged; few and many slices; scaled; wide rows."""

import math
from dataclasses import dataclass

from step import Variant

SQUARE = 256  # about this, as a multiple of the tile
LEAST_RAGGED = 16  # a block that is said to be smaller is taken for this, so that ragged sizes have something to miss
SCALED = ("--alpha", "-0.75", "--beta", "0.5")


@dataclass(frozen=True)
class Size:
    """One problem: its size, and the options beside."""

    m: int
    n: int
    k: int
    options: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """As options of a step's executable."""
        return ["--m", str(self.m), "--n", str(self.n), "--k", str(self.k), *self.options]

    def __str__(self) -> str:
        return " ".join([f"m {self.m} n {self.n} k {self.k}", *self.options])


def smallest(variant: Variant, slices: int = 3, tiles: tuple[int, int] = (2, 2)) -> Size:
    """So many tiles down and across, and so many slices of K."""
    return Size(tiles[0] * variant.block[0], tiles[1] * variant.block[1], variant.k_of(slices))


def one_less(variant: Variant, size: Size) -> Size:
    """One less in each direction, so that no tile divides it, with rows as wide as the variant needs."""
    less = Size(size.m - 1, size.n - 1, size.k - 1)
    return Size(less.m, less.n, less.k, wide_rows(variant, less))


def accepted(variant: Variant) -> list[Size]:
    """Sizes on which the variant has to be right."""
    bm, bn, _ = variant.block
    square = _square(variant)
    sizes = [Size(square, square, square), Size(3 * bm, bn, variant.k_of(2)), Size(bm, 5 * bn, variant.k_of(7))]
    sizes += [smallest(variant, slices) for slices in (1, 2, 3, 4, 5, 8)]
    few = smallest(variant)
    wide = wide_rows(variant, few)
    for options in (SCALED, ("--alpha", "2", "--beta", "1"), ("--alpha", "0", "--beta", "1"), wide, (*wide, *SCALED)):
        sizes.append(Size(few.m, few.n, few.k, options))
    if variant.any_size:
        sizes += _ragged(variant)
    return list(dict.fromkeys(sizes))


def several_tiles(variant: Variant, tiles: tuple[int, int] = (2, 2)) -> list[Size]:
    """Sizes of so many tiles, with fewer slices than a pipeline has stages, and with more."""
    sizes = [smallest(variant, slices, tiles) for slices in (1, 2, 5)]
    return [*sizes, one_less(variant, sizes[-1])] if variant.any_size else sizes


def refused(variant: Variant) -> list[tuple[Size, str]]:
    """Sizes that the variant has to refuse, each with what it has to say."""
    fine = smallest(variant)
    cases = []
    for at, dimension in enumerate("mnk"):
        multiple = variant.multiples[at]
        if multiple > 2:  # one more than a multiple: the nearest that works is that multiple
            wrong = [fine.m, fine.n, fine.k]
            works = wrong[at]
            wrong[at] += 1
            words = f"{dimension} to be a multiple of {multiple}, not {works + 1}; the nearest that works is {works}"
            cases.append((Size(*wrong), words))
    for at, matrix in enumerate("abc"):
        width = _widths(variant, fine)[at]
        narrow = Size(fine.m, fine.n, fine.k, (f"--ld{matrix}", str(width - 1)))
        cases.append((narrow, f"--ld{matrix} {width - 1} is narrower than the matrix's {width} columns"))
        multiple = variant.ld_multiples[at]
        if multiple > 2 and width % multiple == 0:
            odd = Size(fine.m, fine.n, fine.k, (f"--ld{matrix}", str(width + 1)))
            cases.append((odd, f"needs ld{matrix} to be a multiple of {multiple}, not {width + 1}"))
    return cases


def wide_rows(variant: Variant, size: Size) -> tuple[str, ...]:
    """Leading dimensions that are wider than the matrices, by as little as the variant takes."""
    options: list[str] = []
    for matrix, width, multiple in zip("abc", _widths(variant, size), variant.ld_multiples, strict=True):
        options += [f"--ld{matrix}", str((width // multiple + 1) * multiple)]
    return tuple(options)


def _widths(variant: Variant, size: Size) -> tuple[int, int, int]:
    return size.k, size.k if variant.layout == "TN" else size.n, size.n


def _square(variant: Variant) -> int:
    side = math.lcm(*variant.multiples, *variant.block)
    return max(1, SQUARE // side) * side


def _ragged(variant: Variant) -> list[Size]:
    """Sizes that no tile divides, down to a single element, each also with scaling and wide rows."""
    bm, bn, bk = (max(LEAST_RAGGED, edge) for edge in variant.block)
    raw = [
        (1, 1, 1),
        (1, bn + 1, bk + 1),
        (bm + 1, 1, 2 * bk - 1),
        (bm - 1, bn - 1, bk - 1),
        (bm + 3, 2 * bn + 5, 3 * bk + 1),
        (127, 129, 131),
        (37, 41, 1),
        (2 * bm, 2 * bn, 2 * bk + 1),
        (2 * bm + 1, 2 * bn, 2 * bk),
        (2 * bm, 2 * bn + 1, 2 * bk),
    ]
    sizes = []
    for m, n, k in raw:
        size = Size(m, n, max(k, variant.min_k))
        sizes += [size, Size(size.m, size.n, size.k, (*wide_rows(variant, size), *SCALED))]
    return sizes
