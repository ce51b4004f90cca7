"""The documentation builds as one site without a warning, and asks no other server for anything."""

from __future__ import annotations

import html.parser
import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mkdocs", reason="mkdocs, which builds the site, is not installed")

from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[2]


class Loaded(html.parser.HTMLParser):
    """What a browser fetches for a page, and what a reader may click on."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.clicked: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "a":
            self.clicked.append(given.get("href") or "")
        elif tag == "link" and given.get("rel") == "canonical":
            pass
        else:
            self.fetched += [
                given[key] or "" for key in ("src", "href", "srcset", "data", "action") if key in given
            ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("site")
    warnings: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.WARNING:
                warnings.append(record.getMessage())

    handler = Kept()
    logger = logging.getLogger("mkdocs")
    logger.addHandler(handler)
    try:
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder)))
    finally:
        logger.removeHandler(handler)
    return folder, warnings


def test_the_site_builds_without_a_warning(site: Any) -> None:
    assert site[1] == []


def test_every_page_and_the_readme_are_in_the_site(site: Any) -> None:
    folder, _ = site
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (folder / (place.parent / "index.html" if place.stem == "README" else place)).is_file(), page
    assert "fedward" in (folder / "index.html").read_text(encoding="utf8")


def test_examples_and_experiments_that_pages_link_to_are_in_the_site(site: Any) -> None:
    folder, _ = site
    assert "single_pixel" in (folder / "examples" / "backdoor_digits.toml.html").read_text(encoding="utf8")
    assert (folder / "experiments" / "certified_writers" / "index.html").is_file()


def test_no_page_asks_another_server_for_anything(site: Any) -> None:
    pages = list(site[0].rglob("*.html"))
    assert pages
    for page in pages:
        found = Loaded()
        found.feed(page.read_text(encoding="utf8"))
        assert not [each for each in found.fetched if "//" in each], page
    for style in site[0].rglob("*.css"):
        text = style.read_text(encoding="utf8")
        assert "url(http" not in text, style
        assert "url(//" not in text, style
        assert "@import" not in text, style


def test_every_link_between_pages_leads_to_a_file_of_the_site(site: Any) -> None:
    folder, wrong = site[0], []
    for page in folder.rglob("*.html"):
        found = Loaded()
        found.feed(page.read_text(encoding="utf8"))
        for target in (*found.fetched, *found.clicked):
            path = target.partition("#")[0].partition("?")[0]
            if not path or "//" in target or target.startswith(("data:", "mailto:", "javascript:", "/")):
                continue
            if not (page.parent / path).resolve().exists():
                wrong.append(f"{page.relative_to(folder)}: {target}")
    assert not wrong


def test_what_a_command_prints_is_marked_and_what_a_reader_types_is_not(site: Any) -> None:
    folder, _ = site
    page = (folder / "how-to" / "notebooks.html").read_text(encoding="utf8")
    blocks = (ROOT / "docs" / "how-to" / "notebooks.md").read_text(encoding="utf8")
    assert page.count('class="codehilite output"') == blocks.count("\n```text\n") > 0
    assert page.count('class="codehilite"') == blocks.count("\n```python\n") + blocks.count("\n```sh\n") > 0
