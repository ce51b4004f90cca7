"""The documentation builds as one site without a warning, opens from the disk, and is searched there."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

pytest.importorskip("material", reason="mkdocs-material, which builds the site, is not installed")
pytest.importorskip("mkdocstrings", reason="mkdocstrings, which builds the reference, is not installed")

from mkdocs.commands.build import build
from mkdocs.config import load_config

import headless_browser
from check_site import Page, faults
from headless_browser import Browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
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


@pytest.fixture(scope="module")
def site(built: tuple[Path, list[str]]) -> Path:
    return built[0]


def test_the_site_builds_without_a_warning(built: tuple[Path, list[str]]) -> None:
    assert built[1] == []


def test_a_reader_stumbles_over_nothing(site: Path) -> None:
    assert list(faults(site)) == []


def test_what_is_wrong_with_a_site_is_found(tmp_path: Path) -> None:
    page = '<a href="#gone"></a><a href="b.html"></a><img src="a.png"><script src="https://other.org/a.js"></script>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "a.css").write_text("@import 'b.css';")
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "search_index.json").write_text("{}")
    found = list(faults(tmp_path))
    assert "a.html: #gone: there is no such place on the page" in found
    assert "a.html: b.html: there is no such file" in found
    assert "a.html: a.png: there is no such file" in found
    assert "a.html: fetches https://other.org/a.js" in found
    assert "a.css: fetches something, by @import" in found
    assert "reference/fedward.md: fedward.train has no place in the reference" in found
    assert "search/search_index.json: the search does not know the word replace-one" in found


def test_every_page_and_the_readme_are_in_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        place = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (site / (place.parent / "index.html" if place.stem == "README" else place)).is_file(), page
    assert "fedward" in (site / "index.html").read_text(encoding="utf8")


def test_examples_and_experiments_that_pages_link_to_are_in_the_site(site: Path) -> None:
    assert "single_pixel" in (site / "examples" / "backdoor_digits.toml.html").read_text(encoding="utf8")
    assert (site / "experiments" / "certified_writers" / "index.html").is_file()


def test_the_reference_has_docstrings_with_their_parameters_and_examples(site: Path) -> None:
    page = (site / "reference" / "fedward.aggregation.html").read_text(encoding="utf8")
    krum = page.partition('id="fedward.aggregation.Krum"')[2].partition('id="fedward.aggregation.Mean"')[0]
    assert "The row with the smallest sum of squared distances" in krum
    assert "how many bad rows a round may hold" in krum
    assert '<code><span class="gp">&gt;&gt;&gt; </span>' in krum.replace('tabindex="0" ', "")
    assert "<blockquote>" not in page


def test_a_notebook_is_a_page_with_what_it_prints_and_draws(site: Path) -> None:
    page = (site / "notebooks" / "researcher.ipynb.html").read_text(encoding="utf8")
    assert "For the researcher" in page
    assert "attack success" in page
    assert any(
        target.startswith("data:image/png") for target in _fetched(site, "notebooks/researcher.ipynb.html")
    )


def test_what_a_command_prints_is_marked_and_what_a_reader_types_is_not(site: Path) -> None:
    page = (site / "how-to" / "notebooks.html").read_text(encoding="utf8")
    blocks = (ROOT / "docs" / "how-to" / "notebooks.md").read_text(encoding="utf8")
    assert page.count('output highlight"') == blocks.count("\n```text\n") > 0
    typed = blocks.count("\n```python\n") + blocks.count("\n```sh\n")
    assert page.count('highlight"><') == typed + blocks.count("\n```text\n") > typed


@pytest.mark.skipif(bool(headless_browser.why_not()), reason=headless_browser.why_not() or "it can")
def test_the_search_finds_replace_one_on_pages_opened_from_the_disk(site: Path) -> None:
    with Browser.open() as browser:
        browser.size(1400, 1000)
        browser.go(site / "tutorial.html")
        browser.click(".md-search__input")
        # All but the last letter at once: asked for "replace-", the theme's search calls that no query.
        browser.run("document.querySelector('.md-search__input').value = 'replace-on'")
        browser.press(".md-search__input", "e")
        until, found = time.monotonic() + 120, ""
        while "privacy.html" not in found and time.monotonic() < until:
            time.sleep(0.2)
            found = str(
                browser.run(
                    "return [...document.querySelectorAll('.md-search-result__link')].map(each => each.href)"
                )
            )
        assert "privacy.html" in found
        assert "glossary.html" in found
        assert browser.errors() == []


def _fetched(site: Path, page: str) -> list[str]:
    return Page(site / page).fetched
