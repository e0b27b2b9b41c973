"""The one visual language of all pictures: what has which colour."""

from dataclasses import dataclass

INK = "#1f2733"
MUTED = "#5b6675"
EDGE = "#d3dae3"
GRID = "#e4e9ef"
PANEL = "#fcfdfe"
BOX = "#f1f4f8"  # memories and other containers
RED = "#d1383d"  # conflicts, waste
PALE_RED = "#f9dcda"
DARK = "#3d4858"  # barriers


@dataclass(frozen=True)
class Tone:
    """Three strengths of one colour: one thread, its warp, all the others."""

    strong: str
    middle: str
    pale: str
    ink: str


A = Tone("#2f6fbb", "#8fb8e3", "#dfebf8", "#215289")
B = Tone("#dd8418", "#f2bd78", "#fcecd6", "#96560a")
C = Tone("#2e9e6b", "#8fd0b0", "#def2e8", "#1d6e49")
THREAD = Tone("#b0487f", "#dba3c1", "#f7e6ef", "#8a2a5c")  # told from A's blue by colour-blind readers, too

# Blocks and tiles that are told apart, whose parts of C are not shown. Warps that share a tile of C have C's colour.
WARPS = ("#8fb8e3", "#f2bd78", "#8fd0b0", "#b7a5e0", "#e9a3b4", "#9fd3d9", "#d9cf87", "#c0b2a3")
