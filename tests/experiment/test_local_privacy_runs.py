"""Whole runs in which users protect themselves: results, files, kills, budgets."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fedward.core.validate import InvalidValue
from fedward.experiment import checkpoint, lines
from fedward.experiment.config import from_content
from fedward.experiment.runner import Setup, prepare, run
from fedward.experiment.store import RunDirectory, open_run
from fedward.privacy import ledger_file, user_ledgers_file
from fedward.report import terminal

DP_SGD: dict[str, Any] = {
    "name": "dp_sgd",
    "learning_rate": 0.2,
    "probability": 0.1,
    "expected_batch": 15.0,
    "steps": 2,
    "noise_multiplier": 1.0,
    "clip_bound": 1.0,
}
INSDP: dict[str, Any] = {
    "preset": "insdp_fedavg",
    "sampler": {"name": "poisson", "rate": 0.5},
    "local": DP_SGD,
}
ONE_STEP: dict[str, Any] = DP_SGD | {"steps": 1}
FEDSGD: dict[str, Any] = {
    "preset": "insdp_fedsgd",
    "sampler": {"name": "fixed_size", "size": 6},
    "local": ONE_STEP,
}
LDP: dict[str, Any] = {
    "preset": "ldp_fedsgd",
    "sampler": {"name": "poisson", "rate": 0.5},
    "noise_multiplier": 2.0,
}
QUANTILE: dict[str, Any] = {"name": "quantile", "initial": 0.05, "quantile": 0.5, "bit_noise": 3.0}
HISTOGRAM: dict[str, Any] = {
    "name": "histogram_median",
    "initial": 0.05,
    "least": 0.001,
    "most": 10.0,
    "bins": 8,
    "look_noise": 2.0,
    "every": 2,
    "most_looks": 1,
}
SKIP: dict[str, Any] = {
    "who": {"name": "random", "count": 2},
    "model": [{"name": "skip_local_privacy", "factor": 3.0}],
}


def setup_for(algorithm: dict[str, Any] = INSDP, **changes: Any) -> Setup:
    content: dict[str, Any] = {
        "seed": 1,
        "rounds": 3,
        "data": {"name": "digits", "users": 10},
        "model": {"name": "logistic_regression"},
        "algorithm": algorithm,
        "privacy": {"delta": 1e-4, "accountant": "rdp"},
    }
    return prepare(from_content(json.loads(json.dumps(content | changes))))


def run_to_end(setup: Setup, path: Path) -> dict[str, Any]:
    with open_run(path) as directory:
        for _ in run(setup, directory):
            pass
        result = directory.result()
    assert result is not None
    return result


def interrupted(setup: Setup, path: Path, rounds: int) -> None:
    with open_run(path) as directory:
        going = run(setup, directory)
        for _ in range(rounds):
            next(going)


def printed(setup: Setup, path: Path) -> str:
    with Path(os.devnull).open("w") as nowhere, open_run(path) as directory:
        console = Console(width=300, record=True, file=nowhere)
        result = directory.result()
        assert result is not None
        terminal.result(console, setup, directory.ledger(), result, directory.metrics())
        return console.export_text()


def rounds_of_users(path: Path) -> list[int]:
    ledgers = RunDirectory(path).user_ledgers()
    assert ledgers is not None
    return [ledgers.ledger(user).rounds for user in range(ledgers.num_users)]


def test_the_result_shows_the_largest_epsilon_and_the_distribution(tmp_path: Path) -> None:
    setup = setup_for()
    result = run_to_end(setup, tmp_path)
    cohorts = [record["cohort"] for record in lines.read(tmp_path / "telemetry.jsonl")]
    drawn = [sum(user in cohort for cohort in cohorts) for user in range(10)]
    assert rounds_of_users(tmp_path) == drawn
    each = [setup.guarantee(rounds).epsilon if rounds else 0.0 for rounds in sorted(drawn)]
    assert result["guarantee"]["epsilon"] == each[-1] == result["users"]["largest"]
    assert result["users"]["median"] == each[4]
    assert [epsilon for epsilon, count in result["users"]["histogram"] for _ in range(count)] == each
    assert (result["guarantee"]["unit"], result["guarantee"]["adjacency"]) == ("example", "add/remove")
    text = printed(setup, tmp_path)
    assert f"ε of a user: median {each[4]:.4f}, largest {each[-1]:.4f}" in text
    assert "example level, add/remove, DP-SGD at the user, batches p = 0.1, 2 steps a round" in text
    assert "looks" not in result
    assert "papers_claim" not in result


def test_the_servers_ledger_claims_nothing_where_it_looked_at_nothing(tmp_path: Path) -> None:
    """Its ε would be 0, and whoever checks the file would take that for the training's."""
    run_to_end(setup_for(rounds=1), tmp_path)
    text = (tmp_path / "ledger.json").read_text()
    ledger, claims = ledger_file.loads(text)
    assert claims == ()
    with Path(os.devnull).open("w") as nowhere:
        console = Console(width=300, record=True, file=nowhere)
        terminal.ledger(console, ledger, ledger_file.verify(text))
        shown = console.export_text()
    assert "nothing" in shown
    assert "not private" not in shown
    assert "users protect themselves" in shown


