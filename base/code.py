"""Sources without their comments: what is keyed on code stays where it is when a comment is reworded."""

import itertools
import re

# Strings and characters are found only so that no comment is seen in them. A ' between digits separates these.
_QUOTED_OR_COMMENT = re.compile(r""""(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])'|//[^\n]*|/\*.*?\*/""", re.DOTALL)


def without_comments(source: str) -> str:
    """C++ or CUDA with a blank for each letter of a comment: what is left stands in its line and column."""
    return _QUOTED_OR_COMMENT.sub(lambda it: it[0] if it[0][0] in "\"'" else re.sub(r"[^\n]", " ", it[0]), source)


def pattern(code: str) -> str:
    """A regular expression of that code, however its words and signs are spaced."""
    words = re.findall(r"\w+|[^\w\s]", code)
    spaced = [re.escape(word) for word in words[:1]]
    for before, word in itertools.pairwise(words):
        spaced += [r"\s+" if before[-1].isalnum() and word[0].isalnum() else r"\s*", re.escape(word)]
    return "".join(spaced)
