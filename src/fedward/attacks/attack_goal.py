"""The test examples, clean and with a trigger, on which the success of an attack is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Poisoning
from fedward.attacks.poisoning.portion import join_examples
from fedward.attacks.poisoning.unprepared import Following, ShownOnOthers, StandsAlone
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples


@dataclass(frozen=True, eq=False, kw_only=True)
class Goal:
    """Test examples, some for the main task and some with a trigger; none is in both.

    ``triggered`` has an entry for each poisoning: its name and the examples, poisoned whole, whose true
    label was not the target; their label is the target now. Triggers that need no example, such as a
    sentence, stand before them once each. A model's accuracy on all of these is the attack's success rate,
    its mean loss the attack cost J of examples 1 and 2 in Xie et al.

    A trigger that is fitted to the model has the name and the examples before it is planted in ``following``
    as well; ``at_model`` plants it.
    """

    clean: Examples
    triggered: tuple[tuple[str, Examples], ...]
    following: tuple[tuple[str, Following, Examples], ...] = ()

    def at_model(self, parameters: Tensor) -> Goal:
        """The goal with the triggers that attackers would put on to be seen by this model."""
        if not self.following:
            return self
        fitted = {name: part.at_model(parameters).poison(examples) for name, part, examples in self.following}
        triggered = tuple((name, fitted.get(name, examples)) for name, examples in self.triggered)
        return replace(self, triggered=triggered)


def split_test(
    test: Examples, attacks: Sequence[tuple[str, Poisoning]], share: float, rng: np.random.Generator
) -> Goal:
    """Deals the test examples out: those with a natural backdoor to it, a share of the rest to the others.

    Args:
      attacks: poisonings and what to call them.
      share: of the test examples, to which triggers are put. What cannot carry one there (its true label is
        the target) counts for nothing, so that the main task is measured on the others alone.
    """
    free = torch.ones(len(test), dtype=torch.bool)
    parts: dict[int, Tensor] = {}
    for place, (_, poisoning) in enumerate(attacks):
        natural = poisoning.held_out(test)
        if bool(natural.any()):
            parts[place] = torch.nonzero(natural & free).flatten()
            free &= ~natural
    artificial = [place for place in range(len(attacks)) if place not in parts]
    if artificial:
        candidates = torch.nonzero(free).flatten().numpy()
        taken = rng.permutation(candidates)[: round(share * len(candidates))]
        free[torch.from_numpy(taken)] = False
        if len(taken) < len(artificial):
            name = attacks[artificial[len(taken)]][0]
            raise InvalidValue(
                f"no test example can show whether {name} succeeds: 0 are set aside for it, because share of "
                f"triggered test examples is {share} and there are {len(candidates)} to be shared out among "
                f"{len(artificial)} {'attack' if len(artificial) == 1 else 'attacks'}"
            )
        for number, place in enumerate(artificial):
            parts[place] = torch.from_numpy(np.sort(taken[number :: len(artificial)]))
    triggered, following = [], []
    for place, (name, poisoning) in enumerate(attacks):
        examples = test.select(parts[place])
        planted, shown = _plant_trigger(name, poisoning, examples)
        triggered.append((name, planted))
        if isinstance(poisoning, Following):
            following.append((name, poisoning, examples.select(shown)))
    clean = test.select(torch.nonzero(free).flatten()) if attacks else test
    if len(clean) == 0:
        raise InvalidValue(
            f"no test example is left for the main task: share of triggered test examples is {share}"
        )
    return Goal(clean=clean, triggered=tuple(triggered), following=tuple(following))


def _plant_trigger(name: str, poisoning: Poisoning, examples: Examples) -> tuple[Examples, Tensor]:
    """The examples with the trigger, and which of them can show whether it works."""
    if len(examples) == 0:
        raise InvalidValue(
            f"no test example can show whether {name} succeeds: 0 are set aside for it, because an attack "
            "before it has taken all that it could have"
        )
    # The label that each of them would get: a poisoning may have several targets.
    bad = poisoning.poison(examples)
    able = poisoning.shown if isinstance(poisoning, ShownOnOthers) else poisoning.eligible
    wanted = able(examples) & (examples.y != bad.y)
    if not bool(wanted.any()):
        targets = ", ".join(map(str, sorted(set(bad.y.tolist()))))
        raise InvalidValue(
            f"no test example can show whether {name} succeeds: {len(examples)} are set aside for it, and "
            f"all of them have the target label {targets} or cannot carry the attack"
        )
    places = torch.nonzero(wanted).flatten()
    shown = bad.select(places)
    if isinstance(poisoning, StandsAlone):
        shown = join_examples(poisoning.alone(), shown)
    return shown, places
