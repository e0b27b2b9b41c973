"""`./gemm site`: the course's pages as a site in English and Chinese, made by MkDocs from the same Markdown.

`pages` lays the Markdown out as MkDocs wants it, `navigation` orders it, `hooks` is what MkDocs calls while it builds.
"""

import importlib.util
import json
import os
import re
import sys

from base import process, registry, venv
from base.errors import Failure, UserError
from base.paths import ROOT, SITE_REQUIREMENTS, shown
from base.progress import say
from plots import card
from tools.site import explorable, navigation, pages

FOLDER = ROOT / "build-site"
EXPLORABLES = FOLDER / "explorables"  # what runs in the pages
CONFIG = FOLDER / "mkdocs.json"
# Where the site will stand, and where its sources are kept. Without them, links are relative and no page can be edited.
ADDRESS, REPOSITORY = "GEMM_SITE_URL", "GEMM_SITE_REPOSITORY"
_HTTP = re.compile(r"https?://[^\s/]+\S*")


def ensure_generator(setup: bool) -> None:
    """Installs MkDocs and what goes with it into .venv, with `setup`."""
    if setup:
        venv.install(SITE_REQUIREMENTS, "Installing the generator of the site into .venv", 0.2)


def run(serve: bool) -> None:
    """Builds the site into build-site/site; with `serve`, shows it at a local address and builds it on each change.

    What runs in the pages is taken as `simulator.prepare` has left it.

    Raises UserError for an address that is none or a generator that is missing, Failure for a broken link on a page.
    """
    if importlib.util.find_spec("mkdocs") is None:
        raise UserError(f"Python has no mkdocs: install {SITE_REQUIREMENTS.name}, or leave out --no-setup")
    settings = config()
    if "site_url" in settings:
        card.write(FOLDER / pages.CARD)
    pages.lay_out(FOLDER / "pages", EXPLORABLES)
    CONFIG.write_text(json.dumps(settings, ensure_ascii=False, indent=1), encoding="utf-8")
    # MkDocs reads YAML, of which JSON is a part. The hooks import the course's own modules.
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    ask = ["serve", "--livereload"] if serve else ["build", "--quiet"]
    code = process.run([sys.executable, "-m", "mkdocs", *ask, "--strict", "--config-file", CONFIG], variables)
    if code != 0:
        raise Failure(code=code if code > 0 else 1)
    say(f"The site: {shown(FOLDER / 'site' / 'index.html')}")


def config() -> dict:
    """The whole configuration of MkDocs, with paths relative to build-site/."""
    own = ROOT / "tools" / "site"
    languages = [
        {"locale": "en", "name": "English", "default": True, "nav": navigation.entries("en"), "build": True},
        {"locale": "zh", "name": "中文", "nav": navigation.entries("zh-CN"), "build": True},
    ]
    interactive = ["yes"] if (EXPLORABLES / "explorables.js").is_file() else []
    settings = {
        "site_name": "GEMM",
        "site_description": f"Matrix multiplication on a GPU, in {len(registry.steps())} steps of CUDA",
        "docs_dir": "pages",
        "site_dir": "site",
        "use_directory_urls": False,  # so that links work where there is no server
        "theme": {
            "name": "material",
            "custom_dir": str(own / "theme"),
            "font": False,
            "logo": "assets/images/course.svg",
            "favicon": "assets/images/course.svg",
            "palette": _palettes(),
            "features": [
                "navigation.footer",
                "navigation.indexes",
                "navigation.top",
                "content.tooltips",
                "content.code.copy",
                "content.action.edit",
                "search.highlight",
                "toc.follow",
            ],
        },
        "hooks": [str(own / "hooks.py")],
        "plugins": [
            {"i18n": {"docs_structure": "folder", "fallback_to_default": True, "languages": languages}},
            {"search": {"separator": r"[\s\u200b\-]+"}},
        ],
        "markdown_extensions": [
            "attr_list",
            "md_in_html",
            "tables",
            {"toc": {"permalink": True, "toc_depth": 3}},
            {"pymdownx.highlight": {"anchor_linenums": True, "line_anchors": "line"}},
            {"pymdownx.superfences": {}},
            {"pymdownx.betterem": {}},
        ],
        "extra": {"generator": False, "polyfills": ["assets/worker.js"], "card": f"assets/{pages.CARD}"},
        "extra_css": ["assets/site.css", *(f"{explorable.ASSETS}/explorables.css" for _ in interactive)],
        "extra_javascript": [f"{explorable.ASSETS}/explorables.js" for _ in interactive],
        "validation": {"links": {"anchors": "warn", "unrecognized_links": "warn", "not_found": "warn"}}
        | {"nav": {"omitted_files": "ignore"}},
    }
    if address := _asked(ADDRESS):
        settings["site_url"] = address
    if repository := _asked(REPOSITORY):
        settings |= {"repo_url": repository, "edit_uri": "edit/main/"}
    return settings


def _palettes() -> list[dict]:
    """Light and dark, as the system says or as the reader chooses."""
    return [
        {
            "media": f"(prefers-color-scheme: {scheme})",
            "scheme": name,
            "primary": "white" if name == "default" else "black",
            "accent": "indigo",
            "toggle": {"icon": f"material/{icon}", "name": words},
        }
        for scheme, name, icon, words in (
            ("light", "default", "weather-night", "dark · 深色"),
            ("dark", "slate", "weather-sunny", "light · 浅色"),
        )
    ]


def _asked(variable: str) -> str:
    value = os.environ.get(variable, "")
    if value and not _HTTP.fullmatch(value):
        raise UserError(f"{variable} is '{value}', which is no address that begins with http:// or https://")
    return value
