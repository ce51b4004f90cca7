"""Reads the commands of a page with the parser that reads them on the command line."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from fedward.cli import app

# What pages write for something of the reader's own.
_FILE = "examples/user_dp_digits.toml"
_NAMES = {"FILE": _FILE, "DIR": ".", "NAME": "fedavg", "K": "2"}
_STANDS_FOR = _NAMES | {"RUN": "runs/NAME", "RUN...": "runs/NAME"}
_MAKES = ("--out", "--picture", "--save")
_LOOKS_LIKE_A_FILE = re.compile(r"[\w./-]+\.(toml|json|json\.gz|npz|csv|py|pt|md)$|^runs/[\w./-]+$")


class WrongCommand(ValueError):
    """A command on a page that the command line would refuse."""


def commands(text: str) -> Iterator[list[str]]:
    """The commands of a block of shell lines, split into words; comments and prompts are left out."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words:
            yield words


def check(words: list[str], root: Path, made: set[str]) -> None:
    """Parses ``fedward ...`` and looks for the files that it names; adds those that it makes to ``made``.

    Raises:
      WrongCommand: if an option does not exist, a value has the wrong type, or a file is nowhere.
    """
    words = [word.strip("[]") for word in words[1:]]
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # of --help
            _parse(get_command(app), "fedward", [_STANDS_FOR.get(word, word) for word in words])
    except typer.Exit:
        return
    except Exception as error:
        # Which class it is depends on whether typer brings its own click.
        if not hasattr(error, "format_message"):
            raise
        raise WrongCommand(f"fedward {shlex.join(words)}: {error.format_message()}") from error
    new = _makes(words)
    for word in words:
        if word in new or not _LOOKS_LIKE_A_FILE.match(word) or "NAME" in word:
            continue
        if not (root / word).exists() and not any(
            word == each or word.startswith(f"{each}/") for each in made
        ):
            raise WrongCommand(f"fedward {shlex.join(words)}: there is no {word}, and nothing here makes it")
    made |= new


def _parse(command: Any, name: str, words: list[str], parent: Any = None) -> None:
    context = command.make_context(name, list(words), parent=parent)
    if hasattr(command, "resolve_command"):
        rest = (
            [*context._protected_args, *context.args] if hasattr(context, "_protected_args") else context.args
        )
        if rest:
            below, found, rest = command.resolve_command(context, rest)
            _parse(found, below, rest, context)


def _makes(words: list[str]) -> set[str]:
    new = {following for word, following in itertools.pairwise(words) if word in _MAKES}
    if words[0] == "new":
        new |= set(words[1:2])
    if words[:2] == ["flower", "new"]:
        new |= {words[2], "app", "server", "nodes"}  # pages go into the directory then
    if words[0] == "runs" and "export" in words:
        new |= set(words[2:3])
    if words[0] == "pretrain":
        new.add(f"weights/{Path(words[1]).stem}.pt")
    endings = {"run": "", "replicas": "-replicas", "certify": "-certified"}
    endings |= {"sweep": "-sweep", "arena": "-arena"}
    if words[0] in endings and "--out" not in words:
        new.add(f"runs/{Path(words[1]).stem}{endings[words[0]]}")
    return new
