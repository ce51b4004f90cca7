from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.privacy.rounding import round_up_digits
from fedward.reports.terminal.runs_table import listing
from fedward.rundir.catalogue.facts import read, stamp
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.store import open_run
from rundir.catalogue.run_directories import ledger_of, make_run
from studies.self_protected_runs import INSDP, setup_for
from tiny_experiment import CONTENT
from training_steps import run

PRIVATE: dict[str, object] = CONTENT["algorithm"]


def test_a_run_has_its_experiments_keys_and_what_was_found(tmp_path: Path) -> None:
    run = read(make_run(tmp_path / "a", accuracy=0.9, epsilon=2.5))
    assert (run.kind, run.state, run.note) == ("run", "finished", "")
    assert run.facts["algorithm.sampler.name"] == "everyone"
    assert (run.facts["accuracy"], run.facts["versions.fedward"]) == (0.9, "1")
    assert run.facts["epsilon"] == pytest.approx(2.5, rel=1e-3)
    assert [record["round"] for record in run.read_rounds()] == [0, 1]
    assert "attack" not in run.facts
    # An ε never goes without what it is about.
    assert run.facts["statement"] == str(ledger_of(2.5, 2).guarantee(0.01, "rdp"))


def test_what_has_no_guarantee_has_no_epsilon(tmp_path: Path) -> None:
    assert "epsilon" not in read(make_run(tmp_path / "a")).facts


def test_a_run_under_way_shows_its_last_measurement(tmp_path: Path) -> None:
    run = read(make_run(tmp_path / "a", finished=False))
    assert run.state == "unfinished"
    assert (run.facts["accuracy"], run.facts["measured_after"]) == (0.6, 2)


def test_replicas_show_what_their_variants_share(tmp_path: Path) -> None:
    variants = {
        f"noise={noise}": {"seed": 1, "algorithm": {"preset": "user_dp_fedavg", "noise_multiplier": noise}}
        for noise in (1.0, 2.0)
    }
    (tmp_path / "run.json").write_text(
        json.dumps({"experiment": {"variants": variants, "save_space": False}})
    )
    for start in (0, 4):
        np.savez(tmp_path / f"scores-{start:06d}-{start + 4:06d}.npz", scores=np.zeros(1))
    run = read(tmp_path)
    assert (run.kind, run.state) == ("replicas", "unfinished")
    assert (run.facts["variants"], run.facts["replicas"]) == (2, 8)
    assert run.facts["algorithm.preset"] == "user_dp_fedavg"
    assert "algorithm.noise_multiplier" not in run.facts


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"experiment": 3}', '{"experiment": {"variants": {}}}', "\0"]
)
def test_a_damaged_run_is_one_that_says_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    run = read(tmp_path)
    assert run.state == "damaged"
    assert run.note


