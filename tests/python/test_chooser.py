"""The choice of a tile and of a kernel: step 27's model beside what was counted; step 29's costs, fitted to records, and the
header that its launcher is compiled with."""

import re
import statistics

from base.paths import DATA, STEPS
from lab import chooser
from plots.figures import by_size
from plots.sweep_charts import HGEMM125
from records import costs, read

SOURCE = (STEPS / chooser.STEP / "also" / "fastest.cu").read_text(encoding="utf-8")
RECORDS = read(DATA / "h200" / f"{chooser.STEP}.jsonl")
TIMES = costs.times_of(RECORDS)
WORST_MEAN_LOSS = 0.03


def test_the_header_is_what_the_records_say():
    assert chooser.HEADER.read_text(encoding="utf-8") == chooser.header(chooser.from_records())


def test_the_launcher_lists_the_same_ways_in_the_same_order_with_the_same_tiles():
    listed = re.findall(r'\{"(\w+)", (\w+)::(?:(\w+)::)?BM', SOURCE)
    assert [name for name, *_ in listed] == [way.name for way in costs.WAYS]
    steps = {"by_size": "27_by_size", "in_turns": "28_in_turns", "split_k": "29_split_k"}
    for (_, space, tile), way in zip(listed, costs.WAYS, strict=True):
        if tile:
            found = by_size.tiles_of(steps[space])[tile]
            assert (found.bm, found.bn, found.split) == (way.bm, way.bn, way.split)


def test_the_choice_loses_little_against_the_fastest_kernel_of_each_size():
    assert set(HGEMM125.sizes) <= set(TIMES)
    for left_out in (False, True):
        losses = costs.losses(TIMES, HGEMM125.sizes, left_out).values()
        assert len(losses) >= 120
        assert statistics.mean(losses) <= WORST_MEAN_LOSS
        assert max(losses) > 0, "a rule that is never wrong was not compared with other kernels"


def test_the_default_is_counted_as_the_tile_that_the_model_takes():
    recorded = read(DATA / "simulator" / f"{by_size.STEP}.jsonl")
    counts = {(r["variant"], r["m"], r["n"], r["k"]): r["counts"] for r in recorded}
    sizes = {tuple(size) for variant, *size in counts if variant == "bf16"}
    assert len(sizes) >= 3
    for size in sizes:
        assert counts["bf16", *size]["tma"] == counts[by_size.chosen(*size).name.lower(), *size]["tma"], size


def test_the_launcher_takes_in_the_simulator_what_its_costs_say():
    recorded = read(DATA / "simulator" / f"{chooser.STEP}.jsonl")
    counts = {(r["variant"], r["m"], r["n"], r["k"]): r["counts"] for r in recorded if r["beta"] == 0}
    fitted = costs.fitted(TIMES)
    sizes = {tuple(size) for variant, *size in counts if variant == "bf16"}
    found = {size: costs.chosen(fitted, size) for size in sizes if size[1] % 8 == 0}
    assert len(found) >= 2
    for size, way in found.items():
        assert counts["bf16", *size]["tma"] == counts[way, *size]["tma"], size
