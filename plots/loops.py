"""A kernel's main loop as a page shows it: taken out of kernel.cu, with marks that the page keeps.

    <!-- loop:04
    from const int k0
    to for (int k
    ① a_copy[i] = a
    ② As[tile_col]
    -->

The name is a step's number; `04.one_file` takes also/one_file.cu, and `03..04` shows 04's lines with what is gone from 03's
before them. `common/device/tiles.h` is that header, whose lines need a `from`. Without `from` and `to` it is the first loop at the outermost level of the kernel. Each line that begins with
another sign is a mark and the code that it stands beside: the first line behind the mark before it that holds this code.
What is looked for is code: comments may be reworded.

Of two steps, `from` and `to` say where the lines are in both files. Where the older file's are elsewhere, `was-from` and `was-to`
say where; behind a `was-from` alone it is that one statement.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path

from .course import Course

_OUTERMOST = re.compile(r"^  for \(")
_COMMENT = re.compile(r"\s*//.*$")
_PLACES = {"from": "begin", "to": "end", "was-from": "was_begin", "was-to": "was_end"}
_NAME = re.compile(r"(?:(?P<old>\d\d)\.\.)?(?P<step>\d\d)(?:\.(?P<also>\w+))?$")


class LoopError(Exception):
    """A loop that a page asks for and that there is not; the text says what is missing."""


@dataclass
class Asked:
    """What a marker asks for: where the loop begins and ends, by code, and the marks with the code they stand beside.

    `was_begin` and `was_end` are the place in the older of two files, where it is another one.
    """

    begin: str = ""
    end: str = ""
    was_begin: str = ""
    was_end: str = ""
    marks: list[tuple[str, str]] = field(default_factory=list)


def parse(lines: list[str]) -> Asked:
    """The lines of a marker behind its name."""
    asked = Asked()
    for line in filter(None, map(str.strip, lines)):
        word, _, code = line.partition(" ")
        if not code:
            raise LoopError(f"'{line}' has no code: from CODE, to CODE, or a mark and CODE")
        if word in _PLACES:
            setattr(asked, _PLACES[word], code)
        else:
            asked.marks.append((word, code))
    return asked


def block(course: Course, name: str, asked: Asked) -> str:
    """The loop as a fenced block, marked; of two steps as a diff. Raises LoopError."""
    if "/" in name:
        lines = extract(_header(course, name), asked.begin, asked.end)
        return "\n".join(["```cpp", *_to_the_left(marked(lines, asked.marks)), "```"])
    found = _NAME.match(name)
    if not found:
        raise LoopError(f"'{name}' is no step: NN, NN.file or NN..NN")
    new = extract(_source(course, found["step"], found["also"]), asked.begin, asked.end)
    if not found["old"]:
        return "\n".join(["```cpp", *_to_the_left(marked(new, asked.marks)), "```"])
    was_end = asked.was_end or ("" if asked.was_begin else asked.end)
    old = extract(_source(course, found["old"], None), asked.was_begin or asked.begin, was_end)
    old, new, shown = _to_the_left(old), _to_the_left(new), marked(_to_the_left(new), asked.marks)
    return "\n".join(["```diff", *min((_beside(old, new, shown, moved) for moved in (False, True)), key=len), "```"])


def _beside(old: list[str], new: list[str], shown: list[str], moved: bool) -> list[str]:
    """Two loops as one diff, the new one's lines as `shown`. With `moved`, code counts as the same that now stands further
    right, under another loop."""
    keys = [[_code(line).strip() if moved else _code(line).rstrip() for line in lines] for lines in (old, new)]
    shorter = min(len(old), len(new))
    tail = next((i for i in range(shorter) if _code(old[-1 - i]) != _code(new[-1 - i])), shorter)
    both = difflib.SequenceMatcher(None, *(lines[: len(lines) - tail] for lines in keys), autojunk=False)
    lines: list[str] = []
    a = c = 0  # how much of both is in `lines`
    for at_old, at_new, size in [*both.get_matching_blocks()[:-1], (len(old) - tail, len(new) - tail, tail)]:
        has_moved = any(_indent(old[at_old + i]) != _indent(new[at_new + i]) for i in range(size))
        by_accident = size < 3 if has_moved else new[at_new : at_new + size] == ["#pragma unroll"]
        if by_accident and at_new < len(new) - tail:
            continue
        lines += [f"-{line}" for line in old[a:at_old]] + [f"+{line}" for line in shown[c:at_new]]
        lines += [f" {line}" for line in shown[at_new : at_new + size]]
        a, c = at_old + size, at_new + size
    return [line.rstrip() for line in lines]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _to_the_left(lines: list[str]) -> list[str]:
    """The lines without the indentation that all have; a #pragma stands at the left in any case."""
    least = min(len(line) - len(line.lstrip()) for line in lines if line.strip() and not line.startswith("#"))
    return [line if line.startswith("#") else line[least:] for line in lines]


