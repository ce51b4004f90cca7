"""What all commands share: options that must be given, and answers for people or programs."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from fedward.core.validate import InvalidValue

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def given(option: str, value: T | None) -> T:
    """Returns the value of an option that this use of the command needs."""
    if value is None:
        raise InvalidValue(f"the option {option} is missing")
    return value


def answer(as_json: bool, content: dict[str, Any], text: str) -> None:
    """Prints one JSON object for a program, or text for a person."""
    if as_json:
        print(json.dumps(content))
    else:
        Console().print(text, highlight=False, soft_wrap=True, markup=False)
