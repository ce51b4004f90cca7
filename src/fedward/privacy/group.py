"""Hockey-stick curves: how well a training with a group of k users can be told from one without it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fedward.base.validate import InvalidValue, one_of, positive, real, whole
from fedward.privacy.accounting_events import (
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    RandomAllocationDpEvent,
)
from fedward.privacy.allocated_epoch import AllocatedEpoch
from fedward.privacy.curve_memory import CurveMemory
from fedward.privacy.events import fold
from fedward.privacy.group_round import GroupRound
from fedward.privacy.losses import Losses, compose, hockey_stick
from fedward.privacy.sampled_gaussian import Array
from fedward.privacy.spending import Spending, is_fixed_size, mechanisms

Threat = Literal["inject", "present", "compromise"]
Direction = Literal["mixture|base", "base|mixture"]

THREATS: tuple[str, ...] = get_args(Threat)
DIRECTIONS: tuple[str, ...] = get_args(Direction)

# What is left out in the tails counts as infinite loss.
_TAIL = 1e-13
# What rounding may lose is added to every δ: once and for each round, in units far above a float's own 1e-16.
_ROUND_OFF = 1e-10
_ROUND_OFF_A_ROUND = 1e-14
_ROUND_OFF_AN_EPOCH = 1e-11
# A coarser grid is safe too, and so many points are only needed where nothing can be certified.
_MOST_POINTS = 2**17
_LEAST_STEP = 1e-9
LARGEST_GROUP = 100_000
"""A larger group of users who are drawn takes minutes."""
# Steps in one standard deviation of a round's loss at the default interval.
_RESOLUTION = 20.0
_DEFAULT_INTERVAL = 1e-2
# The same curve serves all threats, all variants of an attack on one training, and every search over k.
_KNOWN: CurveMemory[GroupCurve] = CurveMemory(most_bytes=2**26)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupCurve:
    """What sets a training with a group of k apart from the same training without it.

        δ_{P|Q}(ε) = sup_E P(E) - e^ε Q(E),    P and Q the mixture (with the group) and the base (without)

    Guarantee: upper bounds on the true curves at every real ε, discretisation and rounding included.

    Args:
      k: the size of the group.
      step: the grid is ε = 0, step, 2 step, ...
      mixture_over_base: δ_{mixture|base} on the grid.
      base_over_mixture: δ_{base|mixture} on the grid.

    >>> from dp_accounting import GaussianDpEvent
    >>> curve = group_curve([(GaussianDpEvent(2.0), 1)], 1)
    >>> round(float(curve.delta("mixture|base", 0.5)), 4)
    0.0524

    Dong, Roth and Su 2022 for trade-off curves; Ganesh 2024 for groups under sampling.
    """

    k: int
    step: float
    mixture_over_base: Array
    base_over_mixture: Array

    def __post_init__(self) -> None:
        whole("group size", self.k, at_least=0)
        positive("step", self.step)
        for curve in (self.mixture_over_base, self.base_over_mixture):
            if curve.ndim != 1 or len(curve) == 0 or not bool(np.all((curve >= 0) & (curve <= 1))):
                raise InvalidValue("a curve must hold values from 0 to 1, at least one")
            curve.flags.writeable = False

    @property
    def nbytes(self) -> int:
        """The size of what it holds."""
        return self.mixture_over_base.nbytes + self.base_over_mixture.nbytes

    def on_grid(self, direction: Direction) -> Array:
        """δ at ε = 0, step, 2 step, ...; the last value holds for every larger ε."""
        one_of("direction", direction, DIRECTIONS)
        return self.mixture_over_base if direction == "mixture|base" else self.base_over_mixture

    def delta(self, direction: Direction, epsilon: float) -> float:
        """δ at any real ε: between points of the grid the chord, below 0 by the other direction.

        δ_{P|Q}(ε) = 1 - e^ε + e^ε δ_{Q|P}(-ε)
        """
        curve = self.on_grid(direction)
        if real("epsilon", epsilon) < 0:
            other: Direction = "base|mixture" if direction == "mixture|base" else "mixture|base"
            return -math.expm1(epsilon) + math.exp(epsilon) * self.delta(other, -epsilon)
        place = int(epsilon // self.step)
        if place + 1 >= len(curve):
            return float(curve[-1])
        rest = epsilon - place * self.step
        # (e^rest - 1) / (e^step - 1), for steps that overflow too.
        weight = min(1.0, math.exp(rest - self.step) * math.expm1(-rest) / math.expm1(-self.step))
        return float((1 - weight) * curve[place] + weight * curve[place + 1])


def group_curve(spending: Spending, k: int, *, interval: float = _DEFAULT_INTERVAL) -> GroupCurve:
    """The curves of a group of k users over a whole training.

    Guarantee: that of ``GroupRound``, composed over all rounds, which may differ.

    Args:
      spending: events and how often each happened: Gaussians, plain or Poisson-sampled, and for one user
        epochs of random allocation. The noise
        multipliers are relative to one user added or removed.
      k: the size of the group; with 0 there is nothing to tell.
      interval: the largest step of the grid. Where a round's losses are small the step is smaller in
        proportion. A finer grid brings the bounds closer; every grid is safe.

    >>> from dp_accounting import GaussianDpEvent
    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> curve = group_curve([(event, 3)], 14)
    >>> round(curve.delta("base|mixture", 0.0), 3), round(curve.delta("mixture|base", 0.0), 3)
    (0.308, 0.308)
    """
    if whole("group size", k, at_least=0) > LARGEST_GROUP:
        raise InvalidValue(f"group size must be at most {LARGEST_GROUP:,}, got {k:,}")
    positive("interval", interval)
    rounds, epochs = _rounds(spending), _epochs(spending)
    if epochs and k > 1:
        raise InvalidValue(
            f"a group's curve needs Poisson sampling, got random allocation and {k} users: what several of "
            "them show of their rounds together is bounded by no law that is computed here"
        )
    about = tuple(rounds), tuple(epochs), int(k), float(interval)
    return _KNOWN.recall_or_compute(about, lambda: _curve(*about))


def _curve(
    rounds: tuple[tuple[float, float, int], ...],
    epochs: tuple[tuple[int, float, int], ...],
    k: int,
    interval: float,
) -> GroupCurve:
    if k == 0 or not (rounds or epochs):
        nothing = np.zeros(1)
        return GroupCurve(k=k, step=interval, mixture_over_base=nothing, base_over_mixture=nothing.copy())
    total = sum(count for _, _, count in rounds + epochs)
    parts: list[tuple[GroupRound | AllocatedEpoch, int]] = [
        (GroupRound(rate=q, noise_multiplier=z, k=k, tail=_TAIL / total), count) for q, z, count in rounds
    ]
    parts += [
        (AllocatedEpoch(epoch=e, noise_multiplier=z, tail=_TAIL / total), count) for e, z, count in epochs
    ]
    variance = sum(count * part.spread() ** 2 for part, count in parts) / total
    step = interval * min(1.0, math.sqrt(variance) / (_RESOLUTION * _DEFAULT_INTERVAL))
    step = max(step, max(part.span() for part, _ in parts) / _MOST_POINTS, _LEAST_STEP)
    pairs = [(part.losses(step), count) for part, count in parts]
    mixture, base = (compose([(pair[side], count) for pair, count in pairs], _TAIL) for side in (0, 1))

    def bounded(losses: Losses) -> Array:
        rounding = _ROUND_OFF + _ROUND_OFF_A_ROUND * total + _ROUND_OFF_AN_EPOCH * _count(epochs)
        return np.minimum(1.0, hockey_stick(losses, step) + rounding)

    return GroupCurve(
        k=k,
        step=step,
        mixture_over_base=bounded(mixture),
        base_over_mixture=bounded(base),
    )


def _rounds(spending: Spending) -> list[tuple[float, float, int]]:
    """Sampling rate, noise multiplier and how often; plain Gaussians are folded into one, which is exact."""
    parts = mechanisms(spending)
    if is_fixed_size(parts):
        raise InvalidValue(
            "a group's curve needs Poisson sampling, got fixed-size sampling: no dominating pair is known "
            "for groups drawn without replacement"
        )
    rounds, plain = [], []
    for event, count in parts:
        if isinstance(event, NonPrivateDpEvent):
            raise InvalidValue("a group's curve needs rounds with a guarantee, got a release without noise")
        if isinstance(event, PoissonSampledDpEvent) and event.sampling_probability < 1:
            rounds.append((event.sampling_probability, event.event.noise_multiplier, count))
        elif not isinstance(event, RandomAllocationDpEvent):
            gaussian = event.event if isinstance(event, PoissonSampledDpEvent) else event
            plain.append(gaussian.noise_multiplier / math.sqrt(count))
    return [(1.0, fold(*plain), 1), *rounds] if plain else rounds


def _epochs(spending: Spending) -> list[tuple[int, float, int]]:
    """Rounds of an epoch, noise multiplier and how often, where users are allotted their rounds."""
    return [
        (event.epoch, event.event.noise_multiplier, count)
        for event, count in mechanisms(spending)
        if isinstance(event, RandomAllocationDpEvent)
    ]


def _count(epochs: tuple[tuple[int, float, int], ...]) -> int:
    return sum(count for _, _, count in epochs)
