"""The gallery shows every experiment that has a picture, and says what draws each."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CARD = re.compile(
    r"^- \*\*(?P<title>.+)\*\*\n\n    \[!\[(?P=title)\]\((?P<picture>\S+)\)\]\((?P<page>\S+)\)\n\n"
    r"    (?P<text>.+)\n\n    Drawn by \[(?P<name>\S+)\]\((?P<script>\S+)\)\.$",
    re.MULTILINE,
)
TEXT = (ROOT / "docs" / "gallery.md").read_text(encoding="utf8")
CARDS = list(CARD.finditer(TEXT))


def place(card: re.Match[str], what: str) -> Path:
    return (ROOT / "docs" / card[what]).resolve()


def test_every_picture_has_a_card_of_one_form() -> None:
    assert len(CARDS) == TEXT.count("![") > 20
    assert all(card["script"].endswith(card["name"]) and card["name"].endswith(".py") for card in CARDS)


def test_the_page_of_a_picture_shows_it() -> None:
    for card in CARDS:
        page = place(card, "page")
        shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf8"))
        assert place(card, "picture") in [(page.parent / each).resolve() for each in shown], card["title"]


def test_every_experiment_that_has_a_picture_is_shown() -> None:
    drawn = {path.parent for path in (ROOT / "experiments").glob("*/*.png")}
    assert drawn <= {place(card, "picture").parent for card in CARDS}
