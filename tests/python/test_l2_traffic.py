"""What crossed between L2 and the SMs, on output as ncu writes it, and its table."""

from lab import l2_traffic
from plots import traffic
from records import Records
from records.metrics import L2_TRAFFIC

COUNTS = ("12,884,901,888", "0", "218,069,500", "1.85", "1.85", "0", "1,224,448,768")


def output(launches: int) -> str:
    """What a step prints for two launches, and ncu's table of some."""
    printed = "".join(f"25_store bf16, m {m} n {m} k {m}: C 00000000000000ff\n" for m in (64, 128))
    row = ",".join(f'"{cell}"' for cell in ("0", *COUNTS))
    head = ",".join(f'"{cell}"' for cell in ("ID", *L2_TRAFFIC))
    return printed + head + "\n" + ",".join(['""'] * 8) + "\n" + f"{row}\n" * launches


def test_each_launch_has_a_record_per_metric():
    found = l2_traffic.records(output(2), "25_store")
    assert [(r["m"], r["n"], r["k"]) for r in found] == [(64, 64, 64)] * 7 + [(128, 128, 128)] * 7
    assert {r["metric"]: r["value"] for r in found[:7]} == {
        metric: float(count.replace(",", "")) for metric, count in zip(L2_TRAFFIC, COUNTS, strict=True)
    }
    assert {(r["step"], r["variant"]) for r in found} == {("25_store", "bf16")}


def test_the_table_has_launches_with_every_metric_by_size_and_step():
    rows = [dict(r, step=step) for step in ("26_next", "25_store") for r in l2_traffic.records(output(2), step)]
    rows.remove(next(r for r in rows if r["step"] == "26_next" and r["m"] == 128))
    found = traffic.counted(Records(profiles={"h200": rows}), "h200", ["25_store", "26_next"])
    assert list(found) == [(64, "25_store", "bf16"), (64, "26_next", "bf16"), (128, "25_store", "bf16")]
    cells = [cell(found[64, "25_store", "bf16"]) for *_, cell in traffic.COLUMNS]
    assert cells == ["12.88", "–", "6.98", "1.85", "1.85", "–", "1.22"]
