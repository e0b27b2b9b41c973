"""Tells which compiled kernel a variant launches: the simulator is asked, which launches it."""

import re
import tempfile
from pathlib import Path
from typing import Any

from base import process
from base.errors import UserError
from base.registry import Step
from records import read

KERNEL = re.compile(r"__global__[^;{]*?\b(\w+_kernel)\(")
_PREPARES = (
    "round_kernel",
    "split_rows",
    "split_columns",
)  # the operands, before the product; every other kernel of a step computes one


def products_of(step: Step) -> list[str]:
    """The names of a step's kernels that compute a product."""
    names = [name for source in step.sources for name in KERNEL.findall(source.read_text(encoding="utf-8"))]
    return sorted(set(names) - set(_PREPARES))


def launched(executable: Path, variant: dict[str, Any]) -> str:
    """The symbol of the kernel that a variant launches where its tiles are whole.

    Raises UserError where the variant cannot be run in the simulator, or launches no product or several.
    """
    bm, bn, bk = variant["block"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "launched.jsonl"
        size = [f"--m={2 * bm}", f"--n={2 * bn}", f"--k={4 * bk}"]
        command = [executable, "--sim", f"--variant={variant['variant']}", *size, f"--json={file}"]
        code, text = process.output(command)
        if code != 0 or not file.is_file():
            raise UserError(f"{executable.name} --sim --variant {variant['variant']} failed: {text[:200]}")
        symbols = read(file)[-1]["kernels"]
    found = [symbol for symbol in symbols if not any(name in symbol for name in _PREPARES)]
    if len(found) != 1:
        raise UserError(f"a variant launches {len(found)} products: {', '.join(symbols)}")
    return found[0]
