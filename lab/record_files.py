"""Files of records: puts one's records among another's, as the steps' executables do."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.errors import UserError
from tools.measured import read
from tools.paths import shown

# Two records with the same values of these are of the same measurement; common/harness/record_file.cpp has the same list.
IDENTITY = (
    *("step", "variant", "m", "n", "k", "lda", "ldb", "ldc"),
    *("a", "acc", "c", "layout", "alpha", "beta", "baseline", "options"),
    *("limit", "metric", "swizzle_stride", "latency"),  # of limits.jsonl, profile.jsonl and latency.jsonl
    *("way", "product", "gpus", "chunks", "nccl_blocks"),  # of several_gpus.jsonl
)

Record = dict[str, Any]


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
    merged = {identity(record): record for record in [*read(file), *records]}
    write(file, merged.values())


def write(file: Path, records: Iterable[Record]) -> None:
    """Writes a file of records, to a temporary one first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.part{os.getpid()}")
    text = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)
