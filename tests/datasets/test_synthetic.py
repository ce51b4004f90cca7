from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import fedward
from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config.experiment import from_content
from fedward.core.federation import Federation
from fedward.datasets import DATASETS, synthetic
from fedward.studies.training.training_study import prepare


def values(federation: Federation) -> torch.Tensor:
    assert isinstance(federation.examples.x, torch.Tensor)
    return federation.examples.x


def same(a: Federation, b: Federation) -> bool:
    assert a.test is not None
    assert b.test is not None
    pairs = [(values(a), values(b)), (a.examples.y, b.examples.y), (a.test.x, b.test.x), (a.test.y, b.test.y)]
    return all(torch.equal(one, other) for one, other in pairs)  # type: ignore[arg-type]


def user_means(**options: Any) -> torch.Tensor:
    federation = synthetic.load(seed=1, users=300, examples=50, features=6, **options)
    return values(federation).view(300, 50, 6).mean(1)


def agreement(alpha: float) -> float:
    """How often the least-squares model of all users names the label that the user itself gave."""
    federation = synthetic.load(seed=2, users=200, examples=40, features=5, classes=3, alpha=alpha)
    x = torch.cat([values(federation), torch.ones(len(federation.examples), 1)], 1)
    labels = torch.nn.functional.one_hot(federation.examples.y, 3).float()
    scores = x @ torch.linalg.lstsq(x, labels).solution
    return float((scores.argmax(1) == federation.examples.y).float().mean())


@given(
    users=st.integers(1, 40),
    examples=st.integers(1, 12),
    features=st.integers(1, 9),
    classes=st.integers(2, 6),
)
def test_every_user_owns_as_many_examples_as_asked_for(
    users: int, examples: int, features: int, classes: int
) -> None:
    federation = synthetic.load(
        seed=0,
        users=users,
        examples=examples,
        features=features,
        classes=classes,
        alpha=0.5,
        beta=0.5,
        test_examples=7,
    )
    assert federation.sizes.tolist() == [examples] * users
    assert federation.names.tolist() == list(range(users))
    assert values(federation).shape == (users * examples, features)
    assert values(federation).dtype == torch.float32
    assert federation.examples.y.dtype == torch.int64
    assert bool(values(federation).isfinite().all())
    assert federation.num_classes == classes
    assert federation.test is not None
    assert federation.test.x.shape == (7, features)  # type: ignore[union-attr]


def test_the_seed_decides_everything() -> None:
    assert same(synthetic.load(seed=3, alpha=1.0, beta=1.0), synthetic.load(seed=3, alpha=1.0, beta=1.0))
    assert not same(synthetic.load(seed=3), synthetic.load(seed=4))


def test_features_have_the_declared_variances() -> None:
    x = values(synthetic.load(seed=0, users=1000, examples=20, features=10))
    assert torch.allclose(x.var(0), torch.arange(1, 11) ** -1.2, rtol=0.05)
    assert float(x.mean(0).abs().max()) < 0.05


def test_labels_are_those_of_the_model_that_all_users_share_if_alpha_is_zero() -> None:
    federation = synthetic.load(seed=5, users=50, examples=8, features=4, classes=6, beta=1.0)
    shared = torch.from_numpy(stream(5, "partition").standard_normal((5, 6), dtype=np.float32))
    scores = values(federation) @ shared[:-1] + shared[-1]
    assert torch.equal(federation.examples.y, scores.argmax(1))


def test_one_linear_model_fits_all_users_only_if_alpha_is_small() -> None:
    # Scores of a linear model are exact on the whole; a least-squares fit of them is not, but nearly.
    assert agreement(0.0) > 0.8
    assert agreement(10.0) < 0.55


def test_all_users_have_the_same_means_if_beta_is_zero_and_shifted_ones_otherwise() -> None:
    within = 1 / np.sqrt(50)
    assert float(user_means(beta=0.0)[:, 0].std()) == pytest.approx(within, rel=0.15)
    assert float(user_means(beta=4.0)[:, 0].std()) == pytest.approx(np.hypot(within, 2.0), rel=0.15)


