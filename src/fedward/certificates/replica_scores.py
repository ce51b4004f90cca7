"""The scores of M replicas on a test set: checked, stored in one file, fingerprinted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fedward.base.randomness import check_draw
from fedward.base.validate import InvalidType, InvalidValue, one_of, whole
from fedward.certificates import scores_file
from fedward.certificates.copies import notices_copies, require_no_copies
from fedward.certificates.unit_range import require_unit

Score = Literal["confidence", "vote"]

SCORES: tuple[str, ...] = get_args(Score)

# Confidences that were rounded to half precision still pass; they are scaled to sum to one before use.
_SUM_TOLERANCE = 1e-3
# So many examples at a time: the scores of a large test set do not fit into memory twice.
_AT_ONCE = 500
_ARRAYS = ("scores", "numbers", "seed", "score", "labels", "draw")


@dataclass(frozen=True, kw_only=True, eq=False)
class Replicas:
    """What M trainings that differ in nothing but their randomness say about n test examples.

    Args:
      scores: ``[M, n, C]``, in [0, 1] and summing to 1 over the classes; for votes 0 or 1, and at most one 1.
      numbers: the replica number of each: 0 to M - 1, in this order. Two replicas with one number share
        every random draw and count as one, and one that is missing was left out.
      seed: the seed that all of them share. It fixes the initial model and local shuffling.
      score: ``confidence`` or ``vote``.
      labels: the true classes, if known.
      draw: the draw that they belong to, beside the seed (``draw_of_claims``); empty where they were not
        drawn for what is claimed.

    >>> replicas = Replicas(scores=[[[0.9, 0.1]], [[0.7, 0.3]]], numbers=[0, 1], seed=7)
    >>> len(replicas), replicas.examples, replicas.classes, replicas.votes().scores.tolist()
    (2, 1, 2, [[[1, 0]], [[1, 0]]])
    """

    scores: NDArray[Any]
    numbers: NDArray[np.int64]
    seed: int
    score: Score = "confidence"
    labels: NDArray[np.int64] | None = None
    draw: str = ""

    def __post_init__(self) -> None:
        one_of("score", self.score, SCORES)
        object.__setattr__(self, "seed", int(whole("seed", self.seed, at_least=0)))
        check_draw(self.draw)
        object.__setattr__(self, "scores", _scores(self.scores, self.score))
        object.__setattr__(self, "numbers", integers("replica numbers", self.numbers, len(self.scores)))
        if self.labels is not None:
            object.__setattr__(self, "labels", integers("labels", self.labels, self.examples))
            if bool((self.labels >= self.classes).any()):
                raise InvalidValue(f"labels must be below {self.classes}, got {self.labels.max()}")
        self._check_independent()

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def examples(self) -> int:
        return int(self.scores.shape[1])

    @property
    def classes(self) -> int:
        return int(self.scores.shape[2])

    def scores_of(self, start: int, stop: int) -> NDArray[np.float64]:
        """The scores on examples start to stop, scaled to sum to one."""
        part: NDArray[np.float64] = self.scores[:, start:stop].astype(np.float64)
        if self.score == "confidence":
            part /= part.sum(axis=2, keepdims=True)
        return np.minimum(part, 1.0, out=part)

    def means(self) -> NDArray[np.float64]:
        """The mean score of each class, ``[n, C]``."""
        parts = range(0, self.examples, _AT_ONCE)
        return np.concatenate([self.scores_of(start, start + _AT_ONCE).mean(axis=0) for start in parts])

    @property
    def copies_told(self) -> bool:
        """Whether one training that is in here twice would have been refused: see ``certificates.copies``."""
        return self.score == "confidence" and notices_copies(self.scores)

    def votes(self) -> Replicas:
        """The same replicas, each voting for its most likely class, or for nobody (see ``has_favourite``)."""
        chosen = self.scores.argmax(axis=2)
        votes = (chosen[:, :, None] == np.arange(self.classes)) & has_favourite(self.scores)[:, :, None]
        votes = votes.astype(np.uint8)
        return replace(self, scores=votes, score="vote")

    def digest(self) -> str:
        """Changes whenever a score, a replica number, the seed or a label changes."""
        return scores_file.digest(self._arrays())

    def to_bytes(self) -> bytes:
        """The content of an npz file. The same replicas give the same bytes."""
        return scores_file.to_bytes(self._arrays())

    @classmethod
    def from_bytes(cls, content: bytes) -> Replicas:
        """The replicas that ``to_bytes`` wrote; anything else is refused."""
        return cls.from_arrays(scores_file.from_bytes(content))

    @classmethod
    def from_arrays(cls, arrays: scores_file.Arrays) -> Replicas:
        """The same from the arrays of such a file."""
        scores_file.require(arrays, _ARRAYS)
        return cls(
            scores=arrays["scores"],
            numbers=arrays["numbers"],
            seed=scores_file.seed_of(arrays["seed"].tolist()),
            score=arrays["score"].tolist(),
            labels=arrays.get("labels"),
            draw=scores_file.draw_of(arrays),
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {
            "scores": self.scores,
            "numbers": self.numbers,
            # As text: a seed may have more digits than any integer of numpy.
            "seed": np.array(str(self.seed)),
            "score": np.array(self.score),
        }
        return arrays | scores_file.optional(self.labels, self.draw)

    def _check_independent(self) -> None:
        found, counts = np.unique(self.numbers, return_counts=True)
        if bool((counts > 1).any()):
            raise InvalidValue(
                f"replicas must not share a seed, got number {found[counts > 1][0]} {counts.max()} times"
            )
        if not np.array_equal(self.numbers, np.arange(len(self))):
            wrong = int(np.flatnonzero(self.numbers != np.arange(len(self)))[0])
            raise InvalidValue(
                f"replica numbers must follow each other from 0 on, got {self.numbers[wrong]} in place "
                f"{wrong}: bounds depend on the order, and a number that is missing was left out"
            )
        if self.score == "confidence":
            require_no_copies(self.scores, len(self))


def _scores(values: ArrayLike, score: Score) -> NDArray[Any]:
    array: NDArray[Any] = np.ascontiguousarray(values)
    if array.dtype.kind not in "buif":
        raise InvalidType(f"scores must be numbers, got an array of {array.dtype}")
    if array.ndim != 3 or array.shape[1] < 1 or array.shape[2] < 2:
        raise InvalidValue(f"scores must be [replicas, examples, classes], got shape {array.shape}")
    require_unit(f"{score}s", array)
    if score == "vote" and bool(((array > 0) & (array < 1)).any()):
        raise InvalidValue(f"votes must be 0 or 1, got {array[(array > 0) & (array < 1)][0]}")
    sums = array.sum(axis=2, dtype=np.float64)
    off = sums > 1.0 if score == "vote" else np.abs(sums - 1.0) > _SUM_TOLERANCE
    if off.any():
        replica, example = np.argwhere(off)[0]
        raise InvalidValue(
            f"{score}s must sum to {'at most 1' if score == 'vote' else '1'}, got "
            f"{sums[replica, example]:.6g} in row {replica}, example {example}"
        )
    return array


def has_favourite(scores: NDArray[Any]) -> NDArray[np.bool_]:
    """On which examples a model has an opinion.

    A model that is not finite has the same confidence in all classes: it predicts nothing and votes for
    nobody, where the first of equals would make it class 0.

    >>> has_favourite(np.array([[0.5, 0.5], [0.6, 0.4]], dtype=np.float32)).tolist()
    [False, True]
    """
    found: NDArray[np.bool_] = scores.max(axis=-1) > scores.min(axis=-1)
    return found


def integers(name: str, values: ArrayLike, length: int) -> NDArray[np.int64]:
    """So many whole numbers of at least 0."""
    array: NDArray[Any] = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise InvalidType(f"{name} must be whole numbers, got an array of {array.dtype}")
    if array.shape != (length,):
        raise InvalidValue(f"{name} must be {length} numbers, got shape {array.shape}")
    if bool((array < 0).any()):
        raise InvalidValue(f"{name} must be at least 0, got {array.min()}")
    return array.astype(np.int64)
