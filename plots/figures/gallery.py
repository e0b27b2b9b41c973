"""The list of all pictures, each drawn in both languages where a page shows it."""

import importlib
import pkgutil
from collections.abc import Iterator

from plots import figures
from plots.figures.svg import Draw


def drawings() -> Iterator[tuple[str, Draw]]:
    """File name without ending, and the function that draws the picture in a language: of every module here that has
    a function `pictures`."""
    for found in pkgutil.iter_modules(figures.__path__):
        module = importlib.import_module(f"{figures.__name__}.{found.name}")
        if hasattr(module, "pictures"):
            yield from module.pictures()
