"""Records which published kernels each variant covers, as the executables list it: `python -m lab.variants`.

The charts and tables and docs/ladder.md read the record, so that they need no build. No GPU is needed.
"""

import sys

from base import build, registry
from base.errors import UserError
from base.paths import DATA, shown
from records.files import Record, write

FILE = DATA / "variants.jsonl"


def listed(step: registry.Step) -> list[Record]:
    """What a step's executable says of its variants."""
    return build.variants(f"steps/{step.name}")


def covering(variants: list[Record]) -> list[Record]:
    """The records of variants: of those that cover something, in their order."""
    return [{key: variant[key] for key in ("step", "variant", "covers")} for variant in variants if variant["covers"]]


def main() -> int:
    """The command; returns the exit code."""
    try:
        records = [one for step in registry.steps() for one in covering(listed(step))]
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    write(FILE, records)
    print(f"{len(records)} variants cover published kernels: {shown(FILE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
