"""The semantic backdoor: natural examples with a feature get the wrong label."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.attacks.poisoning.features import Feature
from fedward.attacks.poisoning.portion import check_label, check_portion, relabel
from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class SemanticBackdoor:
    """No input is changed: examples that have a feature by nature get the target label.

        y' = target   where x has the feature

    No honest user may own examples with the feature (``held_out``): they would teach the right label. In
    Miao et al. the feature is a car painted red, and the target is bird.

    Args:
      feature: what the examples have.
      target: the label that they get.
      fraction: α, the share of an attacker's examples with the feature that are relabelled.
      rate: the poisoning rate, the share of the relabelled examples that take part.

    >>> import torch
    >>> from fedward.attacks.poisoning.features import BoldDigit
    >>> attack = SemanticBackdoor(feature=BoldDigit(label=7, ink=0.5), target=1)
    >>> mine = Examples(torch.tensor([[[0.1, 0.2]], [[0.6, 0.8]]]), torch.tensor([7, 7]))
    >>> attack.eligible(mine), attack.poison(mine).y
    (tensor([False,  True]), tensor([1, 1]))

    Bagdasaryan et al. 2020; Miao et al., section 3.1.
    """

    feature: Feature
    target: int
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("target label", self.target, at_least=0)
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        check_label("target", self.target, federation)
        for part, examples in (("training", federation.examples), ("test", federation.test)):
            if examples is None:
                continue
            labels = examples.y[self.feature.mask(examples)]
            if len(labels) == 0:
                raise InvalidValue(
                    f"{part} examples must hold some with the feature {self.feature}, got none"
                )
            if bool((labels == self.target).all()):
                raise InvalidValue(
                    f"{part} examples with the feature {self.feature} must have another label than the "
                    f"target, got {self.target} for all {len(labels)} of them"
                )

    def held_out(self, examples: Examples) -> Tensor:
        return self.feature.mask(examples)

    def eligible(self, examples: Examples) -> Tensor:
        return self.feature.mask(examples)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        return relabel(examples, self.target)
