"""The pictures of step 26's pair of blocks: bytes as the simulator counted them, times as the kernel waits."""

import itertools
import json
from pathlib import Path

from plots.figures import cluster_ring, clusters

ROOT = Path(__file__).resolve().parents[2]


COUNTS = ROOT / "records" / "simulator" / f"{clusters.STEP}.jsonl"


def test_the_bytes_of_a_slice_are_those_that_were_counted():
    of = clusters.of_the_kernel()
    records = [json.loads(line) for line in COUNTS.read_text(encoding="utf-8").splitlines()]
    counted = next(r for r in records if r["variant"] == "bf16" and r["n"] == 256)
    stages = of.cluster * counted["k"] // of.bk  # one pair of tiles covers this C
    assert counted["m"] <= of.bm and counted["n"] <= of.cluster * of.bn
    tma = counted["counts"]["tma"]
    assert tma["shared_bytes"] == stages * of.received_bytes
    assert tma["multicast_saved_bytes"] == stages * (of.received_bytes - of.read_bytes)


def test_every_consumer_of_both_blocks_arrives_with_each_warp():
    of = clusters.of_the_kernel()
    assert (of.cluster, of.consumers, of.arrivals) == (2, 2, 16)


def test_no_half_of_a_lands_in_a_stage_that_either_block_still_reads():
    of = clusters.of_the_kernel()
    found = cluster_ring.turns(of)
    assert len(found) == 2 * of.stages  # every stage is filled again
    for before, after in zip(found, found[of.stages :], strict=False):
        assert min(after.asked) >= before.empty == max(before.read(block) for block in range(of.cluster))
        assert before.read(0) < before.empty  # block 0 is the one that waits


def test_products_begin_when_both_halves_have_landed_and_one_after_the_other():
    of = clusters.of_the_kernel()
    found = cluster_ring.turns(of)
    assert all(each.landed == max(each.asked) + cluster_ring.LATENCY for each in found)
    for block in range(of.cluster):
        for consumer in range(of.consumers):
            spans = [each.products[block][consumer] for each in found]
            assert all(start >= each.landed for (start, _), each in zip(spans, found, strict=True))
            assert all(one[1] <= two[0] for one, two in itertools.pairwise(spans))
