"""A watch over the first rounds, which notices a model that cannot be trained."""

from __future__ import annotations

from fedward.core.failure import TrainingFailed
from fedward.core.types import RoundLog

FEWEST = 2
"""Users without a finite update among them: one may have broken data, and that ends nothing."""

ENOUGH = 10
"""So many need not wait for what other trainings of the round find."""


class FirstUpdates:
    """Looks at honest updates until one of them is finite.

    Rejected rows are part of every training. Where all of them are rejected from the start it is not the
    users who are at fault, and hours of training would release nothing but noise. Rounds in which nobody
    honest takes part say nothing: those after them are looked at.

    Args:
      num_users: of the federation; one that is all there is has to do.
      over: looks at nothing, for a training that goes on from where another session left it.
    """

    def __init__(self, num_users: int, *, over: bool = False) -> None:
        self._fewest = min(FEWEST, num_users)
        self._over = over
        self._broken: set[int] = set()
        self._round = 0

    def add(self, log: RoundLog) -> None:
        """Takes a round of a training into account; raises if that alone leaves no doubt."""
        if self._over or log.telemetry is None:
            return
        honest = set(log.telemetry.cohort) - set(log.telemetry.malicious)
        self._over = not honest <= set(log.telemetry.rejected)
        self._broken |= honest
        self._round = log.round
        self._raise_from(ENOUGH)

    def check(self) -> None:
        """Raises if no update was finite in the rounds so far, and one user cannot be the reason."""
        self._raise_from(self._fewest)

    def _raise_from(self, users: int) -> None:
        if self._over or len(self._broken) < users:
            return
        raise TrainingFailed(
            f"none of the {len(self._broken)} honest updates is finite: the model's loss is not a number "
            "from the start, or the learning rate is too high",
            user=min(self._broken),
            round=self._round,
        )
