"""Ledgers of users on disk: killed, damaged and resumed runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.privacy import user_ledgers_file
from fedward.rundir import checkpoint
from fedward.rundir.store import RunDirectory
from studies.killing import assert_no_kill_changes, killed_and_resumed_everywhere, run_to_end
from studies.self_protected_runs import (
    FEDSGD,
    HISTOGRAM,
    INSDP,
    LDP,
    ONE_STEP,
    interrupted,
    rounds_of_users,
    setup_for,
)

SHORT: dict[str, Any] = {
    "rounds": 2,
    "data": {"name": "digits", "users": 4},
    "evaluation": {"every": 2},
}
QUICK: dict[str, Any] = ONE_STEP | {"probability": 0.01}


def contents(path: Path) -> dict[str, Any]:
    """All that must not depend on how often a run was interrupted."""
    state = checkpoint.from_bytes((path / "checkpoint.pt").read_bytes(), "checkpoint")
    texts = ("users.json", "ledger.json", "rounds.jsonl", "telemetry.jsonl", "result.json")
    return {
        "parameters": state.parameters.tolist(),
        "policy": state.policy,
        "users of the state": None if state.users is None else user_ledgers_file.dumps(state.users),
        **{name: (path / name).read_text() if (path / name).exists() else None for name in texts},
    }


@pytest.mark.parametrize(
    "algorithm",
    [
        INSDP | {"local": QUICK},
        LDP | {"policy": HISTOGRAM},
        FEDSGD | {"local": QUICK, "sampler": {"name": "fixed_size", "size": 2}},
    ],
    ids=["insdp_fedavg", "ldp_fedsgd", "insdp_fedsgd"],
)
def test_a_run_killed_at_any_file_operation_ends_bit_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, algorithm: dict[str, Any]
) -> None:
    assert_no_kill_changes(contents, setup_for(algorithm, **SHORT), tmp_path, monkeypatch)


def test_with_system_entropy_lost_rounds_are_charged_to_whoever_was_in_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody is in every cohort: two rounds, and a third charge wherever a reserved one was lost."""
    algorithm = INSDP | {
        "sampler": {"name": "everyone"},
        "local": QUICK | {"noise_source": "system"},
    }
    setup = setup_for(algorithm, **SHORT)
    charges: list[int] = []
    for place in killed_and_resumed_everywhere(setup, tmp_path, monkeypatch):
        rounds = set(rounds_of_users(place))
        assert len(rounds) == 1
        charges += rounds
        state = checkpoint.from_bytes((place / "checkpoint.pt").read_bytes(), "")
        assert state.ledger.rounds == 2
        # What is on disk and what the last state holds are the same.
        assert state.users is not None
        assert user_ledgers_file.dumps(state.users) == (place / "users.json").read_text()
    assert set(charges) == {2, 3}


def test_what_is_reserved_counts_as_spent_while_a_run_is_under_way(tmp_path: Path) -> None:
    setup = setup_for(INSDP | {"sampler": {"name": "everyone"}})
    interrupted(setup, tmp_path, 2)
    # The generator stands after round 1: nothing of the next one was reserved yet.
    assert rounds_of_users(tmp_path) == [2] * 10
    ledgers = RunDirectory(tmp_path).user_ledgers()
    assert ledgers is not None
    assert ledgers.reserved is not None
    assert ledgers.reserved.round == 1


@pytest.mark.usefixtures("edited_by_hand")
def test_a_damaged_or_lost_or_foreign_file_of_users_ends_the_run(tmp_path: Path) -> None:
    setup = setup_for()
    interrupted(setup, tmp_path, 2)
    file = tmp_path / "users.json"
    text = file.read_text()
    for damaged, message in (
        (text[:-20], "cannot be used"),
        (text.replace('"users": 10', '"users": 11'), "cannot be used"),
        ("", "cannot be used"),
    ):
        file.write_text(damaged)
        with pytest.raises(InvalidValue, match=message):
            run_to_end(setup, tmp_path)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidValue, match="cannot be used"):
        run_to_end(setup, tmp_path)
    file.unlink()
    with pytest.raises(InvalidValue, match=r"holds no users\.json: what users have spent is not known"):
        run_to_end(setup, tmp_path)
    other = setup_for(data={"name": "digits", "users": 12})
    interrupted(other, tmp_path / "other", 1)
    file.write_text((tmp_path / "other" / "users.json").read_text())
    with pytest.raises(InvalidValue, match="must hold ledgers of 10 users, got 12"):
        run_to_end(setup, tmp_path)
    file.write_text(text)
    assert run_to_end(setup, tmp_path)["rounds"] == 3


def test_ledgers_of_users_without_a_run_are_not_gone_on_with(tmp_path: Path) -> None:
    setup = setup_for()
    interrupted(setup, tmp_path / "run", 1)
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "users.json").write_text((tmp_path / "run" / "users.json").read_text())
    with pytest.raises(InvalidValue, match=r"holds users\.json but no run\.json"):
        run_to_end(setup, tmp_path / "left")


def test_what_a_kill_left_of_a_file_of_users_is_cleared_away(tmp_path: Path) -> None:
    setup = setup_for()
    interrupted(setup, tmp_path, 1)
    (tmp_path / ".users.json.fedward-0123456789abcdef.part").write_text("half")
    run_to_end(setup, tmp_path)
    assert [file.name for file in tmp_path.glob(".*")] == [".lock"]


def test_every_file_is_json_that_any_reader_takes(tmp_path: Path) -> None:
    run_to_end(setup_for(), tmp_path)
    for name in ("users.json", "result.json", "ledger.json", "run.json"):
        json.loads((tmp_path / name).read_text(), parse_constant=lambda constant: pytest.fail(constant))


def test_the_ledgers_come_back_from_a_checkpoint(tmp_path: Path) -> None:
    run_to_end(setup_for(), tmp_path)
    state = checkpoint.from_bytes((tmp_path / "checkpoint.pt").read_bytes(), "")
    ledgers = RunDirectory(tmp_path).user_ledgers()
    assert state.users is not None
    assert ledgers is not None
    assert np.array_equal(state.users.history_of, ledgers.history_of)
    assert state.users.histories == ledgers.histories
