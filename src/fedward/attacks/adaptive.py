"""The attacker that knows a defence: what the defence withstands from others says little about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fedward.aggregation import (
    AllRows,
    Bucketing,
    Bulyan,
    CentredClipping,
    CoordinateMedian,
    DivideAndConquer,
    Flame,
    FLDetector,
    FLTrust,
    FoolsGold,
    GeometricMedian,
    Krum,
    Mean,
    MultiKrum,
    NearestNeighbourMixing,
    RobustLearningRate,
    Rule,
    SignGuard,
    TrimmedMean,
    WatchingRule,
    WeightedMean,
)
from fedward.attacks.attack import Attack
from fedward.core.types import Aggregator

Unknown = Literal["chance", "later rounds"]
"""What even an attacker that knows the defence is without: the numbers that the server draws for its rule, or
a plan for the rounds to come, where the rule remembers this one."""


@dataclass(frozen=True, kw_only=True)
class AdaptiveAttacker:
    """The attacker that knows a rule and its parameters and keeps to what the rule accepts.

    Args:
      attack: its name among the poisonings of updates.
      without: what it cannot know, or does not look at. Without the server's ``chance`` it tries the rule
        with numbers of its own; without ``later rounds`` it knows what the rule remembers, and does the most
        that it can in this one.
    """

    attack: str
    without: tuple[Unknown, ...] = ()

    def __str__(self) -> str:
        return self.attack if not self.without else f"{self.attack}, without {' and '.join(self.without)}"


_SEARCH = "adaptive_backdoor"

ADAPTIVE_ATTACKERS: dict[type[Aggregator] | type[Rule], AdaptiveAttacker] = {
    # A mean takes every row. Which weights it has changes how far a row leads, not which row leads farthest.
    Mean: AdaptiveAttacker(attack=_SEARCH),
    WeightedMean: AdaptiveAttacker(attack=_SEARCH),
    Krum: AdaptiveAttacker(attack=_SEARCH),
    MultiKrum: AdaptiveAttacker(attack=_SEARCH),
    CoordinateMedian: AdaptiveAttacker(attack=_SEARCH),
    TrimmedMean: AdaptiveAttacker(attack=_SEARCH),
    GeometricMedian: AdaptiveAttacker(attack=_SEARCH),
    Bulyan: AdaptiveAttacker(attack=_SEARCH),
    CentredClipping: AdaptiveAttacker(attack=_SEARCH, without=("later rounds",)),
    NearestNeighbourMixing: AdaptiveAttacker(attack=_SEARCH),
    Bucketing: AdaptiveAttacker(attack=_SEARCH, without=("chance",)),
    DivideAndConquer: AdaptiveAttacker(attack=_SEARCH, without=("chance",)),
    FLTrust: AdaptiveAttacker(attack=_SEARCH),
    FoolsGold: AdaptiveAttacker(attack=_SEARCH, without=("later rounds",)),
    Flame: AdaptiveAttacker(attack=_SEARCH, without=("chance",)),
    RobustLearningRate: AdaptiveAttacker(attack=_SEARCH),
    SignGuard: AdaptiveAttacker(attack=_SEARCH, without=("chance",)),
    FLDetector: AdaptiveAttacker(attack=_SEARCH, without=("chance", "later rounds")),
}
"""The adaptive attacker for each aggregator and rule of ours, without what a rule behind it adds."""


def adaptive_attacker_for(aggregator: Aggregator | Rule) -> AdaptiveAttacker | None:
    """Who attacks this defence knowing it; None if nobody can.

    A rule of somebody's own can be tried out like ours. An aggregator of somebody's own cannot: what it does
    with a row may depend on more than the row.

    >>> print(adaptive_attacker_for(AllRows(rule=Bucketing(rule=CentredClipping(radius=1.0)))))
    adaptive_backdoor, without chance and later rounds
    """
    part = aggregator.rule if isinstance(aggregator, AllRows) else aggregator
    known = ADAPTIVE_ATTACKERS.get(type(part))
    if known is None:
        if not hasattr(part, "combine"):
            return None
        known = AdaptiveAttacker(
            attack=_SEARCH, without=("chance", "later rounds") if isinstance(part, WatchingRule) else ()
        )
    inner = _inner_rule(part)
    within = adaptive_attacker_for(inner) if inner is not None else None
    if within is None:
        return known
    without = {*known.without, *within.without}
    return AdaptiveAttacker(attack=known.attack, without=tuple(sorted(without)))


def adaptive_attack_for(aggregator: Aggregator | Rule) -> str | None:
    """The name of the attack on updates that knows this defence; None if there is none.

    >>> adaptive_attack_for(Krum(malicious=1))
    'adaptive_backdoor'
    """
    attacker = adaptive_attacker_for(aggregator)
    return None if attacker is None else attacker.attack


def tried_adaptively(attacks: Iterable[Attack | None]) -> bool:
    """Whether one of the attacks that a defence was tried on knew the defence; None is no attack.

    >>> tried_adaptively([None])
    False
    """
    return any(attack is not None and attack.adapts for attack in attacks)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A defence under attack in one training: the defence, by any name, and whether the attackers knew it."""

    defence: str
    adapts: bool


def untried(trainings: Sequence[Tried | None]) -> list[bool]:
    """For each training of a comparison whether nobody tried its defence knowing it; None has no attack.

    >>> krum, krum_known = Tried(defence="krum", adapts=False), Tried(defence="krum", adapts=True)
    >>> untried([krum, krum_known, Tried(defence="median", adapts=False), None])
    [False, False, True, False]
    """
    known = {each.defence for each in trainings if each is not None and each.adapts}
    return [each is not None and each.defence not in known for each in trainings]


def _inner_rule(part: Aggregator | Rule) -> Rule | None:
    """The rule that a step goes before."""
    if isinstance(part, RobustLearningRate):
        return part.turned
    return part.rule if isinstance(part, Bucketing | NearestNeighbourMixing) else None
