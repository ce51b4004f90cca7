"""Training that cannot go on, and where it stopped."""

from __future__ import annotations

from typing import Any


class TrainingFailed(RuntimeError):
    """The model or the machine failed at a user's job: it is said at which, and training ends.

    What a *user* sends never ends a training: a row that is not finite or has the wrong shape is rejected
    and counted. This is for what is wrong with the training itself: an exception in ``forward``, a module
    that returns the wrong shape, more memory than there is, a worker process that dies every time.

    >>> print(TrainingFailed("out of memory", user=17).at(2, replica=5))
    round 3, user 17, replica 5: out of memory
    """

    def __init__(
        self, why: str, *, user: int | None = None, round: int | None = None, replica: int | None = None
    ) -> None:
        self.why, self.user, self.round, self.replica = why, user, round, replica
        super().__init__(why)

    def __str__(self) -> str:
        # Rounds are counted from 1 for people; replica 0 alone is no replica worth naming.
        round = None if self.round is None else self.round + 1
        named = (("round", round), ("user", self.user), ("replica", self.replica or None))
        where = ", ".join(f"{name} {value}" for name, value in named if value is not None)
        return f"{where}: {self.why}" if where else self.why

    def __reduce__(self) -> tuple[Any, ...]:
        # Failures come from worker processes; exceptions with keyword arguments do not pickle by themselves.
        return _rebuild, (self.why, self.user, self.round, self.replica)

    def at(self, round: int, replica: int = 0) -> TrainingFailed:
        """The same failure with the round and the replica that a backend does not know."""
        return TrainingFailed(self.why, user=self.user, round=round, replica=replica)


def _rebuild(why: str, user: int | None, round: int | None, replica: int | None) -> TrainingFailed:
    return TrainingFailed(why, user=user, round=round, replica=replica)
