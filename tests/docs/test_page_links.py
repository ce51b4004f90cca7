"""Every link of every page leads to a file, and to a heading, that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from markdown_pages import anchors, is_outside, links, pages_of

ROOT = Path(__file__).parents[2]
PAGES = list(pages_of(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    wrong = []
    for target in links(page.read_text(encoding="utf8")):
        if is_outside(target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or not file.is_relative_to(ROOT):
            wrong.append(f"{target}: there is no such file")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf8")):
            wrong.append(f"{target}: there is no such heading")
    assert not wrong


def test_pages_link_to_no_other_server() -> None:
    outside = [
        target for page in PAGES for target in links(page.read_text(encoding="utf8")) if is_outside(target)
    ]
    assert outside == []
