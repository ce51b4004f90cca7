from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import fedward
from fedward import Federation
from fedward.attacks.inference import (
    PropertyInference,
    deal,
    judge_rounds,
    property_inference,
    property_limit,
    property_rounds,
)
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.presets import central_dp, fedavg, krum
from fedward.sampling import EveryoneSampler
from part_examples import PRESET_EXAMPLES
from support import flat_inputs, tiny_federation, tiny_model, tiny_sgd


def marked(users: int, count: int = 240, visible: bool = True, seed: int = 0) -> tuple[Federation, Tensor]:
    """The label is in feature 0; the property, which has nothing to do with it, in the size of feature 2."""
    rng = np.random.default_rng(seed)
    truth = rng.random(count) < 0.4
    x = rng.normal(size=(count, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    if visible:
        x[:, 2] *= np.where(truth, 4.0, 0.2)
    return deal(Federation.from_arrays(x, y, np.zeros(count, int)), truth, users=users, seed=seed)


def linear() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Linear(3, 2)


def attacked(
    algorithm: Any, federation: Federation, truth: Any, rounds: int = 40, seed: int = 1, **options: Any
) -> Any:
    model = linear()
    backend = fedward.InProcess(model, federation)
    config = PropertyInference(**({"trees": 30} | options))
    return property_inference(config, algorithm, model, federation, truth, backend, rounds=rounds, seed=seed)


def plain(**changes: Any) -> Any:
    return fedavg(sampler=EveryoneSampler(), local=tiny_sgd(batch_size=8, **changes))


def private(z: float, users: int) -> Any:
    return central_dp(
        num_users=users,
        sampler=EveryoneSampler(),
        local=tiny_sgd(batch_size=8),
        clip_bound=0.05,
        noise_multiplier=z,
    )


def test_a_property_that_shows_is_found_by_a_participant() -> None:
    federation, truth = marked(users=2)
    found = attacked(plain(), federation, truth)
    assert found.rounds == 40
    assert found.roc.auc.value > 0.9
    assert found.roc.auc.low > 0.8
    assert found.roc.positives + found.roc.negatives == 40
    assert 10 < found.roc.positives < 30
    assert found.limit.about == "no guarantee: no noise is added"


def test_what_only_has_the_name_of_a_property_is_not_found() -> None:
    # By chance the victim's examples called so may be like the attacker's, or like its others: on average
    # over several dealings nothing must be left.
    areas = []
    for seed in range(10):
        federation, truth = marked(users=2, visible=False, seed=seed)
        areas.append(attacked(plain(), federation, truth, rounds=20, seed=seed, simulated=1).roc.auc.value)
    assert min(areas) < 0.5 < max(areas)
    assert abs(np.mean(areas) - 0.5) < 3 * np.std(areas, ddof=1) / np.sqrt(len(areas))
    shown = [
        attacked(plain(), *marked(users=2, seed=seed), rounds=20, seed=seed, simulated=1).roc.auc.value
        for seed in range(3)
    ]
    assert np.mean(shown) > 0.8


def test_noise_hides_the_property_and_the_limit_holds() -> None:
    federation, truth = marked(users=2)
    loud, silent = (attacked(private(z, 2), federation, truth) for z in (8.0, 0.01))
    assert silent.roc.auc.value > 0.9
    assert silent.crossed == loud.crossed == ()
    assert loud.roc.auc.low < 0.5 < loud.roc.auc.high
    assert loud.limit.auc < 0.6
    assert loud.to_json()["limit"]["auc"] == loud.limit.auc


def test_among_more_users_it_is_harder_to_find() -> None:
    areas = []
    for users in (2, 8):
        federation, truth = marked(users=users, count=480)
        areas.append(attacked(plain(), federation, truth, share=0.3).roc.auc.value)
    assert areas[0] > areas[1] + 0.05


def test_the_attacker_may_bring_other_data() -> None:
    federation, truth = marked(users=2)
    other, other_truth = marked(users=2, seed=7)
    model = linear()
    common = (PropertyInference(), plain(), model, federation, truth, fedward.InProcess(model, federation))
    found = property_inference(*common, rounds=40, seed=1, auxiliary=(other.examples, other_truth))
    assert found.roc.auc.value > 0.8
    wrong = property_inference(*common, rounds=40, seed=1, auxiliary=(other.examples, ~other_truth))
    assert wrong.roc.auc.value < 0.2  # it learned everything, and the names the wrong way around


def test_rules_that_hide_single_updates_can_be_attacked_too() -> None:
    federation, truth = marked(users=5, count=400)
    found = attacked(krum(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=1), federation, truth, 12)
    assert found.rounds == 12


@pytest.mark.parametrize("name", PRESET_EXAMPLES)
def test_every_preset_can_be_attacked(name: str) -> None:
    federation, model = tiny_federation(num_users=12, per_user=6), tiny_model()
    truth = flat_inputs(federation.examples)[:, 1] > 0
    assert 0 < int(truth[:6].sum()) < 6
    assert 0 < int(truth[6:12].sum()) < 6
    steps = property_rounds(
        PropertyInference(simulated=1),
        PRESET_EXAMPLES[name],
        model,
        federation,
        truth,
        fedward.InProcess(model, federation),
        rounds=10,
        seed=1,
    )
    for _, seen in itertools.islice(steps, 2):
        assert np.linalg.norm(seen.seen) == pytest.approx(1.0, abs=1e-5)
        assert seen.simulated.shape == (2, 1, len(seen.seen))
        assert np.isfinite(seen.simulated).all()
    algorithm = PRESET_EXAMPLES[name]
    promised = not algorithm.unproven and algorithm.unit == "user"
    assert property_limit(algorithm, 12, 10).promised == promised


def test_it_goes_on_from_any_state_and_sees_the_same() -> None:
    federation, truth = marked(users=3)
    model, algorithm = linear(), private(1.0, 3)
    common = (
        PropertyInference(),
        algorithm,
        model,
        federation,
        truth,
        fedward.InProcess(model, federation),
    )
    whole = list(property_rounds(*common, rounds=10, seed=1))
    rest = list(property_rounds(*common, rounds=10, seed=1, state=whole[6][0]))
    assert [each.round for _, each in rest] == [7, 8, 9]
    for (state, seen), (state_again, seen_again) in zip(whole[7:], rest, strict=True):
        assert torch.equal(state.parameters, state_again.parameters)
        assert seen.truth == seen_again.truth
        np.testing.assert_array_equal(seen.seen, seen_again.seen)
        np.testing.assert_array_equal(seen.simulated, seen_again.simulated)


def test_the_schedule_is_a_fair_coin_that_does_not_look_at_the_training() -> None:
    federation, truth = marked(users=2)
    model = linear()
    coins = []
    for algorithm in (plain(), private(1.0, 2)):
        backend = fedward.InProcess(model, federation)
        steps = property_rounds(
            PropertyInference(simulated=1), algorithm, model, federation, truth, backend, rounds=60, seed=5
        )
        coins.append([seen.truth for _, seen in steps])
    assert coins[0] == coins[1]
    assert 18 <= sum(coins[0]) <= 42


@pytest.mark.parametrize(("options", "size"), [({}, 21), ({"share": 0.5}, 38), ({"batch": 7}, 7)])
def test_the_victim_draws_its_data_anew_in_every_round(options: dict[str, Any], size: int) -> None:
    federation, truth = marked(users=2)
    start = int(federation.offsets[1])
    assert int(truth[start:].sum()) == 43  # and 76 without the property
    given: list[Any] = []

    class Watching(fedward.InProcess):
        def train(self, jobs: Any) -> Any:
            kept = list(jobs)
            given.extend(job.examples for job in kept if job.user == 1)
            return super().train(kept)

    config, model = PropertyInference(simulated=1, **options), linear()
    backend = Watching(model, federation)
    steps = property_rounds(config, plain(), model, federation, truth, backend, rounds=10, seed=1)
    truths = [seen.truth for _, seen in steps]
    own = {
        tuple(x.tolist()): bool(t)
        for x, t in zip(flat_inputs(federation.user(1)), truth[start:], strict=True)
    }
    for examples, with_property in zip(given, truths, strict=True):
        having = [own[tuple(x.tolist())] for x in examples.x]
        assert len(having) == size
        assert sum(having) == (round(config.share * size) if with_property else 0)
    assert len({examples.x.numpy().tobytes() for examples in given}) == 10


def test_the_first_rounds_can_be_left_out() -> None:
    federation, truth = marked(users=2)
    found = attacked(plain(), federation, truth, rounds=30, warm_up=10)
    assert found.rounds == 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attacker": 1}, "attacker and victim must be two users, got 1 for both"),
        ({"share": 0.0}, "share must be above 0 and at most 1, got 0.0"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"simulated": 0}, "simulated must be at least 1, got 0"),
        ({"features": 0}, "features must be at least 1, got 0"),
        ({"trees": 0}, "trees must be at least 1, got 0"),
        ({"warm_up": -1}, "warm-up must be at least 0, got -1"),
        ({"victim": 5}, "victim must be a user from 0 to 1, got 5"),
        ({"warm_up": 35}, "rounds that are asked about must be at least 10, got 5"),
    ],
)
def test_what_cannot_be_attacked_so_is_told(options: dict[str, Any], message: str) -> None:
    federation, truth = marked(users=2)
    with pytest.raises(InvalidValue, match=message):
        attacked(plain(), federation, truth, **options)


