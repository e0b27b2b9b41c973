"""The picture of step 26's pair of blocks: its bytes are those that the simulator counted."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gemm_plots.figures import clusters  # noqa: E402

COUNTS = ROOT / "plots" / "data" / "simulator" / f"{clusters.STEP}.jsonl"


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
