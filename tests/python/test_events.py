"""The recorded events of the rings are what the schema says, and what rings have to obey; and where an element of an array
goes: steps of each kind of path, their places worked out by hand."""

import json
import re
import sys

import pytest
from programs import ran

from base.paths import BUILD, ROOT
from records import events

SCHEMA = json.loads((ROOT / "sim/session/events.schema.json").read_text(encoding="utf-8"))
OF_EVENT = SCHEMA["properties"]["kernels"]["items"]["properties"]["events"]["items"]
FOLLOWED = SCHEMA["properties"]["kernels"]["items"]["properties"]["followed"]
FINDINGS = SCHEMA["properties"]["kernels"]["items"]["properties"]["findings"]
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}


def wrong(value, schema: dict, at: str = "") -> str:
    """Where a value is not what a schema says, of the words that ours uses; empty where it is."""
    if "const" in schema or "enum" in schema:
        return "" if value in schema.get("enum", [schema.get("const")]) else f"{at} is {value!r}"
    named = schema.get("type", list(TYPES))
    wanted = tuple(TYPES[name] for name in ([named] if isinstance(named, str) else named))
    if not isinstance(value, wanted) or isinstance(value, bool):
        return f"{at} is no {named}"
    if isinstance(value, int) and value < schema.get("minimum", value):
        return f"{at} is {value}"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            return f"{at} has {len(value)} items"
        return next(filter(None, (wrong(one, schema.get("items", {}), f"{at}[]") for one in value)), "")
    if not isinstance(value, dict):
        return ""
    known = schema.get("properties", {})
    strange = [key for key in value if key not in known] if not schema.get("additionalProperties", True) else []
    absent = [key for key in schema.get("required", ()) if key not in value]
    if strange or absent:
        return f"{at} has {strange}, lacks {absent}"
    return next(filter(None, (wrong(one, known.get(key, {}), f"{at}.{key}") for key, one in value.items())), "")


def test_the_schema_knows_every_kind():
    source = (ROOT / "sim/core/checks/events.cpp").read_text(encoding="utf-8")
    assert OF_EVENT["properties"]["kind"]["enum"] == re.findall(r'return "(\w+)";', source)


@pytest.mark.parametrize("step", sorted(file.stem for file in events.FOLDER.glob("*.json")))
def test_recorded_events(step):
    found = events.load(step)
    for event in found["events"]:
        assert not wrong({"stamp": 0, **event}, OF_EVENT, step), event
        assert event["caused_by"] is None or event["caused_by"] < event["seq"]
    # What is issued lands, a phase ends once, and whoever has waited for one goes on after its end.
    by_kind = {}
    for event in found["events"]:
        by_kind.setdefault(event["kind"], []).append(event)
    issued = {event["copy"] for event in by_kind.get("copy_issue", ())}
    assert issued == {event["copy"] for event in by_kind.get("copy_land", ())}
    ends = {(e["of"], e["mbarrier"], e["phase"]): e["seq"] for e in by_kind.get("mbarrier_complete", ())}
    assert len(ends) == len(by_kind.get("mbarrier_complete", ()))
    for event in by_kind.get("mbarrier_pass", ()):
        assert event["caused_by"] == ends.get((event["of"], event["mbarrier"], event["phase"]))
    assert len(by_kind["exit"]) == found["warps"] * len(found["blocks"])


def follow(step: str, size: tuple[int, int, int], array: int, row: int, col: int, width: int, tmp_path):
    """The simulator's answer for an element of A (array 0) or B (1), and C's elements that it feeds, row and column."""
    m, n, k = size
    file = tmp_path / "events.json"
    at = (row * (n if array else k) + col) * width
    line = [BUILD / "steps" / step, "--sim", "--verify", "off", "--m", str(m), "--n", str(n), "--k", str(k)]
    asked = {"PTXSIM_EVENTS": str(file), "PTXSIM_FOLLOW": f"{array}:{at}:{width}", "PTXSIM_THREADS": "1"}
    ran(*line, env=asked, check=True)
    found = json.loads(file.read_text())["kernels"][-1]["followed"]
    assert not wrong(found, FOLLOWED, "followed")
    assert not found["diverged"] and not found["cut"]
    c = {byte // width for feed in found["feeds"] if feed["allocation"] == 2
         for byte in range(feed["offset"], feed["offset"] + feed["bytes"])}  # fmt: skip
    return found, {divmod(each, n) for each in c}


