from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from fedward.base.randomness import (
    Purpose,
    _key,
    from_local_seed,
    local_seed,
    private_stream,
    stream,
    system_normal,
)
from fedward.base.validate import InvalidValue


def test_no_two_names_share_a_stream() -> None:
    names = itertools.product(
        range(3), get_args(Purpose), (None, 0, 1, 11), (None, 0, 1, 11), (None, 0, 1, 11)
    )
    keys = [_key(*name) for name in names]
    assert len(set(keys)) == len(keys)


def test_equal_names_give_equal_numbers() -> None:
    a, b = (stream(3, "noise", replica=1, round=2).normal(size=5) for _ in range(2))
    assert np.array_equal(a, b)


def test_local_seeds_differ_by_seed_round_and_user() -> None:
    seeds = [local_seed(*name) for name in itertools.product(range(5), range(5), range(50))]
    assert len(set(seeds)) == len(seeds)
    assert from_local_seed(seeds[0]).random() == from_local_seed(seeds[0]).random()


def test_streams_of_neighbouring_names_are_not_correlated() -> None:
    draws = np.stack([stream(0, "noise", replica=0, round=t).normal(size=2000) for t in range(20)])
    correlations = np.asarray(np.corrcoef(draws))[~np.eye(20, dtype=bool)]
    assert np.abs(correlations).max() < 6 / np.sqrt(2000)


def test_system_streams_never_repeat() -> None:
    draws = [private_stream("system", 1, "sampling", replica=0, round=0).random() for _ in range(5)]
    assert len(set(draws)) == 5
    seeded = [private_stream("seeded", 1, "sampling", replica=0, round=0).random() for _ in range(5)]
    assert len(set(seeded)) == 1


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_system_normal_gives_as_many_numbers_as_asked_for(size: int) -> None:
    assert system_normal(size).shape == (size,)


def test_system_normal_is_standard_normal() -> None:
    # It has no seed, so the threshold is one that chance passes once in a billion runs.
    sample = system_normal(100_001)
    assert np.isfinite(sample).all()
    assert stats.kstest(sample, "norm").pvalue > 1e-9


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", None])
def test_a_seed_must_be_a_whole_number(seed: object) -> None:
    with pytest.raises(InvalidValue, match="seed must be"):
        stream(seed, "noise")  # type: ignore[arg-type]


def test_an_unknown_purpose_is_refused() -> None:
    with pytest.raises(InvalidValue, match="did you mean 'noise'"):
        stream(1, "noize")  # type: ignore[arg-type]
