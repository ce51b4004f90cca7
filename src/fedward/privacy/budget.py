"""A budget: how much may be spent, and whether the next round still fits in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedward.base.validate import InvalidValue, one_of, open_unit, positive, whole
from fedward.privacy.accountants import ACCOUNTANTS, epsilon_of
from fedward.privacy.accounting_events import DpEvent
from fedward.privacy.epsilon_search import affordable_count
from fedward.privacy.events import Adjacency
from fedward.privacy.ledger import Ledger
from fedward.privacy.rounding import round_up_digits
from fedward.privacy.spending import mechanisms


@dataclass(frozen=True, kw_only=True)
class Budget:
    """At most (ε, δ), by one accountant. Spending exactly ε is allowed.

    Guarantee: a training that goes on only while ``covers`` says so never spends more.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> budget = Budget(epsilon=0.3, delta=0.0029, accountant="moments")
    >>> [budget.affords(ledger.charged(event, t), event, rounds_left=10) for t in (2, 3)]
    [True, False]
    """

    epsilon: float
    delta: float
    accountant: str

    def __post_init__(self) -> None:
        positive("budget", self.epsilon)
        open_unit("delta", self.delta)
        one_of("accountant", self.accountant, ACCOUNTANTS)

    def covers(self, ledger: Ledger, rounds: int) -> bool:
        """Whether a ledger, open reservations included, is within the budget.

        Asked before each of many rounds with the same event it costs next to nothing: the first time it is
        found out how many of them fit in.

        Args:
          ledger: with the next round reserved, at least.
          rounds: how many rounds the whole training has.
        """
        whole("rounds", rounds)
        if ledger.reason:
            return False
        if not ledger.spending:
            return True
        event = ledger.spending[-1][0]
        others = [(other, count) for other, count in ledger.spending if other != event]
        count = sum(number for _, number in ledger.spending) - sum(number for _, number in others)
        to_come = max(0, rounds - ledger.rounds - ledger.rounds_reserved)
        affordable = affordable_count(
            mechanisms(others),
            mechanisms([(event, 1)]),
            self.epsilon,
            self.delta,
            self.accountant,
            ledger.adjacency,
            count + to_come,
        )
        return count <= affordable

    def affords(self, ledger: Ledger, event: DpEvent, rounds_left: int = 1) -> bool:
        """Whether the ledger would be within the budget with its next round reserved.

        Args:
          ledger: after the last round.
          event: of the next round.
          rounds_left: how many rounds are still to come, the next one included.
        """
        reserved = ledger.reserve(ledger.rounds, event)
        return self.covers(reserved, ledger.rounds + whole("rounds left", rounds_left))

    def check_first_round(self, event: DpEvent, adjacency: Adjacency) -> None:
        """Refuses a budget that not even one round fits in, and an event that has no proof."""
        cost = epsilon_of([(event, 1)], self.delta, self.accountant, adjacency)
        if cost == math.inf:
            raise InvalidValue(f"a budget needs rounds with a guarantee, got one without: {event}")
        if cost > self.epsilon:
            raise InvalidValue(
                f"budget must be at least what one round costs, ε = {round_up_digits(cost, 6)}, "
                f"got {self.epsilon:g}; raise it, or the noise"
            )
