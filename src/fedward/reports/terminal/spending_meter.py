"""ε spent and left while a training runs, computed no more often than it can afford."""

from __future__ import annotations

import time
from functools import cached_property

from fedward.privacy import Guarantee
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.privacy.rounding import delta_text, round_up_digits
from fedward.studies.progress import Progress
from fedward.studies.training.setup import Setup

# At most one part in so many of the time goes into knowing ε.
_PART = 10


class SpendingMeter:
    """What has been spent after the rounds so far, in words.

    An accountant can take seconds for one ε, a round milliseconds: the meter goes on showing what it computed
    last, with the round that this was, until another ε is affordable.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._budget = setup.experiment.make_budget(setup.algorithm, setup.federation)
        self._spent: tuple[int, Guarantee] | None = None
        self._free_at = 0.0

    @cached_property
    def _whole(self) -> float:
        """What may be spent, or the whole training will spend; it can take a while to compute."""
        return self._setup.planned.epsilon if self._budget is None else self._budget.epsilon

    def words(self, step: Progress) -> str:
        """``ε 2.68 spent, 2.42 left of 5.10 (whole training)``, and what that ε is about."""
        if self._setup.algorithm.unproven:
            return "no privacy guarantee"
        began = time.monotonic()
        if began >= self._free_at or step.rounds == self._setup.experiment.rounds:
            self._spent = step.rounds, self._after(step)
            now = time.monotonic()
            self._free_at = now + _PART * (now - began)
        about = "budget" if self._budget is not None else "whole training"
        assert self._spent is not None  # the first step could afford it
        rounds, guarantee = self._spent
        spent = guarantee.epsilon
        late = "" if rounds == step.rounds else f" by round {rounds:,}"
        whose = "a user's " if self._setup.algorithm.accounting == "users" else ""
        left = f"{max(0.0, self._whole - spent):.4g} left of {round_up_digits(self._whole)}"
        seeded = ", seeded noise: research only" if guarantee.noise_source == "seeded" else ""
        what = f"{guarantee.unit} level, {guarantee.adjacency}, δ = {delta_text(guarantee.delta)}"
        what += f", {guarantee.accountant}"
        return f"{whose}ε {round_up_digits(spent)} spent{late}, {left} ({about}), {what}{seeded}"

    def _after(self, step: Progress) -> Guarantee:
        delta, accountant = self._setup.delta, self._setup.accountant
        if step.users is not None:
            return step.users.guarantees(delta, accountant).worst
        assert step.ledger is not None
        return guarantee_or_rdp(step.ledger, delta, accountant)
