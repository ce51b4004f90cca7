from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from fedward.attacks.inference import (
    MembershipInference,
    Trial,
    ask,
    judge,
    membership_inference,
    train_trial,
)
from fedward.base.validate import InvalidValue
from part_examples import PRESET_EXAMPLES
from support import tiny_algorithm, tiny_federation, tiny_model


@pytest.fixture(scope="module")
def toy() -> Any:
    """A model that can learn its examples by heart: few of them, each labelled as its user likes."""
    federation = fedward.datasets.synthetic.load(users=40, examples=6, alpha=1.0, seed=0)
    model = fedward.models.build("logistic_regression", input_shape=(60,), num_classes=10, seed=0)
    return federation, model, fedward.InProcess(model, federation)


def overfitting() -> Any:
    return fedward.SGD(learning_rate=1.0, batch_size=6, epochs=10)


def test_an_overfitted_model_gives_away_whom_it_was_trained_on(toy: Any) -> None:
    federation, model, backend = toy
    algorithm = fedward.presets.fedavg(sampler=fedward.EveryoneSampler(), local=overfitting())
    for unit, least in (("example", 0.75), ("user", 0.9)):
        config = MembershipInference(unit=unit, shadows=8)  # type: ignore[arg-type]
        found = membership_inference(config, algorithm, model, federation, backend, rounds=3, seed=1)
        ratio, threshold = found.attacks["likelihood ratio"], found.attacks["loss threshold"]
        assert ratio.auc.value > least
        assert threshold.auc.low > 0.5
        assert ratio.auc.value > threshold.auc.value
        assert found.member_loss < found.other_loss - 0.3
        assert not found.limit.promised
        assert found.crossed == {}
        records = federation.num_users if unit == "user" else len(federation.examples) - federation.num_users
        assert ratio.positives + ratio.negatives == records


def test_a_model_that_never_saw_the_data_gives_nothing_away(toy: Any) -> None:
    federation, model, backend = toy
    algorithm = fedward.presets.fedavg(sampler=fedward.EveryoneSampler(), local=overfitting())
    config = MembershipInference(shadows=4)
    found = {}
    for trial in config.shadow_trials:
        (*_, last) = train_trial(config, trial, algorithm, model, federation, backend, rounds=2, seed=1)
        found[trial] = ask(backend, last.parameters, federation)
    stranger = fedward.models.build("logistic_regression", input_shape=(60,), num_classes=10, seed=9)
    parameters = torch.cat([p.detach().reshape(-1) for p in stranger.parameters()])
    found[Trial(kind="target", number=0)] = ask(backend, parameters, federation)
    judged = judge(config, algorithm, federation, found, rounds=2, seed=1)
    for roc in judged.attacks.values():
        assert roc.auc.low < 0.5 < roc.auc.high


def private(z: float) -> Any:
    return fedward.presets.user_dp_fedavg(
        num_users=20,
        sampler=fedward.EveryoneSampler(),
        clip_bound=3.0,
        noise_multiplier=z,
        local=overfitting(),
    )


def test_with_more_noise_users_hide_better_and_no_attack_crosses_the_limit(toy: Any) -> None:
    federation, model, backend = toy
    areas, limits = [], []
    for z in (0.3, 3.0, 30.0):
        config = MembershipInference(unit="user", shadows=6, targets=3)
        found = membership_inference(config, private(z), model, federation, backend, rounds=2, seed=2)
        assert found.limit.promised
        assert found.crossed == {}
        areas.append(found.attacks["likelihood ratio"].auc.value)
        limits.append(found.limit.auc)
    assert areas[0] > 0.7 > areas[2]
    assert areas[0] > areas[1] - 0.1
    assert limits[0] > limits[1] > limits[2]
    assert limits[2] < 0.53


