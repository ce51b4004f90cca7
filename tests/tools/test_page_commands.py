from __future__ import annotations

import pytest

import page_commands
import run_pages


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["run", "examples/user_dp_digits.toml", "--sett", "rounds=1"], "(?i)no such option"),
        (["run", "examples/nothing.toml"], "there is no examples/nothing.toml"),
        (["epsilon", "--delta", "small"], "(?i)valid (float|number)"),
        (["certificate", "kk"], "(?i)no such command"),
        (["users", "runs/unheard_of"], "nothing here makes it"),
    ],
)
def test_a_command_that_would_be_refused_is_found(words: list[str], error: str) -> None:
    with pytest.raises(page_commands.WrongCommand, match=error):
        page_commands.check(["fedward", *words], run_pages.ROOT, set())


def test_what_a_command_makes_can_be_read_by_later_ones() -> None:
    made: set[str] = set()
    for line in ("fedward new a.toml", "fedward run a.toml", "fedward certify a.toml --out runs/b"):
        page_commands.check(line.split(), run_pages.ROOT, made)
    page_commands.check(["fedward", "report", "runs/a", "runs/b", "--out", "c.html"], run_pages.ROOT, made)
    page_commands.check(["fedward", "ledger", "runs/a/ledger.json"], run_pages.ROOT, made)
    assert made == {"a.toml", "runs/a", "runs/b", "c.html"}
