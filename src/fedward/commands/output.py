"""Helpers of all commands: options that must be given, and answers for people or programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from typer import Option

from fedward.base.validate import InvalidValue
from fedward.reports.terminal.console import plain_console, say

if TYPE_CHECKING:
    from rich.console import Console

    from fedward.rundir.part_record import PartRecord

T = TypeVar("T")
Text = TypeVar("Text", str, str | None)

AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]


def require_option(option: str, value: T | None) -> T:
    """Returns the value of an option that this use of the command needs."""
    if value is None:
        raise InvalidValue(f"the option {option} is missing")
    return value


def take_one(option: str, value: T | None, older: str, old: T | None) -> T | None:
    """Returns the value of an option that had another name, which is still taken."""
    if value is not None and old is not None:
        raise InvalidValue(f"{older} is the older name of {option}: give one of them")
    return old if value is None else value


def place(out: Text, name: str = "--out") -> Text:
    """Returns where to write, as ``--out`` has it.

    It is taken as text: an empty path would be the current directory, which is a slip and not a wish.
    """
    if out == "":
        raise InvalidValue(f"{name} must be the path of what is written, got ''")
    return out


def answer(as_json: bool, content: Mapping[str, Any], *lines: str | None) -> None:
    """Prints one JSON object for a program, or lines for a person."""
    if as_json:
        print(json.dumps(content))
    else:
        say(plain_console(), *lines)


def answer_part(console: Console, as_json: bool, part: PartRecord, path: Path) -> None:
    """Says that a part of a study is done, and what to do with it."""
    if as_json:
        answer(True, {"directory": str(path), "range": [part.start, part.stop], "of": part.of})
        return
    say(console, f"{part} are in {path}; when all parts are there: fedward merge DIR... --out PATH")
