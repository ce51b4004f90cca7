"""Every block of code on the README and on all pages of docs/ is run, or read as fedward would read it."""

from __future__ import annotations

from pathlib import Path

import pytest

import page_toml
import run_pages
from markdown_pages import blocks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"", "python", "sh", "text", "toml"}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_does_and_prints_what_it_says(page: Path) -> None:
    with run_pages.empty_directory():
        run_pages.check_page(page)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_toml_of_a_page_is_read_as_a_file(page: Path) -> None:
    for block, content in page_toml.files_of(page.read_text(encoding="utf8")):
        try:
            page_toml.check(content)
        except ValueError as error:
            raise AssertionError(f"{name(page)}, line {block.line}: {error}") from error


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_has_a_language_that_is_checked(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf8")):
        assert block.language in LANGUAGES, f"{name(page)}, line {block.line}: {block.language}"
        for comment in block.comments:
            if comment.startswith("not run"):
                assert len(comment.removeprefix("not run:").split()) >= 2, "a block that is not run says why"
