"""Help that a person can read: sections, an example for each command, and no types of Python."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from command_line import all_commands
from fedward.cli import app

ALL = dict(all_commands(app))


def help_of(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], terminal_width=300)
    assert result.exit_code == 0
    return " ".join(result.output.split()) if words else result.output


def visible(command: Any) -> list[Any]:
    return [each for each in command.params if not getattr(each, "hidden", False)]


@pytest.mark.parametrize("name", ALL)
def test_every_option_says_in_words_what_it_takes(name: str) -> None:
    for each in visible(ALL[name]):
        flag = getattr(each, "is_flag", False)
        assert flag or re.fullmatch(r"[A-Z=:,.\[\]]+", each.metavar or ""), each.name
    assert not re.search(r"<[a-z]|list\[", help_of(*name.split()))


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_an_example_that_its_own_options_allow(name: str) -> None:
    (example,) = re.findall(r"Example: fedward (.*)", help_of(*name.split()))
    words = shlex.split(example)
    assert words[: len(name.split())] == name.split()
    # Parsed as it would be if it were run; nothing is.
    ALL[name].make_context(name, words[len(name.split()) :])


def test_every_command_stands_in_one_section() -> None:
    text = help_of()
    group: Any = typer.main.get_command(app)
    for name in group.commands:
        assert len(re.findall(rf"^  {name} ", text, flags=re.M)) == 1, name
    sections = ["Options", "Experiments", "Results", "Privacy", "Certificates"]
    assert re.findall(r"^(\w+):$", text, flags=re.M) == sections


def test_one_thing_has_one_name() -> None:
    """Older names are still taken, and are not shown."""
    shown = {option for command in ALL.values() for each in visible(command) for option in each.opts}
    assert {"--rounds", "--error"} <= shown
    assert not {"--steps", "--psi"} & shown
    taken = {option for command in ALL.values() for each in command.params for option in each.opts}
    assert {"--steps", "--psi"} <= taken


@pytest.mark.parametrize(
    ("words", "older", "newer"),
    [
        ("epsilon --noise-multiplier 3 --sampling-rate 0.1 --delta 0.01", "--steps 3", "--rounds 3"),
        ("calibrate --epsilon 2 --sampling-rate 0.1 --delta 0.01", "--steps 3", "--rounds 3"),
        (
            "certificate k --top 0.9 --noise-multiplier 3 --sampling-rate 0.1 --rounds 3 --mode paper "
            "--delta 0.01 --replicas 1000",
            "--psi 0.01",
            "--error 0.01",
        ),
    ],
)
def test_an_older_name_means_the_same_and_both_are_refused(words: str, older: str, newer: str) -> None:
    old, new = (CliRunner().invoke(app, f"{words} {each}".split()) for each in (older, newer))
    assert old.exit_code == new.exit_code == 0
    assert old.output == new.output
    both = CliRunner().invoke(app, f"{words} {older} {newer}".split())
    assert "is the older name of" in str(both.exception)


def test_help_shows_brackets_as_they_are() -> None:
    found = CliRunner().invoke(app, ["ledger", "--help"]).output
    assert "FILE  [required]" in found
    assert "\\" not in found
