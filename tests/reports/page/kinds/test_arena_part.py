from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from config.tiny_arena import arena_content
from fedward.api.arena_api import arena
from fedward.base.validate import InvalidValue
from fedward.reports.page.page import load_all, render
from fedward.rundir.arena_record import ArenaRecord


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> ArenaRecord:
    out = tmp_path_factory.mktemp("arena") / "<tiny> & arena"
    found = arena(arena_content(), out=out, quiet=True)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def page(record: ArenaRecord) -> str:
    return render(load_all([record.path]))


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_every_square_of_the_matrix_opens_its_cell(page: str, record: ArenaRecord) -> None:
    tags = Tags(page)
    assert tags.open == []
    ids = [attributes["id"] for _, attributes in tags.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    matrix = re.search(r'<table class="matrix">(.*?)</table>', page, flags=re.DOTALL)
    assert matrix is not None
    opened = re.findall(r'href="#([^"]+)"', matrix[1])
    assert len(opened) == len(record.cells) == 12
    for key, cell in zip(opened, record.cells, strict=True):
        (section,) = re.findall(rf'<section id="{key}" class="opened".*?</section>', page, flags=re.DOTALL)
        assert f"{cell.defence} under {cell.attack}" in section
        for run in cell.runs:
            assert run in section
        if not cell.runs:
            assert "Refused: Bulyan(malicious=3) needs cohorts of at least 15 users" in section


def test_it_asks_no_server_and_shows_the_numbers_of_the_files(page: str, record: ArenaRecord) -> None:
    for tag, attributes in Tags(page).found:
        assert tag not in ("link", "iframe", "form")
        assert "style" not in attributes
        for name in ("src", "href"):
            if name in attributes:
                assert str(attributes[name]).startswith("#")
    text = html.unescape(re.sub(r"<[^>]*>", " ", page)).replace("\xa0", " ")
    for cell in record.cells:
        if cell.accuracy is not None:
            assert f"Accuracy: {100 * cell.accuracy.value:.1f} %" in text
            assert cell.statement in text
    assert "<tiny> & arena" in text
    assert "<tiny>" not in page


def test_an_arena_has_a_page_of_its_own(record: ArenaRecord) -> None:
    with pytest.raises(InvalidValue, match="an arena has a page of its own"):
        load_all([record.path, record.runs[0]])
    record.save(record.path.parent / "saved.html")  # type: ignore[attr-defined]
    assert "Every cell" in (record.path.parent / "saved.html").read_text(encoding="utf8")


def test_a_run_that_is_gone_leaves_an_empty_cell_and_no_number_of_its_own(
    record: ArenaRecord, tmp_path: Path
) -> None:
    import shutil

    copy = Path(shutil.copytree(record.path, tmp_path / "copy"))
    for name in record.cells[1].runs:
        shutil.rmtree(copy / name)
    (again,) = load_all([copy])
    assert isinstance(again, ArenaRecord)
    assert again.cells[1].accuracy is None
    assert again.standings[0].tried == 1
    assert "not trained" in render([again])
