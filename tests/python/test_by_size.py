"""Step 27's choice of a tile: the launcher's model, with the constants of kernel.cu, beside what was counted."""

import json
from pathlib import Path

import pytest

from plots.figures import by_size

ROOT = Path(__file__).resolve().parents[2]
COUNTS = ROOT / "records" / "simulator" / f"{by_size.STEP}.jsonl"
CHOICES = {choice.name.lower(): choice for choice in by_size.of_the_kernel()}


def test_the_kernel_has_four_choices_and_all_their_constants_are_read():
    assert list(CHOICES) == ["large", "wide", "square", "small"]
    assert CHOICES["large"].per_slice == 1.0
    assert all(choice.bk == 64 and choice.per_tile > 0 for choice in CHOICES.values())


@pytest.mark.parametrize(
    ("size", "name", "cost"),
    [
        ((1024, 1024, 1024), "small", 6.4),
        ((2048, 2048, 2048), "large", 34.4),
        ((4096, 4096, 512), "large", 41.6),
        ((8192, 8192, 8192), "wide", 2082.3),
        ((1024, 1024, 8192), "small", 42.8),
    ],
)
def test_the_chapters_sizes_by_hand(size, name, cost):
    assert by_size.chosen(*size).name.lower() == name
    assert CHOICES[name].cost(*size) == pytest.approx(cost)


def test_the_default_is_counted_as_the_tile_that_the_model_takes():
    counts = {
        (r["variant"], r["m"], r["n"], r["k"]): r["counts"]
        for r in map(json.loads, COUNTS.read_text(encoding="utf-8").splitlines())
    }
    sizes = {tuple(size) for variant, *size in counts if variant == "bf16"}
    assert len(sizes) >= 3
    for size in sizes:
        assert counts["bf16", *size]["tma"] == counts[by_size.chosen(*size).name.lower(), *size]["tma"], size
