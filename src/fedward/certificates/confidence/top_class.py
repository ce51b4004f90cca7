"""The top class, and bounds that hold although it was chosen by looking at the same replicas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidType, InvalidValue, one_of, open_unit, whole
from fedward.certificates.confidence.betting import betting, betting_sequence
from fedward.certificates.confidence.betting_votes import betting_votes, betting_votes_of
from fedward.certificates.confidence.bound_input import Array
from fedward.certificates.confidence.clopper_pearson import clopper_pearson, clopper_pearson_of
from fedward.certificates.confidence.concentration import empirical_bernstein, hoeffding
from fedward.certificates.tally import Scores, Tally

METHODS: dict[str, Any] = {
    "hoeffding": hoeffding,
    "empirical_bernstein": empirical_bernstein,
    "betting": betting,
    "betting_sequence": betting_sequence,
    "betting_votes": betting_votes,
    "clopper_pearson": clopper_pearson,
}
"""The bounds on expected scores, by the names that ``--method`` takes."""
ANY_TIME = ("betting_sequence", "betting_votes")
"""Those methods that stay true however often somebody looks and goes on."""

OF_COUNTS: dict[str, Any] = {"clopper_pearson": clopper_pearson_of, "betting_votes": betting_votes_of}
"""Those methods for which counts of votes are enough."""

# So many scores at a time: a test set of 10,000 with a thousand replicas does not fit into memory twice.
_BLOCK = 4_000_000


class TopClass(NamedTuple):
    """For each test example the top class, a lower bound on its mean and an upper bound on all others'."""

    top: NDArray[np.int64]
    lower: Array
    upper: Array


@dataclass(frozen=True, kw_only=True)
class Confidence:
    """How sure the bounds on expected scores are, fixed before the replicas are run.

        P[mean of A >= lower  and  mean of every other class <= upper] >= 1 - error

    Guarantee: for *any* choice of A, also by looking at the same replicas. There are C + 2 ways to fail: one
    of the C lower bounds is too high (whichever A is), or the upper bound of the class that is truly best
    but for A is too low, and that is one of two classes: the truly best, or the second if A is the best. So
    every bound is taken at error / (C + 2). Two classes need one bound, upper = 1 - lower, and have two ways
    to fail.

    Args:
      method: ``betting``, ``betting_sequence``, ``hoeffding``, ``empirical_bernstein``, or
        ``clopper_pearson`` or ``betting_votes`` for votes.
      error: ψ, the probability with which the statement may fail.
      looks: at which numbers of replicas somebody looked. One number, M, fixed beforehand; more only with
        a method that holds at any time: ``betting_sequence`` or ``betting_votes``.
      simultaneous: whether ``error`` is for all test examples together, or for each of them.

    >>> rule = Confidence(looks=(1000,), error=0.01)
    >>> rule.each(classes=10, examples=500), rule.each(classes=2, examples=500)
    (0.0008333333333333334, 0.005)
    >>> rule.extended(2000)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: method must be betting_sequence or betting_votes to go on \
after a look, got 'betting'

    The choice of A is as in Xie et al., A.3.4; the union bound over it is ours.
    """

    looks: tuple[int, ...]
    method: str = "betting"
    error: float = 0.01
    simultaneous: bool = False

    def __post_init__(self) -> None:
        one_of("method", self.method, METHODS)
        open_unit("error", self.error)
        if not isinstance(self.simultaneous, bool):
            raise InvalidType(f"simultaneous must be true or false, got {self.simultaneous!r}")
        if not isinstance(self.looks, list | tuple):
            raise InvalidType(f"looks must be numbers of replicas, got {self.looks!r}")
        object.__setattr__(
            self, "looks", tuple(int(whole("number of replicas", look)) for look in self.looks)
        )
        if not self.looks or any(b <= a for a, b in zip(self.looks, self.looks[1:], strict=False)):
            raise InvalidValue(f"looks must be rising numbers of replicas, got {self.looks}")
        if len(self.looks) > 1 and self.method not in ANY_TIME:
            raise InvalidValue(
                f"method must be {' or '.join(ANY_TIME)} to go on after a look, got {self.method!r}"
            )

    @property
    def replicas(self) -> int:
        """M, the number of replicas of the last look."""
        return self.looks[-1]

    def extended(self, replicas: int) -> Confidence:
        """The same after another look, at more replicas."""
        return replace(self, looks=(*self.looks, replicas))

    def each(self, classes: int, examples: int) -> float:
        """The probability with which one bound may fail."""
        ways = 2 if whole("number of classes", classes, at_least=2) == 2 else classes + 2
        return self.error / (ways * (whole("number of examples", examples) if self.simultaneous else 1))

    def bounds(self, replicas: Scores) -> TopClass:
        """The top class of each test example and its bounds. The replicas must be as many as were planned."""
        if len(replicas) != self.replicas:
            raise InvalidValue(
                f"number of replicas must be {self.replicas}, as fixed beforehand, got {len(replicas)}"
            )
        each = self.each(replicas.classes, replicas.examples)
        if isinstance(replicas, Tally):
            return self._bound_tally(replicas, each)
        size = max(1, _BLOCK // (len(replicas) * replicas.classes))
        blocks = [
            self._bounds(replicas.scores_of(start, start + size), each)
            for start in range(0, replicas.examples, size)
        ]
        return TopClass(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))

    def _bounds(self, scores: Array, each: float) -> TopClass:
        bound = METHODS[self.method]
        top = scores.mean(axis=0).argmax(axis=1)
        lower: Array = bound(scores[:, np.arange(len(top)), top], each, "lower")
        return _bound_others(top, lower, bound(scores, each, "upper") if scores.shape[2] > 2 else None)

    def _bound_tally(self, tally: Tally, each: float) -> TopClass:
        if self.method not in OF_COUNTS:
            raise InvalidValue(
                f"method must be {' or '.join(OF_COUNTS)} for a tally of votes, got {self.method!r}"
            )
        bound = OF_COUNTS[self.method]
        top = tally.counts.argmax(axis=1)
        lower = bound(tally.counts[np.arange(len(top)), top], len(tally), each, "lower")
        others = bound(tally.counts, len(tally), each, "upper")
        return _bound_others(top, lower, others if tally.classes > 2 else None)


def _bound_others(top: NDArray[np.int64], lower: Array, others: Array | None) -> TopClass:
    """The bounds of a top class, given the upper bounds of all classes where there are more than two."""
    # Scores sum to one (votes to at most one), so this holds whenever the lower bound does.
    upper = 1.0 - lower
    if others is not None:
        others[np.arange(len(top)), top] = 0.0
        upper = np.minimum(upper, others.max(axis=1))
    return TopClass(top.astype(np.int64), lower, upper)
