from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedward.attacks.inference import MembershipInference, PropertyInference, train_trial
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config.experiment import Experiment, from_content
from fedward.rundir.store import open_run
from fedward.studies.inference import attacked_trainings
from fedward.studies.inference import membership_study as inference
from fedward.studies.inference.membership_study import prepare_membership
from fedward.studies.inference.property_study import prepare_property
from fedward.studies.training.training_study import prepare
from studies.killing import Killed, kill_at
from training_steps import run

SGD = {"name": "sgd", "learning_rate": 0.5, "batch_size": 10, "epochs": 2}


def experiment(**changes: Any) -> Experiment:
    algorithm = {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 1.0,
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": SGD,
    } | changes.pop("algorithm", {})
    content = {
        "seed": 1,
        "rounds": 3,
        "data": {"name": "synthetic", "users": 40, "examples": 6, "test_examples": 50},
        "model": {"name": "logistic_regression"},
        "algorithm": algorithm,
        "privacy": {"delta": 1e-3, "accountant": "rdp"},
    }
    return from_content(content | changes)


def plain(**changes: Any) -> Experiment:
    algorithm = {"preset": "fedavg", "sampler": {"name": "everyone"}, "local": SGD}
    return from_content(experiment(**changes).model_dump(mode="json") | {"algorithm": algorithm})


def interrupted(steps: Any, after: int) -> int:
    """Ends a run after so many rounds, as a kill does; says how many there were."""
    done = 0
    for _ in steps:
        done += 1
        if done == after:
            steps.close()
            break
    return done


def carried_out(wanted: Any, path: Path, kills: tuple[int, ...]) -> tuple[Any, dict[str, Any]]:
    """The end of an attack that was ended, and gone on with, after so many rounds each time."""
    for after in kills:
        with open_run(path) as directory:
            interrupted(wanted.steps(directory), after)
    with open_run(path) as directory:
        for _ in wanted.steps(directory):
            pass
        found, result = wanted.result(directory)
    return found, result.to_json()


@pytest.fixture(autouse=True)
def _every_round_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attacked_trainings, "SAVE_EVERY", 0.0)


def membership(path: Path, kills: tuple[int, ...] = (), **options: Any) -> tuple[Any, dict[str, Any]]:
    wanted = prepare_membership(
        options.pop("experiment", experiment()), MembershipInference(**({"shadows": 4} | options))
    )
    return carried_out(wanted, path, kills)


def test_killed_and_resumed_the_attacks_find_the_same(tmp_path: Path) -> None:
    _, whole = membership(tmp_path / "whole")
    _, parts = membership(tmp_path / "parts", kills=(1, 1, 4, 3))
    assert parts == whole
    names = sorted(file.name for file in (tmp_path / "whole").iterdir())
    assert names == sorted(file.name for file in (tmp_path / "parts").iterdir())
    assert [name for name in names if name.startswith("checkpoint")] == []
    for name in names:
        if name.startswith("scores"):
            assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert json.loads((tmp_path / "parts" / "result.json").read_text()) == whole


def test_killed_at_any_file_operation_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = plain(rounds=1)
    _, whole = membership(tmp_path / "whole", experiment=short)
    killed = 0
    for operation in range(0, 200, 7):
        place = tmp_path / f"killed-at-{operation}"
        with monkeypatch.context() as patch:
            kill_at(patch, operation)
            try:
                membership(place, experiment=short)
                break
            except Killed:
                killed += 1
        assert membership(place, experiment=short)[1] == whole
        assert not list(place.glob(".*.*"))
    assert killed > 3


def test_finished_trainings_are_not_run_again_and_more_can_be_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []

    def noted(config: Any, trial: Any, *others: Any, **options: Any) -> Any:
        trained.append(str(trial))
        return train_trial(config, trial, *others, **options)

    monkeypatch.setattr(inference, "train_trial", noted)
    membership(tmp_path, shadows=4)
    assert trained == ["target 0", "shadow 0", "shadow 1", "shadow 2", "shadow 3"]
    trained.clear()
    found, result = membership(tmp_path, shadows=6, targets=2)
    assert trained == ["target 1", "shadow 4", "shadow 5"]
    assert result["shadows"] == found.shadows == 6
    trained.clear()
    membership(tmp_path, shadows=4)
    assert trained == []


def test_progress_counts_the_rounds_of_all_trainings(tmp_path: Path) -> None:
    wanted = prepare_membership(experiment(), MembershipInference(shadows=4))
    with open_run(tmp_path) as directory:
        steps = list(wanted.steps(directory))
    assert [step.done for step in steps] == list(range(1, 16))
    assert {step.total for step in steps} == {15}


