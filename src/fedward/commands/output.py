"""Helpers of all commands: options that must be given, and answers for people or programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar, overload

import typer

from fedward.base.validate import InvalidValue
from fedward.report.terminal.console import plain_console

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def require_option(option: str, value: T | None) -> T:
    """Returns the value of an option that this use of the command needs."""
    if value is None:
        raise InvalidValue(f"the option {option} is missing")
    return value


@overload
def place(out: str, name: str = "--out") -> Path: ...


@overload
def place(out: str | None, name: str = "--out") -> Path | None: ...


def place(out: str | None, name: str = "--out") -> Path | None:
    """Where to write, as ``--out`` has it; None if it is not given.

    It is taken as text: an empty path would be the current directory, which is a slip and not a wish.
    """
    if out == "":
        raise InvalidValue(f"{name} must be the path of what is written, got ''")
    return None if out is None else Path(out)


def answer(as_json: bool, content: dict[str, Any], text: str) -> None:
    """Prints one JSON object for a program, or text for a person."""
    if as_json:
        print(json.dumps(content))
    else:
        plain_console().print(text, highlight=False, soft_wrap=True, markup=False)
