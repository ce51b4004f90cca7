from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from dp_accounting import GaussianDpEvent, NonPrivateDpEvent

from command_line import output_of
from fedward.base.validate import InvalidType, InvalidValue
from fedward.commands.users_command import users
from fedward.privacy import epsilon_of, user_ledgers_file
from fedward.privacy.rounding import round_up
from fedward.privacy.user_ledgers import UserLedgers

app = typer.Typer()
app.command()(users)
answer = partial(output_of, app)

EVENT = GaussianDpEvent(5.0)
DELTA = ["--delta", "1e-5"]


def epsilon(rounds: int, accountant: str = "rdp") -> float:
    return epsilon_of([(EVENT, rounds)] if rounds else [], 1e-5, accountant, "local")


def ledgers(rounds_of_users: list[int]) -> UserLedgers:
    made = UserLedgers.new(len(rounds_of_users), unit="user", adjacency="local")
    for t in range(max(rounds_of_users)):
        made = made.reserve(t, np.flatnonzero(np.array(rounds_of_users) > t), EVENT).settle(t)
    return made


@pytest.fixture
def a_run(tmp_path: Path) -> Any:
    """A directory with the ledgers of users who took part in so many rounds each."""

    def make(made: UserLedgers) -> Path:
        (tmp_path / "run.json").write_text('{"delta": 1e-3, "accountant": "moments"}')
        (tmp_path / "users.json").write_text(user_ledgers_file.dumps(made))
        return tmp_path

    return make


def test_a_person_gets_the_histogram_the_median_and_the_maximum(a_run: Any) -> None:
    run = a_run(ledgers([0, 1, 1, 1, 3]))
    out = answer(run, *DELTA, "--accountant", "rdp")
    rows = [line.split("│")[1:3] for line in out.splitlines() if line.startswith("│")]
    assert [(float(cell), int(count)) for cell, count in rows] == [
        (float(round_up(epsilon(rounds))), count) for rounds, count in ((0, 1), (1, 3), (3, 1))
    ]
    assert f"median {round_up(epsilon(1))}, largest {round_up(epsilon(3))} (3 different, 5 users)" in out
    assert f"the released models: (ε = {round_up(epsilon(3))}, δ = 1e-05) user level, local" in out


def test_a_program_gets_the_same_as_json(a_run: Any) -> None:
    found = json.loads(answer(a_run(ledgers([0, 1, 1, 1, 3])), *DELTA, "--accountant", "rdp", "--json"))
    assert found["histogram"] == [[epsilon(0), 1], [epsilon(1), 3], [epsilon(3), 1]]
    assert (found["median"], found["largest"]) == (epsilon(1), epsilon(3))
    assert found["guarantee"]["epsilon"] == epsilon(3)
    assert found["guarantee"]["rounds"] == 3


@pytest.mark.parametrize(("user", "rounds"), [(0, 0), (1, 1), (4, 3)])
def test_one_user_can_be_looked_up(a_run: Any, user: int, rounds: int) -> None:
    run = a_run(ledgers([0, 1, 1, 1, 3]))
    asked = [run, *DELTA, "--user", user, "--accountant", "rdp"]
    assert f"(ε = {round_up(epsilon(rounds))}, δ = 1e-05) user level, local, " in answer(*asked)
    found = json.loads(answer(*asked, "--json"))
    assert (found["epsilon"], found["rounds"]) == (epsilon(rounds), rounds)