def test_data_without_the_property_is_told_before_anything_is_trained() -> None:
    federation, truth = marked(users=2)
    half = len(truth) // 2
    model = linear()
    backend = fedward.InProcess(model, federation)
    common = (PropertyInference(), plain(), model, federation)
    for user, whose in ((0, "attacker 0"), (1, "victim 1")):
        without = truth.clone()
        without[user * half : (user + 1) * half] = False
        with pytest.raises(InvalidValue, match=f"{whose} must have examples with the property"):
            property_rounds(*common, without, backend, rounds=10, seed=1)
    with pytest.raises(InvalidValue, match="got shape \\(3,\\)"):
        property_rounds(*common, truth[:3], backend, rounds=10, seed=1)
    nothing = (Examples.from_arrays([[0.0, 0.0, 0.0]], [0]), [True])
    with pytest.raises(InvalidValue, match="auxiliary data must have examples with the property"):
        property_rounds(*common, truth, backend, rounds=10, seed=1, auxiliary=nothing)


def test_a_budget_that_ends_too_early_is_told() -> None:
    federation, truth = marked(users=2)
    model, algorithm = linear(), private(1.0, 2)
    steps = property_rounds(
        PropertyInference(simulated=1),
        algorithm,
        model,
        federation,
        truth,
        fedward.InProcess(model, federation),
        rounds=20,
        seed=1,
        budget=fedward.Budget(epsilon=8.0, delta=1e-3, accountant="rdp"),
    )
    observed = [seen for _, seen in steps]
    assert 0 < len(observed) < 10
    with pytest.raises(InvalidValue, match=f"at least 10 rounds after the warm-up, got {len(observed)}"):
        judge_rounds(algorithm, 2, observed, seed=1)