def test_the_stamp_changes_when_a_run_goes_on(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a", finished=False)
    before = stamp(path)
    assert stamp(path) == before
    with (path / "rounds.jsonl").open("a") as file:
        file.write('{"round": 2, "accuracy": 0.9}\n')
    assert stamp(path) != before


def left(algorithm: dict[str, object], path: Path, rounds: int) -> Path:
    """A run of ten rounds that was killed when so many were finished and the next was reserved."""
    setup = setup_for(algorithm, rounds=10)
    with open_run(path) as directory:
        going = run(setup, directory)
        for _ in range(rounds):
            next(going)
        reserve = directory.reserve

        def killed(*arguments: object) -> None:
            reserve(*arguments)  # type: ignore[arg-type]
            raise KeyboardInterrupt

        directory.reserve = killed  # type: ignore[method-assign,assignment]
        with pytest.raises(KeyboardInterrupt):
            next(going)
    return path


@pytest.mark.parametrize("algorithm", [PRIVATE, INSDP], ids=["by the server", "by the users"])
def test_a_private_run_that_was_killed_says_how_far_it_is_and_what_it_has_spent(
    algorithm: dict[str, object], tmp_path: Path
) -> None:
    found = read(left(algorithm, tmp_path / "a", 3))
    record = load(tmp_path / "a")
    assert isinstance(record, RunRecord)
    guarantee = record.guarantee()
    assert guarantee is not None
    assert (found.state, found.facts["rounds"], found.facts["planned_rounds"]) == ("unfinished", 3, 10)
    assert found.facts["epsilon"] == guarantee.epsilon > 0
    assert found.facts["statement"] == str(guarantee)
    cells = [str(column._cells[0]) for column in listing([found], tmp_path).columns]
    assert cells[1] == "run, unfinished"
    assert cells[5] == "3 of 10"
    assert cells[-1] == f"{round_up_digits(guarantee.epsilon)} so far"


def test_what_is_reserved_is_spent_before_a_round_is_done(tmp_path: Path) -> None:
    """The first round was under way: its users may have been told."""
    found = read(left(PRIVATE, tmp_path / "a", 0))
    assert found.facts["rounds"] == 0
    assert found.facts["epsilon"] == setup_for(PRIVATE).guarantee(1).epsilon
    assert "1 more charged" in str(found.facts["statement"])


def test_a_run_that_has_only_begun_has_spent_nothing(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a", finished=False)
    (path / "rounds.jsonl").unlink()
    found = read(path)
    assert (found.facts["rounds"], found.facts["planned_rounds"]) == (0, 2)
    assert "epsilon" not in found.facts
    assert str(listing([found], tmp_path).columns[5]._cells[0]) == "0 of 2"


def test_a_round_that_was_measured_is_done_whatever_is_still_reserved(tmp_path: Path) -> None:
    """Killed after the third round was stored and measured, and before the fourth was reserved."""
    with open_run(tmp_path / "a") as directory:
        going = run(setup_for(PRIVATE, rounds=10), directory)
        for _ in range(3):
            next(going)
    found = read(tmp_path / "a")
    assert found.facts["rounds"] == found.facts["measured_after"] == 3


def test_a_run_that_its_budget_ended_shows_what_was_planned(tmp_path: Path) -> None:
    found = read(make_run(tmp_path / "a", rounds=3, planned=5, epsilon=1.0))
    assert (found.facts["rounds"], found.facts["planned_rounds"]) == (3, 5)
    assert str(listing([found], tmp_path).columns[5]._cells[0]) == "3 of 5"
    assert "planned_rounds" not in read(make_run(tmp_path / "b")).facts


def test_the_stamp_changes_when_more_is_spent(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a", finished=False)
    for name in ("ledger.json", "users.json"):
        before = stamp(path)
        (path / name).write_text("{}")
        assert stamp(path) != before


def test_a_damaged_ledger_is_a_damaged_run(tmp_path: Path) -> None:
    path = make_run(tmp_path / "a", finished=False)
    (path / "ledger.json").write_text("{}")
    found = read(path)
    assert found.state == "damaged"
    assert "ledger.json" in found.note


@pytest.mark.parametrize(("kind", "shown"), [("membership", "2 trainings"), ("property", "2 of 9")])
def test_an_unfinished_inference_attack_shows_what_is_stored(tmp_path: Path, kind: str, shown: str) -> None:
    experiment = {"seed": 1, "rounds": 9, "inference": {"kind": kind}}
    (tmp_path / "run.json").write_text(json.dumps({"experiment": experiment}))
    stamps = {stamp(tmp_path)}
    for name in ("scores-target-000.npz", "scores-shadow-000.npz"):
        (tmp_path / name).write_bytes(b"")
        stamps.add(stamp(tmp_path))
    assert len(stamps) == 3
    found = read(tmp_path)
    assert (found.kind, found.state) == (kind, "unfinished")
    assert str(listing([found], tmp_path).columns[5]._cells[0]) == shown


@pytest.mark.usefixtures("edited_by_hand")
def test_an_unfinished_run_without_the_ledgers_of_its_users_has_no_epsilon(tmp_path: Path) -> None:
    with open_run(tmp_path / "run") as directory:
        list(run(setup_for(INSDP), directory))
    for name in ("result.json", "users.json"):
        (tmp_path / "run" / name).unlink()
    found = read(tmp_path / "run").facts
    assert "epsilon" not in found
    assert "users.json is missing" in str(found["statement"])


def test_the_rounds_of_a_run_that_was_damaged_since_are_not_shown(tmp_path: Path) -> None:
    with open_run(tmp_path / "a") as directory:
        list(run(setup_for(PRIVATE, rounds=1), directory))
    known = read(tmp_path / "a")
    assert [record["round"] for record in known.read_rounds()] == [0]
    file = tmp_path / "a" / "rounds.jsonl"
    file.write_bytes(file.read_bytes().replace(b'accuracy": 0.', b'accuracy": 1.'))
    with pytest.raises(InvalidValue, match=r"rounds\.jsonl"):
        known.read_rounds()