def _source(course: Course, number: str, also: str | None) -> Path:
    step = next((s for s in course.steps if s.name.startswith(number)), None)
    path = step and (step.folder / "also" / f"{also}.cu" if also else step.folder / "kernel.cu")
    if path is None or not path.is_file():
        raise LoopError(f"there is no kernel '{number}{'.' + also if also else ''}'")
    return path


def _header(course: Course, name: str) -> Path:
    path = course.steps[0].folder.parent.parent / name
    if ".." in name or not path.is_file():
        raise LoopError(f"there is no file '{name}'")
    return path


def extract(source: Path, begin: str, end: str) -> list[str]:
    """The lines from the one that holds `begin` to the end of the statement that holds `end`."""
    lines = source.read_text(encoding="utf-8").splitlines()
    first = _find(lines, begin, _kernel(lines)) if begin else next(
        (i for i, line in enumerate(lines) if _OUTERMOST.match(line)), None
    )  # fmt: skip
    if first is None:
        raise LoopError(f"{source.parent.name}/{source.name} has no line with the code '{begin or 'for ('}'")
    last = _find(lines, end, first) if end else first
    if last is None:
        raise LoopError(f"{source.parent.name}/{source.name} has no line with the code '{end}' behind '{begin}'")
    while first > 0 and lines[first - 1].lstrip().startswith("#pragma unroll"):
        first -= 1
    return lines[first : _statement_end(lines, last) + 1]


def _kernel(lines: list[str]) -> int:
    return next((i for i, line in enumerate(lines) if "__global__" in _code(line)), 0)


def _find(lines: list[str], code: str, start: int) -> int | None:
    wanted = re.sub(r"\s+", "", code)
    return next((i for i in range(start, len(lines)) if wanted in re.sub(r"\s+", "", _code(lines[i]))), None)


def _code(line: str) -> str:
    return _COMMENT.sub("", line)


def _statement_end(lines: list[str], first: int) -> int:
    """The line on which the statement that begins on line `first` ends, by its brackets."""
    depth = 0
    for at in range(first, len(lines)):
        code = _code(lines[at])
        depth += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
        if depth <= 0 and code.rstrip().endswith((";", "}")):
            return at
    raise LoopError(f"the statement of line {first + 1} does not end")


def marked(lines: list[str], marks: list[tuple[str, str]]) -> list[str]:
    """The lines with their marks in comments at the end, before the comment that stands there."""
    result, at = list(lines), 0
    for mark, code in marks:
        place = _find(lines, code, at)
        if place is None:
            raise LoopError(f"mark {mark}: no code '{code}' behind the mark before it")
        bare = _code(lines[place])
        comment = lines[place][len(bare) :].strip().removeprefix("//").strip()
        result[place] = f"{bare.rstrip()}  // {mark} {comment}".rstrip()
        at = place + 1
    return result
