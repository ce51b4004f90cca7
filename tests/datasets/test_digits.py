from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.datasets import digits
from support import flat_inputs


def same(a: Federation, b: Federation) -> bool:
    return torch.equal(flat_inputs(a.examples), flat_inputs(b.examples)) and torch.equal(a.offsets, b.offsets)


def rows(*parts: torch.Tensor) -> list[tuple[float, ...]]:
    return sorted(tuple(row) for part in parts for row in part.flatten(1).tolist())


def test_all_1797_digits_are_there_once_scaled_to_one() -> None:
    federation = digits.load(seed=0)
    assert federation.test is not None
    x, test = flat_inputs(federation.examples), flat_inputs(federation.test)
    assert x.shape == (1438, 1, 8, 8)
    assert test.shape == (359, 1, 8, 8)
    assert x.dtype == torch.float32
    assert (float(x.min()), float(x.max())) == (0.0, 1.0)
    assert rows(x, test) == rows(torch.from_numpy(load_digits().images / 16))
    assert federation.num_users == 50
    assert federation.num_classes == 10
    assert set(federation.sizes.tolist()) == {28, 29}


def test_the_test_examples_are_a_fifth_of_each_class_whatever_the_seed() -> None:
    a, b = digits.load(seed=0), digits.load(seed=1, users=10)
    assert a.test is not None
    assert b.test is not None
    assert torch.equal(flat_inputs(a.test), flat_inputs(b.test))
    whole, test = np.bincount(load_digits().target), torch.bincount(a.test.y).numpy()
    assert np.abs(test - whole / 5).max() <= 0.5


def test_the_seed_decides_who_gets_what() -> None:
    assert same(digits.load(seed=3), digits.load(seed=3))
    assert not same(digits.load(seed=3), digits.load(seed=4))


def test_a_dirichlet_split_skews_labels() -> None:
    def distinct(federation: Federation) -> float:
        return float(
            np.mean([len(set(federation.user(user).y.tolist())) for user in range(federation.num_users)])
        )

    skewed = digits.load(seed=0, users=20, split="dirichlet", alpha=0.1)
    assert len(skewed.examples) == 1438
    assert distinct(skewed) < 6 < 9 < distinct(digits.load(seed=0, users=20))


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InvalidValue, match="this data does not"):
        digits.load(seed=0, split="natural")
    with pytest.raises(InvalidValue, match="at most the number of examples, 1438, got 1439"):
        digits.load(seed=0, users=1439)
    with pytest.raises(InvalidValue, match="alpha must be left out with split iid"):
        digits.load(seed=0, alpha=1.0)
    with pytest.raises(
        InvalidValue,
        match="split must be one of iid, dirichlet, label_skew, quantity_skew, natural, got 'idd'",
    ):
        digits.load(seed=0, split="idd")
    with pytest.raises(InvalidValue, match="seed must be at least 0, got -1"):
        digits.load(seed=-1)