def marks(found: dict, kind: str, opcode: str, **of) -> list[dict]:
    return [mark for mark in found["marks"]
            if mark["kind"] == kind and found["sites"][str(mark["site"])]["instruction"].startswith(opcode)
            and all(mark.get(key) == value for key, value in of.items())]  # fmt: skip


def whole_row(row: int, n: int) -> set:
    return {(row, col) for col in range(n)}


def test_03_goes_through_a_register_and_shared_memory(tmp_path):
    # A[8][37]: the second slice, so As[8][5]; thread (5, 8), which is lane 5 of warp 8.
    found, c = follow("03_smem_tiling", (64, 64, 64), 0, 8, 37, 4, tmp_path)
    (load,) = marks(found, "registers", "ld.global")
    assert (load["warp"], load["lanes"], load["offset"], load["sector"]) == (8, [5], 2196, 68)
    (store,) = marks(found, "shared", "st.shared")
    assert (store["shared"], store["bank"], store["lanes"]) == (8 * 128 + 5 * 4, 5, [5])
    (back,) = marks(found, "registers", "ld.shared")
    assert (back["warp"], back["lanes"], back["access"]["wavefronts"]) == (8, list(range(32)), 1)
    (sums,) = marks(found, "registers", "fma", sum=True)
    assert sums["warp"] == 8 and len(sums["lanes"]) == 32
    assert c == whole_row(8, 64) and found["clusters"] == [0, 1]


def test_10_is_copied_asynchronously_and_lands_at_the_wait(tmp_path):
    # B[3][70]: 16 rows of 256 floats are a slice of B; a chunk of four floats is one copy.
    found, c = follow("10_cp_async", (256, 512, 64), 1, 3, 70, 4, tmp_path)
    (landed,) = marks(found, "shared", "cp.async")
    assert landed["issued"] < landed["step"] and len(landed["lanes"]) == 1
    assert landed["access"]["by"] == landed["lanes"] and landed["bank"] == landed["shared"] // 4 % 32
    assert {mark["shared"] for mark in marks(found, "registers", "ld.shared")} == {landed["shared"]}
    assert c == {(row, 70) for row in range(256)}


@pytest.mark.parametrize(
    ("step", "place"), [("18_mma_naive", 9 * 48 + 14), ("20_mma_warp_swizzle", 9 * 128 + 16 * (0 ^ 1) + 14)]
)
def test_18_and_20_go_through_fragments(step, place, tmp_path):
    # A[9][7]: pitch 24 halves in step 18; in step 20 chunk 0 of row 9 lies at place 0 ^ (9 % 8).
    found, c = follow(step, (256, 256, 64), 0, 9, 7, 2, tmp_path)
    start = next(each["offset"] for each in found["shared_variables"] if each["name"] == "As")
    (store,) = marks(found, "shared", "st.shared" if step.startswith("18") else "cp.async")
    assert (store["shared"] - start, store["bytes"]) == (place, 2)
    # Row 9 of k 0 to 7 is row 1 of the second matrix, which lane 9 names; its elements 6 and 7 are lane 7's.
    for load in marks(found, "registers", "ldmatrix"):
        assert (load["access"]["by"], load["lanes"], load["first_byte"]) == ([9], [7], 2)
        assert load["access"]["conflicts"] == 0
    operands = marks(found, "operand", "mma")
    assert {(each["operand"], each["row"], each["col"], *each["lanes"]) for each in operands} == {("A", 9, 7, 7)}
    assert {lane for each in marks(found, "registers", "mma", sum=True) for lane in each["lanes"]} == {4, 5, 6, 7}
    assert c == whole_row(9, 256)


