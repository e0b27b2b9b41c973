"""The command `ptxsim`: the program beside the libraries takes over."""

import os
import sys

from ._library import folder


def main() -> None:
    """Starts the command with the arguments as they are."""
    program = folder().parent / "bin" / "ptxsim"
    if not program.exists():
        program = folder() / "ptxsim"  # as built
    os.execv(program, ["ptxsim", *sys.argv[1:]])
