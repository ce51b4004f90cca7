from __future__ import annotations

import pytest
from dp_accounting import GaussianDpEvent

from fedward.base.validate import InvalidValue
from fedward.privacy import epsilon_of
from fedward.privacy.accounting_events import RandomAllocationDpEvent
from fedward.privacy.group import group_curve


def test_the_curve_of_one_user_is_that_of_the_accountant() -> None:
    spending = [(RandomAllocationDpEvent(8, GaussianDpEvent(1.0)), 4), (GaussianDpEvent(6.0), 1)]
    curve = group_curve(spending, 1)
    for delta in (1e-2, 1e-4):
        epsilon = epsilon_of(spending, delta, "pld", "add/remove")
        larger = max(curve.delta("mixture|base", epsilon), curve.delta("base|mixture", epsilon))
        # Each of the two is rounded up, on a grid of its own.
        assert delta * 0.998 <= larger <= delta * 1.03


def test_several_users_are_refused_with_the_reason() -> None:
    with pytest.raises(InvalidValue, match="got random allocation and 2 users: what several of them show"):
        group_curve([(RandomAllocationDpEvent(8, GaussianDpEvent(1.0)), 4)], 2)