def test_insdp_fedsgd_prints_both_bounds_under_their_names(tmp_path: Path) -> None:
    setup = setup_for(FEDSGD, privacy={"delta": 1e-5, "accountant": "moments"})
    result = run_to_end(setup, tmp_path)
    assert result["papers_claim"]["epsilon"] < result["guarantee"]["epsilon"]
    assert result["guarantee"]["epsilon"] == setup.planned.epsilon
    text = printed(setup, tmp_path)
    assert f"the conservative bound: (ε = {setup.planned.epsilon:.4f}" in text
    assert f"the paper's claim: (ε = {result['papers_claim']['epsilon']:.4f}" in text
    assert "probability p q, q = 0.6" in text
    assert "users" not in result
    assert not (tmp_path / "users.json").exists()
    assert [check.holds for check in ledger_file.verify((tmp_path / "ledger.json").read_text())] == [True]


@pytest.mark.parametrize(("preset", "claim"), [("insdp_fedsgd", "1.4029"), ("dopamine", None)])
def test_the_figures_of_paper_002_come_out_of_a_run(tmp_path: Path, preset: str, claim: str | None) -> None:
    """Figure 12: 20 of 30 users, p = 0.4, σ = 3, 200 rounds, of which the last two are run here."""
    algorithm = {
        "preset": preset,
        "sampler": {"name": "fixed_size", "size": 20},
        "local": ONE_STEP | {"probability": 0.4, "noise_multiplier": 3.0, "clip_bound": 1.5},
    }
    setup = setup_for(
        algorithm,
        rounds=200,
        data={"name": "digits", "users": 30},
        privacy={"delta": 1e-5, "accountant": "moments"},
        evaluation={"every": 200},
    )
    interrupted(setup, tmp_path, 1)
    with open_run(tmp_path) as directory:
        state = directory.load_state()
        assert state is not None
        spent = setup.algorithm.planned_ledger(30, 198)
        (tmp_path / "checkpoint.pt").write_bytes(checkpoint.to_bytes(replace(state, round=198, ledger=spent)))
        directory.reserve(spent)
    result = run_to_end(setup, tmp_path)
    assert f"{result['guarantee']['epsilon']:.4f}" == "2.1303"
    text = printed(setup, tmp_path)
    assert "(ε = 2.1303, δ = 1e-05) example level" in text
    assert ("the paper's claim: (ε = 1.4029, δ = 1e-05)" in text) == (claim is not None)


def test_local_dp_says_that_data_sizes_are_public(tmp_path: Path) -> None:
    setup = setup_for(INSDP | {"preset": "local_dp"}, rounds=1)
    run_to_end(setup, tmp_path)
    assert "data sizes public" in printed(setup, tmp_path)


@pytest.mark.parametrize("policy", [QUANTILE, HISTOGRAM], ids=lambda policy: policy["name"])
def test_the_servers_looks_have_a_budget_of_their_own_stated_apart(
    tmp_path: Path, policy: dict[str, Any]
) -> None:
    setup = setup_for(LDP | {"policy": policy})
    result = run_to_end(setup, tmp_path)
    assert (result["guarantee"]["unit"], result["guarantee"]["adjacency"]) == ("user", "local")
    looks = setup.looks(3)
    assert looks is not None
    assert looks.epsilon > 0
    assert result["looks"] == f"the server's looks at norms, from a central budget: {looks}"
    assert "user level, add/remove, looks at norms only, Poisson sampling q = 0.5" in printed(setup, tmp_path)
    checks = ledger_file.verify((tmp_path / "ledger.json").read_text())
    assert [(check.holds, check.claimed) for check in checks] == [(True, looks)]
    # What the looks cost is no part of what a user's own noise guarantees.
    fixed = run_to_end(setup_for(LDP | {"clip_bound": 0.05}), tmp_path / "fixed")
    assert fixed["guarantee"]["epsilon"] == result["guarantee"]["epsilon"]
    assert "looks" not in fixed


