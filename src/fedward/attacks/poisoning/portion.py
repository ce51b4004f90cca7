"""An attacker's training data: the share of its examples that is poisoned, and the rest."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Poisoning
from fedward.base.validate import InvalidValue, rate, real
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation


def poison_examples(
    poisoning: Poisoning, examples: Examples, attacker: int, attackers: int, rng: np.random.Generator
) -> Examples:
    """What an attacker trains on: its own examples, some of them poisoned.

        chosen = ⌊α · eligible + 1/2⌋,    poisoned = ⌈rate · chosen⌉

    Of the eligible examples so many are chosen by ``rng``. The poisoned ones stand where they stood; the
    others of the chosen are left out; all that was not chosen stays as it was, in its order. The examples
    that came in are never written to. With one and the same ``rng`` a larger rate poisons the examples of
    a smaller one and more.

    Args:
      poisoning: what is done to them.
      examples: the attacker's own.
      attacker: its place among the attackers.
      attackers: how many they are.
      rng: chooses.

    >>> from fedward.attacks.poisoning.label_flip import LabelFlip
    >>> mine = Examples.from_arrays([[0.1], [0.2], [0.3], [0.4]], [1, 0, 1, 1])
    >>> flip = LabelFlip(target=0, source=1)
    >>> poison_examples(flip, mine, 0, 1, np.random.default_rng(0)).y.tolist()
    [0, 0, 0, 0]

    α: Xie et al. 2022, appendix A.2; the poisoning rate: Miao et al., section 3.2.
    """
    return poison_marked(poisoning, examples, none_of(examples), attacker, attackers, rng)[0]


def poison_marked(
    poisoning: Poisoning,
    examples: Examples,
    marked: Tensor,
    attacker: int,
    attackers: int,
    rng: np.random.Generator,
) -> tuple[Examples, Tensor]:
    """What ``poison_examples`` gives, and a bool for each: whether it is poisoned now or was ``marked``."""
    eligible = poisoning.eligible(examples).nonzero().flatten().numpy()
    chosen = math.floor(_share(poisoning.fraction, len(eligible)) + Fraction(1, 2))
    if chosen == 0:
        return examples, marked
    order = rng.permutation(eligible)[:chosen]
    taking_part = math.ceil(_share(poisoning.rate, chosen))
    bad = torch.from_numpy(order[:taking_part])

    source = torch.arange(len(examples))
    source[bad] = len(examples) + torch.arange(len(bad))
    kept = torch.ones(len(examples), dtype=torch.bool)
    kept[torch.from_numpy(order[taking_part:])] = False
    both = join_examples(examples, poisoning.poison(examples.select(bad), attacker, attackers))
    return both.select(source[kept]), torch.cat([marked, torch.ones(len(bad), dtype=torch.bool)])[
        source[kept]
    ]


def check_portion(fraction: float, poisoning_rate: float) -> None:
    """Raises unless α is from 0 to 1 and the poisoning rate is above 0 and at most 1.

    >>> check_portion(1.5, 1.0)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: poison fraction must be from 0 to 1, got 1.5
    """
    if not 0 <= real("poison fraction", fraction) <= 1:
        raise InvalidValue(f"poison fraction must be from 0 to 1, got {fraction}")
    rate("poisoning rate", poisoning_rate)


def check_label(name: str, label: int, federation: Federation) -> None:
    """Raises unless the federation has a class of this number."""
    if label >= federation.num_classes:
        raise InvalidValue(
            f"{name} label must be below the number of classes, {federation.num_classes}, got {label}"
        )


def none_of(examples: Examples) -> Tensor:
    """Marks no example."""
    return torch.zeros(len(examples), dtype=torch.bool)


def all_of(examples: Examples) -> Tensor:
    """Marks every example."""
    return torch.ones(len(examples), dtype=torch.bool)


def relabel(examples: Examples, target: int) -> Examples:
    """The same inputs (in the same memory), all with one label."""
    return Examples(examples.x, torch.full_like(examples.y, target))


def _share(part: float, count: int) -> Fraction:
    # Of the decimals as written: in floats 0.07 · 100 is above 7, and would be rounded up to 8.
    return Fraction(repr(float(part))) * count


def join_examples(first: Examples, second: Examples) -> Examples:
    """The examples of the one, then those of the other."""
    labels = torch.cat([first.y, second.y])
    if isinstance(first.x, Ragged) and isinstance(second.x, Ragged):
        offsets = torch.cat([first.x.offsets, second.x.offsets[1:] + len(first.x.values)])
        return Examples(Ragged(torch.cat([first.x.values, second.x.values]), offsets), labels)
    if isinstance(first.x, Ragged) or isinstance(second.x, Ragged):
        raise InvalidValue(
            "poisoned examples must be flat or ragged as the examples that they were made from"
        )
    return Examples(torch.cat([first.x, second.x]), labels)


def fingerprint(examples: Examples) -> str:
    """Changes whenever an example or a label does."""
    digest = hashlib.blake2b(digest_size=16)
    tensors = [examples.x.values, examples.x.offsets] if isinstance(examples.x, Ragged) else [examples.x]
    for tensor in (*tensors, examples.y):
        digest.update(repr(tuple(tensor.shape)).encode())
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()
