"""Step 27's choice of a tile: the launcher's model, with the constants of kernel.cu, beside what was counted."""

import json
from pathlib import Path

from plots.figures import by_size

ROOT = Path(__file__).resolve().parents[2]
COUNTS = ROOT / "records" / "simulator" / f"{by_size.STEP}.jsonl"


def test_the_default_is_counted_as_the_tile_that_the_model_takes():
    counts = {
        (r["variant"], r["m"], r["n"], r["k"]): r["counts"]
        for r in map(json.loads, COUNTS.read_text(encoding="utf-8").splitlines())
    }
    sizes = {tuple(size) for variant, *size in counts if variant == "bf16"}
    assert len(sizes) >= 3
    for size in sizes:
        assert counts["bf16", *size]["tma"] == counts[by_size.chosen(*size).name.lower(), *size]["tma"], size
