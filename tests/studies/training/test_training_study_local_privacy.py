"""Whole runs in which users protect themselves: what their results say, and what is refused."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fedward.base import json_lines as lines
from fedward.base.validate import InvalidValue
from fedward.privacy import ledger_file
from fedward.privacy.rounding import epsilon_text
from fedward.reports.terminal.ledger_lines import print_ledger
from fedward.rundir import checkpoint
from fedward.rundir.store import RunDirectory, open_run
from studies.killing import run_to_end
from studies.self_protected_runs import (
    DP_SGD,
    FEDSGD,
    HISTOGRAM,
    INSDP,
    LDP,
    ONE_STEP,
    QUANTILE,
    SKIP,
    heading,
    interrupted,
    printed,
    rounds_of_users,
    setup_for,
)


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
    assert f"ε of a user: median {epsilon_text(each[4])}, largest {epsilon_text(each[-1])}" in text
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
        print_ledger(console, ledger, ledger_file.verify(text))
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
    assert f"the conservative bound: (ε = {epsilon_text(setup.planned.epsilon)}" in text
    assert f"the paper's claim: (ε = {epsilon_text(result['papers_claim']['epsilon'])}" in text
    assert "probability p q, q = 0.6" in text
    assert "users" not in result
    assert not (tmp_path / "users.json").exists()
    assert [check.holds for check in ledger_file.verify((tmp_path / "ledger.json").read_text())] == [True]


@pytest.mark.usefixtures("edited_by_hand")
@pytest.mark.parametrize(("preset", "claim"), [("insdp_fedsgd", "1.4029"), ("dopamine", None)])
def test_the_figures_of_xie_et_al_come_out_of_a_run(tmp_path: Path, preset: str, claim: str | None) -> None:
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
def test_the_servers_looks_are_in_the_guarantee_and_stated_apart(
    tmp_path: Path, policy: dict[str, Any]
) -> None:
    setup = setup_for(LDP | {"policy": policy})
    result = run_to_end(setup, tmp_path)
    assert (result["guarantee"]["unit"], result["guarantee"]["adjacency"]) == ("user", "local")
    looks = setup.looks(3)
    assert looks is not None
    assert looks.epsilon > 0
    alone = "the server's looks at norms, included above; alone, by central accounting"
    assert result["looks"] == f"{alone}: {looks}"
    assert "user level, zero-out, looks at norms only, Poisson sampling q = 0.5" in printed(setup, tmp_path)
    checks = ledger_file.verify((tmp_path / "ledger.json").read_text())
    assert [(check.holds, check.claimed) for check in checks] == [(True, looks)]
    fixed = run_to_end(setup_for(LDP | {"clip_bound": 0.05}), tmp_path / "fixed")
    assert result["guarantee"]["epsilon"] > max(fixed["guarantee"]["epsilon"], looks.epsilon)
    assert result["guarantee"]["epsilon"] == result["users"]["largest"]
    assert "noise at the user, the server's looks at norms included, " in result["statement"]
    assert "looks" not in fixed
    assert "looks" not in fixed["statement"]


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
    """N^-1.1 for N users would be a δ of 0.08: that hides nothing."""
    setup = setup_for(algorithm, rounds=1, privacy={})
    assert setup.accountant == accountant
    expected = 0.01 if unit == "user" else len(setup.federation.examples) ** -1.1
    assert setup.delta == pytest.approx(expected)
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
    setup = setup_for(attack=SKIP)
    result = run_to_end(setup, tmp_path)
    assert result["guarantee"]["epsilon"] > 0
    assert any("skip their own clipping and noise" in note for note in result["notes"])
    assert result["norms"]["malicious"] is not None
    shown = printed(setup, tmp_path)
    # Nobody clips here: what is measured is what was sent, noise included.
    assert f"mean norm of updates as they were sent: honest {result['norms']['honest']:.4g}" in shown
    assert "before clipping" not in shown


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
    shown = printed(setup, tmp_path)
    assert f"stopped by each user's budget after {result['rounds']} of 20 rounds" in shown


def test_where_a_budget_is_set_it_is_said_whose_it_is() -> None:
    budget = {"delta": 1e-4, "accountant": "rdp", "budget": 50.0}
    own = "budget of each user's own ε = 50 at δ = 0.0001: training ends before the first overspends"
    looks = "; the server's looks at norms count too"
    fixed, looking = LDP | {"clip_bound": 0.05}, LDP | {"policy": QUANTILE}
    for algorithm, line in ((INSDP, own), (fixed, own), (looking, own + looks)):
        assert line in heading(setup_for(algorithm, privacy=budget)).splitlines()
    assert "budget ε = 50 at δ = 0.0001" in heading(setup_for(FEDSGD, privacy=budget)).splitlines()
    assert "budget" not in heading(setup_for())


def test_a_budget_is_about_what_the_servers_looks_cost_as_well(tmp_path: Path) -> None:
    """The looks may cost far more than any user's own noise."""
    algorithm = LDP | {"policy": QUANTILE | {"bit_noise": 0.3}, "sampler": {"name": "everyone"}}
    budget = setup_for(algorithm).guarantee(2).epsilon
    assert budget > setup_for(LDP | {"clip_bound": 0.05}).guarantee(10).epsilon
    setup = setup_for(algorithm, rounds=10, privacy={"delta": 1e-4, "accountant": "rdp", "budget": budget})
    result = run_to_end(setup, tmp_path)
    assert (result["rounds"], result["stopped_by_budget"]) == (2, True)
    assert result["guarantee"]["epsilon"] == budget
    looks = setup.looks(2)
    assert looks is not None
    assert looks.epsilon < budget
    assert str(looks) in printed(setup, tmp_path)


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
