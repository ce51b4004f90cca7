from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedward.attacks import Attack, NamedUsers
from fedward.attacks.poisoning import EdgeCaseBackdoor
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from support import tiny_algorithm

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4, 4)).astype(np.float32)
Y = np.arange(120) % 3
DATA = Federation.from_arrays(X, Y, np.arange(120) // 10, test=(X[:60] + 0.01, Y[:60]))


def test_the_tail_is_that_of_the_definition() -> None:
    attack = EdgeCaseBackdoor(source=1, target=0, share=0.2, components=3)
    wide = X[Y == 1].reshape(40, -1).astype(np.float64)
    mean = wide.mean(0)
    values, vectors = np.linalg.eigh(np.cov((wide - mean).T, bias=True))
    scores = (wide - mean) @ vectors[:, -3:]
    log_density = -(scores**2 / values[-3:]).sum(1) / 2
    wanted = np.zeros(120, dtype=bool)
    wanted[Y == 1] = log_density <= np.quantile(log_density, 0.2)
    found = attack.prepared(DATA).eligible(DATA.examples)
    # The federation has the examples of each user together, which is the order they came in.
    assert found.tolist() == wanted.tolist()
    assert int(found.sum()) == 8


def test_only_attackers_own_the_tail_and_success_is_measured_on_that_of_the_test_set() -> None:
    attack = EdgeCaseBackdoor(source=1, target=0, share=0.2, components=3)
    staged = Attack(who=NamedUsers(users=(2, 5)), data=(attack,)).stage(tiny_algorithm(), DATA, 1)
    ready = attack.prepared(DATA)
    for user in range(12):
        owned = int(ready.held_out(staged.federation.user(user)).sum())
        assert owned == 0 or user in (2, 5)
    assert staged.goal is not None
    ((name, shown),) = staged.goal.triggered
    assert name == "edge_case"
    assert len(shown) == int(ready.eligible(DATA.test).sum()) > 0  # type: ignore[arg-type]  # it has a test set
    assert set(shown.y.tolist()) == {0}


def test_a_class_without_any_example_has_no_tail() -> None:
    ready = EdgeCaseBackdoor(source=1, target=0).prepared(DATA)
    none = Examples(torch.as_tensor(X[Y == 0]), torch.zeros(40, dtype=torch.int64))
    assert not ready.held_out(none).any()


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": 1, "target": 1},
        {"source": -1, "target": 1},
        {"source": 1, "target": 0, "share": 1.0},
        {"source": 1, "target": 0, "components": 0},
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="must"):
        EdgeCaseBackdoor(**arguments)


def test_data_without_a_tail_is_refused() -> None:
    with pytest.raises(InvalidValue, match="source label must be below the number of classes"):
        EdgeCaseBackdoor(source=7, target=0).check(DATA, 1)
    few = Federation.from_arrays(X, np.where(np.arange(120) == 3, 1, 0), np.arange(120) // 10)
    with pytest.raises(InvalidValue, match="at least two of the source class 1"):
        EdgeCaseBackdoor(source=1, target=0).check(few, 1)
    usual = Federation.from_arrays(X, Y, np.arange(120) // 10, test=(0 * X[:60], Y[:60]))
    with pytest.raises(InvalidValue, match="test examples must hold some in the tail of class 1, got none"):
        EdgeCaseBackdoor(source=1, target=0).check(usual, 1)