def test_where_users_are_in_or_out_half_of_them_are_declared(tmp_path: Path) -> None:
    whole = prepare_membership(experiment(), MembershipInference()).setup.algorithm
    half = prepare_membership(experiment(), MembershipInference(unit="user")).setup.algorithm
    assert (whole.aggregator.expected_cohort, half.aggregator.expected_cohort) == (20, 10)  # type: ignore[attr-defined]
    declared = experiment(privacy={"users": 100, "delta": 1e-3, "accountant": "rdp"})
    told = prepare_membership(declared, MembershipInference(unit="user")).setup.algorithm
    assert told.aggregator.expected_cohort == 25  # type: ignore[attr-defined]
    found, result = membership(tmp_path, unit="user")
    assert found.attacks["loss threshold"].positives + found.attacks["loss threshold"].negatives == 40
    assert found.crossed == {}
    assert result["limit"]["auc"] == found.limit.auc
    assert result["guarantee"]["rounds"] == 3
    assert result["statement"].startswith("(ε = ")


def test_a_budget_that_ends_trainings_early_tightens_the_limit(tmp_path: Path) -> None:
    short = experiment(privacy={"delta": 1e-3, "accountant": "rdp", "budget": 6.0}, rounds=9)
    found, result = membership(tmp_path / "short", experiment=short)
    rounds = result["guarantee"]["rounds"]
    assert 1 < rounds < 9
    assert f", {rounds} round" in found.limit.about
    assert result["guarantee"]["epsilon"] <= 6.0


def test_another_experiment_or_another_unit_is_not_mixed_in(tmp_path: Path) -> None:
    membership(tmp_path)
    with pytest.raises(InvalidValue, match=r"experiment.rounds \(3 there, 4 here\)"):
        membership(tmp_path, experiment=experiment(rounds=4))
    with pytest.raises(InvalidValue, match=r"experiment.inference.unit"):
        membership(tmp_path, unit="user")
    with (
        open_run(tmp_path) as directory,
        pytest.raises(InvalidValue, match=r"experiment.inference \(a table there, None here\)"),
    ):
        next(run(prepare(experiment()), directory))


def test_a_damaged_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    membership(tmp_path)
    file = tmp_path / "scores-shadow-001.npz"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidValue, match=r"damaged.*remove it and those after it, and their trainings are"):
        membership(tmp_path)
    file.unlink()
    membership(tmp_path)
    assert file.read_bytes() == whole


def test_what_is_not_trained_cannot_be_judged(tmp_path: Path) -> None:
    wanted = prepare_membership(experiment(), MembershipInference(shadows=4))
    with open_run(tmp_path) as directory:
        interrupted(wanted.steps(directory), 4)
        with pytest.raises(InvalidValue, match="must hold the scores of shadow 0, got none"):
            wanted.result(directory)


ATTACK = {"who": {"name": "random", "count": 1}, "data": [{"name": "label_flip", "target": 0}]}


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"attack": ATTACK}, {}, "without an \\[attack\\] table"),
        ({"algorithm": {"noise_source": "system"}}, {}, "need seeded noise, got system entropy"),
        ({"data": {"name": "synthetic", "users": 10, "examples": 6}}, {"unit": "user"}, "at least 20 users"),
        (
            {"algorithm": {"sampler": {"name": "fixed_size", "size": 30}}},
            {"unit": "user"},
            "cohort size must be at most the number of users, 20, got 30",
        ),
    ],
)
def test_what_cannot_be_attacked_is_told_before_anything_is_trained(
    changes: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        prepare_membership(experiment(**changes), MembershipInference(**options))


def watched(path: Path, kills: tuple[int, ...] = (), **options: Any) -> tuple[Any, dict[str, Any]]:
    wanted = prepare_property(
        options.pop("experiment", plain(rounds=12)),
        PropertyInference(simulated=1, trees=10),
        options.pop("which", "label:3"),
        users=options.pop("users", 3),
    )
    return carried_out(wanted, path, kills)


def test_killed_and_resumed_the_participant_has_seen_the_same(tmp_path: Path) -> None:
    found, whole = watched(tmp_path / "whole")
    _, parts = watched(tmp_path / "parts", kills=(1, 4, 5))
    assert parts == whole
    assert found.rounds == whole["rounds"] == 12
    assert 0 <= whole["accuracy"] <= 1
    for file in (tmp_path / "whole").glob("scores-*"):
        assert (tmp_path / "parts" / file.name).read_bytes() == file.read_bytes()
    assert not (tmp_path / "parts" / "checkpoint.pt").exists()


def test_a_kill_after_a_snapshot_and_before_its_state_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole = watched(tmp_path / "whole")
    monkeypatch.setattr(attacked_trainings, "SAVE_EVERY", 1e9)  # snapshots run ahead of the state
    _, parts = watched(tmp_path / "parts", kills=(3, 5))
    assert parts == whole


def test_a_finished_training_is_judged_again_without_being_run_again(tmp_path: Path) -> None:
    _, first = watched(tmp_path)
    times = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("scores-*")}
    _, second = watched(tmp_path)
    assert second == first
    assert times == {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("scores-*")}
    (tmp_path / "scores-round-000004.npz").unlink()
    with pytest.raises(InvalidValue, match="must hold the snapshot of round 4, got none"):
        watched(tmp_path)


