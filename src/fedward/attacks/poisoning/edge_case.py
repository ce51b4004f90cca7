"""The edge-case backdoor: the most unusual examples of a class get the wrong label."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.patterns import images
from fedward.attacks.poisoning.portion import check_label, check_portion, relabel
from fedward.base.validate import InvalidValue, open_unit, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation

_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class EdgeCaseBackdoor:
    """Examples in the tail of a class get the target label; no input is changed.

        y' = target   where y = source and log p(x) ≤ the `share`-quantile of log p over the class

    p is a normal distribution of the images' first principal components, fitted to the training examples of
    the source class. No honest user may own such examples (``held_out``), so nobody teaches the right label,
    and hardly any other example is like them: clipping, noise and rules that look at rows have little to hold
    on to. Test examples of the class that lie below the same value measure success.

    Done differently: the paper takes its tail from other data sets, or by a mixture of normal distributions
    of a trained network's features. Here it comes from the data at hand, so that nothing else is needed.

    Args:
      source: the class whose tail it is.
      target: the label that the tail gets.
      share: how much of the class is the tail.
      components: how many principal components tell the unusual from the usual.
      fraction: α, the share of an attacker's examples of the tail that are relabelled.
      rate: the poisoning rate, the share of the relabelled examples that take part.

    Wang et al. 2020, *Attack of the Tails*.
    """

    source: int
    target: int
    share: float = 0.05
    components: int = 10
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        whole("source label", self.source, at_least=0)
        whole("target label", self.target, at_least=0)
        if self.source == self.target:
            raise InvalidValue(f"target label must differ from the source label, got {self.target} twice")
        open_unit("share of the tail", self.share)
        whole("number of components", self.components)
        check_portion(self.fraction, self.rate)

    def check(self, federation: Federation, attackers: int) -> None:
        for name, label in (("source", self.source), ("target", self.target)):
            check_label(name, label, federation)
        images(federation.examples)
        if int((federation.examples.y == self.source).sum()) < 2:
            raise InvalidValue(
                f"training examples must hold at least two of the source class {self.source} to have a tail"
            )
        if federation.test is not None and not bool(
            self.prepared(federation).eligible(federation.test).any()
        ):
            raise InvalidValue(
                f"test examples must hold some in the tail of class {self.source}, got none; take a larger "
                f"share than {self.share}"
            )

    def held_out(self, examples: Examples) -> Tensor:
        """All of the source class: which of them are its tail only the data can tell (``prepared``)."""
        return examples.y == self.source

    def eligible(self, examples: Examples) -> Tensor:
        return self.held_out(examples)

    def prepared(self, federation: Federation) -> PreparedEdgeCase:
        x = _flat(federation.examples, federation.examples.y == self.source)
        mean = x.mean(dim=0)
        centred = x - mean
        values, vectors = torch.linalg.eigh(centred.T @ centred / len(x))
        kept = min(self.components, len(values))
        basis, variances = vectors[:, -kept:], values[-kept:].clamp(min=_LEAST_VARIANCE)
        tail = _Tail(mean, basis, variances, 0.0)
        limit = float(torch.quantile(tail.log_density(x), self.share))
        return PreparedEdgeCase(edge_case=self, tail=_Tail(mean, basis, variances, limit))


@dataclass(frozen=True, eq=False)
class _Tail:
    """A normal distribution of principal components, and the log density below which the tail begins."""

    mean: Tensor
    basis: Tensor
    variances: Tensor
    limit: float

    def log_density(self, x: Tensor) -> Tensor:
        """log p up to a constant."""
        scores = (x - self.mean) @ self.basis
        return -(scores.square() / self.variances).sum(1) / 2


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedEdgeCase:
    """The same, fitted to the examples of a federation."""

    edge_case: EdgeCaseBackdoor
    tail: _Tail

    def __repr__(self) -> str:
        return f"PreparedEdgeCase({self.edge_case!r}, limit={self.tail.limit!r})"

    @property
    def target(self) -> int:
        return self.edge_case.target

    @property
    def fraction(self) -> float:
        return self.edge_case.fraction

    @property
    def rate(self) -> float:
        return self.edge_case.rate

    def check(self, federation: Federation, attackers: int) -> None:
        self.edge_case.check(federation, attackers)

    def held_out(self, examples: Examples) -> Tensor:
        mask = examples.y == self.edge_case.source
        if bool(mask.any()):
            mask = mask.clone()
            mask[mask.clone()] = self.tail.log_density(_flat(examples, mask)) <= self.tail.limit
        return mask

    def eligible(self, examples: Examples) -> Tensor:
        return self.held_out(examples)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        return relabel(examples, self.edge_case.target)


def _flat(examples: Examples, mask: Tensor) -> Tensor:
    return images(examples)[mask].flatten(1).double()
