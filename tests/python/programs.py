"""Programs in place of compiled ones and of other people's, for the tests of what starts them."""

from pathlib import Path


def program(file: Path, text: str) -> Path:
    """A script with this text; without a first line of its own, one for the shell."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)
    return file


def printing(file: Path, text: str) -> Path:
    """A program that prints this, whatever it is asked."""
    return program(file, f"cat <<'END'\n{text}\nEND")
