"""Pictures of the site's pages beside those that were looked at before (tests/site/pictures), with a tolerance.

Fonts, and times that a page shows, differ from machine to machine. So a picture is compared in cells of 8×8 pixels, by
their mean: what is drawn may move within a cell or look a little different, but not be missing or elsewhere.
"""

from pathlib import Path

from base.paths import ROOT
from base.progress import say

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
    """Makes the pictures in a folder the references."""
    from PIL import Image

    REFERENCES.mkdir(parents=True, exist_ok=True)
    for old in REFERENCES.glob("*.png"):
        old.unlink()
    for file in sorted(taken.glob("*.png")):
        if wanted(file.stem):
            with Image.open(file) as picture:
                few = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                few.save(REFERENCES / file.name, optimize=True)


def differences(taken: Path) -> list[str]:
    """A line for each reference from which the picture in the folder differs, or that is not there."""
    found = [line for file in sorted(REFERENCES.glob("*.png")) if (line := _difference(file, taken / file.name))]
    size = sum(file.stat().st_size for file in REFERENCES.glob("*.png"))
    return found + [f"the references have {size / 1e6:.1f} MB"] * (size > MOST_BYTES)


def _difference(reference: Path, taken: Path) -> str:
    from PIL import Image, ImageChops

    if not taken.is_file():
        return f"{reference.name}: no such picture was taken"
    with Image.open(reference) as before, Image.open(taken) as now:
        if before.width != now.width or abs(before.height - now.height) > MOST_HIGHER * before.height:
            return f"{reference.name}: {now.width}×{now.height} pixels, not {before.width}×{before.height}"
        height = min(before.height, now.height)
        cells = [
            picture.convert("RGB").crop((0, 0, before.width, height)).convert("L").reduce(CELL)
            for picture in (before, now)
        ]
    counts = ImageChops.difference(*cells).histogram()
    share = sum(counts[DIFFERENT:]) / sum(counts)
    return f"{reference.name}: {100 * share:.1f} % of the picture differs" if share > MOST_DIFFERENT else ""


def compare(taken: Path) -> bool:
    """Says what differs; True where nothing does."""
    lines = differences(taken)
    for line in lines:
        say(f"picture: {line}")
    say(f"Pictures: {len(list(REFERENCES.glob('*.png')))} references, {len(lines)} differ (new ones in {taken.name}/)")
    return not lines