def test_a_property_may_come_from_a_file(tmp_path: Path) -> None:
    federation = plain().load_data()
    np.save(tmp_path / "property.npy", (federation.examples.y == 3).numpy())
    _, from_file = watched(tmp_path / "file", which=str(tmp_path / "property.npy"))
    _, from_label = watched(tmp_path / "label")
    assert from_file == from_label
    with pytest.raises(InvalidValue, match=r"experiment.inference.property"):
        watched(tmp_path / "file", which="label:4")


def test_a_property_that_the_data_set_knows_goes_by_its_name(tmp_path: Path) -> None:
    shade = np.arange(40, dtype=np.uint8)
    (tmp_path / "lfw").mkdir()
    arrays: dict[str, Any] = {"races": np.array(["white", "black"])}
    for part in ("train", "test"):
        arrays |= {
            f"x_{part}": np.broadcast_to(shade[:, None, None, None], (40, 48, 48, 3)),
            f"y_{part}": (shade % 2).astype(np.int8),
            f"users_{part}": shade.astype(np.int16),
            f"race_id_{part}": (shade % 5 == 0).astype(np.int8),
        }
    np.savez(tmp_path / "lfw" / "lfw48.npz", **arrays)
    faces = plain(data={"name": "lfw", "users": 4, "split": "iid"}, rounds=12)
    wanted = prepare_property(faces, PropertyInference(), "black", users=2, data_dir=tmp_path)
    shades = wanted.setup.federation.examples.x[:, 0, 0, 0].mul(255).round().long()  # type: ignore[index]
    assert wanted.has_property.tolist() == (shades % 5 == 0).tolist()
    assert wanted.setup.federation.sizes.tolist() == [20, 20]
    with pytest.raises(InvalidValue, match="must be one of white, black, got 'blak'"):
        prepare_property(faces, PropertyInference(), "blak", users=2, data_dir=tmp_path)


def test_data_may_be_left_where_it_is() -> None:
    data = {"name": "synthetic", "users": 3, "examples": 60}
    wanted = prepare_property(plain(data=data, rounds=12), PropertyInference(), "label:3")
    assert wanted.setup.federation.sizes.tolist() == [60, 60, 60]
    dealt = prepare_property(plain(data=data, rounds=12), PropertyInference(), "label:3", users=2)
    assert dealt.setup.federation.sizes.tolist() == [89, 89]  # the 11th with the property is left over


def test_what_is_no_property_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", np.ones(3, dtype=np.bool_))
    np.save(tmp_path / "numbers.npy", np.ones(240))
    (tmp_path / "damaged.npy").write_bytes(b"no array")
    cases: list[tuple[str, type[Exception], str]] = [
        ("label:10", InvalidValue, "class of the property must be from 0 to 9, got '10'"),
        ("label:x", InvalidValue, "class of the property"),
        ("race", InvalidValue, "as synthetic has no names for any, got 'race'"),
        (str(tmp_path / "none.npy"), InvalidValue, "there is no file"),
        (str(tmp_path / "damaged.npy"), InvalidValue, "cannot be read as an array"),
        (str(tmp_path / "short.npy"), InvalidValue, "got shape \\(3,\\)"),
        (str(tmp_path / "numbers.npy"), InvalidType, "true or false"),
    ]
    for which, error, message in cases:
        with pytest.raises(error, match=message):
            prepare_property(plain(rounds=12), PropertyInference(), which, users=3)
    for changed, message in (
        (experiment(attack=ATTACK), "without an \\[attack\\] table"),
        (experiment(algorithm={"noise_source": "system"}, rounds=12), "need seeded noise"),
        (plain(rounds=9), "rounds that are asked about must be at least 10, got 9"),
    ):
        with pytest.raises(InvalidValue, match=message):
            prepare_property(changed, PropertyInference(), "label:3", users=3)
