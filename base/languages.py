"""The languages of the course, which pages, charts and commands speak."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

ENGLISH, CHINESE = LANGUAGES = "en", "zh-CN"


@dataclass(frozen=True)
class Words:
    """One text in English and in Chinese."""

    english: str
    chinese: str

    def __call__(self, language: str) -> str:
        """The text in a language."""
        return said(language, self.english, self.chinese)


def language(chinese: bool) -> str:
    """The language to speak: Chinese where it is asked for, or where the environment says so."""
    told = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return CHINESE if chinese or told.startswith("zh") else ENGLISH


def said(spoken: str, english: str, chinese: str) -> str:
    """The text in the language to speak."""
    return chinese if spoken == CHINESE else english


def listed(spoken: str, parts: Iterable[str]) -> str:
    """Several things in one sentence."""
    return ("、" if spoken == CHINESE else ", ").join(parts)


def percent(spoken: str, share: float, digits: int = 1) -> str:
    """A share in percent: Chinese has no space before the sign."""
    return f"{100 * share:.{digits}f}{said(spoken, ' %', '%')}"
