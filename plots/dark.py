"""A second set of colours for readers whose page is dark: CSS inside the SVG, made from the colours that are drawn.

A picture in an <img> follows the colour scheme of the page around it, so one file serves both. What was dark on a
light ground becomes light on a dark one: contrasts as WCAG 2 defines them stay what they were between any two colours,
and hues stay, in OKLab (Björn Ottosson, "A perceptual color space for image processing", 2020).
"""

from __future__ import annotations

import math
import re
from functools import cache

_COLOUR = r"#[0-9a-f]{6}"
_ATTRIBUTE = re.compile(rf'\b(fill|stroke)="({_COLOUR})"')
_STYLE = re.compile(r'style="([^"]*)"')
_PROPERTY = re.compile(rf"(?:^|;\s*)(fill|stroke): ({_COLOUR})")

GROUND = 0.058  # of what was white: its relative luminance and 0.05, as contrasts are made of
CALM = 0.95  # the share of its chroma that a colour keeps: on a dark ground it looks stronger


@cache
def dark(colour: str) -> str:
    """The colour that takes a colour's place on a dark ground, both as #rrggbb. Every two have the contrast they had."""
    wanted = GROUND * 1.05 / (luminance(colour) + 0.05) - 0.05
    _, a, b = _to_oklab(colour)
    low, high = 0.0, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        drawn = _drawn(middle, a, b)
        low, high = (middle, high) if luminance(drawn) < wanted else (low, middle)
    return drawn


def luminance(colour: str) -> float:
    """A colour's relative luminance: 0 for black, 1 for white."""
    red, green, blue = (_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def with_dark(svg: str) -> str:
    """The SVG with a rule for each colour it is drawn in, as an attribute or inside a style."""
    rules = {f'[{name}="{colour}"]{{{name}:{dark(colour)}}}' for name, colour in _ATTRIBUTE.findall(svg)}
    for style in _STYLE.findall(svg):
        for name, colour in _PROPERTY.findall(style):
            rules.add(f'[style*="{name}: {colour}"]{{{name}:{dark(colour)}!important}}')
    block = "<style>\n@media (prefers-color-scheme:dark){\n" + "\n".join(sorted(rules)) + "\n}\n</style>\n"
    return re.sub(r"(</title>\n)", lambda title: title[0] + block, svg, count=1)


def _drawn(lightness: float, a: float, b: float) -> str:
    """A colour of OKLab, of less chroma where a screen has none so strong of this lightness."""
    share = CALM
    while True:
        channels = _from_oklab(lightness, a * share, b * share)
        if share < 0.01 or all(-0.001 <= channel <= 1.001 for channel in channels):
            return "#" + "".join(f"{round(255 * min(1.0, max(0.0, channel))):02x}" for channel in channels)
        share *= 0.97


def _to_oklab(colour: str) -> tuple[float, float, float]:
    red, green, blue = (_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _from_oklab(lightness: float, a: float, b: float) -> tuple[float, float, float]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _gamma(4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short),
        _gamma(-1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short),
        _gamma(-0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short),
    )


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _gamma(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055
