"""Words in both of the course's languages."""

import re
from dataclasses import dataclass

LANGUAGES = ("en", "zh-CN")


@dataclass(frozen=True)
class Words:
    """One text in English and in Chinese."""

    english: str
    chinese: str

    def __call__(self, language: str) -> str:
        """The text in a language."""
        return self.chinese if language == "zh-CN" else self.english


def say(language: str, english: str, chinese: str) -> str:
    """The text in the reader's language."""
    return chinese if language == "zh-CN" else english


def title(name: str) -> str:
    """`07 thread tile 8×8` for `07_thread_tile_8x8`."""
    return re.sub(r"(\d)x(\d)", r"\1×\2", name.replace("_", " "))
