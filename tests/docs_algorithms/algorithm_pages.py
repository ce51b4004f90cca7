"""What the tests of the pages on algorithms read of them."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "algorithms"
TOOL = runpy.run_path(str(ROOT / "tools" / "make_algorithm_tables.py"))


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf8")


def experiment(name: str) -> str:
    """The experiment file on the page of a preset; there must be one, and one only."""
    (file,) = re.findall(r"^```toml\n(.*?)^```$", page(name), flags=re.DOTALL | re.MULTILINE)
    return str(file)


def content(name: str) -> dict[str, Any]:
    return tomllib.loads(experiment(name))


def marked(text: str, what: str) -> str:
    """What stands between a marker and its end."""
    pattern = rf"^<!-- {re.escape(what)} -->\n(.*?)^<!-- end -->$"
    (found,) = re.findall(pattern, text, flags=re.DOTALL | re.MULTILINE)
    return str(found).strip()


def rows(table: str) -> list[list[str]]:
    """The cells of a table below its heading."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]
