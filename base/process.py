"""Other programs: run them, read their lines as they come, end them with us."""

import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from base.paths import ROOT

Command = Sequence[str | os.PathLike[str]]


def run(command: Command, env: dict[str, str] | None = None, cwd: Path = ROOT) -> int:
    """Runs a program on our own terminal and returns its exit code. Ctrl-C reaches both; we wait for it to end."""
    with _started(command, env=env, cwd=cwd) as process:
        return process.wait()


def follow(command: Command, line: Callable[[str], None], env: dict[str, str] | None = None, cwd: Path = ROOT) -> int:
    """Runs a program, hands over each line that it prints (both streams, in order), and returns its exit code."""
    with _started(command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, **READ) as process:
        for text in process.stdout:
            line(text.rstrip("\n"))
        return process.wait()


def output(command: Command, env: dict[str, str] | None = None, cwd: Path = ROOT) -> tuple[int, str]:
    """Runs a program quietly: its exit code and all that it printed. A program that is not there has exit code 127."""
    lines: list[str] = []
    try:
        code = follow(command, lines.append, env, cwd)
    except OSError as error:
        return 127, str(error)
    return code, "\n".join(lines)


READ = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}


@contextmanager
def _started(command: Command, **how) -> Iterator[subprocess.Popen]:
    """A program for the time of a `with` block; on Ctrl-C it gets a few seconds to end by itself."""
    with subprocess.Popen([os.fspath(part) for part in command], **how) as process:
        try:
            yield process
        except KeyboardInterrupt:
            for stop in (lambda: None, process.terminate, process.kill):
                stop()
                try:
                    process.wait(timeout=5)
                    break
                except (subprocess.TimeoutExpired, KeyboardInterrupt):
                    continue
            raise
