from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.color import ColorSystem
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

import fedward
from fedward.reports.terminal.console import plain_console, say, table

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


def test_nothing_that_is_printed_moves_the_cursor_or_makes_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    evil = "\x1b[2Jx\r\u202ey\x9b1m\udcff"
    shown = r"\x1b[2Jx\r\u202ey\x9b1m\xff"
    console = plain_console(width=120)
    say(console, f"{evil}\nerror: forged")
    assert capsys.readouterr().out == f"{shown}\\nerror: forged\n"
    console.print(table([f"{evil}\nb"], [[f"{evil}\nc"]]))
    out = capsys.readouterr().out
    assert f"┃ {shown}\\nb ┃" in out
    assert f"│ {shown}\\nc │" in out
    # Whatever else is printed goes through the same console.
    own = Table()
    own.add_column(Text(evil))
    own.add_row(Panel(evil))
    console.print(own, evil)
    out = capsys.readouterr().out
    assert not set(out) & set("\x1b\r\u202e\x9b\udcff")
    assert r"\x1b[2Jx" in out


def test_colours_are_still_colours() -> None:
    console = plain_console()
    console._force_terminal, console._color_system = True, ColorSystem.STANDARD
    with console.capture() as captured:
        say(console, "note: \x1b[31m", style="yellow")
    assert captured.get() == "\x1b[33mnote: \\x1b[31m\x1b[0m\n"


def test_nobody_makes_another_console() -> None:
    """One that reads brackets as styles fails on some name of a file, and only there."""
    folder = Path(fedward.__file__).parent
    found = {
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if re.search(r"Console\(|rich import print|from_markup", file.read_text(encoding="utf8"))
    }
    assert found == {"reports/terminal/console.py"}
