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
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from pathlib import Path

from .course import Course

_OUTERMOST = re.compile(r"^  for \(")
_COMMENT = re.compile(r"\s*//.*$")
_NAME = re.compile(r"(?:(?P<old>\d\d)\.\.)?(?P<step>\d\d)(?:\.(?P<also>\w+))?$")


class LoopError(Exception):
    """A loop that a page asks for and that there is not; the text says what is missing."""


@dataclass
class Asked:
    """What a marker asks for: where the loop begins and ends, by code, and the marks with the code they stand beside."""

    begin: str = ""
    end: str = ""
    marks: list[tuple[str, str]] = field(default_factory=list)


def parse(lines: list[str]) -> Asked:
    """The lines of a marker behind its name."""
    asked = Asked()
    for line in filter(None, map(str.strip, lines)):
        word, _, code = line.partition(" ")
        if not code:
            raise LoopError(f"'{line}' has no code: from CODE, to CODE, or a mark and CODE")
        if word == "from":
            asked.begin = code
        elif word == "to":
            asked.end = code
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
    old = extract(_source(course, found["old"], None), asked.begin, asked.end)
    old, new = _to_the_left(old), _to_the_left(new)
    both = difflib.SequenceMatcher(None, [_code(line) for line in old], [_code(line) for line in new], autojunk=False)
    new = marked(new, asked.marks)
    lines: list[str] = []
    for kind, a, b, c, d in both.get_opcodes():
        if kind != "equal":
            lines += [f"-{line}" for line in old[a:b]]
        lines += [(" " if kind == "equal" else "+") + line for line in new[c:d]]
    return "\n".join(["```diff", *(line.rstrip() for line in lines), "```"])


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
