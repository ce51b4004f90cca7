"""``fedward list``."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated

import typer

from fedward.commands.output import AsJson
from fedward.config.listing import KINDS, Kind, kind_called
from fedward.report.terminal.console import plain_console

Which = Annotated[str | None, typer.Argument(metavar="[KIND]", help="preset, model, ...; all if not given.")]


def list_command(kind: Which = None, as_json: AsJson = False) -> None:
    """Every preset, part, data set, model and attack by name, with one line each."""
    kinds = list(KINDS.values()) if kind is None else [kind_called(kind)]
    if as_json:
        print(json.dumps({each.name: _record(each) for each in kinds}))
        return
    console = plain_console()
    indent = max(len(name) for each in kinds for name in each.parts) + 4
    # One line for each name, for grep; a person's terminal gets them broken where it ends.
    width = console.width if console.is_terminal else 10**6
    for number, each in enumerate(kinds):
        title = f"{each.name} ({each.place})"
        console.print(("\n" if number else "") + title, style="bold", markup=False, highlight=False)
        for name in each.parts:
            line = f"  {name:<{indent - 2}}{each.line(name)}"
            text = textwrap.fill(line, max(width, indent + 20), subsequent_indent=" " * indent)
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    if kind is None:
        console.print("\nfedward show NAME says more about one of them", highlight=False)


def _record(kind: Kind) -> dict[str, object]:
    return {"place": kind.place, "parts": {name: kind.line(name) for name in kind.parts}}
