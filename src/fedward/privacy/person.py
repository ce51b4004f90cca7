"""A person with several devices: ε for k users who are one person, from the curve of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedward.base.validate import InvalidValue, open_unit, whole
from fedward.privacy.group import GroupCurve, group_curve
from fedward.privacy.spending import is_allocated, is_fixed_size, is_sampled, mechanisms, without_sampling

if TYPE_CHECKING:  # a ledger asks here
    from fedward.privacy.ledger import Ledger

# Of the grid that ε is read from: ε is too large by no more than this.
_INTERVAL = 1e-3


def person_epsilon(ledger: Ledger, delta: float, devices: int) -> float:
    """ε at δ for one person who is up to k users, all of whom join or leave together.

        the least ε with δ_(mixture|base)(ε) <= δ and δ_(base|mixture)(ε) <= δ, for a group of k

    Guarantee: that of the group's curve, whose rounding is on the safe side. It is much less than what users
    one after the other prove, kε at a δ that grows with e^(kε). Where users take turns and are drawn by
    secret coins, or are allotted random rounds, coins of one person show in overlapping rounds, and nothing
    is gained from them.

    Args:
      ledger: what the server's noise has spent on single users, added or removed.
      delta: δ, above 1e-9.
      devices: k.

    >>> from dp_accounting import GaussianDpEvent
    >>> from fedward.privacy.ledger import Ledger
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> ledger = ledger.charged(GaussianDpEvent(8.0), 4)
    >>> [round(person_epsilon(ledger, 1e-5, k), 2) for k in (1, 2, 4)]
    [0.93, 1.99, 4.38]

    Ganesh 2024 for groups under sampling.
    """
    open_unit("delta", delta)
    whole("devices per person", devices)
    if ledger.unit != "user" or ledger.terms.noise_of != "server":
        raise InvalidValue(
            "a person with several devices needs users that the server's noise hides, got "
            f"{ledger.unit} level, {ledger.sampling}"
        )
    spending = mechanisms(ledger.spending)
    if is_fixed_size(spending) or ledger.adjacency not in ("add/remove", "zero-out"):
        raise InvalidValue(
            "a person with several devices needs a guarantee for users added or removed, got "
            f"{ledger.adjacency}, {ledger.sampling}: no curve is proven for groups there"
        )
    if is_allocated(spending) or (ledger.terms.participation is not None and is_sampled(spending)):
        spending = mechanisms([(without_sampling(event), count) for event, count in spending])
    curve = group_curve(spending, devices, interval=_INTERVAL)
    end = curve.step * len(curve.mixture_over_base)
    if _larger(curve, end) > delta:
        raise InvalidValue(
            f"delta must be above {_larger(curve, end):.2g} for {devices} devices per person, got {delta:g}: "
            "the curve of a group is rounded up so far"
        )
    low, high = 0.0, end
    if _larger(curve, low) <= delta:
        return low
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _larger(curve, middle) > delta else (low, middle)
    return high


def _larger(curve: GroupCurve, epsilon: float) -> float:
    return max(curve.delta("mixture|base", epsilon), curve.delta("base|mixture", epsilon))
