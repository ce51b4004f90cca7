"""The lower bound on ε from many canaries in one training: how many guesses about them may be right."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from fedward.base.validate import InvalidValue, open_unit, whole

_MOST_EPSILON, _PRECISION = 50.0, 1e-3


def right_guesses(scores: object, truth: object, positive: int, negative: int) -> int:
    """How many are right if the canaries with the highest scores are called in, those with the lowest out.

    Args:
      scores: of each canary; higher speaks for in.
      truth: whether each was in.
      positive: how many are called in.
      negative: how many are called out; about the others nothing is said.

    >>> right_guesses([3.0, 1.0, -1.0, 0.0], [True, False, True, False], 1, 1)
    1
    """
    values, labels = np.asarray(scores, dtype=float), np.asarray(truth, dtype=bool)
    if values.shape != labels.shape or positive + negative > len(values) or min(positive, negative) < 0:
        raise InvalidValue(
            f"guesses must be at most {len(values)}, one for each canary, got {positive + negative}"
        )
    order = np.argsort(values, kind="stable")
    called_out, called_in = order[:negative], order[len(order) - positive :]
    return int(labels[called_in].sum() + (~labels[called_out]).sum())


def chance_of_guesses(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are, at most, if the training is (ε, δ)-private for each canary.

        P[W ≥ v] ≤ P[B ≥ v] + 2 m δ max_{1 ≤ i ≤ v} P[v - i ≤ B < v] / i,    B ~ Bin(r, e^ε / (1 + e^ε))

    Guarantee: for m canaries, each in with probability 1/2 by a coin of its own, and guesses about r of them.
    It assumes nothing about the mechanism. The guesser may choose which canaries to guess about, but not how
    many after it has seen how well it does.

    >>> round(chance_of_guesses(100, 100, 60, 0.0, 0.0), 4)
    0.0284

    Steinke, Nasr and Jagielski 2023, theorem 5.2.
    """
    whole("canaries", canaries)
    if not 0 <= right <= guesses <= canaries:
        raise InvalidValue(f"right guesses must be from 0 to {guesses}, the number of guesses, got {right}")
    chance = 1.0 / (1.0 + math.exp(-epsilon))
    found = float(binom.sf(right - 1, guesses, chance))
    if delta > 0 and right > 0:
        masses = binom.pmf(np.arange(right - 1, -1, -1), guesses, chance)
        found += 2 * canaries * delta * float((np.cumsum(masses) / np.arange(1, right + 1)).max())
    return min(1.0, found)


def one_run_epsilon(canaries: int, guesses: int, right: int, delta: float, error: float) -> float:
    """The largest ε that so many right guesses refute, but for ``error``: a lower bound on the true one.

    >>> round(one_run_epsilon(1000, 200, 190, 1e-5, 0.05), 2)
    2.39
    >>> one_run_epsilon(1000, 200, 100, 1e-5, 0.05)
    0.0
    """
    open_unit("error", error)
    low, high = 0.0, _MOST_EPSILON
    if chance_of_guesses(canaries, guesses, right, low, delta) > error:
        return 0.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        refuted = chance_of_guesses(canaries, guesses, right, middle, delta) <= error
        low, high = (middle, high) if refuted else (low, middle)
    return low
