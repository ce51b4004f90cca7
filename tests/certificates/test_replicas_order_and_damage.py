from __future__ import annotations

import contextlib

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.replica_scores import Replicas

SCORES = np.random.default_rng(0).dirichlet(np.ones(3), size=(10, 40))


@pytest.mark.parametrize("numbers", [np.arange(10)[::-1], np.arange(10) * 1000 + 3])
def test_replicas_out_of_order_or_picked_from_many_are_refused(numbers: np.ndarray) -> None:
    """The default bound depends on the order, and the best of many runs are no sample."""
    with pytest.raises(InvalidValue, match="must follow each other"):
        Replicas(scores=SCORES, numbers=numbers, seed=7)


def test_damaged_scores_are_refused_or_read_and_never_anything_else() -> None:
    content = Replicas(scores=SCORES, numbers=np.arange(10), seed=7).to_bytes()
    rng = np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        with contextlib.suppress(InvalidValue):
            Replicas.from_bytes(bytes(damaged))


@pytest.mark.parametrize("seed", [np.int32(7), np.int64(7), 2**70])
def test_a_seed_of_any_integer_type_survives_its_file(seed: int) -> None:
    replicas = Replicas(scores=SCORES, numbers=np.arange(10), seed=seed)
    again = Replicas.from_bytes(replicas.to_bytes())
    assert again.seed == int(seed)
    assert again.digest() == replicas.digest()
