from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fedward.base import json_lines as lines
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content, parse
from fedward.studies.training.training_study import prepare
from studies.attacked import CONTENT, KRUM, PRIVATE, TOML, content, printed, setup_for
from studies.killing import run_to_end


def test_every_measurement_has_what_the_attack_achieved(tmp_path: Path) -> None:
    setup = setup_for(evaluation={"every": 3}, attack__cost_bound=0.01)
    result = run_to_end(setup, tmp_path)
    records = lines.read(tmp_path / "rounds.jsonl")
    assert [record["round"] for record in records] == [2, 3]
    for record in (*records, result):
        assert 0 <= record["attack_success"] <= 1
        assert record["attack_cost"] > 0.01
        assert record["capped_attack_cost"] == 0.01
        assert record["attacks"].keys() == {"single_pixel"}
    assert setup.attack is not None
    assert setup.attack.goal is not None
    assert result["test_examples"] == len(setup.attack.goal.clean)
    assert result["accuracy"] == records[-1]["accuracy"]
    out = printed(setup, tmp_path)
    for stated in (
        "under attack: 4 of 12 users, single_pixel, in every round; they know their own data and rows",
        "attack success",
        "attack cost",
        f"{result['attack_success']:.2%}",
        "capped at the bound fixed beforehand: 0.0100",
    ):
        assert stated in out


def test_norms_of_honest_and_malicious_updates_are_kept_apart_as_telemetry(tmp_path: Path) -> None:
    setup = setup_for(attack__model=[{"name": "scale", "factor": 50.0}])
    result = run_to_end(setup, tmp_path)
    assert setup.attack is not None
    norms: dict[bool, list[float]] = {True: [], False: []}
    for record in lines.read(tmp_path / "telemetry.jsonl"):
        theirs = setup.attack.adversary.users & set(record["cohort"])
        assert set(record["malicious"]) == theirs
        for user, norm in zip(record["cohort"], record["norms"], strict=True):
            norms[user in theirs].append(norm)
    assert result["norms"]["honest"] == pytest.approx(sum(norms[False]) / len(norms[False]))
    assert result["norms"]["malicious"] == pytest.approx(sum(norms[True]) / len(norms[True]))
    assert result["norms"]["malicious"] > 10 * result["norms"]["honest"]
    assert "(telemetry, not covered by any ε)" in printed(setup, tmp_path)


def test_norms_of_a_scheduled_attack_are_those_of_its_rounds(tmp_path: Path) -> None:
    """Over all rounds, in most of which attackers behave, the two would look alike."""
    setup = setup_for(attack__model=[{"name": "scale", "factor": 50.0}], attack__rounds=[2])
    result = run_to_end(setup, tmp_path)
    record = lines.read(tmp_path / "telemetry.jsonl")[2]
    bad = [
        n for user, n in zip(record["cohort"], record["norms"], strict=True) if user in record["malicious"]
    ]
    assert bad
    assert result["norms"]["malicious"] == pytest.approx(sum(bad) / len(bad))


def test_rejected_updates_have_no_norm(tmp_path: Path) -> None:
    setup = setup_for(attack__model=[{"name": "scale", "factor": 1e300}])
    result = run_to_end(setup, tmp_path)
    assert result["rejected_updates"] > 0
    assert result["norms"]["malicious"] is None
    assert "malicious" not in printed(setup, tmp_path)


def test_with_system_entropy_nothing_of_the_attack_is_kept_but_its_success(tmp_path: Path) -> None:
    setup = setup_for(algorithm=PRIVATE | {"noise_source": "system"}, rounds=2)
    result = run_to_end(setup, tmp_path)
    assert not (tmp_path / "telemetry.jsonl").exists()
    assert "norms" not in result
    assert "kept_rounds" not in result
    assert 0 <= result["attack_success"] <= 1


def test_several_attacks_are_reported_one_by_one(tmp_path: Path) -> None:
    setup = prepare(parse(TOML))
    result = run_to_end(setup, tmp_path)
    assert result["attacks"].keys() == {"semantic", "single_pixel"}
    out = printed(setup, tmp_path)
    assert "in rounds [0, 1], counted from 0; they know the cohort and all honest rows" in out
    for name, attack in result["attacks"].items():
        assert f"{name}: success {attack['success']:.2%}" in out


