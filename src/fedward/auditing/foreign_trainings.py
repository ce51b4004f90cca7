"""An audit of trainings that were run by something else, from what they showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedward.auditing.chosen_test import choose_test
from fedward.auditing.measured_bounds import measure
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.auditing.training_scores import learn_scores
from fedward.base.validate import InvalidValue, open_unit

_LEAST = 100


@dataclass(frozen=True, kw_only=True)
class ForeignAudit:
    """What trainings of somebody else's program prove about a claim.

    Args:
      claimed: ε of the claim.
      by_rates: the bound that assumes nothing.
      by_family: the bound that takes the mechanism for the claimed one but for the amount of its noise.
      estimate: the ε that fits best; no bound.
      attack: the score that was used.
      judged: how many trainings were judged.
    """

    claimed: float
    by_rates: float
    by_family: float
    estimate: float
    attack: str
    judged: int

    @property
    def lower_bound(self) -> float:
        """The larger of the two bounds, which hold together."""
        return max(self.by_rates, self.by_family)

    @property
    def verdict(self) -> Literal["no violation", "violation"]:
        """Whether it lies above the claim. A pass proves nothing."""
        return "violation" if self.lower_bound > self.claimed else "no violation"


def audit_trainings(
    seen: SeenTrainings, family: NoiseFamily, laws: tuple[RoundLaw, ...] = (), error: float = 0.05
) -> ForeignAudit:
    """Learns from a quarter of the trainings, chooses by another, and judges the rest.

    Args:
      seen: with the canary in some of the trainings and not in others, in random or alternating order. The
        first table is what lies in its direction, in units of what it adds.
      family: what was claimed.
      laws: of each round, if the claim gives one.
      error: the probability with which the bounds may be wrong, both together.

    >>> import numpy as np
    >>> rng, inside = np.random.default_rng(0), np.arange(800) % 2 == 0
    >>> x = rng.standard_normal((800, 1)) + 3.0 * inside[:, None]  # three times what z = 1 allows
    >>> from fedward.privacy.accounting_events import GaussianDpEvent
    >>> family = NoiseFamily.of([(GaussianDpEvent(1.0), 1)], "add/remove", 1e-5)
    >>> audit_trainings(SeenTrainings(inside=inside, tables={"direction": x}), family).verdict
    'violation'
    """
    open_unit("error", error)
    if len(seen) < _LEAST:
        raise InvalidValue(f"an audit needs at least {_LEAST} trainings, got {len(seen)}")
    quarter, first = len(seen) // 8 * 2, next(iter(seen.tables))
    scorers = learn_scores(seen.part(0, quarter), first, laws)
    judged = len(seen) - 2 * quarter
    chosen = choose_test(scorers, seen.part(quarter, 2 * quarter), family, judged)
    found = measure(chosen, seen.part(2 * quarter, len(seen)), family, error)
    return ForeignAudit(
        claimed=family.epsilon(1.0),
        by_rates=found.by_rates,
        by_family=found.by_family,
        estimate=found.estimate,
        attack=chosen.scorer.name,
        judged=judged,
    )
