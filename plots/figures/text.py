"""Words in both of the course's languages, and where their lines may end."""

import re
from collections.abc import Callable

from base.languages import LANGUAGES, Words
from base.languages import said as say

__all__ = ["LANGUAGES", "Words", "is_wide", "say", "title", "wrap"]

# A line may end after a space, but not between a number and its unit or beside =, and before or after a Chinese character, unless
# punctuation holds it to its neighbour, or it begins or ends a word (指令, 之比, 及以上, 更快; 数字, 地址, 分块).
_BREAK = re.compile(
    r"(?<=\s)(?<![Ss]tep )(?<! = )(?=[^\s%时=])(?!TFLOPS)"
    r"|(?<=[⺀-￯])(?<![（「《指之橙调及以更相])(?=[^\s，。；：、）」》”！？])(?!分?之|[字器址块积])"
    r"|(?<=[^\s⺀-￯(（“])(?=[⺀-￯])(?![，。；：、）」》！？时])"
)


def title(name: str) -> str:
    """`07 thread tile 8×8` for `07_thread_tile_8x8`."""
    return re.sub(r"(\d)x(\d)", r"\1×\2", name.replace("_", " "))


def is_wide(char: str) -> bool:
    """Whether a character is a full em wide, as Chinese ones and their punctuation are."""
    return ord(char) > 0x2E7F


def wrap(text: str, room: float, width: Callable[[str], float]) -> list[str]:
    """The lines of a text, as few as fit into the room and as equally long as they can be; `width`: of a line."""
    pieces = _BREAK.split(text)
    lines = _filled(pieces, room, width)
    while len(lines) > 1:
        longest = max(map(width, lines))
        closer = _filled(pieces, longest - 0.001, width)
        if len(closer) > len(lines) or max(map(width, closer)) >= longest:
            break
        lines = closer
    return lines


def _filled(pieces: list[str], room: float, width: Callable[[str], float]) -> list[str]:
    """Pieces of a text joined to lines, each as long as the room allows."""
    lines = [""]
    for piece in pieces:
        if lines[-1] and width((lines[-1] + piece).rstrip()) > room:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]
