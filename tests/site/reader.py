"""What the tests of the site have in common: a reader who opens pages, and what the native simulator says of their runs."""

import json
import re

import pytest
from playwright.sync_api import Browser, Error, Locator, Page

from tools.site import EXPLORABLES, FOLDER

SITE = FOLDER / "site"
KERNELS = FOLDER / "kernels"


def recorded(kind: str = "") -> list[str]:
    """The steps that have a file of this kind in the pages, such as "mistakes"; by default, those that can be run."""
    names = [name.split(".") for name in (EXPLORABLES / "variants.txt").read_text(encoding="utf-8").split()]
    return list(dict.fromkeys(step for step, variant in names if not kind or variant == kind))


def native(name: str) -> list[dict]:
    """What the native simulator said of the runs in a file, or of the elements that it followed."""
    return json.loads((KERNELS / f"{name}.expected.json").read_text(encoding="utf-8"))


class Visit:
    """Opens pages, each in a profile of its own, and remembers what their consoles said."""

    def __init__(self, browser: Browser, root: str):
        self.root = root
        self.problems: list[str] = []
        self._browser = browser
        self._contexts = []

    def __call__(self, where: str, *, width: int = 1280, dark: bool = False, before: str = "", **options) -> Page:
        """A page by its path in the site, when it has loaded.

        `before`: a script that runs ahead of the page's own. `options`: others of the browser's profile.
        """
        size = {"width": width, "height": 900 if width > 600 else 800}
        scheme = "dark" if dark else "light"
        context = self._browser.new_context(viewport=size, is_mobile=width < 600, color_scheme=scheme, **options)
        self._contexts.append(context)
        context.set_default_timeout(60_000)
        if before:
            context.add_init_script(before)
        page = context.new_page()
        self.listen(page)
        page.goto(where if "://" in where else f"{self.root}/{where}")
        return page

    def listen(self, page: Page) -> None:
        """Remembers the errors of a page, and what it asks for elsewhere than on the site."""
        page.on("pageerror", lambda problem: self.problems.append(f"{page.url}: {problem}"))
        page.on("console", lambda said: said.type == "error" and self.problems.append(f"{page.url}: {said.text}"))
        page.on("request", lambda request: self._is_here(request.url))

    def _is_here(self, url: str) -> None:
        if not url.startswith((self.root, "file:", "blob:", "data:", "about:")):
            self.problems.append(f"{url} is asked for, which is elsewhere")

    def end(self) -> None:
        """Closes the pages."""
        while self._contexts:
            self._contexts.pop().close()


def data(page: Page, name: str, key: str) -> str:
    """What an explorable keeps as data-KEY, as soon as it does."""
    place = page.locator(f"#explore-{name}[data-{key}]:not([data-{key}=''])")
    _appears(place, page, name, f"no {key}")
    return place.get_attribute(f"data-{key}")


def said(page: Page, name: str) -> str:
    """The sentence that an explorable shows."""
    return page.locator(f"#explore-{name} [role=status]").first.text_content()


def until_said(page: Page, name: str, words: str) -> None:
    """Waits until the sentence has these words."""
    sentence = page.locator(f"#explore-{name} [role=status]", has_text=words).first
    _appears(sentence, page, name, f"nothing of '{words}'")


def _appears(what: Locator, page: Page, name: str, otherwise: str) -> None:
    try:
        what.wait_for(state="attached", timeout=120_000)
        return
    except Error:
        problem = f"after two minutes there is {otherwise}; the page says: {said(page, name)}"
    pytest.fail(problem)


def button(page: Page, name: str, *words: str) -> Locator:
    """The button with one of these texts, in English or in Chinese."""
    text = re.compile(f"^({'|'.join(map(re.escape, words))})$")
    return page.locator(f"#explore-{name} button", has_text=text).first
