"""Progress on long work: a bar on a terminal (rich, once it is installed), a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

try:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
except ImportError:  # the first start, before .venv is there
    Progress = None  # type: ignore[assignment, misc]

PLAIN_INTERVAL_S = 10.0  # between two lines where there is no terminal to draw on


def say(text: str) -> None:
    """Prints one line of what is being done, at once."""
    print(text, flush=True)


class Meter:
    """Shows how far a piece of work has come. `total` may be learnt on the way; 0 means that it is not known yet."""

    def __init__(self, title: str, total: int = 0) -> None:
        self.title = title
        self.done = 0
        self.total = total

    def show(self, done: int, total: int | None = None, detail: str = "") -> None:
        """The work stands at `done` of `total`; `detail` says on what."""
        self.done = done
        if total is not None:
            self.total = total
        self._draw(detail)

    def print(self, text: str) -> None:
        """Prints a line without disturbing the bar."""
        say(text)

    def _draw(self, detail: str) -> None:
        raise NotImplementedError


class PlainMeter(Meter):
    """For a log: a line at the start, one every ten seconds or so, one at the end."""

    def __init__(self, title: str, total: int = 0) -> None:
        super().__init__(title, total)
        self._last = time.monotonic()
        say(f"{title} …")

    def _draw(self, detail: str) -> None:
        now = time.monotonic()
        if now - self._last < PLAIN_INTERVAL_S:
            return
        self._last = now
        say(f"{self.title}: {self._count()}{'  ' + detail if detail else ''}")

    def _count(self) -> str:
        return f"{self.done}/{self.total}" if self.total else f"{self.done}"


class LineMeter(Meter):
    """For a terminal before rich is installed: one line, written over."""

    def _draw(self, detail: str) -> None:
        count = f"{self.done}/{self.total}" if self.total else f"{self.done}"
        sys.stdout.write(f"\r\x1b[K{self.title}  {count}  {detail[:60]}")
        sys.stdout.flush()

    def print(self, text: str) -> None:
        """Prints a line above the counter."""
        sys.stdout.write("\r\x1b[K")
        say(text)


class RichMeter(Meter):
    """For a terminal: rich's bar, with the time gone and the time left."""

    def __init__(self, title: str, total: int, progress: "Progress") -> None:
        super().__init__(title, total)
        self._progress = progress
        self._task = progress.add_task(title, total=total or None, detail="")

    def _draw(self, detail: str) -> None:
        # a fixed width, so that the bar does not jump about
        self._progress.update(self._task, completed=self.done, total=self.total or None, detail=detail[:44])

    def print(self, text: str) -> None:
        """Prints a line above the bar."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def meter(title: str, total: int = 0) -> Iterator[Meter]:
    """A meter for the time of a `with` block, of the kind that suits where we print to."""
    if not sys.stdout.isatty():
        yield PlainMeter(title, total)
    elif Progress is None:
        try:
            yield LineMeter(title, total)
        finally:
            sys.stdout.write("\n")
    else:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[detail]}", markup=False),
        )
        with Progress(*columns, console=Console()) as progress:
            yield RichMeter(title, total, progress)
