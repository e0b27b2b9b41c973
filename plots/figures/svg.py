"""A small drawing surface that writes SVG: rectangles, lines, arrows, text. It knows where its texts lie.

Every text's box is kept, so that a test can say of each picture that no text covers another or leaves the panel.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from plots.figures.palette import EDGE, INK, PANEL
from plots.figures.text import is_wide

FONT = (
    "-apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', "
    "'DejaVu Sans', Helvetica, Arial, sans-serif"
)
MONO = "ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'Noto Sans Mono', 'DejaVu Sans Mono', monospace"

SMALL = 15.2  # the smallest text: 9 pixels where a picture, 640 wide, is shown 380 pixels wide


def text_width(text: str, size: float = SMALL, mono: bool = False, bold: bool = False) -> float:
    """About how wide a text is drawn, in pixels."""
    latin = 0.61 if mono else 0.57 if bold else 0.53
    return size * sum(1.0 if is_wide(char) else latin for char in text)


@dataclass(frozen=True)
class TextBox:
    """Where a text lies: its left, top, right and bottom edge."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def covers(self, other: "TextBox") -> bool:
        """Whether the two boxes share an area."""
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > 1 and down > 1


@dataclass
class Canvas:
    """A picture of the given size in pixels, on a light panel that shows on light and dark pages alike."""

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)
    boxes: list[TextBox] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)  # lines of CSS: figures/motion.py alone writes them

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        stroke: str = "",
        line: float = 1,
        radius: float = 0,
        dash: str = "",
        opacity: float = 1,
        moves: str = "",
    ) -> None:
        """A rectangle; `radius` rounds its corners, `moves` is the class that figures/motion.py animates it by."""
        extra = f' stroke="{stroke}" stroke-width="{_n(line)}"' if stroke else ""
        extra += f' rx="{_n(radius)}"' if radius else ""
        extra += f' stroke-dasharray="{dash}"' if dash else ""
        extra += f' opacity="{_n(opacity)}"' if opacity != 1 else ""
        size = f'width="{_n(width)}" height="{_n(height)}"'
        extra += f' class="{moves}"' if moves else ""
        self.parts.append(f'<rect x="{_n(x)}" y="{_n(y)}" {size} fill="{fill}"{extra}/>')

    def line(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str = EDGE, line: float = 1, dash: str = ""
    ) -> None:
        """A straight line."""
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" stroke="{stroke}" stroke-width="{_n(line)}"{extra}/>'
        )

    def path(self, data: str, stroke: str = "", fill: str = "none", line: float = 1) -> None:
        """Any path, in SVG's own notation."""
        extra = f' stroke="{stroke}" stroke-width="{_n(line)}"' if stroke else ""
        self.parts.append(f'<path d="{data}" fill="{fill}"{extra}/>')

    def circle(self, x: float, y: float, radius: float, fill: str, stroke: str = "") -> None:
        """A filled circle."""
        extra = f' stroke="{stroke}"' if stroke else ""
        self.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}"{extra}/>')

    def arrow(
        self, x1: float, y1: float, x2: float, y2: float, stroke: str = INK, line: float = 1.6, dash: str = ""
    ) -> None:
        """A straight arrow with its head at the second point."""
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5 or 1
        ux, uy = (x2 - x1) / length, (y2 - y1) / length
        head = 4 + 2.2 * line
        bx, by = x2 - ux * head, y2 - uy * head
        self.line(x1, y1, bx, by, stroke, line, dash)
        px, py = -uy * head * 0.45, ux * head * 0.45
        self.path(f"M{_n(x2)} {_n(y2)}L{_n(bx + px)} {_n(by + py)}L{_n(bx - px)} {_n(by - py)}Z", fill=stroke)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = SMALL,
        fill: str = INK,
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
        turned: bool = False,
    ) -> float:
        """One line of text with its baseline at y; returns its width. `turned`: upwards, centred on (x, y)."""
        width = text_width(text, size, mono, bold)
        style = f' font-size="{_n(size)}" fill="{fill}"'
        style += f' text-anchor="{anchor}"' if anchor != "start" else ""
        style += ' font-weight="600"' if bold else ""
        style += f' font-family="{MONO}"' if mono else ""
        if turned:
            self.parts.append(f'<text transform="translate({_n(x)} {_n(y)}) rotate(-90)"{style}>{escape(text)}</text>')
            self.boxes.append(TextBox(text, x - size * 0.8, y - width / 2, x + size * 0.2, y + width / 2))
            return width
        left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
        self.boxes.append(TextBox(text, left, y - size * 0.78, left + width, y + size * 0.2))
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}"{style}>{escape(text)}</text>')
        return width

    def lines(self, x: float, y: float, texts: Sequence[str], step: float = 1.45, **style: object) -> float:
        """Several lines of text one under the other; returns the baseline of the next."""
        for text in texts:
            if text:
                self.text(x, y, text, **style)  # type: ignore[arg-type]
            y += SMALL * step
        return y

    def problems(self) -> list[str]:
        """Texts that leave the panel or cover one another."""
        found = [
            f"'{box.text}' leaves the panel"
            for box in self.boxes
            if box.left < 2 or box.top < 0 or box.right > self.width - 2 or box.bottom > self.height - 1
        ]
        for i, box in enumerate(self.boxes):
            found += [f"'{box.text}' covers '{other.text}'" for other in self.boxes[i + 1 :] if box.covers(other)]
        return found

    def svg(self) -> str:
        """The picture as SVG text."""
        width, height = _n(self.width), _n(round(self.height))
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="{FONT}" role="img">'
        )
        panel = (
            f'<rect x="0.5" y="0.5" width="{_n(self.width - 1)}" height="{_n(round(self.height) - 1)}" rx="8" '
            f'fill="{PANEL}" stroke="{EDGE}"/>'
        )
        styles = ["<style>", *self.styles, "</style>"] if self.styles else []
        return "\n".join([head, f"<title>{escape(self.title)}</title>", *styles, panel, *self.parts, "</svg>", ""])


Draw = Callable[[str], Canvas]  # draws a picture in a language


def _n(value: float) -> str:
    """A number as short as it goes, to two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
