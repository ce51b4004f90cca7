"""The list of references: whatever src cites is in it, and papers have names, not numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = (ROOT / "docs" / "references.md").read_text(encoding="utf8")
SOURCES = sorted((ROOT / "src" / "fedward").rglob("*.py"))

# "Dong, Roth and Su 2022", "Abadi et al. 2016", "Hoeffding 1963"
_AUTHOR = r"[A-Z][\w-]+(?: [A-Z][\w-]+)?"
_CITED = re.compile(rf"\b({_AUTHOR})((?:,? and |, ){_AUTHOR})*(?: et al\.)? ((?:19|20)\d\d)\b")
_ENTRY = re.compile(r"- \*\*([\w-]+)[^*]*? (\d{4})\.?\*\*")
_NO_AUTHORS = {"PDT", "After"}


def cited(text: str) -> set[tuple[str, str]]:
    """First author and year."""
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    return {(match[1], match[3]) for part in paragraphs for match in _CITED.finditer(part)}


def test_a_citation_is_seen() -> None:
    assert cited("Dong, Roth and Su 2022 for curves;\n  El Mhamdi,  Guerraoui 2018; Abadi et al.\n 2016") == {
        ("Dong", "2022"),
        ("El Mhamdi", "2018"),
        ("Abadi", "2016"),
    }


def test_every_paper_that_src_cites_is_in_the_list() -> None:
    listed = {(name, year) for name, year in _ENTRY.findall(LIST)}
    every = set().union(*(cited(file.read_text(encoding="utf8")) for file in SOURCES))
    missing = {
        (name, year)
        for name, year in every
        if name.split()[0] not in _NO_AUTHORS and (name.split()[0], year) not in listed
    }
    assert not missing
    assert len(every) > 40


@pytest.mark.parametrize("folder", ["src", "docs", "experiments", "examples", "tests", "benchmarks", "tools"])
def test_no_paper_is_called_by_a_number(folder: str) -> None:
    numbered = re.compile(r"papers?[ _-]00\d", re.IGNORECASE)
    files = [path for end in ("*.py", "*.md", "*.toml") for path in (ROOT / folder).rglob(end)]
    assert files
    assert [str(path) for path in files if numbered.search(path.read_text(encoding="utf8"))] == []
