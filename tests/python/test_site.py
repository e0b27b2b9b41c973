"""The site's pages: every link of the Markdown leads to a page, picture or code that is laid out, in its own language."""

import posixpath
import re
from pathlib import Path

import pytest

from base import registry
from tools.site import navigation, pages

LINK = re.compile(r"(?<!`)\]\(([^()\s]+)\)")


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory):
    """All pages as they are laid out: the text by the place, and the folder."""
    folder = tmp_path_factory.mktemp("pages")
    pages.lay_out(folder)
    return folder, {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.md")}


def test_every_link_leads_to_something_that_is_laid_out(laid_out):
    folder, texts = laid_out
    missing = []
    for place, text in texts.items():
        prose = "".join(part for code, part in pages.split(text) if not code)
        for target in LINK.findall(re.sub(r"`[^`\n]*`", "`", prose)):
            path = target.partition("#")[0]
            if not path or re.match(r"[a-z]+:", path):
                continue
            found = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
            # What both languages share lies in the English tree, and is built into both.
            if not ((folder / found).is_file() or (folder / re.sub("^zh/", "en/", found)).is_file()):
                missing.append(f"{place}: {target}")
    assert not missing


def test_each_language_has_each_page_and_the_navigation_knows_the_path(laid_out):
    _, texts = laid_out
    english = {place[3:] for place in texts if place.startswith("en/") and "/code/" not in place}
    chinese = {place[3:] for place in texts if place.startswith("zh/")}
    assert chinese == {place for place in english if not place.endswith("/changes.md")}
    for language, have in (("en", english), ("zh-CN", chinese)):
        told = re.findall(r"'([\w/.-]+\.md)'", str(navigation.entries(language)))
        assert set(told) <= have and len(told) == len(set(told))
        steps = [place for place in told if place.startswith("steps/")]
        assert steps == [f"steps/{step.name}/index.md" for step in registry.steps()]


@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_a_long_read_stands_where_the_path_has_it(language):
    """`Next` follows README's path: a page that is to be read before or after a step stands beside that step."""
    told = re.findall(r"'([\w/.-]+)\.md'", str(navigation.entries(language)))
    path = [re.sub(r"steps/(\d\d)\w+/index", r"\1", place).removeprefix("docs/") for place in told]
    for run in (
        ["03", "bank-conflicts", "04"],
        ["13", "tensor-cores", "14"],
        ["22", "hopper", "power", "23"],
        ["29", "chooser", "stream-k", "parts/6-precision", "30"],
    ):
        assert path[path.index(run[0]) :][: len(run)] == run
    assert path.index("33") < path.index("swizzle"), "what is read beside a part has no place of its own"


def test_a_term_shows_its_meaning_and_code_gets_anchors_by_line(laid_out):
    _, texts = laid_out
    assert '(../../docs/glossary.md#spill){title="A value' in texts["en/steps/07_thread_tile_8x8/index.md"]
    assert pages._link("kernel.cu#L12", Path("steps/01_naive/README.md"), "en", set()).endswith(
        "kernel.cu.md#line-1-12"
    )
