"""Step 27's choice of a tile: the launcher's model, with the constants of kernel.cu, beside what was recorded."""

import json
import statistics
from functools import cache
from pathlib import Path

import pytest

from plots.figures import by_size
from plots.sweep_charts import HGEMM125
from records import BEST_LIBRARY

ROOT = Path(__file__).resolve().parents[2]


RECORDS = ROOT / "records" / "h200" / f"{by_size.STEP}.jsonl"
COUNTS = ROOT / "records" / "simulator" / f"{by_size.STEP}.jsonl"
CHOICES = {choice.name.lower(): choice for choice in by_size.of_the_kernel()}
WORST_MEAN_LOSS, LEAST_RATIO = 0.03, 0.85


@cache
def recorded():
    """All timings of the step."""
    return [json.loads(line) for line in RECORDS.read_text(encoding="utf-8").splitlines()]


@cache
def times_of_tiles():
    """Milliseconds by size and tile, of the runs that timed the tiles alone, one after the other."""
    found = {}
    for r in recorded():
        if r["variant"] in CHOICES and r["baseline"] == "none":
            found.setdefault((r["m"], r["n"], r["k"]), {})[r["variant"]] = r["ms"]
    return found


def loss(size):
    """How much longer the chosen tile takes than the fastest that was recorded."""
    times = times_of_tiles()[size]
    return times[by_size.chosen(*size).name.lower()] / min(times.values()) - 1


def test_the_kernel_has_six_choices_and_all_their_constants_are_read():
    assert list(CHOICES) == ["large", "wide", "square", "small", "turns", "split"]
    assert (CHOICES["large"].per_slice, CHOICES["split"].split) == (1.0, 2)
    assert all(choice.bk == 64 and choice.per_tile > 0 for choice in CHOICES.values())


@pytest.mark.parametrize(
    ("size", "name", "cost"),
    [
        ((1024, 1024, 1024), "small", 6.4),
        ((2048, 2048, 2048), "large", 34.4),
        ((4096, 4096, 512), "large", 41.6),
        ((8192, 8192, 512), "turns", 145.74),
        ((8192, 8192, 8192), "wide", 2082.3),
        ((1024, 1024, 8192), "split", 37.78),
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


def test_the_model_loses_little_against_the_fastest_tile_of_each_size():
    assert set(HGEMM125.sizes) <= set(times_of_tiles())
    losses = [loss(size) for size in HGEMM125.sizes]
    assert statistics.mean(losses) <= WORST_MEAN_LOSS
    assert max(losses) > 0, "a rule that is never wrong was not compared with other tiles"


def test_another_constant_would_be_noticed(monkeypatch):
    """The bound is one that the model can miss: with the largest tile for every size, it is missed by far."""
    monkeypatch.setattr(by_size, "chosen", lambda *size: CHOICES["large"])
    assert statistics.mean(map(loss, HGEMM125.sizes)) > WORST_MEAN_LOSS


def test_no_size_is_far_behind_the_best_library_call():
    ratios = {
        (r["m"], r["n"], r["k"]): r["ratio"] for r in recorded() if r["default"] and r["baseline"] == BEST_LIBRARY
    }
    assert set(HGEMM125.sizes) <= set(ratios)
    behind = {size: ratio for size, ratio in ratios.items() if ratio < LEAST_RATIO}
    assert not behind
