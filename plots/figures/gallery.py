"""The list of all pictures, each drawn in both languages where a page shows it."""

from collections.abc import Iterator

from plots.figures import (
    bank_maps,
    by_size,
    cluster_ring,
    clusters,
    fragments,
    half,
    hopper,
    ideas_copies,
    ideas_memory,
    ideas_tiles,
    machine,
    measuring,
    mma,
    overlap,
    persistent,
    ring,
    serpentine,
    specialised,
    stages,
    stream_k,
    swizzle,
    threads,
    tiling,
    timelines,
    tma,
    turns,
    waves,
    wgmma,
    wmma,
)
from plots.figures.svg import Draw

FAMILIES = (
    machine,
    waves,
    ideas_memory,
    ideas_tiles,
    ideas_copies,
    threads,
    bank_maps,
    timelines,
    tiling,
    measuring,
    half,
    wmma,
    ring,
    mma,
    stages,
    persistent,
    fragments,
    swizzle,
    serpentine,
    tma,
    wgmma,
    hopper,
    specialised,
    overlap,
    clusters,
    cluster_ring,
    by_size,
    turns,
    stream_k,
)


def drawings() -> Iterator[tuple[str, Draw]]:
    """File name without ending, and the function that draws the picture in a language."""
    for family in FAMILIES:
        yield from family.pictures()
