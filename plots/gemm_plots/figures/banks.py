"""How a warp's access to shared memory is served: which lanes go together, in how many wavefronts.

The rule reproduces what was measured on an H200 (tests/python/test_figures_banks.py holds the figures): 32-bit accesses
go out at once, 64-bit ones in two half-warps, 128-bit ones in four quarter-warps. Two halves, or the two quarters of
each half, merge into one when every lane i has the address of lane i ^ 1, or every lane that of lane i ^ 2. Within
what goes together lanes reading the same word are merged; the wavefronts are the most distinct words in one bank.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BANKS = 32
WORD = 4  # bytes


@dataclass(frozen=True)
class Served:
    """A warp's access: the groups of lanes that go out together, and the wavefronts that each of them takes."""

    groups: tuple[tuple[int, ...], ...]
    per_group: tuple[int, ...]

    @property
    def wavefronts(self) -> int:
        """Passes through the shared memory's pipe in all."""
        return sum(self.per_group)

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond those of a conflict-free access of the same kind."""
        return self.wavefronts - len(self.groups)


def words(address: int, size: int) -> list[int]:
    """The 4-byte words that `size` bytes from a byte address cover."""
    return list(range(address // WORD, (address + size) // WORD))


def groups(addresses: Sequence[int], size: int, matrix: bool = False) -> tuple[tuple[int, ...], ...]:
    """The lanes that go out together. `matrix`: rows of an ldmatrix, which go eight by eight and never merge."""
    lanes = len(addresses)
    parts = 1 if size <= 4 else 2 if size == 8 else 4
    together = lanes // parts
    plain = tuple(tuple(range(at, at + together)) for at in range(0, lanes, together))
    if parts == 1 or matrix:
        return plain
    if any(all(addresses[i] == addresses[i ^ bit] for i in range(lanes)) for bit in (1, 2)):
        return tuple(plain[i] + plain[i + 1] for i in range(0, parts, 2))
    return plain


def serve(addresses: Sequence[int], size: int, matrix: bool = False) -> Served:
    """How a warp's access of `size` bytes per lane at the given byte addresses is served."""
    together = groups(addresses, size, matrix)
    return Served(together, tuple(_most_words_in_a_bank([addresses[i] for i in group], size) for group in together))


def _most_words_in_a_bank(addresses: Sequence[int], size: int) -> int:
    distinct = {word for address in addresses for word in words(address, size)}
    in_bank = [0] * BANKS
    for word in distinct:
        in_bank[word % BANKS] += 1
    return max(in_bank)
