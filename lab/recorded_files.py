"""A file per recording: the command that writes what the simulator did, or compares it with what is recorded."""

import argparse
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import UserError


@dataclass(frozen=True)
class Files:
    """What is recorded: a JSON file per name in `folder`, by `python -m MODULE`."""

    module: str
    folder: Path
    names: list[str]
    record: Callable[[str], Any]  # does it now
    load: Callable[[str], Any]  # what is recorded
    text_of: Callable[[Any], str]  # the file's text
    essence: Callable[[Any], list[str]]  # what has to stay the same

    def is_same(self, name: str) -> bool:
        """Whether the same happens as recorded; prints what it found."""
        if not (self.folder / f"{name}.json").is_file():
            print(f"{name}: not recorded; run python -m {self.module}")
            return False
        before, now = self.essence(self.load(name)), self.essence(self.record(name))
        if before == now:
            print(f"{name}: {len(now)} lines, as recorded")
            return True
        different = next((pair for pair in itertools.zip_longest(before, now) if pair[0] != pair[1]), None)
        print(f"{name}: NOT as recorded\n  recorded: {different[0]}\n  now:      {different[1]}")
        return False

    def write(self, name: str) -> None:
        """Records anew."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = self.text_of(self.record(name))
        (self.folder / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}: {len(text) / 1024:.0f} KiB")

    def command(self, description: str | None) -> int:
        """The command; returns the exit code."""
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--only", nargs="*", default=[""], help="recordings whose name begins with one of these")
        parser.add_argument("--check", action="store_true", help="compare, write nothing")
        asked = parser.parse_args()
        chosen = [name for name in self.names if name.startswith(tuple(asked.only))]
        if not chosen:
            print(f"no recording begins like this: {' '.join(asked.only)}", file=sys.stderr)
            return 2
        try:
            if asked.check:
                same = [self.is_same(name) for name in chosen]  # all of them, whether one differs or not
                return 0 if all(same) else 1
            for name in chosen:
                self.write(name)
        except UserError as error:
            print(error, file=sys.stderr)
            return 2
        return 0
