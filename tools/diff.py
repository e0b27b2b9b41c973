"""`./gemm diff 07 08`: what changed in the kernel between two steps, side by side."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tools import measured
from tools.errors import UserError
from tools.progress import say
from tools.registry import Step

CONTEXT = 3  # unchanged lines shown around a change
ALIKE = 0.5  # two lines more alike than this are one line that was edited
NARROWEST = 60
RED, GREEN, BOLD, DIM, STRONG, RESET = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[2m", "\x1b[7m", "\x1b[27;39;22m"


@dataclass(frozen=True)
class Row:
    """One row of the picture: a line of the old kernel, of the new one, or of both, with their numbers."""

    mark: str  # " " the same, "|" edited, "<" only in the old, ">" only in the new
    old_number: int | None
    old: str
    new_number: int | None
    new: str


def print_diff(old: Step, new: Step, asked_gpu: str | None, whole: bool) -> None:
    """Prints both steps' figures and their kernels side by side."""
    records = measured.load()
    folder = measured.choose_gpu(records, asked_gpu)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    width = max(NARROWEST, shutil.get_terminal_size((160, 40)).columns)
    half = (width - 3) // 2
    heads = [
        [step.name, step.idea(), measured.in_words(measured.at_figure_size(records, folder, step.name))]
        for step in (old, new)
    ]
    for line, (left, right) in enumerate(zip(*heads, strict=True)):
        text = f"{_cut(left, half):<{half}} │ {_cut(right, half)}"
        say(f"{BOLD}{text}{RESET}" if colour and line == 0 else text)
    every_row = rows(_lines(old), _lines(new))
    say(f"{_cut(summary(every_row), width)}")
    for line in picture(every_row if whole else interesting(every_row), half, colour):
        say(line)


def summary(every_row: Sequence[Row]) -> str:
    """How much changed: lines edited, added and removed."""
    count = {mark: sum(row.mark == mark for row in every_row) for mark in "|<>"}
    if not any(count.values()):
        return "The two kernels are the same."
    return f"{count['|']} lines edited, {count['<']} removed, {count['>']} added"


def rows(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    """Puts two texts side by side, line against line."""
    found = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs: Iterator[tuple[int | None, int | None]] = zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs = _aligned(old, range(i1, i2), new, range(j1, j2))
        for i, j in pairs:
            mark = " " if tag == "equal" else "<" if j is None else ">" if i is None else "|"
            found.append(
                Row(
                    mark,
                    None if i is None else i + 1,
                    "" if i is None else old[i],
                    None if j is None else j + 1,
                    "" if j is None else new[j],
                )
            )
    return found


def interesting(every_row: Sequence[Row]) -> list[Row | None]:
    """The changed rows with a little around them; None stands for what is left out."""
    near = [False] * len(every_row)
    for at, row in enumerate(every_row):
        if row.mark != " ":
            for neighbour in range(max(0, at - CONTEXT), min(len(every_row), at + CONTEXT + 1)):
                near[neighbour] = True
    kept: list[Row | None] = []
    for at, row in enumerate(every_row):
        if near[at]:
            kept.append(row)
        elif at > 0 and near[at - 1]:
            kept.append(None)
    if kept and kept[-1] is None:
        kept.pop()
    return kept


def picture(chosen: Sequence[Row | None], half: int, colour: bool) -> list[str]:
    """The rows as lines of text, `half` columns a side; long lines go on below themselves."""
    lines = []
    text_width = half - 5  # a line's number and a space
    for row in chosen:
        if row is None:
            lines.append("─" * (2 * half + 3))
            continue
        old_marks, new_marks = _edited(row) if row.mark == "|" else ([], [])
        left = _side(row.old_number, row.old, old_marks, text_width, RED if row.mark in "|<" else "", colour)
        right = _side(row.new_number, row.new, new_marks, text_width, GREEN if row.mark in "|>" else "", colour)
        blank = " " * half
        for at in range(max(len(left), len(right))):
            lines.append(
                f"{left[at] if at < len(left) else blank} {row.mark if at == 0 and row.mark != ' ' else '│'} "
                f"{right[at] if at < len(right) else ''}".rstrip()
            )
    return lines


def _lines(step: Step) -> list[str]:
    try:
        return step.kernel.read_text(encoding="utf-8").expandtabs(4).splitlines()
    except OSError as error:
        raise UserError(f"the kernel of {step.name} cannot be read: {error.strerror}") from None


def _aligned(
    old: Sequence[str], old_range: range, new: Sequence[str], new_range: range
) -> Iterator[tuple[int | None, int | None]]:
    """Pairs the lines of a changed passage so that the pairs are as alike as can be, in order."""
    rest = [[0.0] * (len(new_range) + 1) for _ in range(len(old_range) + 1)]
    alike = [[_alike(old[i], new[j]) for j in new_range] for i in old_range]
    for a in reversed(range(len(old_range))):
        for b in reversed(range(len(new_range))):
            rest[a][b] = max(rest[a + 1][b], rest[a][b + 1], alike[a][b] + rest[a + 1][b + 1])
    a = b = 0
    while a < len(old_range) or b < len(new_range):
        if b == len(new_range) or (a < len(old_range) and rest[a][b] == rest[a + 1][b]):
            yield old_range[a], None
            a += 1
        elif a == len(old_range) or rest[a][b] == rest[a][b + 1]:
            yield None, new_range[b]
            b += 1
        else:
            yield old_range[a], new_range[b]
            a, b = a + 1, b + 1


def _alike(old: str, new: str) -> float:
    """How much of two lines is the same, 0 where they are too different to be called one edited line."""
    matcher = SequenceMatcher(None, old.strip(), new.strip(), autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= ALIKE else 0.0


def _edited(row: Row) -> tuple[list[range], list[range]]:
    """The stretches of an edited line that differ, in the old line and in the new one."""
    old_marks, new_marks = [], []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, row.old, row.new, autojunk=False).get_opcodes():
        if tag != "equal":
            old_marks.append(range(i1, i2))
            new_marks.append(range(j1, j2))
    return old_marks, new_marks


def _side(number: int | None, text: str, marks: list[range], width: int, paint: str, colour: bool) -> list[str]:
    """One side of a row: its number and its text, over as many lines as it takes."""
    if number is None:
        return []
    pieces = []
    for start, end in _stretches(text, width):
        piece = text[start:end]
        padding = " " * (width - len(piece))
        label = f"{number:4d} " if start == 0 else "     "
        if colour:
            label = f"{DIM}{label}{RESET}"
            piece = _painted(piece, start, marks, paint)
        pieces.append(label + piece + padding)
    return pieces


def _stretches(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Where a long line is broken: after a space if one is near the end, else at the width."""
    start = 0
    while len(text) - start > width:
        space = text.rfind(" ", start + width // 2, start + width)
        end = start + width if space < 0 else space + 1
        yield start, end
        start = end
    yield start, len(text)


def _painted(piece: str, start: int, marks: list[range], paint: str) -> str:
    """A piece of a line in its colour, the stretches that differ standing out."""
    if not paint:
        return piece
    out, strong = [paint], False
    for at, letter in enumerate(piece, start):
        inside = any(at in mark for mark in marks)
        if inside != strong:
            out.append(STRONG if inside else "\x1b[27m")
            strong = inside
        out.append(letter)
    return "".join(out) + RESET


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
