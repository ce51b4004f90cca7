from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from torch import Tensor, nn

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import FlatModule
from fedward.core.types import PrivateTrainer
from fedward.local import dp_sgd
from fedward.local.dp_sgd import DPSGD
from fedward.local.per_example import clipped_sum
from fedward.privacy import Ledger
from local.per_example.reference import reference, seeded
from privacy.printed_epsilons import _INSTANCE_LEVEL
from support import tiny_federation, tiny_model

EXAMPLES = tiny_federation(num_users=1, per_user=23).user(0)


def tiny_dp_sgd(**changes: Any) -> DPSGD:
    settings: dict[str, Any] = {
        "learning_rate": 0.1,
        "probability": 0.3,
        "expected_batch": 7.0,
        "steps": 1,
        "clip_bound": 0.5,
        "noise_multiplier": 1.5,
    }
    return DPSGD(**(settings | changes))


def trained(trainer: DPSGD, seed: int = 0, examples: Examples = EXAMPLES) -> Tensor:
    model = FlatModule(tiny_model())
    trainer.train(model, examples, np.random.default_rng(seed))
    return model.parameters


def start() -> Tensor:
    return FlatModule(tiny_model()).parameters


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"steps": 4},
        {"steps": 3, "momentum": 0.9, "weight_decay": 0.01},
        {"per_layer": True, "steps": 2},
        {"probability": 1.0},
        {"probability": 1e-12, "steps": 2},
    ],
)
def test_it_takes_the_steps_of_the_definition(changes: dict[str, Any]) -> None:
    trainer = tiny_dp_sgd(**changes)
    rng = np.random.default_rng(5)
    reference_model = tiny_model()
    flat = FlatModule(reference_model)
    weights = flat.parameters.double()
    velocity = torch.zeros_like(weights)
    bound = 0.5
    bounds = (bound / math.sqrt(2),) * 2 if trainer.per_layer else (bound,)
    for _ in range(trainer.steps):
        batch = torch.from_numpy(np.flatnonzero(rng.random(len(EXAMPLES)) < trainer.probability))
        flat.parameters.copy_(weights)
        x, y = EXAMPLES.batch(batch)
        total = reference(reference_model, x, y, bounds) if len(x) else torch.zeros_like(weights)
        noise = torch.from_numpy(rng.standard_normal(len(weights))) * 1.5 * bound
        # Weight decay and momentum see the noisy gradient only.
        gradient = (total + noise) / 7.0 + trainer.weight_decay * weights
        velocity = trainer.momentum * velocity + gradient
        weights = weights - 0.1 * velocity
    torch.testing.assert_close(trained(trainer, seed=5).double(), weights, rtol=1e-5, atol=1e-6)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, tuple[float, ...]]]:
    """Sizes and bounds of all batches that are trained on."""
    seen: list[tuple[int, tuple[float, ...]]] = []
    original = clipped_sum

    def spy(model: Any, x: Tensor, y: Tensor, bounds: Any, layers: Any) -> Tensor:
        seen.append((len(x), bounds))
        return original(model, x, y, bounds, layers)

    monkeypatch.setattr(dp_sgd, "clipped_sum", spy)
    return seen


def test_every_example_is_in_a_batch_with_the_declared_probability(
    batches: list[tuple[int, tuple[float, ...]]],
) -> None:
    steps, n, p = 600, len(EXAMPLES), 0.3
    trained(tiny_dp_sgd(steps=steps, probability=p, noise_multiplier=1e-3))
    sizes = np.array([size for size, _ in batches] + [0] * (steps - len(batches)))
    # Mean and variance of the binomial, within four standard errors.
    variance = n * p * (1 - p)
    assert abs(sizes.mean() - n * p) < 4 * math.sqrt(variance / steps)
    assert abs(sizes.var() - variance) < 4 * variance * math.sqrt(2 / steps)
    assert len(set(sizes.tolist())) > 5


def test_bounds_per_layer_make_the_declared_bound_together(
    batches: list[tuple[int, tuple[float, ...]]],
) -> None:
    trained(tiny_dp_sgd(per_layer=True, clip_bound=0.5, probability=1.0))
    bounds = batches[0][1]
    assert len(bounds) == 2
    assert math.hypot(*bounds) == pytest.approx(0.5, rel=1e-12)


def test_the_noise_on_the_sum_is_the_bound_times_the_multiplier_whatever_the_batch() -> None:
    for probability in (1e-12, 1.0):
        trainer = tiny_dp_sgd(probability=probability, expected_batch=4.0, learning_rate=0.5)
        runs = torch.stack([trained(trainer, seed) for seed in range(150)]).double()
        noise = (runs - runs.mean(0)) * 4.0 / 0.5
        # 150 x 26 numbers give the standard deviation to about one part in 90.
        assert float(noise.std()) == pytest.approx(1.5 * 0.5, rel=0.05)


