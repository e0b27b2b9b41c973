"""Pictures of the site's pages beside those that were looked at before (tests/site/pictures), with a tolerance.

Fonts, and times that a page shows, differ from machine to machine. So a picture is compared in cells of 8×8 pixels, by
their mean: what is drawn may move within a cell or look a little different, but not be missing or elsewhere.
"""

from pathlib import Path

from PIL import Image, ImageChops

from base.paths import ROOT

REFERENCES = ROOT / "tests" / "site" / "pictures"
CELL = 8  # pixels
MOST_HIGHER = 0.08  # of a picture's height, by which it may differ
DIFFERENT = 48  # of 255: cells that differ by so much are different
MOST_DIFFERENT = 0.06  # of the cells
COLOURS = 24  # of a reference
MOST_BYTES = 6_000_000  # of all references
KEPT = {"zh": ("1280-light", "380-dark")}  # of the explorables in Chinese; of all else everything


def wanted(name: str) -> bool:
    """Whether a picture of this name is kept as a reference."""
    _, language, rest = name.split("-", 2)
    return rest in KEPT.get(language, (rest,))


def keep(taken: Path) -> None:
    """Makes a picture the reference of its name."""
    with Image.open(taken) as picture:
        few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        few.save(REFERENCES / taken.name, optimize=True)


def difference(taken: Path) -> str:
    """How a picture differs from the reference of its name; nothing where it does not."""
    reference = REFERENCES / taken.name
    if not reference.is_file():
        return f"{taken.name} has no reference: look at it in {taken.parent}, then ./gemm test --site pictures"
    with Image.open(reference) as before, Image.open(taken) as now:
        if before.width != now.width or abs(before.height - now.height) > MOST_HIGHER * before.height:
            return f"{taken.name}: {now.width}×{now.height} pixels, not {before.width}×{before.height}"
        height = min(before.height, now.height)
        cells = [
            picture.convert("RGB").crop((0, 0, before.width, height)).convert("L").reduce(CELL)
            for picture in (before, now)
        ]
    counts = ImageChops.difference(*cells).histogram()
    share = sum(counts[DIFFERENT:]) / sum(counts)
    return f"{taken.name}: {100 * share:.1f} % of the picture differs" if share > MOST_DIFFERENT else ""
