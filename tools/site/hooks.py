"""What MkDocs calls while it builds the site."""

import json
import logging
import re
from pathlib import Path

import jieba
from pymdownx.slugs import slugify

from tools.site import EXPLORABLES, FOLDER, pages

_SEARCH = re.compile(r'<div class="md-search" data-md-component="search" role="dialog"')
_BASE = re.compile(r'(<script id="__config"[^>]*>[^<]*?"base": ?"[^"]*)(")')


def on_config(config: dict) -> dict:
    """Anchors are those that GitHub makes, Chinese ones included."""
    jieba.setLogLevel(logging.WARNING)
    config["mdx_configs"]["toc"]["slugify"] = slugify(case="lower")
    return config


def on_serve(server, config: dict, builder):
    """Watches the sources instead of the pages that are made of them, and lays the pages out before each new build."""

    def anew() -> None:
        pages.lay_out(FOLDER / "pages", EXPLORABLES)
        builder()

    server.builder = anew
    server.unwatch(config["docs_dir"])
    for folder in ("docs", "steps", "README.md", "README.zh-CN.md", "plots/charts"):
        server.watch(str(pages.ROOT / folder))
    return server


def on_page_context(context: dict, page, config: dict, nav) -> dict:
    """`Edit this page` leads to the page's source."""
    if page.edit_url and (source := page.meta.get("source")):
        page.edit_url = f"{config['repo_url'].rstrip('/')}/{config['edit_uri']}{source}"
    return context


def on_post_page(output: str, page, config: dict) -> str:
    """The search has a name for who does not see it; a Chinese page looks for its index in the Chinese folder."""
    chinese = page.url.startswith("zh/")
    output = _SEARCH.sub(rf'\g<0> aria-label="{"搜索" if chinese else "search"}"', output, count=1)
    return _BASE.sub(r"\1/zh/\2", output, count=1) if chinese else output


def on_post_build(config: dict) -> None:
    """Parts the search's index by language and writes it in plain UTF-8, and as a script, for pages without a server."""
    site = Path(config["site_dir"])
    whole = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    chinese = [entry for entry in whole["docs"] if entry["location"].startswith("zh/")]
    english = [entry for entry in whole["docs"] if not entry["location"].startswith("zh/")]
    for folder, language, entries in ((site, "en", english), (site / "zh", "zh", chinese)):
        entries = [entry | {"location": entry["location"].removeprefix("zh/")} for entry in entries]
        index = {"config": whole["config"] | {"lang": [language]}, "docs": entries}
        text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
        (folder / "search").mkdir(parents=True, exist_ok=True)
        (folder / "search" / "search_index.json").write_text(text, encoding="utf-8")
        (folder / "search" / "search_index.js").write_text(f"var __index = {text}", encoding="utf-8")


# After the plugin of the two languages, which collects the index of both.
on_post_build.mkdocs_priority = -200
