from __future__ import annotations

import re

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import Tally
from fedward.studies.retraining.retraining_study import choose_replicas

M = 30
REPLICAS = Replicas(
    scores=np.random.default_rng(0).dirichlet([3.0, 1.0], (M, 4)), numbers=np.arange(M), seed=1
)


def test_every_replica_may_be_chosen_and_nobody_can_foresee_which() -> None:
    chosen = [choose_replicas(REPLICAS, 2, 5) for _ in range(200)]
    assert {number for each in chosen for number in each} == set(range(M))
    assert len(set(chosen)) > 190
    assert all(list(each) == sorted(set(each)) and len(each) == 5 for each in chosen)


def test_a_seed_chooses_the_same_again() -> None:
    assert choose_replicas(REPLICAS, 2, 5, seed=3) == choose_replicas(REPLICAS, 2, 5, seed=3)
    assert choose_replicas(REPLICAS, 2, 5, seed=3) != choose_replicas(REPLICAS, 2, 5, seed=4)


@pytest.mark.parametrize(
    ("scores", "version", "count", "says"),
    [
        (REPLICAS, 2, M + 1, "at most the 30 of the certificate, got 31"),
        (REPLICAS, 2, 0, "at least 1, got 0"),
        (REPLICAS, 1, 3, "must be of version 2"),
        (Tally.of(REPLICAS), 2, M - 1, "train all of them again (--retrain 30)"),
    ],
)
def test_what_cannot_be_compared_is_refused(scores: object, version: int, count: int, says: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(says)):
        choose_replicas(scores, version, count)  # type: ignore[arg-type]


def test_a_tally_is_trained_again_as_a_whole() -> None:
    assert choose_replicas(Tally.of(REPLICAS), 2, M) == tuple(range(M))