def test_blocks_of_users_are_all_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_BLOCK", 1)
    one_by_one = synthetic.load(seed=1, users=30, examples=4, features=3, alpha=1.0, beta=1.0)
    means = values(one_by_one).view(30, 4, 3).mean(1)
    assert len(means.unique(dim=0)) == 30  # type: ignore[no-untyped-call]
    assert len(one_by_one.examples.y.unique()) > 3  # type: ignore[no-untyped-call]


def test_users_models_are_not_held_all_at_once() -> None:
    tracemalloc.start()
    try:
        federation = synthetic.load(seed=0, users=20_000, examples=2, features=30, classes=10, alpha=1.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    data = values(federation).nbytes + federation.examples.y.nbytes
    models = 20_000 * 31 * 10 * 4
    assert peak < data + 0.75 * models  # numpy reports its buffers to tracemalloc


def learned(**options: Any) -> tuple[float, float]:
    """The test accuracy of federated averaging, and that of always naming the commonest class."""
    federation = synthetic.load(seed=1, users=100, examples=20, **options)
    model = fedward.models.build("logistic_regression", input_shape=(60,), num_classes=10, seed=1)
    algorithm = fedward.presets.fedavg(
        sampler=fedward.FixedSizeSampler(size=20),
        local=fedward.SGD(learning_rate=1.0, batch_size=5, epochs=5),
    )
    backend = fedward.InProcess(model, federation)
    for state, _ in fedward.rounds(algorithm, model, federation, rounds=20, seed=1, backend=backend):
        pass
    assert federation.test is not None
    chance = float(federation.test.y.bincount().max()) / len(federation.test)
    return backend.evaluate(state.parameters, federation.test).accuracy, chance


def test_federated_averaging_learns_it_and_less_so_where_users_differ() -> None:
    (alike, chance), (apart, chance_apart) = learned(), learned(alpha=0.5, beta=0.5)
    assert alike > 0.6 > 0.3 > chance
    # A new user's own model cannot be known: even all data in one place would give about a third.
    assert 2 * chance_apart < apart < alike


def test_an_experiment_file_can_name_it() -> None:
    assert DATASETS["synthetic"] is synthetic.load
    local = {"name": "sgd", "learning_rate": 0.1, "batch_size": 5, "epochs": 1}
    setup = prepare(
        from_content(
            {
                "seed": 1,
                "rounds": 1,
                "data": {"name": "synthetic", "users": 30, "features": 4, "alpha": 1},
                "model": {"name": "logistic_regression"},
                "algorithm": {"preset": "fedavg", "sampler": {"name": "everyone"}, "local": local},
            }
        )
    )
    assert setup.federation.num_users == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": 0}, "number of users must be at least 1, got 0"),
        ({"examples": 0}, "examples of each user must be at least 1, got 0"),
        ({"features": 0}, "number of features must be at least 1, got 0"),
        ({"classes": 1}, "number of classes must be at least 2, got 1"),
        ({"test_examples": 0}, "number of test examples must be at least 1, got 0"),
        ({"alpha": -1.0}, "alpha must be at least 0 and finite, got -1.0"),
        ({"beta": float("nan")}, "beta must be at least 0 and finite, got nan"),
        ({"beta": 1e13}, r"beta must be at most 1e\+12, got"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        synthetic.load(**({"seed": 0} | options))


def test_a_number_of_users_must_be_whole() -> None:
    with pytest.raises(InvalidType, match=r"number of users must be a whole number, got 10\.0"):
        synthetic.load(seed=0, users=10.0)  # type: ignore[arg-type]


def test_the_largest_spread_still_gives_finite_examples() -> None:
    federation = synthetic.load(seed=0, users=20, alpha=synthetic.LARGEST, beta=synthetic.LARGEST)
    assert bool(values(federation).isfinite().all())
    assert len(federation.examples.y.unique()) > 5  # type: ignore[no-untyped-call]
