"""The recorded events of the rings are what the schema says, and what rings have to obey."""

import json
import re

import pytest

from base.paths import ROOT
from records import events

SCHEMA = json.loads((ROOT / "sim/session/events.schema.json").read_text(encoding="utf-8"))
OF_EVENT = SCHEMA["properties"]["kernels"]["items"]["properties"]["events"]["items"]
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