def test_a_limit_for_noise_that_was_not_there_is_crossed(toy: Any) -> None:
    federation, model, backend = toy
    config = MembershipInference(unit="user", shadows=6, targets=3)
    silent, claimed = private(0.01), private(30.0)
    found = {}
    for trial in config.trials:
        (*_, last) = train_trial(config, trial, silent, model, federation, backend, rounds=2, seed=2)
        found[trial] = ask(backend, last.parameters, federation)
    judged = judge(config, claimed, federation, found, rounds=2, seed=2)
    assert "AUC" in judged.crossed["likelihood ratio"]
    assert json.loads(json.dumps(judged.to_json()))["crossed"]["likelihood ratio"]


def test_trainings_differ_in_who_is_in_and_in_their_seeds(toy: Any) -> None:
    federation, _, _ = toy
    config = MembershipInference(shadows=4, targets=2)
    assert [str(trial) for trial in config.trials] == [
        *("target 0", "target 1"),
        *("shadow 0", "shadow 1", "shadow 2", "shadow 3"),
    ]
    assert len({trial.seed(1) for trial in config.trials} | {config.trials[0].seed(2)}) == 7
    halves = config.halves(private(1.0), 1)
    drawn = {trial.inside(halves, federation).tobytes() for trial in config.trials}
    assert len(drawn) == 6


def test_it_goes_on_from_any_state(toy: Any) -> None:
    federation, model, backend = toy
    config, trial, algorithm = MembershipInference(), Trial(kind="shadow", number=3), private(1.0)
    common = (config, trial, algorithm, model, federation, backend)
    states = list(train_trial(*common, rounds=3, seed=1))
    (resumed,) = train_trial(*common, rounds=3, seed=1, state=states[1])
    assert torch.equal(resumed.parameters, states[2].parameters)


def test_fixed_size_cohorts_are_drawn_from_exactly_half_of_the_users(toy: Any) -> None:
    federation, model, backend = toy
    algorithm = dataclasses.replace(private(1.0), sampler=fedward.FixedSizeSampler(size=5))
    config = MembershipInference(unit="user", shadows=4)
    assert config.halves(algorithm, 1).exact
    assert not config.halves(private(1.0), 1).exact
    assert not MembershipInference().halves(algorithm, 1).exact
    found = membership_inference(config, algorithm, model, federation, backend, rounds=1, seed=1)
    assert found.attacks["loss threshold"].positives == 20
    assert "replace-one" in found.limit.about
    assert found.crossed == {}


@pytest.mark.parametrize("name", PRESET_EXAMPLES)
def test_every_preset_can_be_attacked(name: str) -> None:
    federation, model = tiny_federation(num_users=12, per_user=4), tiny_model()
    backend = fedward.InProcess(model, federation)
    algorithm = PRESET_EXAMPLES[name]
    found = membership_inference(
        MembershipInference(shadows=4), algorithm, model, federation, backend, rounds=1, seed=1
    )
    assert set(found.attacks) == {"loss threshold", "likelihood ratio", "likelihood ratio, offline"}
    assert found.limit.promised == (not algorithm.unproven and name != "local_dp")
    assert found.crossed == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "round"}, "unit must be one of user, example"),
        ({"targets": 0}, "targets must be at least 1, got 0"),
        ({"shadows": 2}, "shadows must be at least 4, got 2"),
        ({"shadows": 7}, "shadows must be even"),
    ],
)
def test_what_cannot_be_attacked_so_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        MembershipInference(**options)


def test_too_few_users_to_ask_about_are_told_before_anything_is_trained() -> None:
    federation, model = tiny_federation(), tiny_model()
    with pytest.raises(InvalidValue, match="at least 20 users to ask about, got 12"):
        membership_inference(
            MembershipInference(unit="user"),
            tiny_algorithm(),
            model,
            federation,
            fedward.InProcess(model, federation),
            rounds=1,
            seed=0,
        )


def test_confidences_are_of_the_classes_that_the_data_has() -> None:
    federation, model = tiny_federation(), tiny_model(classes=5)  # more outputs than classes
    backend = fedward.InProcess(model, federation)
    parameters = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    found = ask(backend, parameters, federation)
    assert found.shape == (len(federation.examples),)
    assert np.isfinite(found).all()
