"""``fedward list``."""

from __future__ import annotations

import textwrap
from typing import Annotated

from typer import Argument

from fedward.commands.options import grouped
from fedward.commands.output import AsJson, answer
from fedward.reports.terminal.console import plain_console, say


@grouped
def list_command(
    kind: Annotated[
        str | None, Argument(metavar="[KIND]", help="preset, model, ...; all if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Every preset, part, data set, model and attack by name, with one line each."""
    from fedward.config.installed_parts import all_installed, package_of
    from fedward.config.listing import KINDS, kind_called

    kinds = list(KINDS.values()) if kind is None else [kind_called(kind)]
    if as_json:
        found = {each.name: {name: each.line(name) for name in each.parts} for each in kinds}
        answer(True, {each.name: {"place": each.place, "parts": found[each.name]} for each in kinds})
        return
    console = plain_console()
    indent = max(len(name) for each in kinds for name in each.parts) + 4
    # One line for each name, for grep; a person's terminal gets them broken where it ends.
    width = console.width if console.is_terminal else 10**6
    for number, each in enumerate(kinds):
        title = f"{each.name} ({each.place})"
        say(console, "" if number else None, title, style="bold")
        for name in each.parts:
            line = f"  {name:<{indent - 2}}{each.line(name)}"
            say(console, *textwrap.wrap(line, max(width, indent + 20), subsequent_indent=" " * indent))
    if kind is None:
        if others := all_installed():
            say(console, "", "of installed packages", style="bold")
        for point in others:
            say(console, f"  {point.name:<{indent - 2}}{point.group}, of {package_of(point)}: {point.value}")
        say(console, "", "fedward show NAME says more about one of them")
