"""What a record is, as records/schema.json tells it to C++ and to Python: what makes it the same measurement as another
one, and the fields that it must have."""

import json
import math
from pathlib import Path
from typing import Any

Record = dict[str, Any]

_SCHEMA = json.loads((Path(__file__).parent / "schema.json").read_text(encoding="utf-8"))
IDENTITY: tuple[str, ...] = tuple(_SCHEMA["identity"])
KINDS: dict[str, dict[str, str]] = _SCHEMA["kinds"]
_OF_TYPE = {"text": str, "count": int, "list": list, "object": dict}


def identity(record: Record) -> str:
    """What makes two records the same measurement, as text that can be compared."""
    return json.dumps([record.get(key) for key in IDENTITY], sort_keys=True)


def checked(record: Any, kind: str = "") -> Record:
    """The record, where it has the fields of its kind ("" asks for none). Raises ValueError, which says what is wrong."""
    if not isinstance(record, dict):
        raise ValueError("not a JSON object")
    for key, of in KINDS.get(kind, {}).items():
        if key not in record:
            raise ValueError(f"no field '{key}'")
        value = record[key]
        if of in ("number", "positive"):
            finite = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
            if not finite or (of == "positive" and value <= 0):
                raise ValueError(f"field '{key}' is no {'positive ' if of == 'positive' else ''}number: {value!r}")
        elif not isinstance(value, _OF_TYPE[of]) or isinstance(value, bool):
            raise ValueError(f"field '{key}' is no {of}: {value!r}")
        elif of == "count" and value < 1:
            raise ValueError(f"field '{key}' is below 1: {value}")
    return record
