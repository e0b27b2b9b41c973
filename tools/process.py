"""Other programs: run them, read their lines as they come, end them with us."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.paths import ROOT

Command = Sequence[str | os.PathLike[str]]


def run(command: Command, env: dict[str, str] | None = None, cwd: Path = ROOT) -> int:
    """Runs a program on our own terminal and returns its exit code. Ctrl-C reaches both; we wait for it to end."""
    with subprocess.Popen([os.fspath(part) for part in command], env=env, cwd=cwd) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            _end(process)
            raise


def follow(command: Command, line: Callable[[str], None], env: dict[str, str] | None = None, cwd: Path = ROOT) -> int:
    """Runs a program, hands over each line that it prints (both streams, in order), and returns its exit code."""
    with subprocess.Popen(
        [os.fspath(part) for part in command],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for text in process.stdout:
                line(text.rstrip("\n"))
            return process.wait()
        except KeyboardInterrupt:
            _end(process)
            raise


def output(command: Command, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Runs a program quietly: its exit code and all that it printed. A program that is not there has exit code 127."""
    try:
        done = subprocess.run(
            [os.fspath(part) for part in command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout


def _end(process: subprocess.Popen) -> None:
    """Lets a program that got the same Ctrl-C end by itself; asks again if it does not."""
    try:
        process.wait(timeout=5)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.terminate()
        try:
            process.wait(timeout=5)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
