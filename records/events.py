"""The recorded events of the steps' rings, as `python -m lab.events` packs them: who arrives, copies and waits."""

import json
from typing import Any

from base.paths import DATA

FOLDER = DATA / "simulator" / "events"

Events = dict[str, Any]


def packed(found: Events) -> Events:
    """Events as rows: the number of a shape, then the values of its fields. Their numbers follow from their places."""
    shapes: list[list[str]] = []
    rows = []
    for event in found["events"]:
        shape = [
            event["kind"],
            *(key for key, value in event.items() if key not in ("seq", "kind") and value is not None),
        ]
        if shape not in shapes:
            shapes.append(shape)
        rows.append([shapes.index(shape), *(event[key] for key in shape[1:])])
    return {**found, "shapes": shapes, "events": rows}


def unpacked(found: Events) -> Events:
    """The events as the simulator wrote them.

    >>> events = [{"seq": 0, "kind": "exit", "warp": 3, "caused_by": None}]
    >>> unpacked(packed({"window": {"first": 0}, "events": events}))["events"] == events
    True
    """
    events = []
    for number, (shape, *values) in enumerate(found["events"], found["window"]["first"]):
        kind, *names = found["shapes"][shape]
        event = {"seq": number, "kind": kind, **dict(zip(names, values, strict=True))}
        events.append({"caused_by": None, **event})
    return {**{key: value for key, value in found.items() if key != "shapes"}, "events": events}


def load(step: str) -> Events:
    """What is recorded of a step."""
    return unpacked(json.loads((FOLDER / f"{step}.json").read_text(encoding="utf-8")))
