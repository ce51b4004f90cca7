from __future__ import annotations

import numpy as np
import pytest

import fedward
from fedward.backends.engines.native import available

pytestmark = pytest.mark.skipif(not available(), reason="the native engine was not compiled")

SEEDS = 20


def accuracy(engine: str, seed: int) -> float:
    federation = fedward.datasets.digits.load(users=20, seed=seed)
    model = fedward.models.build("digits_cnn", input_shape=(1, 8, 8), num_classes=10, seed=seed)
    algorithm = fedward.presets.user_dp_fedavg(
        num_users=20,
        sampler=fedward.PoissonSampler(rate=0.5),
        local=fedward.SGD(learning_rate=0.1, batch_size=16, epochs=2, momentum=0.9),
        clip_bound=1.0,
        noise_multiplier=0.5,
    )
    backend = fedward.InProcess(model, federation, engine=engine)  # type: ignore[arg-type]
    for state, _ in fedward.rounds(algorithm, model, federation, rounds=4, seed=seed, backend=backend):
        pass
    assert federation.test is not None
    return backend.evaluate(state.parameters, federation.test).accuracy


def test_private_trainings_end_as_accurate_as_by_the_generic_path() -> None:
    """Seed by seed the noise is the same, so what is left is rounding: at most an example or two."""
    native, generic = (
        np.array([accuracy(engine, seed) for seed in range(SEEDS)]) for engine in ("native", "generic")
    )
    assert native.mean() > 0.5  # they learned something
    apart = native - generic
    assert np.abs(apart).max() < 0.02
    assert np.abs(apart.mean()) < 0.003
