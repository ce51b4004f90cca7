from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward import Federation
from fedward.attacks.inference.dealing import deal
from fedward.attacks.inference.holdings import Holdings
from fedward.base.validate import InvalidType, InvalidValue
from support import flat_inputs


def numbered(count: int) -> Federation:
    """Every example is its own number, so that it can be followed."""
    x = np.arange(count, dtype=np.float32)[:, None]
    return Federation.from_arrays(x, np.arange(count) % 2, np.arange(count) // 2, test=(x[:4], [0, 1, 0, 1]))


@given(st.integers(20, 60), st.integers(2, 12), st.integers(2, 6), st.integers(0, 3))
def test_only_attacker_and_victim_own_the_property_and_all_own_the_same_number(
    count: int, having: int, users: int, seed: int
) -> None:
    federation = numbered(count)
    truth = np.zeros(count, dtype=np.bool_)
    truth[np.random.default_rng(seed).choice(count, having, replace=False)] = True
    dealt, dealt_truth = deal(federation, truth, users=users, seed=seed, attacker=1, victim=0)
    places = flat_inputs(dealt.examples)[:, 0].long().numpy()
    assert len(set(places.tolist())) == len(places)
    np.testing.assert_array_equal(truth[places], dealt_truth.numpy())
    np.testing.assert_array_equal(dealt.examples.y.numpy(), places % 2)
    assert len(set(dealt.sizes.tolist())) == 1
    with_it = [
        int(dealt_truth[a:b].sum()) for a, b in zip(dealt.offsets[:-1], dealt.offsets[1:], strict=True)
    ]
    assert with_it[0] == with_it[1] == min(having // 2, (count // users) // 2)
    assert not any(with_it[2:])
    assert dealt.test is federation.test


def test_dealing_follows_the_seed() -> None:
    federation, truth = numbered(40), np.arange(40) < 10
    first, again, other = (
        flat_inputs(deal(federation, truth, users=4, seed=seed)[0].examples) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize(
    ("truth", "options", "error", "message"),
    [
        (np.arange(40) < 1, {}, InvalidValue, "got 1 with the property among 40 examples of 3 users"),
        (np.arange(40) < 0, {}, InvalidValue, "got 0 with the property"),
        (np.arange(39) < 9, {}, InvalidValue, "each of 40 training examples, got shape \\(39,\\)"),
        (np.arange(40), {}, InvalidType, "property must be true or false for each example"),
        (np.arange(40) < 9, {"users": 1}, InvalidValue, "number of users must be at least 2, got 1"),
        (np.arange(40) < 9, {"victim": 3}, InvalidValue, "victim must be a user from 0 to 2, got 3"),
        (np.arange(40) < 9, {"victim": 0}, InvalidValue, "two users, got 0 for both"),
    ],
)
def test_what_cannot_be_dealt_is_told(
    truth: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        deal(numbered(40), truth, **({"users": 3, "seed": 0} | options))


def test_data_is_drawn_with_the_share_that_is_asked_for() -> None:
    federation = numbered(30)
    truth = torch.arange(30) < 12
    own = Holdings.of(federation.examples, truth, "somebody")
    rng = np.random.default_rng(0)
    for share, wanted in ((0.0, 0), (0.05, 1), (0.5, 5), (1.0, 10)):
        places = flat_inputs(own.drawn(10, share, rng))[:, 0]
        assert int((places < 12).sum()) == wanted
        assert len(set(places.tolist())) == 10
    assert own.most(1.0) == 12
    assert own.most(0.5) == 18  # no more than there are without it
    assert len(own.drawn(100, 0.5, rng)) == 100  # again and again, where there are not so many


def test_data_of_one_kind_only_is_refused() -> None:
    federation = numbered(10)
    with pytest.raises(InvalidValue, match="victim 1 must have examples with the property and without it"):
        Holdings.of_user(federation, torch.zeros(10, dtype=torch.bool), 1, "victim")
    with pytest.raises(InvalidValue, match="each of 10 examples of auxiliary data, got shape \\(3,\\)"):
        Holdings.of(federation.examples, torch.ones(3, dtype=torch.bool), "auxiliary data")
    with pytest.raises(InvalidType, match="true or false"):
        Holdings.of(federation.examples, torch.ones(10), "auxiliary data")
