from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.table import Table

import fedward
from fedward.reports.terminal.console import plain_console

NAME = "runs/[/x] [red] [bold]b[/bold] :smile:"


def test_text_and_tables_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    console = plain_console(width=120)
    console.print(NAME)
    assert capsys.readouterr().out == f"{NAME}\n"
    table = Table(NAME)
    table.add_row(f"{NAME} twice")
    console.print(table)
    shown = capsys.readouterr().out
    assert f"┃ {NAME}" in shown
    assert f"│ {NAME} twice │" in shown


def test_nobody_makes_another_console() -> None:
    """One that reads brackets as styles fails on some name of a file, and only there."""
    folder = Path(fedward.__file__).parent
    found = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if re.search(r"\bConsole\(|rich import print|from_markup", file.read_text(encoding="utf8"))
    }
    assert found == {"reports/terminal/console.py"}
