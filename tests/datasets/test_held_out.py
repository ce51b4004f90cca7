from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.datasets.held_out import choose_held_out


@given(
    st.lists(st.text(max_size=6), min_size=2, max_size=50, unique=True),
    st.floats(0.01, 0.99),
    st.randoms(),
)
def test_the_choice_depends_on_the_names_alone(names: list[str], share: float, random: object) -> None:
    array = np.array(names, dtype=object)
    chosen = choose_held_out(array, share)
    assert 1 <= chosen.sum() < len(names)
    assert abs(chosen.sum() - share * len(names)) <= 1
    order = list(range(len(names)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert np.array_equal(choose_held_out(array[order], share), chosen[order])


def test_a_larger_share_keeps_who_was_chosen_before() -> None:
    names = np.arange(1000)
    assert not (choose_held_out(names, 0.1) & ~choose_held_out(names, 0.3)).any()


def test_the_choice_looks_random() -> None:
    chosen = choose_held_out(np.arange(10_000), 0.5)
    assert chosen.sum() == 5000
    assert abs(chosen[:5000].sum() - 2500) < 200
    assert abs((chosen[1:] == chosen[:-1]).sum() - 5000) < 300


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_must_leave_something_on_both_sides(share: float) -> None:
    with pytest.raises(InvalidValue, match="test share must be above 0 and below 1"):
        choose_held_out(np.arange(4), share)


@pytest.mark.parametrize("names", [[], ["ann"]])
def test_fewer_than_two_cannot_be_shared(names: list[str]) -> None:
    with pytest.raises(InvalidValue, match=f"at least 2 persons, one to train on, got {len(names)}"):
        choose_held_out(np.array(names), 0.5, "persons")
