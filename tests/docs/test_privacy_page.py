"""The table of promises in docs/privacy.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf8").partition("## Every sentence")[2]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", TABLE.partition("\n## ")[0])


def test_every_row_of_the_table_names_a_test_that_exists() -> None:
    rows = [line for line in TABLE.partition("\n## ")[0].splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(NAMED) > 30
    for file, test in NAMED:
        assert re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf8"), re.M), f"{file}::{test}"
