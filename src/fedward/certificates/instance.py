"""Poisoned examples: which user's local training a certificate about examples is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedward.base.validate import InvalidValue, rate, whole
from fedward.privacy.accounting_events import GaussianDpEvent, PoissonSampledDpEvent
from fedward.privacy.events import multiplier
from fedward.privacy.spending import Mechanisms, mechanisms


@dataclass(frozen=True, kw_only=True)
class LocalDp:
    """One user's instance-level training: batch probability p, steps over all rounds, noise multiplier z."""

    batch_rate: float
    steps: int
    noise_multiplier: float

    def __post_init__(self) -> None:
        rate("batch rate", self.batch_rate)
        whole("steps", self.steps)
        multiplier(self.noise_multiplier)


def dominating_user(users: Sequence[LocalDp]) -> Mechanisms:
    """What k poisoned examples must be certified against: all of them in the worst user there could be.

    That user has the largest batch probability, the most steps and the least noise of all. Guarantee: it
    dominates every split of the k examples over the users. Examples in different users move different
    vectors, so in norm they move less than the same number in one user does; a larger p, a further step
    and less noise only add to what can be seen.

    >>> users = [LocalDp(batch_rate=0.05, steps=100, noise_multiplier=4.0),
    ...          LocalDp(batch_rate=0.04, steps=120, noise_multiplier=3.0)]
    >>> event, steps = dominating_user(users)[0]
    >>> event.sampling_probability, event.event.noise_multiplier, steps
    (0.05, 3.0, 120)
    """
    if not users:
        raise InvalidValue("at least one user must be there, got 0")
    worst = LocalDp(
        batch_rate=max(user.batch_rate for user in users),
        steps=max(user.steps for user in users),
        noise_multiplier=min(user.noise_multiplier for user in users),
    )
    event = PoissonSampledDpEvent(worst.batch_rate, GaussianDpEvent(worst.noise_multiplier))
    return mechanisms([(event, worst.steps)])
