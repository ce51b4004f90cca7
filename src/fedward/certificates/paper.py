"""Paper mode: the theorems of Xie et al. 2022 as published, from one point (ε, δ).

They hold for users and, by its theorem 5, for single examples, if (ε, δ) is about examples. The published
accountant proves add/remove; k users whose data is *replaced* are a group of 2k for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import InvalidValue, half_open_unit, non_negative, open_unit, whole
from fedward.certificates.checks import check_unit

_MOST_USERS = 10**15


def lemma_1(epsilon: float, delta: float, k: int) -> tuple[float, float]:
    """Group privacy: what (ε, δ) says about a group of k.

        (kε, δ (e^kε - 1) / (e^ε - 1))

    Infinite where it is out of floating point. Above 1 it says nothing.

    >>> lemma_1(0.0, 0.001, 5)
    (0.0, 0.005)
    """
    _check_point(epsilon, delta)
    if whole("group size", k, at_least=0) > _MOST_USERS:
        raise InvalidValue(f"group size must be at most {_MOST_USERS:,}, got {k:,}")
    if k == 0 or delta == 0:
        return k * epsilon, 0.0
    if epsilon == 0:
        return 0.0, k * delta
    if epsilon < 1:
        return k * epsilon, delta * _expm1(k * epsilon) / math.expm1(epsilon)
    return k * epsilon, _exp(math.log(delta) + _log_expm1(k * epsilon) - _log_expm1(epsilon))


def theorem_1(top: float, runner_up: float, epsilon: float, delta: float) -> bool:
    """Whether a prediction is certified against one user.

        F_A > e^2ε F_B + (1 + e^ε) δ

    >>> theorem_1(0.8, 0.2, 0.2808, 0.0029)
    True
    """
    _check(top, runner_up, epsilon, delta)
    if epsilon < 1:
        return top > math.exp(2 * epsilon) * runner_up + (1 + math.exp(epsilon)) * delta
    # By logarithms, so that a large ε does not overflow.
    right = _log_add(2 * epsilon + _log(runner_up), _log(delta) + epsilon + math.log1p(math.exp(-epsilon)))
    return _log(top) > right


def theorem_2(top: float, runner_up: float, epsilon: float, delta: float) -> float:
    """K: a prediction is certified against every k < K. Infinite if nothing bounds it.

        K = (1 / 2ε) log [(F_A (e^ε - 1) + δ) / (F_B (e^ε - 1) + δ)]

    >>> round(theorem_2(0.8, 0.2, 0.2808, 0.0029), 2)
    2.41
    """
    _check(top, runner_up, epsilon, delta)
    if top == runner_up:
        return 0.0
    if epsilon == 0:
        # The limit: each user costs δ twice.
        return math.copysign(math.inf, top - runner_up) if delta == 0 else (top - runner_up) / (2 * delta)
    x = math.expm1(min(epsilon, 1.0))
    if epsilon < 1 and runner_up * x + delta > 0:
        # Not the logarithm of a ratio close to 1: a small ε would leave no digits of it.
        change = (top - runner_up) * x / (runner_up * x + delta)
        if -0.5 < change < 0.5:
            return math.log1p(change) / (2 * epsilon)
    # Both sides divided by e^ε - 1, by logarithms, so that a large ε does not overflow.
    extra = _log(delta) - _log_expm1(epsilon)
    above, below = _log_add(_log(top), extra), _log_add(_log(runner_up), extra)
    return (above - below) / (2 * epsilon) if above != below else 0.0


@dataclass(frozen=True, kw_only=True)
class PaperK:
    """K as published, and the whole numbers that follow; None is unbounded, -1 not even the clean one.

    Args:
      K: of theorem 2.
      k: ceil(K) - 1, the largest k < K: for users added (*inject*) or removed (*present*).
      compromise: the largest k with 2k < K: users replaced, a removed and an added one each.
    """

    K: float
    k: int | None
    compromise: int | None

    @property
    def unbounded(self) -> bool:
        return math.inf == self.K

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite K is null."""
        return {
            "K": self.K if math.isfinite(self.K) else None,
            "unbounded": self.unbounded,
            "k": self.k,
            "k_compromise": self.compromise,
        }


def largest_k(top: float, runner_up: float, epsilon: float, delta: float) -> PaperK:
    """K of theorem 2, k = ceil(K) - 1, and beside it the k for compromised users.

    >>> largest_k(0.8, 0.2, 0.2808, 0.0029).k, largest_k(0.8, 0.2, 0.2808, 0.0029).compromise
    (2, 1)
    """
    bound = theorem_2(top, runner_up, epsilon, delta)
    if bound == math.inf:
        return PaperK(K=bound, k=None, compromise=None)
    k = -1 if bound <= 0 else math.ceil(bound) - 1
    return PaperK(K=bound, k=k, compromise=k // 2)


def theorem_4(epsilons: Sequence[float]) -> float:
    """ε of instance-level FedAvg from the ε of each user's local training: the largest.

    >>> theorem_4([0.3, 0.5, 0.2])
    0.5
    """
    if not epsilons:
        raise InvalidValue("at least one user must be there, got 0")
    return max(non_negative("epsilon", epsilon) for epsilon in epsilons)


def equation_6(top: float, runner_up: float, replicas: int, psi: float) -> tuple[float, float]:
    """Hoeffding's correction of means over M replicas, as published: "paper, 2ψ".

        F_A - sqrt(log(1/ψ) / 2M),    F_B + sqrt(log(1/ψ) / 2M)

    Each side fails with probability at most ψ, so the pair with at most 2ψ, for a top class that was chosen
    beforehand. Clipped to [0, 1].

    >>> [round(bound, 4) for bound in equation_6(0.8, 0.2, 1000, 0.01)]
    [0.752, 0.248]
    """
    check_unit("top confidence", top)
    check_unit("runner-up confidence", runner_up)
    whole("replicas", replicas)
    width = math.sqrt(-math.log(open_unit("psi", psi)) / (2 * replicas))
    return max(0.0, top - width), min(1.0, runner_up + width)


def _check(top: float, runner_up: float, epsilon: float, delta: float) -> None:
    check_unit("top confidence", top)
    check_unit("runner-up confidence", runner_up)
    _check_point(epsilon, delta)


def _check_point(epsilon: float, delta: float) -> None:
    non_negative("epsilon", epsilon)
    half_open_unit("delta", delta)


def _log(x: float) -> float:
    return math.log(x) if x > 0 else -math.inf


def _exp(x: float) -> float:
    return math.exp(x) if x < 709 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 709 else math.inf


def _log_expm1(x: float) -> float:
    return x + math.log(-math.expm1(-x)) if x < 700 else x


def _log_add(a: float, b: float) -> float:
    top = max(a, b)
    return top if top == -math.inf else top + math.log(math.exp(a - top) + math.exp(b - top))
