"""The spending in the form that accountants read: single mechanisms and how often each ran."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fedward.base.validate import InvalidValue, one_of, open_unit
from fedward.privacy import accounting_events as dp
from fedward.privacy.events import ADJACENCIES, Adjacency, check_event, fold, times

Spending = Sequence[tuple[dp.DpEvent, int]]
"""What was spent: events, and how often each of them happened."""

Mechanisms = tuple[tuple[dp.DpEvent, int], ...]

_DRAWN = dp.PoissonSampledDpEvent | dp.SampledWithoutReplacementDpEvent | dp.RandomAllocationDpEvent


def mechanisms(spending: Spending) -> Mechanisms:
    """The same spending as Gaussian, sampled Gaussian and non-private events, equal ones counted together.

    Compositions are taken apart. Within a sampled event they are folded into one Gaussian, which is exact.

    >>> look, step = dp.GaussianDpEvent(4.0), dp.GaussianDpEvent(3.0)
    >>> both = dp.PoissonSampledDpEvent(0.1, dp.ComposedDpEvent([look, step]))
    >>> mechanisms([(both, 2), (dp.SelfComposedDpEvent(both, 3), 1)])[0][1]
    5
    """
    counts: dict[dp.DpEvent, int] = {}
    for event, count in spending:
        for mechanism, number in _mechanisms(check_event(event), times(count)):
            counts[mechanism] = counts.get(mechanism, 0) + number
    return tuple(counts.items())


def require_proof(spending: Spending, delta: float, adjacency: Adjacency) -> Mechanisms:
    """The mechanisms of a spending, if each has a proof for the adjacency; refuses otherwise.

    A plain Gaussian has one for all adjacencies: its multiplier is the noise's standard deviation divided by
    the sensitivity for the adjacency at hand.
    """
    open_unit("delta", delta)
    one_of("adjacency", adjacency, ADJACENCIES)
    parts = mechanisms(spending)
    for event, _ in parts:
        # A user whose contribution is zero leaves the same distribution behind as one who is not there.
        if isinstance(event, dp.PoissonSampledDpEvent) and adjacency not in ("add/remove", "zero-out"):
            raise InvalidValue(
                f"Poisson sampling must be accounted for add/remove or zero-out adjacency, got {adjacency!r}"
            )
        if isinstance(event, dp.SampledWithoutReplacementDpEvent) and adjacency != "replace-one":
            raise InvalidValue(
                f"fixed-size sampling must be accounted for replace-one adjacency, got {adjacency!r}"
            )
        if isinstance(event, dp.RandomAllocationDpEvent) and adjacency not in ("add/remove", "zero-out"):
            raise InvalidValue(
                f"random allocation must be accounted for add/remove or zero-out adjacency, got {adjacency!r}"
            )
    return parts


def non_private(parts: Mechanisms) -> bool:
    return any(isinstance(event, dp.NonPrivateDpEvent) for event, _ in parts)


def is_sampled(parts: Mechanisms) -> bool:
    return any(isinstance(event, _DRAWN) for event, _ in parts)


def is_allocated(parts: Mechanisms) -> bool:
    """Whether users are allotted one round of each epoch."""
    return any(isinstance(event, dp.RandomAllocationDpEvent) for event, _ in parts)


def refuse_allocation(parts: Mechanisms, accountant: str) -> None:
    """Refuses what only ``pld`` has a bound for."""
    if is_allocated(parts):
        raise InvalidValue(
            f"random allocation must be accounted by pld, got {accountant!r}: its Rényi divergence is known "
            "for a user who leaves, and not for one who joins"
        )


def without_sampling(event: dp.DpEvent) -> dp.DpEvent:
    """What an event costs where everybody may know who was drawn.

    >>> without_sampling(dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(3.0)), 4))
    SelfComposedDpEvent(event=GaussianDpEvent(noise_multiplier=3.0), count=4)
    """
    if isinstance(event, _DRAWN):
        return without_sampling(event.event)
    if isinstance(event, dp.SelfComposedDpEvent):
        return dp.SelfComposedDpEvent(without_sampling(event.event), event.count)
    if isinstance(event, dp.ComposedDpEvent):
        return dp.ComposedDpEvent([without_sampling(part) for part in event.events])
    return event


def has_looks(spending: Spending) -> bool:
    """Whether looks at norms were charged beside the noise on the models: events composed of several."""
    return any(isinstance(getattr(event, "event", event), dp.ComposedDpEvent) for event, _ in spending)


def is_fixed_size(parts: Mechanisms) -> bool:
    return any(isinstance(event, dp.SampledWithoutReplacementDpEvent) for event, _ in parts)


def _mechanisms(event: dp.DpEvent, count: int) -> Iterator[tuple[dp.DpEvent, int]]:
    if isinstance(event, dp.NoOpDpEvent):
        return
    if isinstance(event, dp.SelfComposedDpEvent):
        yield from _mechanisms(event.event, count * event.count)
    elif isinstance(event, dp.ComposedDpEvent):
        for part in event.events:
            yield from _mechanisms(part, count)
    elif isinstance(event, _DRAWN):
        yield from ((mechanism, count) for mechanism in _sampled_events(event))
    else:
        yield event, count


def _sampled_events(event: dp.DpEvent) -> Iterator[dp.DpEvent]:
    inner = mechanisms([(event.event, 1)])
    if non_private(inner):
        yield dp.NonPrivateDpEvent()
    elif any(not isinstance(part, dp.GaussianDpEvent) for part, _ in inner):
        raise InvalidValue(f"a sampled event must hold Gaussian events only, got {event.event}")
    elif inner:
        whole = dp.GaussianDpEvent(fold(*(part.noise_multiplier / math.sqrt(count) for part, count in inner)))
        if isinstance(event, dp.PoissonSampledDpEvent):
            yield dp.PoissonSampledDpEvent(event.sampling_probability, whole)
        elif isinstance(event, dp.RandomAllocationDpEvent):
            yield dp.RandomAllocationDpEvent(event.epoch, whole) if event.epoch > 1 else whole
        else:
            yield dp.SampledWithoutReplacementDpEvent(event.source_dataset_size, event.sample_size, whole)