def test_delta_and_accountant_are_those_of_the_run_unless_others_are_asked_for(a_run: Any) -> None:
    """Else the command and the result of the run would state two ε for one training."""
    run = a_run(ledgers([0, 2]))
    for options, delta, accountant in (
        ([], 1e-3, "moments"),
        (DELTA, 1e-5, "moments"),
        (["--accountant", "pld"], 1e-3, "pld"),
    ):
        found = json.loads(answer(run, *options, "--user", 1, "--json"))
        assert (found["delta"], found["accountant"]) == (delta, accountant)
        assert found["epsilon"] == epsilon_of([(EVENT, 2)], delta, accountant, "local")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (b"{}", "does not say which delta the run has: give --delta"),
        (b'{"delta": 1e-3}', "does not say which accountant the run has: give --accountant"),
        (b'{"delta": 2, "accountant": "rdp"}', "delta must be above 0 and below 1, got 2"),
        (b'{"delta": "x", "accountant": "rdp"}', "delta must be a number"),
        (b'{"delta": 1e-3, "accountant": "rd', "must be JSON text"),
        (b"[]", "does not say which delta"),
        (b"\xff", "cannot be read as text"),
    ],
)
def test_a_damaged_run_json_is_said_to_be_damaged(a_run: Any, manifest: bytes, message: str) -> None:
    run = a_run(ledgers([0, 2]))
    (run / "run.json").write_bytes(manifest)
    with pytest.raises((InvalidValue, InvalidType), match=message):
        answer(run)
    assert "largest" in answer(run, *DELTA, "--accountant", "rdp")


def test_a_round_under_way_counts(a_run: Any) -> None:
    made = ledgers([1, 1]).reserve(1, np.array([0]), EVENT)
    found = json.loads(answer(a_run(made), *DELTA, "--user", 0, "--accountant", "rdp", "--json"))
    assert found["epsilon"] == epsilon(2)


def test_many_different_users_are_shown_in_few_rows_that_count_everybody(a_run: Any) -> None:
    out = answer(a_run(ledgers(list(range(50)) + [7] * 5)), *DELTA, "--accountant", "rdp")
    rows = [line.split("│")[1:3] for line in out.splitlines() if line.startswith("│")]
    assert 5 <= len(rows) <= 12
    assert sum(int(count) for _, count in rows) == 55
    first, last = rows[0][0].split(" to ")[0], rows[-1][0].split(" to ")[-1]
    assert (float(first), float(last)) == (0.0, float(round_up(epsilon(49))))


def test_who_has_no_guarantee_is_not_given_a_number(a_run: Any) -> None:
    made = ledgers([1, 1]).reserve(1, np.array([0]), NonPrivateDpEvent()).settle(1)
    out = answer(a_run(made), *DELTA, "--accountant", "rdp")
    assert "inf" not in out
    assert "no guarantee: a release was not private" in out
    assert [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")] == [
        f"{round_up(epsilon(1))}",
        "none",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([*DELTA, "--user", "5"], "user must be from 0 to 4, got 5"),
        ([*DELTA, "--user", "-1"], "user must be at least 0, got -1"),
        (["--delta", "0"], "delta must be above 0 and below 1, got 0"),
        ([*DELTA, "--accountant", "rpd"], "did you mean 'rdp'"),
    ],
)
def test_impossible_options_are_refused_in_words(a_run: Any, options: list[str], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        answer(a_run(ledgers([0, 1, 1, 1, 3])), *options)


def test_what_is_no_run_or_has_no_ledgers_of_users_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidValue, match=r"none must be the directory of a run, got none: there is no such"
    ):
        answer(tmp_path / "none", *DELTA)
    with pytest.raises(InvalidValue, match=r"must be the directory of a run, got one without run\.json"):
        answer(tmp_path, *DELTA)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InvalidValue, match=r"holds no users\.json: no user there relies on its own noise"):
        answer(tmp_path, *DELTA)
    (tmp_path / "users.json").write_text("{}")
    with pytest.raises(InvalidValue, match=r"users\.json cannot be used: user ledgers file must be"):
        answer(tmp_path, *DELTA)


def test_initial_weights_are_said_of_every_user(a_run: Any) -> None:
    run = a_run(ledgers([0, 2]))
    caveat = "the initial weights a.pt are not covered"
    (run / "run.json").write_text(json.dumps({"delta": 1e-3, "accountant": "rdp", "caveat": caveat}))
    assert answer(run).rstrip().endswith(f"; {caveat}")
    assert json.loads(answer(run, "--json"))["guarantee"]["caveat"] == caveat
    assert json.loads(answer(run, "--user", 1, "--json"))["caveat"] == caveat
