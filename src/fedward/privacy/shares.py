"""The separate privacy costs of the model's noise and of a clip policy's looks at the norms."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.privacy.accounting_events import (
    ComposedDpEvent,
    DpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Ledger
from fedward.privacy.rounding import delta_text, epsilon_text
from fedward.privacy.spending import Spending


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Two guarantees, each as if the other had cost nothing.

    They do not add up to the whole: composed together they cost less than their sum. The papers do add
    them, ε1 + ε2 and δ1 + δ2; ``as_the_papers_add`` says so in words.
    """

    model: Guarantee
    looks: Guarantee

    def __str__(self) -> str:
        model, looks = epsilon_text(self.model.epsilon), epsilon_text(self.looks.epsilon)
        return f"of which the model's noise alone ε = {model}, the policy's looks alone ε = {looks}"

    def to_json(self) -> dict[str, float]:
        return {"epsilon_of_model": self.model.epsilon, "epsilon_of_looks": self.looks.epsilon}

    @property
    def as_the_papers_add(self) -> str:
        model, looks = self.model, self.looks
        added = [epsilon_text(ε) for ε in (model.epsilon, looks.epsilon, model.epsilon + looks.epsilon)]
        deltas = [delta_text(δ) for δ in (model.delta, looks.delta, model.delta + looks.delta)]
        return (
            f"as the papers add up: ε = {added[0]} + {added[1]} = {added[2]}, "
            f"δ = {deltas[0]} + {deltas[1]} = {deltas[2]}"
        )


def shares(ledger: Ledger, delta: float, accountant: str) -> Shares | None:
    """The two shares of a ledger; None if there were no looks, or nothing is proven.

    >>> from dp_accounting import GaussianDpEvent
    >>> look = PoissonSampledDpEvent(0.2, ComposedDpEvent([GaussianDpEvent(4.0), GaussianDpEvent(3.5)]))
    >>> step = PoissonSampledDpEvent(0.2, GaussianDpEvent(4.0))
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> ledger = ledger.charged(look, 15).charged(step, 285)
    >>> print(shares(ledger, 1e-5, "moments").as_the_papers_add)
    as the papers add up: ε = 4.7208 + 1.2744 = 5.9952, δ = 1e-05 + 1e-05 = 2e-05
    """
    parts = [(model_share(event), look_share(event), count) for event, count in ledger.spending]
    looks = [(look, count) for _, look, count in parts if look is not None]
    if ledger.reason or not looks:
        return None
    model = [(event, count) for event, _, count in parts]
    return Shares(
        model=_only(ledger, model).guarantee(delta, accountant),
        looks=_only(ledger, looks).guarantee(delta, accountant),
    )


def model_share(event: DpEvent) -> DpEvent:
    """The model's noise in a round's event: by convention the first of what it is composed of."""
    inner = _inner(event)
    return _around(event, inner.events[0]) if isinstance(inner, ComposedDpEvent) else event


def look_share(event: DpEvent) -> DpEvent | None:
    """The looks in a round's event; None if it has none."""
    inner = _inner(event)
    return (
        _around(event, ComposedDpEvent(list(inner.events[1:])))
        if isinstance(inner, ComposedDpEvent)
        else None
    )


def _inner(event: DpEvent) -> DpEvent:
    return (
        event.event if isinstance(event, PoissonSampledDpEvent | SampledWithoutReplacementDpEvent) else event
    )


def _around(event: DpEvent, inner: DpEvent) -> DpEvent:
    """The same sampling of another event."""
    if isinstance(event, PoissonSampledDpEvent):
        return PoissonSampledDpEvent(event.sampling_probability, inner)
    if isinstance(event, SampledWithoutReplacementDpEvent):
        return SampledWithoutReplacementDpEvent(event.source_dataset_size, event.sample_size, inner)
    return inner


def _only(ledger: Ledger, spending: Spending) -> Ledger:
    empty = ledger.empty()
    for event, count in spending:
        empty = empty.charged(event, count)
    return empty
