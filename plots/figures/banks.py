"""The 32 banks of shared memory, each 4 bytes wide."""

BANKS = 32
WORD = 4  # bytes


def words(address: int, size: int) -> list[int]:
    """The 4-byte words that `size` bytes from a byte address cover."""
    return list(range(address // WORD, (address + size) // WORD))
