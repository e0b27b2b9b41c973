"""No term is used before it is explained, and none has two names in Chinese: every page against docs/glossary.toml."""

import re
from functools import cache
from pathlib import Path

import pytest

from base import registry
from base.paths import ROOT
from plots import glossary, markers
from plots.figures.text import LANGUAGES

TERMS = glossary.load(ROOT)
PAGES = list(markers.files(ROOT))
ENDING = {"en": ".md", "zh-CN": ".zh-CN.md"}
SPACE_BEFORE_PERCENT = re.compile(r"\d[ \u00a0]%(?! ?\d)")  # not a remainder: r / 2 % 4
WITH_CHINESE = "docs/figures/*.zh-CN.svg plots/charts/*.zh-CN.svg plots/**/*.py tools/**/*.py records/*.json"
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@cache
def reading_order(language: str) -> dict[str, Path]:
    """The pages of the course in the order in which they are read: start-here, then the steps by their number."""
    pages = {glossary.START: ROOT / "docs" / f"{glossary.START}{ENDING[language]}"}
    return pages | {step.name[:2]: step.folder / f"README{ENDING[language]}" for step in registry.steps()}


def prose(text: str, language: str) -> str:
    """A page's own sentences: without tables, pictures, headings, sources, and code that is not a term such as `wgmma`."""
    uses = [use for term in TERMS if (use := term.use(language))]

    def term_or_blank(found: re.Match[str]) -> str:
        return found[1] if any(use.fullmatch(found[1]) for use in uses) else " "

    text = re.split(r"(?m)^## (?:Sources|参考)\s*$", text)[0]
    text = re.sub(r"(?ms)^```.*?^```", " ", text)
    text = re.sub(r"(?ms)^<!-- table:.*?^<!-- /table -->", " ", text)
    text = re.sub(r"(?m)^(?:#|    ).*$", " ", text)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"`([^`\n]+)`", term_or_blank, text)
    return re.sub(r"<[^>\n]+>", " ", text)


@cache
def paragraphs(language: str, page: str) -> list[str]:
    """The paragraphs and list items of a page's prose, with the targets of its links."""
    text = reading_order(language)[page].read_text(encoding="utf-8")
    return [part for part in re.split(r"\n\s*\n|\n(?=\s*[-|] |\s*\d\. )", prose(text, language)) if part.strip()]


def first_use(term: glossary.Term, language: str, page: str) -> str | None:
    use = term.use(language)
    without_targets = ((part, re.sub(r"\]\([^)\s]*\)", "]", part)) for part in paragraphs(language, page))
    return next((part for part, words in without_targets if use and use.search(words)), None)


def explained(term: glossary.Term, language: str, page: str, part: str) -> bool:
    """Whether a paragraph explains a term: links it to its entry, or, in start-here, says what it is in bold."""
    if re.search(rf"\]\([^)\s]*glossary{re.escape(ENDING[language])}#{term.id}\)", part):
        return True
    bold = re.findall(r"\*\*(.+?)\*\*", part, re.DOTALL)
    return page == glossary.START and any(term.use(language).search(words) for words in bold)


def rejected(text: str, chinese_only: bool = False) -> list[str]:
    """The words in a text that stand for a term, and are not the one that the glossary has."""
    patterns = [word for term in TERMS for word in term.not_zh if CHINESE.search(word) or not chinese_only]
    return [found[0] for pattern in patterns for found in re.finditer(pattern, text)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.id)
def test_a_term_is_explained_where_it_is_first_used(term, language):
    if term.use(language) is None:
        return
    using = [page for page in reading_order(language) if first_use(term, language, page)]
    assert using, f"no page uses '{term.id}': the entry, or its pattern, is wrong"
    assert using[0] == term.first, f"'{term.id}' is used before {term.first}: {first_use(term, language, using[0])}"
    part = first_use(term, language, term.first)
    assert explained(term, language, term.first, part), f"{term.first} has to explain '{term.id}', or link it: {part}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name.endswith(".zh-CN.md")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_chinese_page_uses_the_glossarys_words(page):
    text = re.sub(r"(?ms)^```.*?^```|`[^`\n]+`|^    .*?$", " ", page.read_text(encoding="utf-8"))
    assert not rejected(text)
    assert not SPACE_BEFORE_PERCENT.search(text), "Chinese has none"


@pytest.mark.parametrize("files", WITH_CHINESE.split())
def test_pictures_and_what_makes_them_use_the_glossarys_chinese(files):
    """What tables, pictures and commands say in Chinese stands in Python and in JSON."""
    texts = {str(path): path.read_text(encoding="utf-8") for path in ROOT.glob(files)}
    assert texts
    only = not files.endswith(".svg")
    assert only or not [name for name, text in texts.items() if SPACE_BEFORE_PERCENT.search(text)]
    assert not {name: found for name, text in texts.items() if (found := rejected(text, chinese_only=only))}


def test_a_link_to_the_glossary_leads_to_an_entry():
    known = {term.id for term in TERMS}
    assert len(known) == len(TERMS)
    for page in PAGES:
        for target in re.findall(r"glossary(?:\.zh-CN)?\.md#([\w-]+)\)", page.read_text(encoding="utf-8")):
            assert target in known, f"{page.relative_to(ROOT)}: there is no term '{target}'"


def test_each_group_is_known_and_each_first_page_exists():
    assert {term.group for term in TERMS} == set(glossary.GROUPS)
    assert {term.first for term in TERMS} <= set(reading_order("en"))