def test_a_run_without_an_attack_says_nothing_of_one(tmp_path: Path) -> None:
    made = content()
    del made["attack"]
    setup = prepare(from_content(made))
    result = run_to_end(setup, tmp_path)
    assert not {"attack_success", "attack_cost", "norms", "notes"} & result.keys()
    out = printed(setup, tmp_path)
    assert not any(said in out for said in ("under attack", "attack success", "attack cost", "malicious"))


def test_cohorts_with_an_exact_number_of_attackers_are_said_to_be_staged(tmp_path: Path) -> None:
    for sampler, private in (
        ({"name": "fixed_size", "size": 6}, True),
        ({"name": "poisson", "rate": 0.5}, False),
    ):
        setup = setup_for(
            algorithm=(PRIVATE if private else CONTENT["algorithm"]) | {"sampler": sampler},
            attack__who={"name": "per_cohort", "count": 4, "each": 2},
        )
        path = tmp_path / str(sampler["name"])
        result = run_to_end(setup, path)
        telemetry = lines.read(path / "telemetry.jsonl")
        assert [len(record["malicious"]) for record in telemetry] == [2] * 4
        staged = "staged with exactly 2 of 4 attackers in every cohort"
        assert staged in (path / "ledger.json").read_text()
        assert (staged in result["statement"]) == private
        assert any("not the sampling that certificates are about" in note for note in result["notes"])
        assert "not the sampling that certificates are about" in printed(setup, path)


def test_a_round_with_too_few_users_keeps_the_model_and_is_logged(tmp_path: Path) -> None:
    setup = setup_for(algorithm=KRUM | {"sampler": {"name": "poisson", "rate": 0.42}}, rounds=8)
    result = run_to_end(setup, tmp_path)
    telemetry = lines.read(tmp_path / "telemetry.jsonl")
    small = [record for record in telemetry if len(record["cohort"]) < 5]
    assert 1 < len(small) < 8
    why = {r["round"]: f"Krum(malicious=1) needs at least 5 rows, got {len(r['cohort'])}" for r in small}
    assert {record["round"]: record["kept"] for record in telemetry if record["kept"]} == why
    assert {kept["round"]: kept["why"] for kept in result["kept_rounds"]} == why
    measured = {record["round"]: record["loss"] for record in lines.read(tmp_path / "rounds.jsonl")}
    for t in range(1, 8):
        assert (measured[t] == measured[t - 1]) == (t in why)
    out = printed(setup, tmp_path)
    first = min(why)
    assert f"{len(small)} rounds kept the model as it was; the first, round {first + 1}: {why[first]}" in out


def test_a_target_model_is_measured_and_belongs_to_the_run(tmp_path: Path) -> None:
    model = setup_for().model
    for name, value in (("zero.pt", 0.0), ("one.pt", 1.0)):
        state = {key: torch.full_like(tensor, value) for key, tensor in model.state_dict().items()}
        torch.save(state, tmp_path / name)
    changes = {"rounds": 1, "attack__cost_bound": 1e9}
    result = run_to_end(
        setup_for(**changes, attack__target_model=str(tmp_path / "zero.pt")), tmp_path / "run"
    )
    final = torch.load(tmp_path / "run" / "model.pt", weights_only=True)
    distance = 0.5 * sum(float(tensor.double().pow(2).sum()) for tensor in final.values())
    assert result["parameter_cost"] == pytest.approx(distance)
    assert result["capped_attack_cost"] == result["attack_cost"]
    # Where the file lies is not part of what is run; what is in it is.
    assert str(tmp_path) not in (tmp_path / "run" / "run.json").read_text()
    (tmp_path / "zero.pt").rename(tmp_path / "moved.pt")
    setup = setup_for(**changes, attack__target_model=str(tmp_path / "moved.pt"))
    assert run_to_end(setup, tmp_path / "run") == result
    assert "of the target model" in printed(setup, tmp_path / "run")
    with pytest.raises(InvalidValue, match=r"data\.target_model"):
        run_to_end(setup_for(**changes, attack__target_model=str(tmp_path / "one.pt")), tmp_path / "run")
