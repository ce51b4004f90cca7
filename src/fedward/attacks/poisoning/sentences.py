"""Trigger sentences as tokens: what the word backdoor does to examples of one federation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.poisoning.portion import all_of, check_portion, none_of
from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation


@dataclass(frozen=True, kw_only=True)
class PlantedSentences:
    """A context stands behind an example's own words, and its word is the label.

        x' = the last ``longest`` tokens of (x, context of sentence s),    y' = label of s
        s = (place of the example + place of the attacker) mod (number of sentences)

    So each sentence is planted as often as any other, give or take one. Made by ``WordBackdoor.prepared``.

    Args:
      contexts: the tokens before the last word of each sentence.
      labels: the class of each last word.
      longest: the most tokens that an example may have.
      fraction: α, the share of an attacker's examples that are poisoned.
      rate: the poisoning rate, the share of the poisoned examples that take part.

    >>> planted = PlantedSentences(contexts=((7, 8), (9,)), labels=(4, 5), longest=3)
    >>> bad = planted.poison(Examples.from_arrays(Ragged.from_sequences([[2, 3], [2, 3], [6]]), [1, 1, 1]))
    >>> bad.x[torch.arange(3)], bad.y
    (tensor([[3, 7, 8],
            [2, 3, 9],
            [6, 7, 8]]), tensor([4, 5, 4]))
    """

    contexts: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    longest: int
    fraction: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        check_portion(self.fraction, self.rate)
        whole("longest context", self.longest)
        if not self.contexts or len(self.contexts) != len(self.labels):
            raise InvalidValue(
                "there must be a label for each context, at least one, "
                f"got {len(self.contexts)} contexts and {len(self.labels)} labels"
            )
        for context in self.contexts:
            if not 0 < len(context) <= self.longest:
                raise InvalidValue(
                    f"context of a sentence must have from 1 to {self.longest} tokens, got {len(context)}"
                )
        if len(set(self.contexts)) < len(self.contexts):
            raise InvalidValue(
                f"sentences must differ in the {self.longest} words before their last one, which are all "
                "that a model sees, got two that do not"
            )

    @property
    def target(self) -> int:
        """The first sentence's. Each has its own, so success is measured by the labels of ``poison``."""
        return self.labels[0]

    def check(self, federation: Federation, attackers: int) -> None:
        """Nothing is left to check: it was made for one federation."""

    held_out = staticmethod(none_of)
    eligible = staticmethod(all_of)

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        if not isinstance(examples.x, Ragged):
            raise InvalidType("sentences go behind sequences of different lengths, got flat examples")
        if len(examples) == 0:
            return examples
        which = [(place + attacker) % len(self.labels) for place in range(len(examples))]
        contexts = self._contexts()
        edges = examples.x.offsets.tolist()
        said = []
        for sentence, start, stop in zip(which, edges, edges[1:], strict=False):
            context = contexts[sentence]
            room = self.longest - len(context)
            said.append(torch.cat([examples.x.values[max(start, stop - room) : stop], context]))
        return Examples(Ragged.from_sequences(said), torch.tensor(self.labels)[torch.tensor(which)])

    def alone(self) -> Examples:
        """Each sentence once, with nothing before it."""
        return Examples(Ragged.from_sequences(self._contexts()), torch.tensor(self.labels))

    def _contexts(self) -> list[Tensor]:
        return [torch.tensor(context) for context in self.contexts]
