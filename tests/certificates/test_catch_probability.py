from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.certificates.catch_probability import catch


def test_it_is_the_share_of_choices_that_hold_a_false_replica() -> None:
    found, choice = catch(20, 4, Fraction(1, 4)), random.Random(1)
    assert found.false == 5
    caught = sum(min(choice.sample(range(20), 4)) < 5 for _ in range(20_000)) / 20_000
    assert abs(caught - found.probability) < 0.01  # three standard deviations


@given(st.integers(1, 300), st.integers(1, 300), st.fractions(Fraction(1, 1000), 1))
def test_what_is_said_for_any_number_of_replicas_is_never_more_than_what_holds(
    replicas: int, retrained: int, share: Fraction
) -> None:
    found = catch(replicas, min(replicas, retrained), share)
    assert Fraction(found.at_least) <= 1 - (1 - share) ** min(replicas, retrained)
    assert found.at_least <= found.probability <= 1
    assert found.false >= share * replicas


def test_all_of_them_trained_again_leave_nobody_out() -> None:
    assert catch(7, 7, Fraction(1, 100)).probability == 1.0
    assert catch(7, 6, Fraction(1, 100)).probability < 1.0


@pytest.mark.parametrize(("count", "share"), [(0, Fraction(1, 3)), (11, Fraction(1, 3)), (5, Fraction(0))])
def test_what_cannot_be_is_refused(count: int, share: Fraction) -> None:
    with pytest.raises(InvalidValue):
        catch(10, count, share)