def test_23_is_swizzled_by_tma_and_read_by_wgmma(tmp_path):
    # A[70][150]: slice 2, k 22 in it: chunk 2 of row 70, at place 2 ^ (70 % 8); the second warpgroup's row 6.
    found, c = follow("23_wgmma", (256, 512, 192), 0, 70, 150, 2, tmp_path)
    (landed,) = marks(found, "shared", "cp.async.bulk.tensor")
    assert landed["box"]["swizzle"] == 128 and landed["box"]["start"] == [128, 0]
    assert landed["shared"] - landed["box"]["shared"] == 70 * 128 + 16 * (2 ^ 6) + 12
    (operand,) = marks(found, "operand", "wgmma")
    assert (operand["operand"], operand["row"], operand["col"], operand["warp"]) == ("A", 6, 6, 4)
    sums = marks(found, "registers", "wgmma.wait_group", sum=True)
    assert {lane for each in sums for lane in each["lanes"]} == {24, 25, 26, 27}
    assert len(sums) == 64 and {each["warp"] for each in sums} == {4}
    assert c == whole_row(70, 512)
    # B[20][44]: chunk 5 of row 20 of the first box; every warp multiplies by it.
    found, c = follow("23_wgmma", (256, 512, 192), 1, 20, 44, 2, tmp_path)
    (landed,) = marks(found, "shared", "cp.async.bulk.tensor")
    assert landed["shared"] - landed["box"]["shared"] == 20 * 128 + 16 * (5 ^ 4) + 8
    operands = marks(found, "operand", "wgmma")
    assert {(each["row"], each["col"]) for each in operands} == {(4, 44)} and len(operands) == 8
    assert c == {(row, 44) for row in range(256)}


RACY = """.version 8.0
.target sm_80
.address_size 64
.visible .entry racy() {
  .reg .b32 %r<4>;
  .shared .align 4 .b8 tile[256];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  bar.sync 0;
  st.shared.u32 [tile], %r1;
  bar.sync 0;
  ret;
}
"""
LAUNCH = "import json, sys, ptxsim\nptxsim.Module(sys.argv[1]).kernel('racy')[1, 64]()\n"


def test_a_finding_has_both_clocks(tmp_path):
    file = tmp_path / "events.json"
    asked = {"PTXSIM_EVENTS": str(file), "PTXSIM_EVENTS_CLOCKS": "1", "PTXSIM_THREADS": "1",
             "PTXSIM_LIBRARY": str(BUILD / "subprojects/sim"), "PYTHONPATH": str(ROOT / "sim/python")}  # fmt: skip
    ran(sys.executable, "-c", LAUNCH, RACY, env=asked)
    kernel = json.loads(file.read_text())["kernels"][0]
    assert not wrong(kernel["findings"], FINDINGS, "findings")
    found = next(each for each in kernel["findings"] if each["kind"] == "race")
    assert found["rule"].startswith("PTX ISA, “Conflict and Data-races”")
    two = found["unordered"]
    first, second = two["first"], two["second"]
    assert {first["agent"], second["agent"]} == {0, 1}
    # Neither came before the other, by hand.
    assert first["stamp"] > two["seen"][first["agent"]]
    assert second["stamp"] > two["first_seen"][second["agent"]]
    # The first has learnt nothing since its access: its clock is that of its last event before.
    before = [each for each in kernel["events"] if each["seq"] < found["after"] and "seen" in each]
    own = [each for each in before if each.get("warp") == first["agent"] or each["kind"] == "barrier_complete"]
    assert two["first_learnt"] < first["stamp"] and own[-1]["seen"] == two["first_seen"]
