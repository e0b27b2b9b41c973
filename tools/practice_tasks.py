"""The tasks of `./gemm practice`: what steps/NN_idea/practice.toml says, and the file that a reader begins with.

A step is a task when it has that file and counts of it are recorded. Its goals are names of quantities (tools/practice_goals.py); what they have to
reach is nowhere typed: it is what is recorded of the step.
"""

import re
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from base.errors import UserError
from base.languages import CHINESE, ENGLISH
from base.paths import DATA, PRACTICE, shown
from base.registry import Step
from tools.text_table import columns, is_wide

FILE = "practice.toml"
WIDTH = 97  # columns of a comment's text
KERNEL = re.compile(r"\bgemm_kernel\(")

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Task:
    """One step to write oneself."""

    step: Step
    before: Step | None  # the step that it starts from; None: it starts from a skeleton
    goals: tuple[str, ...]
    sizes: tuple[Size, ...]  # m, n, k beside those that every task is graded at
    task: dict[str, str]  # by language
    hints: dict[str, list[str]]

    @property
    def file(self) -> Path:
        """The reader's kernel."""
        return PRACTICE / self.step.name / "kernel.cu"

    @property
    def variant(self) -> str:
        """The variant of the step that is compared with: its own kernel's, or the one that its default launches at 4096.

        "": the default.
        """
        return self.step.own or self.step.at_4096

    def start(self, language: str) -> str:
        """The text of the file that a reader begins with: the task, then the step before or the skeleton."""
        number = f"{self.step.number:02d}"
        if language == CHINESE:
            source = f"step {self.before.number:02d} 的 kernel" if self.before else "骨架，kernel 的函数体是空的"
            head = [f"练习 {number}：{self.step.idea(CHINESE)}。", f"起点：{source}。"]
            tail = f"评分：./gemm practice {number}    提示：./gemm practice {number} --hint"
        else:
            source = f"the kernel of step {self.before.number:02d}" if self.before else "a skeleton without the kernel"
            head = [f"Practice {number}: {self.step.idea()}.", f"It starts from {source}."]
            tail = f"Grade it: ./gemm practice {number}    A hint: ./gemm practice {number} --hint"
        lines = [*head, *wrapped(self.task[language]), "", tail, "-" * WIDTH]
        comment = "".join(f"// {line}".rstrip() + "\n" for line in lines)
        kernel = (self.before or self.step).kernel
        try:
            text = kernel.read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(f"{shown(kernel)} cannot be read: {error.strerror}") from None
        return comment + (text if self.before else skeleton(text, language))


def tasks(ladder: list[Step]) -> list[Task]:
    """Every task, in the order of the ladder. It starts from the step before in the same part of the ladder, where that
    one multiplies the same elements and its file does not ask for a skeleton."""
    found = []
    for at, step in enumerate(ladder):
        if (step.folder / FILE).is_file() and (DATA / "simulator" / f"{step.name}.jsonl").is_file():
            before = ladder[at - 1] if at > 0 else None
            alike = before and (before.ladder, before.element) == (step.ladder, step.element)
            found.append(_read(step, before if alike else None))
    return found


def find(step: Step, ladder: list[Step]) -> Task:
    """The task of a step."""
    for task in tasks(ladder):
        if task.step == step:
            return task
    raise UserError(f"there is no practice for step {step.number:02d}; ./gemm practice shows all tasks")


def _read(step: Step, before: Step | None) -> Task:
    file = step.folder / FILE
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
        words = {language: told[language] for language in (ENGLISH, CHINESE)}
        return Task(
            step,
            None if told.get("skeleton") else before,
            tuple(told["goals"]),
            tuple((m, n, k) for m, n, k in told.get("sizes", ())),
            {language: one["task"] for language, one in words.items()},
            {language: list(one["hints"]) for language, one in words.items()},
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{shown(file)} is no task: {error}") from None


def skeleton(source: str, language: str) -> str:
    """A step's source with an empty kernel: the tiles, the launch and the table of variants stay."""
    found = KERNEL.search(source)
    start = source.index("{", _closing(source, source.index("(", found.start()), "()"))
    end = _closing(source, start, "{}")
    asked = "在这里写 kernel。" if language == CHINESE else "Write the kernel here."
    return f"{source[: start + 1]}\n  // {asked}\n{source[end:]}"


def _closing(text: str, opened: int, pair: str) -> int:
    """Where the bracket at `opened` is closed. Comments and texts of a kernel hold no lone bracket."""
    depth = 0
    for at in range(opened, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return at
    raise ValueError(f"a {pair[0]} is not closed")


def wrapped(text: str) -> list[str]:
    """A text in lines as wide as a comment; a Chinese character takes two columns."""
    text = " ".join(text.split())
    if text.isascii() or not any(map(is_wide, text)):
        return textwrap.wrap(text, WIDTH)
    lines, line, width = [], "", 0
    for piece in re.findall(r"[^\s\u2e80-\uffef]+|\s+|.", text):
        if width + columns(piece) > WIDTH and piece not in "，。；：、）":
            lines.append(line.rstrip())
            line, width = "", 0
        line, width = line + (piece if line or not piece.isspace() else ""), width + columns(piece)
    return [*lines, line.rstrip()]