def test_looks_that_an_accountant_has_no_proof_for_are_refused_before_any_work() -> None:
    algorithm = LDP | {"policy": QUANTILE, "sampler": {"name": "fixed_size", "size": 5}}
    for budget in ({}, {"budget": 100.0}):
        with pytest.raises(InvalidValue, match="fixed-size sampling must be accounted by rdp"):
            setup_for(algorithm, privacy={"delta": 1e-4, "accountant": "pld"} | budget)
    assert setup_for(algorithm, privacy={"delta": 1e-4}).accountant == "rdp"


@pytest.mark.parametrize(
    ("algorithm", "accountant", "unit"),
    [(INSDP, "pld", "example"), (FEDSGD, "pld", "example"), (LDP | {"clip_bound": 0.1}, "pld", "user")],
    ids=["insdp_fedavg", "insdp_fedsgd", "ldp_fedsgd"],
)
def test_delta_and_accountant_follow_from_what_is_hidden(
    algorithm: dict[str, Any], accountant: str, unit: str
) -> None:
    """N^-1.1 for N users would be a δ of 0.08 for examples: that hides nothing."""
    setup = setup_for(algorithm, rounds=1, privacy={})
    assert setup.accountant == accountant
    hidden = 10 if unit == "user" else len(setup.federation.examples)
    assert setup.delta == pytest.approx(hidden**-1.1)
    assert setup.planned.unit == unit


def test_attackers_who_skip_their_noise_void_the_noise_of_a_cohort(tmp_path: Path) -> None:
    setup = setup_for(FEDSGD, attack=SKIP)
    result = run_to_end(setup, tmp_path)
    assert result["guarantee"]["epsilon"] is None
    assert result["statement"] == (
        "no guarantee: attackers know or leave out the noise that the guarantee counts on"
    )
    assert "papers_claim" not in result
    assert "ε = " not in printed(setup, tmp_path)


def test_attackers_who_skip_their_noise_leave_the_others_theirs_and_the_result_says_so(
    tmp_path: Path,
) -> None:
    result = run_to_end(setup_for(attack=SKIP), tmp_path)
    assert result["guarantee"]["epsilon"] > 0
    assert any("skip their own clipping and noise" in note for note in result["notes"])
    assert result["norms"]["malicious"] is not None


def test_skipping_where_the_server_protects_is_refused_before_any_work() -> None:
    central = {
        "preset": "user_dp_fedavg",
        "clip_bound": 0.5,
        "noise_multiplier": 1.0,
        "sampler": {"name": "everyone"},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
    }
    with pytest.raises(InvalidValue, match="only users that protect themselves can skip"):
        setup_for(central, attack=SKIP)


def test_a_budget_ends_the_run_before_any_user_overspends(tmp_path: Path) -> None:
    limit = setup_for().guarantee(2).epsilon
    setup = setup_for(rounds=20, privacy={"delta": 1e-4, "accountant": "rdp", "budget": limit})
    result = run_to_end(setup, tmp_path)
    assert result["stopped_by_budget"]
    assert 2 <= result["rounds"] < 20
    assert max(rounds_of_users(tmp_path)) == 2
    assert result["guarantee"]["epsilon"] == limit
    ledgers = RunDirectory(tmp_path).user_ledgers()
    assert ledgers is not None
    assert ledgers.reserved is None


def test_system_entropy_leaves_no_telemetry_and_other_models(tmp_path: Path) -> None:
    setup = setup_for(INSDP | {"local": DP_SGD | {"noise_source": "system"}})
    ends = []
    for name in ("one", "two"):
        result = run_to_end(setup, tmp_path / name)
        assert not (tmp_path / name / "telemetry.jsonl").exists()
        assert result["guarantee"]["noise_source"] == "system"
        assert "rejected_updates" not in result
        state = checkpoint.from_bytes((tmp_path / name / "checkpoint.pt").read_bytes(), "")
        ends.append(state.parameters)
    assert not ends[0].equal(ends[1])


