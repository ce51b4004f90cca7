"""The comparison of stored scores with those of replicas that were trained again.

On the same engine and instruction set a training comes to the same bits, and so must its scores. Elsewhere a
confidence may differ by ``TOLERANCE``. The vote of a replica may then be another one only where the
confidence retrained is tied: the class that was voted for lies within twice the tolerance of the largest
confidence, as each of the two may have moved by it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.certificates.replica_scores import Replicas, has_favourite
from fedward.certificates.tally import Scores, Tally, votes_of

TOLERANCE = 1e-3
"""How far confidences may differ between engines, ten times what updates may."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Where a replica that was trained again says something else than is stored.

    Args:
      replica: its number; None where only counts over all replicas are stored.
      example: the first test example on which they differ.
      differing: on how many examples they do.
      stored, retrained: the score, or count, of the class on which they differ most there.
    """

    replica: int | None
    example: int
    differing: int
    stored: float
    retrained: float

    def to_json(self) -> dict[str, float | int | None]:
        return asdict(self)

    def __str__(self) -> str:
        who = "the counts of all replicas are" if self.replica is None else f"replica {self.replica} is"
        more = f" and {self.differing - 1:,} more" if self.differing > 1 else ""
        digits = next((d for d in (6, 9) if f"{self.stored:.{d}g}" != f"{self.retrained:.{d}g}"), 17)
        return (
            f"{who} not what training again comes to, on test example {self.example}{more}: stored "
            f"{self.stored:.{digits}g}, trained again {self.retrained:.{digits}g}"
        )


class Comparison:
    """Compares replicas one after the other, as they are trained again.

    Args:
      stored: the scores beside the certificate. A tally can only be compared as a whole, once all its
        replicas were added.
      tolerance: 0 for bit by bit.
    """

    def __init__(self, stored: Scores, tolerance: float) -> None:
        self._stored, self.tolerance = stored, tolerance
        self.compared: list[int] = []
        self.bit_for_bit = 0
        self.largest_difference = 0.0
        self.disagreements: list[Disagreement] = []
        shape = stored.examples, stored.classes
        self._sure: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self._possible: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self._votes: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)

    def add(self, replica: int, confidences: NDArray[np.float32]) -> None:
        """Compares one replica, by its confidences ``[n, C]`` as they were trained again."""
        self.compared.append(replica)
        if isinstance(self._stored, Tally):
            allowed = _may_vote(confidences, self.tolerance)
            votes = votes_of(confidences[None])
            self._votes += votes
            self._possible += allowed
            self._sure += votes.astype(np.bool_) & _must_vote(confidences, allowed, self.tolerance)[:, None]
            return
        row = self._stored.scores[replica]
        if self._stored.score == "vote":
            again: NDArray[Any] = votes_of(confidences[None])
            allowed = _may_vote(confidences, self.tolerance)
            for_nobody = ~_must_vote(confidences, np.zeros_like(allowed), self.tolerance)
            wrong = np.where(row.any(axis=1), ~(row.astype(np.bool_) & allowed).any(axis=1), ~for_nobody)
        else:
            again = confidences
            gap = np.abs(row.astype(np.float64) - again.astype(np.float64))
            self.largest_difference = max(self.largest_difference, float(gap.max()))
            # The other way round a number that is none would agree with everything.
            wrong = ~(gap <= self.tolerance).all(axis=1)
        self.bit_for_bit += bool(np.array_equal(row, again))
        if wrong.any():
            self.disagreements.append(_disagreement(replica, row, again, wrong))

    def to_content(self) -> dict[str, Any]:
        """What was found so far, as plain values and arrays: ``restore`` goes on from it."""
        counts = isinstance(self._stored, Tally)
        return {
            "compared": list(self.compared),
            "bit_for_bit": self.bit_for_bit,
            "largest_difference": self.largest_difference,
            "counts": [self._sure, self._possible, self._votes] if counts else [],
        }

    def restore(self, content: dict[str, Any]) -> None:
        """Goes on from what another comparison of the same scores has found: no replica disagreed there."""
        self.compared = list(content["compared"])
        self.bit_for_bit, self.largest_difference = content["bit_for_bit"], content["largest_difference"]
        if content["counts"]:
            self._sure, self._possible, self._votes = content["counts"]

    def finish(self) -> None:
        """Compares what can only be compared as a whole."""
        if isinstance(self._stored, Replicas):
            return
        counts = self._stored.counts
        if np.array_equal(counts, self._votes):
            self.bit_for_bit = len(self.compared)
        outside: NDArray[np.bool_] = (counts < self._sure) | (counts > self._possible)
        wrong: NDArray[np.bool_] = np.asarray(outside.any(axis=1))
        if wrong.any():
            self.disagreements.append(_disagreement(None, counts, self._votes, wrong))


def _may_vote(confidences: NDArray[np.float32], tolerance: float) -> NDArray[np.bool_]:
    """Which classes a replica with about these confidences may have voted for, ``[n, C]``."""
    if tolerance == 0:
        return votes_of(confidences[None]).astype(np.bool_)
    wide = confidences.astype(np.float64)
    found: NDArray[np.bool_] = wide >= wide.max(axis=1, keepdims=True) - 2 * tolerance
    return found


def _must_vote(
    confidences: NDArray[np.float32], allowed: NDArray[np.bool_], tolerance: float
) -> NDArray[np.bool_]:
    """On which examples it has voted for certain, and not for another of the allowed classes."""
    wide = confidences.astype(np.float64)
    opinion: NDArray[np.bool_] = has_favourite(confidences)
    opinion &= wide.max(axis=1) - wide.min(axis=1) > 2 * tolerance
    found: NDArray[np.bool_] = opinion & (allowed.sum(axis=1) <= 1)
    return found


def _disagreement(
    replica: int | None, stored: NDArray[Any], again: NDArray[Any], wrong: NDArray[np.bool_]
) -> Disagreement:
    example = int(np.flatnonzero(wrong)[0])
    there, here = stored[example].astype(np.float64), again[example].astype(np.float64)
    most = int(np.nan_to_num(np.abs(there - here), nan=np.inf).argmax())
    return Disagreement(
        replica=replica,
        example=example,
        differing=int(wrong.sum()),
        stored=float(there[most]),
        retrained=float(here[most]),
    )
