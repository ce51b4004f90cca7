"""CRFL: clipped and smoothed parameters, certified by how little of an attack is left in the last model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, rel_entr

from fedward.base.validate import InvalidType, InvalidValue, non_negative, one_of, positive, whole
from fedward.privacy.group import THREATS, Threat

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_HALVINGS = 60
# A KL divergence must lie below the limit by more than rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class SmoothedRound:
    """What a round without attackers does to two models: it takes them nearer to each other.

        w -> clip_ρ(g(w) + N(0, τ²)),    ‖g(w)‖ <= R        TV contraction: 2 Φ(R / τ) - 1

    Guarantee: for any two laws of w the KL divergence after the round is at most this factor times that
    before it, for g any function with values of norm at most R. Two Gaussians at most 2R apart have this
    total variation, and no f-divergence contracts less than total variation does.

    Args:
      reach: R: how long the model before the noise can be: ρ and the longest step.
      noise: τ: the standard deviation of the noise on each parameter.

    >>> round(SmoothedRound(reach=1.0, noise=1.0).contraction, 4)
    0.6827

    Dobrushin 1956; Xie et al. 2021 (with ρ_t / σ_t in the place of R / τ).
    """

    reach: float
    noise: float

    def __post_init__(self) -> None:
        positive("reach of the model", self.reach)
        positive("noise on a parameter", self.noise)

    @property
    def contraction(self) -> float:
        return min(1.0, 2.0 * float(ndtr(self.reach / self.noise)) - 1.0 + _ROUNDING)


def divergence_left(shift: float, attacked: Sequence[bool], contraction: float) -> float:
    """The largest KL divergence between the last models with and without an attack.

        attacked round:  KL <- KL + shift² / 2          other round:  KL <- c KL

    Guarantee: in an attacked round attackers may move the mean of the Gaussian step by ``shift`` standard
    deviations, in any direction, knowing all earlier models; in the others they do nothing.

    Args:
      shift: how far attackers move a model, in standard deviations of its noise.
      attacked: for each round whether they act in it.
      contraction: c, in [0, 1].

    >>> divergence_left(2.0, [True], 0.5), divergence_left(2.0, [True, False, False], 0.5)
    (2.0, 0.5)

    Both follow from the chain rule of KL and its convexity; c from ``SmoothedRound``.
    """
    non_negative("shift", shift)
    kl = 0.0
    for acts in attacked:
        kl = kl + shift**2 / 2.0 if acts else contraction * kl
    return kl


def divergence_survived(top: ArrayLike, runner_up: ArrayLike) -> Floats:
    """The KL divergence below which the class on top stays there.

        KL(Q ‖ P) < -log(1 - (√p_A - √p_B)²)    implies    q_A > q_B

    It is the least divergence from P of any law Q with q_A <= q_B; 0 where p_A <= p_B.

    >>> divergence_survived([1.0, 0.9, 0.5], [0.0, 0.1, 0.5]).round(4).tolist()
    [inf, 0.5108, 0.0]

    Xie et al. 2021, after Li et al. 2019.
    """
    a, b = np.asarray(top, dtype=np.float64), np.asarray(runner_up, dtype=np.float64)
    gap = np.maximum(0.0, np.sqrt(a) - np.sqrt(b))
    with np.errstate(divide="ignore"):
        return np.asarray(np.abs(np.log(np.maximum(0.0, 1.0 - gap**2))))


@dataclass(frozen=True, kw_only=True)
class ParameterSmoothing:
    """The server clips every update, adds noise, and clips the model: the server step ``model_clipping``.

        p_A, p_B as in fedward's own certificates;    certified:  KL_T(k) < -log(1 - (√p_A - √p_B)²)
        KL_T: + (k/z)²/2 for every attacked round (compromise: (2k/z)²/2), times c for every other one

    Guarantee: about the *expected* vote or confidence of the mechanism, over the noise of all rounds, as
    fedward's own are, and with the same ε, since it is the same mechanism. k attackers may send anything in
    the rounds ``attacked``, and do as they are told in the others. It is never more than fedward's own
    certificate where all rounds are attacked, for a KL divergence says less than the whole curve.

    This is *not* the theorem of the paper. That one bounds a trigger's size on some examples of the
    attackers, trained by plain SGD on a loss that is convex and smooth in the model and Lipschitz in the
    data, and lets them act in one round; nothing bounds an update that was simply made up. Here updates are
    clipped, and so any update is covered and nothing is assumed about the loss. What is kept is the
    paper's: clipped and noisy parameters, divergence that shrinks from round to round, its condition on
    p_A and p_B. The model is clipped after the noise, not before, so that the clipping is post-processing.
    The noise of the last round is the smoothing; every replica has noise of its own in all rounds.

    Args:
      attacked: the rounds (from 0) in which attackers act, as the paper's attackers act in one; all of them
        if not given.

    >>> whole = ParameterSmoothing()
    >>> whole.attackers([0.99, 0.6], [0.01, 0.4], noise_multiplier=5.0, rounds=1, threat="inject").tolist()
    [8, 1]

    Xie, Chen, Chen and Li 2021 (CRFL), for the idea; the bound for any update is ours.
    """

    attacked: tuple[int, ...] | None = None

    name: ClassVar[str] = "crfl"

    def __post_init__(self) -> None:
        if self.attacked is None:
            return
        if not isinstance(self.attacked, list | tuple):
            raise InvalidType(f"attacked rounds must be a list, got {self.attacked!r}")
        found = tuple(sorted({int(whole("attacked round", each, at_least=0)) for each in self.attacked}))
        if not found:
            raise InvalidValue("attacked rounds must be one or more, got none")
        object.__setattr__(self, "attacked", found)

    def __str__(self) -> str:
        return f"CRFL, attackers act in {self.when}"

    @property
    def when(self) -> str:
        """In which rounds attackers act."""
        if self.attacked is None:
            return "any round"
        plural = "s" if len(self.attacked) > 1 else ""
        return f"round{plural} {', '.join(map(str, self.attacked))} (from 0) alone"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "attacked": None if self.attacked is None else list(self.attacked)}

    def acts(self, rounds: int) -> tuple[bool, ...]:
        """For each round whether attackers act in it."""
        if self.attacked is not None and self.attacked[-1] >= rounds:
            raise InvalidValue(
                f"attacked rounds must lie below the number of rounds, {rounds}, got {self.attacked[-1]} "
                "(rounds are counted from 0)"
            )
        return tuple(self.attacked is None or t in self.attacked for t in range(rounds))

    def divergence(
        self,
        k: int,
        *,
        noise_multiplier: float,
        rounds: int,
        threat: Threat,
        step: SmoothedRound | None = None,
    ) -> float:
        """KL_T(k).

        Args:
          k: how many attackers.
          noise_multiplier: z.
          rounds: T.
          threat: inject, present or compromise.
          step: what a round without attackers does; nothing if not given.
        """
        one_of("threat", threat, THREATS)
        positive("noise multiplier", noise_multiplier)
        shift = whole("k", k, at_least=0) * (2 if threat == "compromise" else 1) / noise_multiplier
        return divergence_left(shift, self.acts(rounds), 1.0 if step is None else step.contraction)

    def attackers(
        self,
        top: ArrayLike,
        runner_up: ArrayLike,
        *,
        noise_multiplier: float,
        rounds: int,
        threat: Threat,
        step: SmoothedRound | None = None,
        most: int = 10**5,
    ) -> Integers:
        """The largest k for which each prediction is certified; -1 if not even the clean one is."""
        one = self.divergence(1, noise_multiplier=noise_multiplier, rounds=rounds, threat=threat, step=step)
        limit = divergence_survived(top, runner_up)
        with np.errstate(divide="ignore", invalid="ignore"):
            # KL grows with the square of k. One more or less than the root, by rounding, is put right below.
            root = np.sqrt(limit / one) if one > 0 else np.where(limit > 0, math.inf, 0.0)
        k = np.minimum(np.nan_to_num(np.ceil(root), posinf=most), most).astype(np.int64)
        while bool((over := (k > 0) & ~(k.astype(float) ** 2 * one < limit * (1.0 - _ROUNDING))).any()):
            k[over] -= 1
        return np.where(limit > 0, k, -1).astype(np.int64)

    def least(self, top: ArrayLike, divergence: float) -> Floats:
        """The least probability of the class on top under any law Q with KL(Q ‖ P) at most this.

        >>> ParameterSmoothing().least([0.9, 0.5], 0.0).round(6).tolist()
        [0.9, 0.5]
        """
        p = np.asarray(top, dtype=np.float64)
        low, high = np.zeros_like(p), p.copy()
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            kl = rel_entr(middle, p) + rel_entr(1.0 - middle, 1.0 - p)
            near = kl <= divergence
            low, high = np.where(near, low, middle), np.where(near, middle, high)
        return np.asarray(low)