def test_an_empty_batch_still_takes_a_noisy_step() -> None:
    moved = trained(tiny_dp_sgd(probability=1e-12)) - start()
    assert bool((moved != 0).all())


def test_a_user_without_examples_sends_noise() -> None:
    nothing = Examples(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64))
    moved = trained(tiny_dp_sgd(), examples=nothing) - start()
    assert bool((moved != 0).all())


def test_one_example_moves_a_step_by_no_more_than_the_bound_over_the_expected_batch() -> None:
    trainer = tiny_dp_sgd(probability=1.0, learning_rate=1.0, expected_batch=7.0)
    fewer = Examples(EXAMPLES.x[:-1], EXAMPLES.y[:-1])  # type: ignore[index]
    for scale in (1.0, 1e4):
        more = Examples(torch.cat([fewer.x, scale * EXAMPLES.x[-1:]]), EXAMPLES.y)  # type: ignore[index,list-item]
        runs = []
        for examples in (more, fewer):
            rng = np.random.default_rng(0)
            # The batch is drawn example by example; the noise must be the same for both.
            rng.random(len(EXAMPLES) - len(examples))
            model = FlatModule(tiny_model())
            trainer.train(model, examples, rng)
            runs.append(model.parameters.double())
        assert 0 < float((runs[0] - runs[1]).norm()) <= 0.5 / 7.0 * (1 + 1e-5)


def test_an_example_that_is_not_finite_leaves_the_model_finite() -> None:
    x = EXAMPLES.x.clone()  # type: ignore[union-attr]
    x[3] = torch.nan
    model = trained(tiny_dp_sgd(probability=1.0, steps=3), examples=Examples(x, EXAMPLES.y))
    assert bool(torch.isfinite(model).all())


def test_large_batches_go_through_in_parts(batches: list[tuple[int, tuple[float, ...]]]) -> None:
    many = tiny_federation(num_users=1, per_user=600).user(0)
    found = trained(tiny_dp_sgd(probability=1.0, noise_multiplier=1e-9), examples=many)
    assert [size for size, _ in batches] == [256, 256, 88]
    wanted = start() - 0.1 / 7.0 * reference(tiny_model(), many.x, many.y, (0.5,)).float()  # type: ignore[arg-type]
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_sequences_are_not_padded_to_their_neighbours() -> None:
    class Mean(nn.Module):
        """Has no idea of padding: a longer neighbour would change what it makes of a sequence."""

        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(6, 4), nn.Linear(4, 2)

        def forward(self, x: Tensor) -> Tensor:
            scores: Tensor = self.head(self.table(x).mean(1))
            return scores

    module = seeded(Mean)
    sequences = [[1, 2], [3], [4, 5, 1], [2, 2], [5, 4, 3, 2, 1]]
    examples = Examples(Ragged.from_sequences(sequences), torch.tensor([0, 1, 1, 0, 1]))
    wanted = sum(
        reference(module, torch.tensor([sequence]), y.view(1), (0.5,))
        for sequence, y in zip(sequences, examples.y, strict=True)
    )
    model = FlatModule(module)
    before = model.parameters.clone()
    trainer = tiny_dp_sgd(probability=1.0, learning_rate=1.0, expected_batch=1.0, noise_multiplier=1e-9)
    trainer.train(model, examples, np.random.default_rng(0))
    torch.testing.assert_close((before - model.parameters).double(), wanted, rtol=1e-5, atol=1e-5)


def test_seeded_noise_repeats_itself_and_system_noise_does_not() -> None:
    seeded_noise, system = tiny_dp_sgd(steps=2), tiny_dp_sgd(steps=2, noise_source="system")
    assert torch.equal(trained(seeded_noise), trained(seeded_noise))
    assert not torch.equal(trained(seeded_noise, 1), trained(seeded_noise, 2))
    assert not torch.equal(trained(system), trained(system))


def test_with_system_entropy_the_stream_decides_nothing(batches: list[Any]) -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    tiny_dp_sgd(steps=40, noise_source="system").train(FlatModule(tiny_model()), EXAMPLES, rng)
    assert rng.bit_generator.state == before
    first = [size for size, _ in batches]
    batches.clear()
    tiny_dp_sgd(steps=40, noise_source="system").train(FlatModule(tiny_model()), EXAMPLES, rng)
    assert first != [size for size, _ in batches]


def test_torch_random_numbers_are_left_alone() -> None:
    before = torch.get_rng_state()
    trained(tiny_dp_sgd(steps=2))
    assert torch.equal(before, torch.get_rng_state())


def test_batch_normalisation_is_refused() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    with pytest.raises(InvalidValue, match="layer 1 is BatchNorm1d"):
        tiny_dp_sgd().train(FlatModule(module), EXAMPLES, np.random.default_rng(0))


