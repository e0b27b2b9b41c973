"""Files of records: puts one's records among another's, as the steps' executables do."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from base.errors import UserError
from base.paths import shown
from records import Record, read
from records.schema import identity


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
    merged = {identity(record): record for record in [*read(file), *records]}
    write(file, merged.values())


def write(file: Path, records: Iterable[Record]) -> None:
    """Writes a file of records, to a temporary one first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.part{os.getpid()}")
    text = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
