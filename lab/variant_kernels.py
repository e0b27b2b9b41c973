"""Tells which compiled kernel a variant launches: the simulator is asked, which launches it."""

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.errors import UserError

# Of several kernels that a variant launches, the product; the others prepare its operands.
_PRODUCT = re.compile(r"(?:gemm|naive|sliced)_kernel")


def launched(executable: Path, variant: dict[str, Any]) -> str:
    """The symbol of the kernel that a variant launches where its tiles are whole.

    Raises UserError where the variant cannot be run in the simulator, or launches no product or several.
    """
    m, n, k = (2 * variant["block"][0], 2 * variant["block"][1], max(4 * variant["block"][2], variant["min_k"]))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "launched.jsonl"
        size = ["--m", str(m), "--n", str(n), "--k", str(k)]
        command = [str(executable), "--sim", "--variant", variant["variant"], *size, "--json", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not out.is_file():
            said = (done.stderr or done.stdout).strip()[:200]
            raise UserError(f"{executable.name} --sim --variant {variant['variant']} failed: {said}")
        symbols = json.loads(out.read_text(encoding="utf-8").splitlines()[-1])["kernels"]
    return product(symbols)


def product(symbols: Iterable[str]) -> str:
    """The one symbol among these that names a matrix product."""
    found = [symbol for symbol in symbols if _PRODUCT.search(symbol)]
    if len(found) != 1:
        raise UserError(f"a variant launches {len(found)} products: {', '.join(symbols)}")
    return found[0]


def fingerprint(source: str) -> str:
    """A short hash of a step's source without comments and white space: changes when its code does."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.S)
    return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:12]
