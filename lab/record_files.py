"""Files of records: read one by line, put one's records among another's, as the steps' executables do."""

import json
import os
from pathlib import Path
from typing import Any

from tools.errors import UserError
from tools.paths import shown

# Two records with the same values of these are of the same measurement; common/harness/record_file.cpp has the same list.
IDENTITY = (
    *("step", "variant", "m", "n", "k", "lda", "ldb", "ldc"),
    *("a", "acc", "c", "layout", "alpha", "beta", "baseline", "options"),
    *("limit", "metric", "swizzle_stride"),  # of limits.jsonl and profile.jsonl
)

Record = dict[str, Any]


def read(file: Path) -> list[Record]:
    """The records of a file; a line that is none is named."""
    if not file.exists():
        return []
    records = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{shown(file)}: not a text file; move it away or put the recorded one back") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise UserError(f"{shown(file)}:{number}: not JSON ({error}); mend or remove the line") from None
        if not isinstance(record, dict):
            raise UserError(f"{shown(file)}:{number}: not a JSON object; mend or remove the line")
        records.append(record)
    return records


def identity(record: Record) -> str:
    """What makes two records the same measurement, as text that can be compared."""
    return json.dumps([record.get(key) for key in IDENTITY], sort_keys=True)


def merge(source: Path, target: Path) -> int:
    """Puts the records of every file under `source` into the same file under `target`. Returns how many there were."""
    files = sorted(source.rglob("*.jsonl"))
    if not files:
        raise UserError(f"there are no records (*.jsonl) under {shown(source)}")
    found = [(file, read(file)) for file in files]  # all are read before any is written
    for file, records in found:
        put(target / file.relative_to(source), records)
    return sum(len(records) for _, records in found)


def put(file: Path, records: list[Record]) -> None:
    """The records replace those of the same measurements, where these stand; new ones come last."""
    merged = {identity(record): record for record in read(file)}
    merged.update((identity(record), record) for record in records)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.part{os.getpid()}")
    text = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in merged.values())
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