SHORT: dict[str, Any] = {
    "rounds": 2,
    "data": {"name": "digits", "users": 4},
    "evaluation": {"every": 2},
}
QUICK: dict[str, Any] = ONE_STEP | {"probability": 0.01}


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the product may catch it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, operation: int) -> None:
    """Ends the process, so to speak, at the given file operation: before it, or halfway through a write."""
    done: list[str] = []

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if len(done) == operation:
                raise Killed
            done.append("")
            return real(*arguments)

        return call

    def half_append(path: Path, record: dict[str, Any]) -> None:
        if len(done) == operation:
            with path.open("a") as file:
                file.write(json.dumps(record)[:7])
            raise Killed
        done.append("")
        real_append(path, record)

    real_append = lines.append
    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    monkeypatch.setattr(lines, "append", half_append)


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


def killed_and_resumed_everywhere(setup: Setup, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Runs that were killed at each file operation in turn, and resumed."""
    found: list[Path] = []
    while True:
        place = path / f"killed-at-{len(found)}"
        with monkeypatch.context() as patch:
            kill_at(patch, len(found))
            try:
                run_to_end(setup, place)
                return found
            except Killed:
                pass
        run_to_end(setup, place)
        found.append(place)


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
    setup = setup_for(algorithm, **SHORT)
    run_to_end(setup, tmp_path / "whole")
    whole = contents(tmp_path / "whole")
    found = killed_and_resumed_everywhere(setup, tmp_path, monkeypatch)
    assert len(found) > 20
    for place in found:
        assert contents(place) == whole, place.name


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
    (tmp_path / ".users.json.x7f_k2").write_text("half")
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


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (INSDP | {"local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 5, "epochs": 1}}, "dp_sgd"),
        (FEDSGD | {"local": DP_SGD}, "one local step a round"),
        (FEDSGD | {"sampler": {"name": "poisson", "rate": 0.5}}, "cohorts of a known size"),
        (LDP | {"policy": {"name": "raw_median"}}, "a clip policy with a proof"),
        (LDP | {"policy": {"name": "none"}}, "a clip policy with a proof"),
        (LDP, "give either a clip bound or a clip policy"),
        (
            INSDP | {"policy": {"name": "fixed", "clip_bound": 1.0}},
            "give either a clip bound or a clip policy",
        ),
        (
            INSDP | {"policy": QUANTILE, "local": {k: v for k, v in DP_SGD.items() if k != "clip_bound"}},
            "DP-SGD clips examples",
        ),
        (INSDP | {"local": DP_SGD | {"probability": 1.5}}, "probability must be above 0 and at most 1"),
    ],
)
def test_a_file_that_cannot_work_is_refused_in_words(algorithm: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        setup_for(algorithm)


PAGE = (Path(__file__).parents[2] / "docs" / "local-privacy.md").read_text(encoding="utf8")
EXAMPLE = Path(__file__).parents[2] / "examples" / "insdp_digits.toml"


@pytest.mark.parametrize("block", re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL))
def test_every_table_on_the_page_can_be_run(block: str, tmp_path: Path) -> None:
    given = tomllib.loads(block)
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf8")) | {
        "rounds": 1,
        "privacy": {"accountant": "rdp"},
    }
    if "policy" in given:
        given = {"algorithm": LDP | given}
    assert run_to_end(prepare(from_content(content | given)), tmp_path)["rounds"] == 1


def test_the_python_on_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(block, "docs/local-privacy.md", "exec"), {})
    shown = capsys.readouterr().out.splitlines()
    assert [line.startswith("ε of a user: median") for line in shown] == [True, True, False]
    assert "example level, add/remove, DP-SGD at the user" in shown[-1]


def test_the_page_names_every_preset_in_which_users_protect_themselves() -> None:
    for name in ("insdp_fedavg", "insdp_fedsgd", "dopamine", "local_dp", "ldp_fedsgd"):
        assert f"`{name}`" in PAGE


def test_the_example_learns(tmp_path: Path) -> None:
    content = tomllib.loads(EXAMPLE.read_text(encoding="utf8")) | {"rounds": 12}
    content["privacy"] |= {"accountant": "rdp"}
    result = run_to_end(prepare(from_content(content)), tmp_path)
    assert result["accuracy"] > 0.6
    assert len(result["users"]["histogram"]) > 1
