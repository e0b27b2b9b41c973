"""Every page as a reader meets it: its console says nothing, and in one of its languages axe-core finds nothing serious on
it. The explorables after they were used, and the heads of some pages, are compared with pictures that somebody has looked at."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.site.reader import SITE, Visit, button, data
from tools.site import FOLDER, pictures

AXE = Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js")
LOOK = """part => axe.run(part || document, { resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, impact, nodes }) => `${impact} ${id}, ${nodes.length} times: ` +
    nodes.slice(0, 3).map(({ html, failureSummary }) => html.slice(0, 160) + failureSummary.split("\\n")[1]).join(" | ")))"""
# Of the pages whose heads are kept as pictures, the pictures' names.
HEADS = {
    "front": "index.html",
    "chapter": "steps/20_mma_warp_swizzle/index.html",
    "data": "steps/20_mma_warp_swizzle/data.html",
    "changes": "steps/20_mma_warp_swizzle/changes.html",
    "code": "code/common/device/tiles.h.html",
}
WIDTHS = (1280, 380)
PARTS = 6  # in which all pages are looked at


def use_run(page: Page) -> None:
    """Runs the step and stands at its first instruction."""
    page.locator("#explore-run tr[data-line]").first.wait_for()
    button(page, "run", "Predict and run", "先预测，再运行").click()
    data(page, "run", "counts")
    button(page, "run", "Step through it", "单步执行").click()
    page.locator("#explore-run .warps").wait_for()


def use_break(page: Page) -> None:
    """Makes the first mistake and asks what would have ordered its accesses."""
    page.locator("#explore-break select").nth(1).select_option("report")
    page.click("#explore-break > button")
    data(page, "break", "outcome")
    page.click("#explore-break button.order")
    page.locator("#explore-break svg.order").wait_for()


def ask(name: str, shown: str) -> Callable[[Page], None]:
    """Presses the explorable's first button, and waits for what it shows."""

    def use(page: Page) -> None:
        page.locator(f"#explore-{name} button").first.click()
        page.locator(f"#explore-{name} {shown}").first.wait_for()

    return use


# Of each explorable: its page, its state in the address, and how it is used.
USED = {
    "run": ("steps/03_smem_tiling/index.html", "guess=2", use_run),
    "break": ("steps/03_smem_tiling/index.html", "", use_break),
    "follow": (
        "steps/03_smem_tiling/index.html",
        "of=A&row=3&col=5&guess=1",
        lambda page: data(page, "follow", "followed"),
    ),
    "rings": ("steps/24_warp_specialised/index.html", "guess=4&at=90", lambda page: data(page, "rings", "events")),
    "banks": ("docs/bank-conflicts.html", "across=1&pitch=32&guess=32", ask("banks", "ul")),
    "waves": ("docs/start-here.html", "guess=3", ask("waves", "table.counts")),
    "digits": ("docs/tensor-cores.html", "guess=257", ask("digits", "table.bits")),
}


def findings(page: Page, part: str = "") -> list[str]:
    """What axe finds on a page, or in a part of it."""
    page.wait_for_timeout(300)  # the theme and the page's own script have seen its size
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(LOOK, part)


@pytest.mark.parametrize("part", range(PARTS))
def test_axe_and_the_console_find_nothing_on_a_page(visit: Visit, tree, part):
    """English in light, Chinese in dark; axe sees every second page of those that are in both in Chinese, else in English.
    The page of a link that leads nowhere is left out: it works at the site's own address alone."""
    chinese = sorted(page.relative_to(SITE / "zh").as_posix() for page in (SITE / "zh").rglob("*.html"))
    there = sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html"))
    english = [where for where in there if not where.startswith("zh/") and where != "404.html"]
    page = visit(f"{tree}index.html", dark=bool(tree))
    found = []
    for where in (chinese if tree else english)[part::PARTS]:
        page.goto(f"{visit.root}/{tree}{where}")
        page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
        if (where in chinese[1::2]) == bool(tree):
            found += [f"{tree}{where}: {each}" for each in findings(page)]
    assert not found


def compare(page: Page, name: str, selector: str, keep: bool) -> str:
    """How a page's head, or a part of it, differs from the picture of this name."""
    if not pictures.wanted(name):
        return ""
    taken = FOLDER / "pictures" / f"{name}.png"
    if not selector:
        page.screenshot(path=taken)
    else:
        page.add_style_tag(content="header.md-header { display: none !important }")  # it stays in sight
        box = page.locator(selector).bounding_box()
        top = page.evaluate("scrollY")
        area = {"x": box["x"], "y": box["y"] + top, "width": box["width"], "height": min(box["height"], 2400)}
        page.screenshot(path=taken, full_page=True, clip=area)
    if keep:
        pictures.keep(taken)
    return pictures.difference(taken)


@pytest.fixture
def look(visit, pytestconfig, tree, dark):
    """Opens a page at each width, uses it, and looks at it: with axe, for its width, and beside its picture."""

    def looked(name: str, where: str, use: Callable[[Page], object], selector: str) -> None:
        found = []
        for width in WIDTHS:
            page = visit(f"{tree}{where}", width=width, dark=dark)
            use(page)
            found += findings(page, selector)
            if (beyond := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
                found.append(f"the page is {beyond} pixels wider than the screen of {width}")
            label = f"{name}-{'zh' if tree else 'en'}-{width}-{'dark' if dark else 'light'}"
            found += filter(None, [compare(page, label, selector, pytestconfig.getoption("keep"))])
            visit.end()
        assert not found

    return looked


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", HEADS)
def test_the_head_of_a_page(look, name):
    look(name, HEADS[name], lambda page: None, "")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", USED)
def test_an_explorable_that_was_used(look, name):
    where, state, use = USED[name]
    look(name, where + (state and f"#explore-{name}?{state}"), use, f"#explore-{name}")


def test_the_references_are_the_pictures_that_are_taken():
    names = {
        f"{name}-{language}-{width}-{scheme}"
        for name in (*HEADS, *USED)
        for language in ("en", "zh")
        for width in WIDTHS
        for scheme in ("light", "dark")
    }
    files = list(pictures.REFERENCES.glob("*.png"))
    assert {file.stem for file in files} == {name for name in names if pictures.wanted(name)}
    assert sum(file.stat().st_size for file in files) <= pictures.MOST_BYTES
