"""The list of all pictures, each drawn in both languages."""

from collections.abc import Callable, Iterator
from pathlib import Path

from gemm_plots.figures import (
    bank_maps,
    fragments,
    half,
    ideas,
    measuring,
    mma,
    swizzle,
    threads,
    tiling,
    timelines,
    wmma,
)
from gemm_plots.figures.svg import Canvas
from gemm_plots.figures.text import LANGUAGES

FAMILIES = (ideas, threads, bank_maps, timelines, tiling, measuring, half, wmma, mma, fragments, swizzle)


def drawings() -> Iterator[tuple[str, Callable[[str], Canvas]]]:
    """File name without ending, and the function that draws the picture in a language."""
    for family in FAMILIES:
        yield from family.pictures()


def pictures(folder: Path) -> dict[Path, str]:
    """Every picture's file in `folder` with its SVG text."""
    found = {}
    for name, draw in drawings():
        for language in LANGUAGES:
            ending = ".svg" if language == "en" else f".{language}.svg"
            found[folder / f"{name}{ending}"] = draw(language).svg()
    return found
