"""A3FL's backdoor: a trigger fitted to the model, and to the model that would have unlearned it."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fedward.attacks.poisoning.blended import check_range
from fedward.attacks.poisoning.pattern import PatternBackdoor
from fedward.attacks.poisoning.patterns import Pattern, images
from fedward.attacks.poisoning.portion import all_of, check_label, check_portion, none_of
from fedward.attacks.poisoning.trigger_search import TriggerSearch
from fedward.base.validate import non_negative, positive, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class A3FL:
    """The pixels of a pattern get the values that the current model, and its unlearned twin, fall for most.

        x ⊕ δ = (1 - m) ⊙ x + m ⊙ δ,    y' = target
        δ ← δ - α sign ∇_δ Σ_x [L(x ⊕ δ, target; θ) + λ L(x ⊕ δ, target; θ')],    cut to [least, most]
        θ' = θ after steps down Σ_x L(x ⊕ δ, y; θ') with the true y,    λ = λ_0 cos(θ', θ)

    θ is the model that users are sent in a round. θ' is what it would become if honest users trained the
    trigger away; a trigger that deceives both lasts longer. θ' is made anew from θ every `renewed` steps, the
    first time before the first. Both compute as in evaluation: nothing is dropped.

    **Which trigger is measured.** The one that the attackers would put on for the model that is measured, by
    the very search with which they poison: what they train with in the next round is what this round's model
    is shown. So success is a number of the model alone, of any stored one too, and a training that goes on
    later has the same bits. Such a trigger deceives some models that nobody has poisoned: the share that
    poisoning adds is the difference to the same attack with ``fraction=0``. After the attackers have left
    the trigger goes on being fitted, as whoever gets the model can.

    A search is done once for each round with attackers in it, of each replica, and once for each measurement:
    some `steps` times two passes over `examples`. It takes seconds for a convolutional network.

    Done differently: the paper takes more steps of half the length, and starts each search from the trigger
    of the round before; here each starts grey, halfway between `least` and `most`. There the first attacker
    of a cohort searches, on its own data, in batches; here all attackers together, on at most `examples` of
    what they own, evenly spaced, in one batch. (The paper's λ has the cosine of θ' and θ, its public code
    that of two gradients.)

    Args:
      pattern: m, the pixels.
      target: the label that images with the trigger get.
      balance: λ_0: what the unlearned model counts; 0 for a trigger fitted to the current model alone.
      length: α, the length of a step.
      steps: how many steps the search takes.
      renewed: every how many of them θ' is made anew.
      unlearning: how many steps θ' is trained.
      unlearning_rate: their learning rate.
      examples: at most so many of the attackers' examples are searched on.
      least, most: the darkest and the brightest pixel of the trigger.
      fraction: the share of an attacker's images that are poisoned.
      rate: the poisoning rate, the share of the poisoned images that take part.

    >>> from fedward.attacks.poisoning.patterns import Square
    >>> net = nn.Sequential(nn.Flatten(), nn.Linear(2, 2, bias=False))
    >>> mine = Examples(torch.zeros(1, 1, 2), torch.tensor([0]))
    >>> start = A3FL(pattern=Square(size=1), target=1, length=0.1, steps=3).fitted_by(net, mine)
    >>> start.at_model(torch.tensor([0.0, 0.0, 0.0, 1.0])).poison(mine).x
    tensor([[[0.0000, 0.8000]]])

    Zhang, Jia, Chen, Lin, Wu 2023.
    """

    pattern: Pattern
    target: int
    balance: float = 0.01
    length: float = 0.02
    steps: int = 50
    renewed: int = 10
    unlearning: int = 5
    unlearning_rate: float = 0.01
    examples: int = 64
    least: float = 0.0
    most: float = 1.0
    fraction: float = 0.25
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("target label", self.target, at_least=0)
        non_negative("balance", self.balance)
        positive("length of a step", self.length)
        whole("number of steps", self.steps)
        whole("steps between two unlearned models", self.renewed)
        whole("steps of unlearning", self.unlearning)
        positive("learning rate of unlearning", self.unlearning_rate)
        whole("number of examples to search on", self.examples)
        check_range(self.least, self.most)
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        check_label("target", self.target, federation)
        self.pattern.pixels(tuple(images(federation.examples).shape[1:]))

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        """With the trigger that a search begins with: no model is known here."""
        return self.with_trigger((self.least + self.most) / 2).poison(examples)

    def with_trigger(self, value: float | tuple[tuple[float, ...], ...]) -> PatternBackdoor:
        """The backdoor of one trigger: one value for all of its pixels, or one for each channel and pixel."""
        return PatternBackdoor(
            pattern=self.pattern, target=self.target, value=value, fraction=self.fraction, rate=self.rate
        )

    def fitted_by(self, model: nn.Module, examples: Examples) -> FollowingA3FL:
        count = min(self.examples, len(examples))
        spaced = torch.arange(count) * len(examples) // max(1, count)
        return FollowingA3FL(a3fl=self, model=copy.deepcopy(model), own=examples.select(spaced))


@dataclass(frozen=True, eq=False, kw_only=True)
class FollowingA3FL:
    """The same, by attackers who own some examples and know what the model is made of."""

    a3fl: A3FL
    model: nn.Module
    own: Examples

    def __repr__(self) -> str:
        return f"FollowingA3FL({self.a3fl!r})"

    @property
    def target(self) -> int:
        return self.a3fl.target

    @property
    def fraction(self) -> float:
        return self.a3fl.fraction

    @property
    def rate(self) -> float:
        return self.a3fl.rate

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def check(self, federation: Federation, attackers: int) -> None:
        self.a3fl.check(federation, attackers)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        return self.a3fl.poison(examples)

    def at_model(self, parameters: Tensor) -> PatternBackdoor:
        """The backdoor of the trigger for this model."""
        if len(self.own) == 0:  # nobody attacks
            return self.a3fl.with_trigger((self.a3fl.least + self.a3fl.most) / 2)
        a3fl = self.a3fl
        search = TriggerSearch(
            places=a3fl.pattern.pixels(tuple(images(self.own).shape[1:])),
            target=a3fl.target,
            balance=a3fl.balance,
            length=a3fl.length,
            steps=a3fl.steps,
            renewed=a3fl.renewed,
            unlearning=a3fl.unlearning,
            unlearning_rate=a3fl.unlearning_rate,
            least=a3fl.least,
            most=a3fl.most,
        )
        values = search.values_for(self.model, parameters, self.own)
        return a3fl.with_trigger(tuple(map(tuple, values.tolist())))
