"""`./gemm plot`: the charts and the READMEs' tables, from the recorded data."""

from pathlib import Path

from tools import process
from tools.errors import Failure
from tools.paths import ROOT
from tools.progress import say

SCRIPT = ROOT / "plots" / "plot.py"


def draw(python: Path, arguments: list[str] | None = None) -> None:
    """Draws every chart again."""
    say("Drawing the charts")
    code = process.run([python, SCRIPT, *(arguments or [])])
    if code != 0:
        raise Failure(code=code if code > 0 else 1)
