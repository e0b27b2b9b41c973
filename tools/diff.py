"""`./gemm diff 07 08`: what changed in the kernel between two steps, side by side."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from base.errors import UserError
from base.languages import CHINESE, ENGLISH, said
from base.progress import say
from base.registry import Step
from tools import measured
from tools.text_table import cut

CONTEXT = 3  # unchanged lines shown around a change
ALIKE = 0.5  # two lines more alike than this are one line that was edited
NARROWEST = 60
RED, GREEN, BOLD, DIM, STRONG, WEAK = "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[2m", "\x1b[7m", "\x1b[27m"
RESET = f"{WEAK[:-1]};39;22m"


@dataclass(frozen=True)
class Row:
    """One row of the picture: a line of the old kernel, of the new one, or of both, with their numbers."""

    mark: str  # " " the same, "|" edited, "<" only in the old, ">" only in the new
    old_number: int | None
    old: str
    new_number: int | None
    new: str


def print_diff(old: Step, new: Step, asked_gpu: str | None, whole: bool, spoken: str = ENGLISH) -> None:
    """Prints both steps' figures, how much changed, and their kernels side by side."""
    records = measured.load()
    folder = measured.choose_gpu(records, asked_gpu)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    half = (max(NARROWEST, shutil.get_terminal_size((160, 40)).columns) - 3) // 2
    texts = [_text(step) for step in (old, new)]
    heads = [
        (step.name, step.idea(spoken), measured.in_words(measured.at_figure_size(records, folder, step.name), spoken))
        for step in (old, new)
    ]
    for line, (left, right) in enumerate(zip(*heads, strict=True)):
        text = f"{cut(left, half)} │ {cut(right, half)}".rstrip()
        say(f"{BOLD}{text}{RESET}" if colour and line == 0 else text)
    say(summary(*texts, spoken))
    every_row = rows(*(text.splitlines() for text in texts))
    for line in picture(every_row if whole else interesting(every_row), half, colour):
        say(line)


def code_lines(text: str) -> list[str]:
    """A source's lines without comments, blank lines and trailing spaces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return [line for line in (re.sub(r"//.*", "", line).rstrip() for line in text.splitlines()) if line]


def changed(old: str, new: str) -> dict[str, int]:
    """How many lines of code were edited, removed and added between two sources, comments and blank lines aside."""
    marks = [row.mark for row in rows(code_lines(old), code_lines(new))]
    return {"edited": marks.count("|"), "removed": marks.count("<"), "added": marks.count(">")}


def summary(old: str, new: str, spoken: str = ENGLISH) -> str:
    """How much changed, in words."""
    counts = changed(old, new)
    if not any(counts.values()):
        return said(spoken, "The code of the two kernels is the same.", "两个 kernel 的代码相同。")
    if spoken == CHINESE:
        edited, removed, added = counts.values()
        return f"代码行（不计注释）：改 {edited} 行，删 {removed} 行，加 {added} 行，共 {sum(counts.values())} 行。"
    words = ", ".join(f"{count} {what}" for what, count in counts.items())
    return f"Lines of code, comments aside: {words}; {sum(counts.values())} in all."


def rows(old: Sequence[str], new: Sequence[str]) -> list[Row]:
    """Puts two texts side by side, line against line."""
    found = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = tag == "equal"
        pairs = (
            zip(range(i1, i2), range(j1, j2), strict=True) if same else _aligned(old, range(i1, i2), new, range(j1, j2))
        )
        for i, j in pairs:
            mark = " " if same else "<" if j is None else ">" if i is None else "|"
            left = (None, "") if i is None else (i + 1, old[i])
            right = (None, "") if j is None else (j + 1, new[j])
            found.append(Row(mark, *left, *right))
    return found


def interesting(every_row: Sequence[Row]) -> list[Row | None]:
    """The changed rows with a little around them; None stands for what is left out."""
    near = [
        any(row.mark != " " for row in every_row[max(0, at - CONTEXT) : at + CONTEXT + 1])
        for at in range(len(every_row))
    ]
    kept: list[Row | None] = []
    for at, row in enumerate(every_row):
        if near[at]:
            if kept and not near[at - 1]:
                kept.append(None)
            kept.append(row)
    return kept


def picture(chosen: Sequence[Row | None], half: int, colour: bool) -> list[str]:
    """The rows as lines of text, `half` columns per side; long lines go on below themselves."""
    lines = []
    for row in chosen:
        if row is None:
            lines.append("─" * (2 * half + 3))
            continue
        old_marks, new_marks = _edited(row) if row.mark == "|" else ([], [])
        red, green = (RED if row.mark in "|<" else ""), (GREEN if row.mark in "|>" else "")
        left = _side(row.old_number, row.old, old_marks, half - 5, red if colour else None)
        right = _side(row.new_number, row.new, new_marks, half - 5, green if colour else None)
        for at in range(max(len(left), len(right))):
            between = row.mark if at == 0 and row.mark != " " else "│"
            before = left[at] if at < len(left) else " " * half
            lines.append(f"{before} {between} {right[at] if at < len(right) else ''}".rstrip())
    return lines


def _text(step: Step) -> str:
    try:
        return step.kernel.read_text(encoding="utf-8").expandtabs(4)
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
    opcodes = SequenceMatcher(None, row.old, row.new, autojunk=False).get_opcodes()
    differing = [(range(i1, i2), range(j1, j2)) for tag, i1, i2, j1, j2 in opcodes if tag != "equal"]
    return [old for old, _ in differing], [new for _, new in differing]


def _side(number: int | None, text: str, marks: list[range], width: int, paint: str | None) -> list[str]:
    """One side of a row: its number and its text, over as many lines as it takes; `paint` None: without colours."""
    if number is None:
        return []
    sides, start = [], 0
    for piece in textwrap.wrap(text, width, drop_whitespace=False, replace_whitespace=False) or [""]:
        label, padding = f"{number:4d} " if start == 0 else "     ", " " * (width - len(piece))
        if paint is None:
            sides.append(label + piece + padding)
        else:
            sides.append(f"{DIM}{label}{RESET}{_painted(piece, start, marks, paint)}{padding}")
        start += len(piece)
    return sides


def _painted(piece: str, start: int, marks: list[range], paint: str) -> str:
    """A piece of a line in its colour, the stretches that differ standing out."""
    if not paint:
        return piece
    out, strong = [paint], False
    for at, letter in enumerate(piece, start):
        inside = any(at in mark for mark in marks)
        if inside != strong:
            out.append(STRONG if inside else WEAK)
            strong = inside
        out.append(letter)
    return "".join(out) + RESET
