from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import NonPrivateDpEvent

import fedward as python_fedward
from command_line import answer
from fedward.privacy import Ledger, ledger_file
from fedward.reports.terminal.console import plain_console
from fedward.reports.terminal.ledger_lines import print_ledger
from fedward.rundir.run_record import RunRecord, load
from studies.killing import run_to_end
from studies.self_protected_runs import INSDP, LDP, QUANTILE, interrupted, setup_for
from tiny_experiment import CONTENT

PRIVATE: dict[str, Any] = CONTENT["algorithm"]
PLAIN: dict[str, Any] = {
    "preset": "fedavg",
    "sampler": {"name": "everyone"},
    "local": PRIVATE["local"],
}
USERS = "no claims: users protect themselves, and `fedward users RUN` shows what each has spent"


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def test_a_finished_private_run_by_file_and_by_directory(fedward: Any) -> None:
    result = run_to_end(setup_for(PRIVATE, rounds=1), Path("run"))
    by_file = fedward("ledger", "run/ledger.json")
    assert by_file.code == 0
    assert f"{result['statement']}: holds" in by_file.out
    assert "so far" not in by_file.out
    assert fedward("ledger", "run") == by_file
    told = fedward("ledger", "run", "--json").json()
    assert (told["holds"], told["finished"], told["private"], told["reason"]) == (True, True, True, "")
    assert told["claims"][0]["epsilon"] == told["claims"][0]["recomputed"] == result["guarantee"]["epsilon"]
    assert told["so_far"] is None


@pytest.mark.parametrize(("algorithm", "private"), [(PLAIN, False), (INSDP, None)])
def test_a_program_is_told_why_there_is_no_claim(
    fedward: Any, algorithm: dict[str, Any], private: bool | None
) -> None:
    run_to_end(setup_for(algorithm, rounds=1), Path("run"))
    told = fedward("ledger", "run", "--json").json()
    assert (told["holds"], told["finished"], told["private"], told["claims"]) == (True, True, private, [])
    assert told["reason"] in fedward("ledger", "run").out.splitlines()
    assert told["reason"] == USERS if private is None else told["reason"].startswith("no guarantee: ")


def test_the_looks_of_a_server_are_claimed_beside_what_users_do(fedward: Any) -> None:
    run_to_end(setup_for(LDP | {"policy": QUANTILE}, rounds=1), Path("run"))
    told = fedward("ledger", "run", "--json").json()
    assert (told["finished"], told["private"], len(told["claims"])) == (True, True, 1)


def test_an_unfinished_run_shows_what_it_has_spent_so_far(fedward: Any) -> None:
    interrupted(setup_for(PRIVATE), Path("run"), 2)
    record = load("run")
    assert isinstance(record, RunRecord)
    guarantee = record.guarantee()
    for place in ("run", "run/ledger.json"):
        code, out, _ = fedward("ledger", place)
        assert code == 0
        assert "no claims: the run is not finished\n" in out
        assert f"so far: {guarantee}\n" in out
        told = fedward("ledger", place, "--json").json()
        assert (told["finished"], told["private"]) == (False, True)
        assert told["reason"] == "no claims: the run is not finished"
        assert guarantee is not None
        assert told["so_far"]["epsilon"] == guarantee.epsilon
    # Nobody can know δ from the ledger alone.
    Path("ledger.json").write_bytes(Path("run/ledger.json").read_bytes())
    told = fedward("ledger", "ledger.json", "--json").json()
    assert (told["finished"], told["so_far"]) == (False, None)


@pytest.mark.parametrize("algorithm", [PLAIN, INSDP])
def test_what_never_claims_anything_is_not_finished_while_a_round_is_under_way(
    fedward: Any, algorithm: dict[str, Any]
) -> None:
    interrupted(setup_for(algorithm), Path("run"), 1)
    told = fedward("ledger", "run", "--json").json()
    assert (told["finished"], told["so_far"]) == (False, None)


def test_a_ledger_in_which_nothing_was_spent_says_that(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    print_ledger(plain_console(width=120), empty, [])
    assert "no claims: nothing was spent\n" in capsys.readouterr().out


def test_what_is_no_ledger_is_named(fedward: Any) -> None:
    run_to_end(setup_for(rounds=1), Path("run"))
    for words, said in (
        (["ledger", "run/result.json"], "run/result.json cannot be used: ledger file must be of the format"),
        (
            ["ledger", "run/users.json"],
            "run/users.json must be a ledger.json, got what each user has spent: fedward users run shows it",
        ),
        (["ledger", "none"], "none must be the directory of a run, got none: there is no such directory"),
        (["ledger", "none.json"], "none.json cannot be read: there is no such file"),
        (["ledger", "."], ". must be the directory of a run, got one without run.json"),
        (["certificate", "check", "run/ledger.json"], "run/ledger.json is not a certificate: "),
        (["users", "none"], "none must be the directory of a run, got none: there is no such directory"),
    ):
        code, out, err = fedward(*words)
        assert (code, out) == (2, ""), words
        assert said in err
    Path("run/digests.jsonl").unlink()
    os.mkfifo("run/digests.jsonl")
    assert "got 'digests.jsonl', which is a named pipe" in fedward("ledger", "run").err
    Path("run/ledger.json").unlink()
    assert "run must be the directory of a run with a ledger.json" in fedward("ledger", "run").err


@pytest.mark.usefixtures("edited_by_hand")
def test_a_claim_without_any_proof_is_valid_json(fedward: Any) -> None:
    """An infinite ε is null: JSON has no infinity."""
    run_to_end(setup_for(PRIVATE, rounds=1), Path("run"))
    text = Path("run/ledger.json").read_text(encoding="utf8")
    spent, claims = ledger_file.loads(text)
    (claim,) = claims
    entry = replace(spent.entries[0], event=NonPrivateDpEvent())
    Path("run/ledger.json").write_text(ledger_file.dumps(replace(spent, entries=(entry,)), [claim]))
    code, out, _ = fedward("ledger", "run", "--json")
    assert code == 1
    told = json.loads(out, parse_constant=lambda name: pytest.fail(name))
    assert (told["holds"], told["private"], told["claims"][0]["recomputed"]) == (False, False, None)


def test_a_person_with_several_devices_is_told_what_a_run_and_a_training_are_worth(fedward: Any) -> None:
    run_to_end(setup_for(PRIVATE, rounds=1), Path("run"))
    told = fedward("ledger", "run", "--devices-per-person", "3")
    assert told.code == 0
    assert "person level, up to 3 devices each" in told.out
    (person,) = fedward("ledger", "run", "--devices-per-person", "3", "--json").json()["persons"]
    assert person["devices"] == 3
    assert person["epsilon"] > fedward("ledger", "run", "--json").json()["claims"][0]["epsilon"]
    words = ("--noise-multiplier", "3", "--sampling-rate", "0.1", "--rounds", "30", "--delta", "1e-5")
    asked = python_fedward.epsilon(
        noise_multiplier=3.0, sampling_rate=0.1, rounds=30, delta=1e-5, devices_per_person=3
    )
    assert (
        fedward("epsilon", *words, "--devices-per-person", "3", "--json").json()["epsilon"] == asked.epsilon
    )
    assert fedward("ledger", "run", "--devices-per-person", "0").code != 0
