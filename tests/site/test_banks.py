"""The bank lab: its wavefronts are those known by hand."""

import pytest

from tests.site.reader import data

# A column of a tile of 32 words, of one with a pad, rows, pairs of words, an XOR.
KNOWN = [
    ("bytes=4&across=1&pitch=32", 32),
    ("bytes=4&across=1&pitch=33", 1),
    ("bytes=4&across=32&pitch=32", 1),
    ("bytes=16&across=1&pitch=32&xor=0", 32),
    ("bytes=16&across=1&pitch=32&xor=3", 4),
]


@pytest.mark.parametrize(("state", "wavefronts"), KNOWN)
def test_wavefronts(visit, tree, state, wavefronts):
    page = visit(f"{tree}docs/bank-conflicts.html#explore-banks?{state}&guess={wavefronts}")
    page.click("#explore-banks input[inputmode=numeric]")
    page.keyboard.press("Enter")
    assert int(data(page, "banks", "wavefronts")) == wavefronts
