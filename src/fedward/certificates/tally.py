"""A count of the votes of M replicas on a test set: enough for an exact bound, in a small file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedward.base.randomness import check_draw
from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.certificates import scores_file
from fedward.certificates.replica_scores import Replicas, Score, has_favourite, integers

_ARRAYS = ("counts", "replicas", "seed", "score", "labels", "draw")


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """For each of n test examples, how many of M independent trainings voted for which class.

        counts[i, c] = |{m : training m predicts c for example i}|

    A training without an opinion (a model that is not finite) votes for nobody, so counts may sum to less
    than M. Bounds by Clopper-Pearson depend on nothing else.

    Args:
      counts: ``[n, C]``.
      replicas: M; numbered from 0 on.
      seed: the seed that all of them share. It fixes the initial model and local shuffling.
      labels: the true classes, if known.
      draw: the draw that they belong to, beside the seed (``draw_of_claims``); empty where they were not
        drawn for what is claimed.

    >>> tally = Tally(counts=[[9, 1], [2, 8]], replicas=10, seed=7)
    >>> len(tally), tally.examples, tally.classes, tally.means().tolist()
    (10, 2, 2, [[0.9, 0.1], [0.2, 0.8]])
    """

    counts: NDArray[np.int64]
    replicas: int
    seed: int
    labels: NDArray[np.int64] | None = None
    draw: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "replicas", int(whole("number of replicas", self.replicas)))
        object.__setattr__(self, "seed", int(whole("seed", self.seed, at_least=0)))
        check_draw(self.draw)
        object.__setattr__(self, "counts", _counts(self.counts, self.replicas))
        if self.labels is not None:
            object.__setattr__(self, "labels", integers("labels", self.labels, self.examples))
            if bool((self.labels >= self.classes).any()):
                raise InvalidValue(f"labels must be below {self.classes}, got {self.labels.max()}")

    @classmethod
    def of(cls, replicas: Replicas) -> Tally:
        """The votes of replicas, each for its most likely class; one that favours none votes for nobody.

        >>> Tally.of(Replicas(scores=[[[0.9, 0.1]], [[0.5, 0.5]]], numbers=[0, 1], seed=7)).counts.tolist()
        [[1, 0]]
        """
        return cls(
            counts=votes_of(replicas.scores),
            replicas=len(replicas),
            seed=replicas.seed,
            labels=replicas.labels,
            draw=replicas.draw,
        )

    def __len__(self) -> int:
        return self.replicas

    @property
    def score(self) -> Score:
        return "vote"

    @property
    def copies_told(self) -> bool:
        """Counts do not show whether one training is in them twice."""
        return False

    @property
    def examples(self) -> int:
        return int(self.counts.shape[0])

    @property
    def classes(self) -> int:
        return int(self.counts.shape[1])

    def means(self) -> NDArray[np.float64]:
        """The share of the votes for each class, ``[n, C]``."""
        return self.counts / self.replicas

    def digest(self) -> str:
        """Changes whenever a count, the number of replicas, the seed or a label changes."""
        return scores_file.digest(self._arrays())

    def to_bytes(self) -> bytes:
        """The content of an npz file. The same tally gives the same bytes."""
        return scores_file.to_bytes(self._arrays())

    @classmethod
    def from_arrays(cls, arrays: scores_file.Arrays) -> Tally:
        """The tally that ``to_bytes`` wrote; anything else is refused."""
        scores_file.require(arrays, _ARRAYS)
        if arrays["score"].tolist() != "vote":
            raise InvalidValue(f"a tally must be of votes, got {arrays['score'].tolist()!r}")
        return cls(
            counts=arrays["counts"],
            replicas=arrays["replicas"].tolist(),
            seed=scores_file.seed_of(arrays["seed"].tolist()),
            labels=arrays.get("labels"),
            draw=scores_file.draw_of(arrays),
        )

    def _arrays(self) -> scores_file.Arrays:
        arrays: scores_file.Arrays = {
            # A quarter of the space on disk matters less here than that every count fits.
            "counts": self.counts.astype(np.uint32),
            "replicas": np.array(self.replicas),
            "seed": np.array(str(self.seed)),
            "score": np.array("vote"),
        }
        return arrays | scores_file.optional(self.labels, self.draw)


def votes_of(scores: NDArray[Any]) -> NDArray[np.int64]:
    """How many of the models with these scores, ``[M, n, C]``, favour which class: ``[n, C]``."""
    counts = np.zeros(scores.shape[1:], dtype=np.int64)
    for each in scores:
        voters = np.flatnonzero(has_favourite(each))
        counts[voters, each[voters].argmax(axis=1)] += 1
    return counts


Scores = Replicas | Tally


def read_scores(content: bytes) -> Scores:
    """What lies beside a certificate: the scores of every replica, or a tally of their votes."""
    arrays = scores_file.from_bytes(content)
    return Tally.from_arrays(arrays) if "counts" in arrays else Replicas.from_arrays(arrays)


def _counts(values: ArrayLike, replicas: int) -> NDArray[np.int64]:
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise InvalidType(f"counts must be whole numbers, got an array of {array.dtype}")
    if array.ndim != 2 or array.shape[0] < 1 or array.shape[1] < 2:
        raise InvalidValue(f"counts must be [examples, classes], got shape {array.shape}")
    if bool((array < 0).any()):
        raise InvalidValue(f"counts must be at least 0, got {array.min()}")
    wide = array.astype(np.int64)
    # Each first, so that the sum of absurd counts cannot wrap round.
    if bool((wide < 0).any() or (wide > replicas).any() or (wide.sum(axis=1) > replicas).any()):
        raise InvalidValue(f"counts must sum to at most {replicas}, one vote for each replica")
    return wide
