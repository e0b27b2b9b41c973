"""Records which published kernels each variant covers, as the executables list it: `python -m lab.variants`.

The charts and tables and docs/ladder.md read the record, so that they need no build. No GPU is needed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import registry
from tools.errors import UserError
from tools.paths import BUILD, DATA

FILE = DATA / "variants.jsonl"


def listed(step: registry.Step) -> list[dict]:
    """What a step's executable says of its variants."""
    executable = BUILD / "steps" / step.name
    if not executable.is_file():
        raise UserError(f"{step.name} is not built: meson compile -C {BUILD.name} {step.name}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "variants.jsonl"
        subprocess.run([executable, "--list", "--json", file], check=True, timeout=60)
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def covering(variants: list[dict]) -> list[dict]:
    """The records of variants: of those that cover something, in their order."""
    return [{key: variant[key] for key in ("step", "variant", "covers")} for variant in variants if variant["covers"]]


def main() -> int:
    """The command; returns the exit code."""
    try:
        records = [record for step in registry.steps() for record in covering(listed(step))]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    FILE.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    print(f"{len(records)} variants cover published kernels: {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