def test_models_that_mix_examples_are_refused() -> None:
    trainer, x = tiny_dp_sgd(), EXAMPLES.batch(torch.arange(1))[0]
    trainer.check_model(tiny_model(), x)
    with pytest.raises(InvalidValue, match="layer 1 is Softmax"):
        trainer.check_model(nn.Sequential(nn.Linear(3, 2), nn.Softmax(dim=0)), x)


def test_the_round_gives_the_learning_rate_and_a_bound_where_there_is_none() -> None:
    own = tiny_dp_sgd(learning_rate=0.8, learning_rate_decay=0.5)
    assert own.at_round(2, (9.0,)) == tiny_dp_sgd(learning_rate=0.2, clip_bound=0.5)
    assert own.at_round(2, ()).at_round(1, (3.0,)) == tiny_dp_sgd(learning_rate=0.2)
    policy = tiny_dp_sgd(clip_bound=None)
    assert policy.at_round(0, (0.25,)) == tiny_dp_sgd(clip_bound=0.25)
    assert policy.at_round(0, (0.25,)).at_round(1, (9.0,)).clip_bound == 0.25
    for bounds in ((), (0.1, 0.2)):
        with pytest.raises(InvalidValue, match="needs one that is known before the round"):
            policy.at_round(0, bounds)
    with pytest.raises(InvalidValue, match="clip bound must be positive and finite, got inf"):
        policy.at_round(0, (math.inf,))
    with pytest.raises(InvalidValue, match="use at_round first"):
        policy.train(FlatModule(tiny_model()), EXAMPLES, np.random.default_rng(0))


def test_it_declares_what_it_does_to_privacy() -> None:
    trainer = tiny_dp_sgd(steps=26)
    assert isinstance(trainer, PrivateTrainer)
    assert (trainer.unit, trainer.adjacency) == ("example", "add/remove")
    step = PoissonSampledDpEvent(0.3, GaussianDpEvent(1.5))
    assert trainer.local_event(0) == trainer.local_event(9) == SelfComposedDpEvent(step, 26)
    # Clipping by layers changes nothing: the bounds add up to C.
    assert tiny_dp_sgd(steps=26, per_layer=True).local_event(0) == trainer.local_event(0)


INSTANCE_LEVEL = [
    (where, rate, steps, delta, noise, rounds, epsilon)
    for where, rate, steps, delta, figures in _INSTANCE_LEVEL
    for noise, rounds, epsilon in figures
]


@pytest.mark.parametrize(
    ("where", "probability", "steps", "delta", "noise", "rounds", "epsilon"),
    INSTANCE_LEVEL,
    ids=[f"{row[0]}: {row[-1]}" for row in INSTANCE_LEVEL],
)
def test_its_event_gives_the_epsilon_that_xie_et_al_print(
    where: str, probability: float, steps: int, delta: float, noise: float, rounds: int, epsilon: str
) -> None:
    trainer = tiny_dp_sgd(probability=probability, steps=steps, noise_multiplier=noise)
    ledger = Ledger(
        unit=trainer.unit,
        adjacency=trainer.adjacency,
        noise_source=trainer.noise_source,
    )
    guarantee = ledger.charged(trainer.local_event(0), rounds).guarantee(delta, "moments")
    decimals = len(epsilon.split(".")[1])
    assert f"{guarantee.epsilon:.{decimals}f}" == epsilon
    assert guarantee.unit == "example"


def test_the_figures_are_those_of_the_text() -> None:
    printed = {(row[0].split(",")[0], row[4], row[5]): row[-1] for row in INSTANCE_LEVEL}
    assert printed["MNIST", 15.0, 3] == "0.2029"
    assert printed["MNIST", 1.0, 3] == "3.5691"
    assert printed["CIFAR-10", 8.0, 1] == "0.3158"
    assert printed["InsDP-FedSGD", 3.0 * 20**0.5, 200] == "1.4029"
    assert printed["Dopamine", 3.0 * 20**0.5, 200] == "2.1303"
    assert len(INSTANCE_LEVEL) == 44


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.0},
        {"probability": 0.0},
        {"probability": 1.1},
        {"expected_batch": 0.0},
        {"expected_batch": math.inf},
        {"steps": 0},
        {"noise_multiplier": 0.0},
        {"noise_multiplier": math.nan},
        {"clip_bound": 0.0},
        {"clip_bound": math.inf},
        {"momentum": 1.0},
        {"weight_decay": -0.1},
        {"learning_rate_decay": 0.0},
        {"noise_source": "urandom"},
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        tiny_dp_sgd(**changes)


@pytest.mark.parametrize("changes", [{"steps": 1.5}, {"per_layer": 1}, {"probability": "0.1"}])
def test_settings_of_the_wrong_type_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidType):
        tiny_dp_sgd(**changes)
