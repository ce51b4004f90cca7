"""Runs of earlier versions, whose ε left the server's looks at norms out, are read and claim nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from dp_accounting import ComposedDpEvent, DpEvent

from fedward.base.validate import InvalidValue
from fedward.commands.users_command import users
from fedward.privacy import ledger_file, user_ledgers_file
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir import checkpoint
from fedward.rundir.catalogue import facts
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.store import RunDirectory
from studies.killing import run_to_end
from studies.self_protected_runs import LDP, QUANTILE, interrupted, setup_for

LEFT_OUT = "of an earlier version, which left the server's looks at norms out"
LOOKING = LDP | {"policy": QUANTILE}


def own_noise(event: DpEvent) -> DpEvent:
    return event.events[0] if isinstance(event, ComposedDpEvent) else event


def as_before(ledgers: UserLedgers | None) -> UserLedgers:
    """The ledgers that earlier versions wrote."""
    assert ledgers is not None
    reserved = ledgers.reserved
    return replace(
        ledgers,
        events=tuple(map(own_noise, ledgers.events)),
        reserved=None if reserved is None else replace(reserved, event=own_noise(reserved.event)),
    )


def make_earlier(path: Path) -> None:
    """Turns the directory of a run into what an earlier version would have left."""
    before = as_before(RunDirectory(path).user_ledgers())
    (path / "users.json").write_text(user_ledgers_file.dumps(before), encoding="utf8")
    if (path / "checkpoint.pt").exists():
        state = checkpoint.from_bytes((path / "checkpoint.pt").read_bytes(), "checkpoint")
        state = replace(state, users=as_before(state.users))
        (path / "checkpoint.pt").write_bytes(checkpoint.to_bytes(state))
    if (path / "result.json").exists():
        result = json.loads((path / "result.json").read_text(encoding="utf8"))
        own = before.guarantees(1e-4, "rdp").worst
        _, alone = result["looks"].split("central accounting: ")
        result |= {
            "guarantee": own.to_json(),
            "statement": str(own),
            "looks": f"the server's looks at norms, from a central budget: {alone}",
        }
        (path / "result.json").write_text(json.dumps(result), encoding="utf8")


def loaded(path: Path) -> RunRecord:
    run = load(path)
    assert isinstance(run, RunRecord)
    return run


@pytest.mark.usefixtures("edited_by_hand")
def test_a_finished_run_that_left_looks_out_is_read_and_has_no_guarantee(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_to_end(setup_for(LOOKING, rounds=2), tmp_path)
    assert loaded(tmp_path).guarantee() is not None
    assert "epsilon" in facts.read(tmp_path).facts
    make_earlier(tmp_path)
    run = loaded(tmp_path)
    found = run.guarantee()
    assert found is not None
    assert not found.private
    assert LEFT_OUT in found.reason
    assert run.result is not None
    assert LEFT_OUT in run.result.statement
    assert "epsilon" not in facts.read(tmp_path).facts
    for user in (None, 3):
        users(run=tmp_path, user=user)
        assert LEFT_OUT in capsys.readouterr().out.splitlines()[-1]
    # What the ledger of the server claims is about its looks alone, and holds.
    (check,) = ledger_file.verify((tmp_path / "ledger.json").read_text(encoding="utf8"))
    assert check.holds


@pytest.mark.usefixtures("edited_by_hand")
def test_an_unfinished_run_that_left_looks_out_has_no_guarantee_and_does_not_go_on(tmp_path: Path) -> None:
    setup = setup_for(LOOKING)
    interrupted(setup, tmp_path, 2)
    before = loaded(tmp_path).guarantee()
    assert before is not None
    assert before.private
    make_earlier(tmp_path)
    found = loaded(tmp_path).guarantee()
    assert found is not None
    assert LEFT_OUT in found.reason
    with pytest.raises(InvalidValue, match="an earlier version, which left them out"):
        run_to_end(setup, tmp_path)


def test_runs_without_looks_are_what_they_were(tmp_path: Path) -> None:
    result = run_to_end(setup_for(LDP | {"clip_bound": 0.05}, rounds=1), tmp_path)
    found = loaded(tmp_path).guarantee()
    assert found is not None
    assert found.private
    assert str(found) == result["statement"]
    assert as_before(loaded(tmp_path).users).events == loaded(tmp_path).users.events  # type: ignore[union-attr]
