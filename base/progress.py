"""Progress on long work: rich's bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

PLAIN_INTERVAL_S = 10.0  # between two lines where there is no terminal to draw on


def say(text: str) -> None:
    """Prints one line of what is being done, at once."""
    print(text, flush=True)


class Meter:
    """For a log: a line at the start, and one every ten seconds or so."""

    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self._last = time.monotonic()
        say(f"{title} …")

    def show(self, done: int, detail: str = "") -> None:
        """So much of the work is done; `detail` says what comes now."""
        now = time.monotonic()
        if now - self._last >= PLAIN_INTERVAL_S:
            self._last = now
            say(f"{self.title}: {done}/{self.total}  {detail}")

    def print(self, text: str) -> None:
        """Prints a line, above the bar where there is one."""
        say(text)


class Bar:
    """For a terminal: rich's bar, with the time gone and the time left."""

    def __init__(self, title: str, total: int, progress: "rich.progress.Progress") -> None:  # noqa: F821
        self._progress = progress
        self._task = progress.add_task(title, total=total, detail="")

    def show(self, done: int, detail: str = "") -> None:
        """So much of the work is done; `detail` says what comes now."""
        self._progress.update(self._task, completed=done, detail=detail[:44])  # cut, so that the bar stays where it is

    def print(self, text: str) -> None:
        """Prints a line above the bar."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def meter(title: str, total: int) -> Iterator[Meter | Bar]:
    """A meter for the time of a `with` block, of the kind that suits where we print to."""
    try:
        from rich import progress  # in .venv; with --no-setup it may be missing
    except ImportError:
        progress = None
    if progress is None or not sys.stdout.isatty():
        yield Meter(title, total)
        return
    detail = progress.TextColumn("{task.fields[detail]}", markup=False)
    columns = (progress.MofNCompleteColumn(), progress.TimeElapsedColumn(), progress.TimeRemainingColumn(), detail)
    with progress.Progress("{task.description}", progress.BarColumn(bar_width=30), *columns) as bar:
        yield Bar(title, total, bar)
