"""The promises of a poisoning of data: which examples it can be made from, and what they become."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Poisoning
from fedward.attacks.poisoning import poison_examples
from fedward.attacks.poisoning.unprepared import StandsAlone, ready
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.testing.conformance import Promise, broken, promises_of
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, require_repeatable

ATTACKERS = 3


@dataclass(frozen=True)
class PoisoningTrial:
    """A poisoning, and the federation that it is tried on."""

    part: Any
    federation: Federation

    def ready(self) -> Poisoning:
        return ready(self.part, self.federation)

    def mine(self) -> Examples:
        """The examples of an attacker that owns the most of those that can be poisoned."""
        users = range(min(self.federation.num_users, 50))
        return max(map(self.federation.user, users), key=lambda own: int(self.ready().eligible(own).sum()))


def _part(trial: PoisoningTrial) -> Any:
    return trial.part


def poisoning_promises() -> tuple[Promise[PoisoningTrial], ...]:
    """What a poisoning of data promises."""
    return (*promises_of(_part, VALUE_PROMISES), *_PROMISES)


def _declares_itself(trial: PoisoningTrial) -> None:
    part = trial.ready()
    if not 0 <= part.fraction <= 1 or not 0 < part.rate <= 1:
        broken(
            f"fraction is {part.fraction!r} and rate is {part.rate!r}",
            "Return shares: fraction from 0 to 1, rate above 0 and at most 1",
        )
    if (
        isinstance(part.target, bool)
        or not isinstance(part.target, int)
        or not (0 <= part.target < trial.federation.num_classes)
    ):
        broken(
            f"target is {part.target!r} and there are {trial.federation.num_classes} classes",
            "Return a label, and refuse one that the data does not have in check",
        )
    trial.part.check(trial.federation, ATTACKERS)


def _marks_examples(trial: PoisoningTrial) -> None:
    part, mine = trial.ready(), trial.mine()
    held_out = check_mask("held_out", part.held_out, mine)
    eligible = check_mask("eligible", part.eligible, mine)
    if bool((held_out & ~eligible).any()):
        broken(
            "an example that no honest user may own is not eligible for attackers either",
            "Let eligible include all that held_out marks",
        )
    if not bool(eligible.any()):
        broken(
            "no example can be poisoned",
            "Give the check a federation that has some, or refuse this one in check",
        )


def _poisons(trial: PoisoningTrial) -> None:
    part, mine = trial.ready(), trial.mine()
    chosen = mine.select(part.eligible(mine).nonzero().flatten())
    for attacker in range(ATTACKERS):
        poison = partial(part.poison, chosen, attacker, ATTACKERS)
        _check_poisoned(part, require_repeatable(poison, "poison", chosen), chosen)
    _check_poisoned(part, part.poison(chosen), chosen)


def _check_poisoned(part: Poisoning, bad: Any, examples: Examples) -> None:
    if not isinstance(bad, Examples) or len(bad) != len(examples):
        broken(
            f"poison gave {in_short(bad)} for {len(examples)} examples", "Return as many Examples, poisoned"
        )
    if isinstance(bad.x, Ragged) != isinstance(examples.x, Ragged):
        broken("poison made flat examples ragged, or the other way round", "Return examples of the same kind")
    old, new = _values(examples), _values(bad)
    if new.dtype != old.dtype or (not isinstance(bad.x, Ragged) and new.shape != old.shape):
        broken(
            f"poison made {tuple(new.shape)} {new.dtype} of {tuple(old.shape)} {old.dtype}",
            "Keep shape and type of the inputs",
        )
    if new.is_floating_point() and not bool(torch.isfinite(new).all()):
        broken("poisoned inputs hold NaN or infinity", "Keep them finite: clamp what is added")
    # Triggers that are inputs of their own may each have a label of its own.
    wanted = set(part.alone().y.tolist()) if isinstance(part, StandsAlone) else {part.target}
    if bad.y.dtype != torch.int64 or not set(bad.y.tolist()) <= wanted:
        broken(
            f"poisoned examples have the labels {bad.y.tolist()[:5]} and target is {part.target}",
            "Give each poisoned example the target label",
        )


def _leaves_the_rest(trial: PoisoningTrial) -> None:
    part, mine = trial.ready(), trial.mine()
    keep = ~part.eligible(mine)
    trained = require_repeatable(
        lambda: poison_examples(part, mine, 0, ATTACKERS, np.random.default_rng(0)), "poisoning", mine
    )
    if not len(trained):
        broken("an attacker is left without an example", "Let rate be above 0")
    if not isinstance(mine.x, Ragged) and isinstance(trained.x, Tensor):
        rows = {row.numpy().tobytes() for row in trained.x}
        if any(row.numpy().tobytes() not in rows for row in mine.x[keep]):
            broken(
                "an example that is not eligible was changed", "Poison what eligible marks, and nothing else"
            )


def check_mask(name: str, mask: Any, examples: Examples) -> Tensor:
    """The marks of examples, a bool each and the same each time."""
    marks: Any = require_repeatable(lambda: mask(examples), name, examples)
    if not isinstance(marks, Tensor) or marks.dtype != torch.bool or marks.shape != (len(examples),):
        broken(
            f"{name} gave {in_short(marks)} for {len(examples)} examples", "Return one bool for each example"
        )
    return marks


def _values(examples: Examples) -> Tensor:
    return examples.x.values if isinstance(examples.x, Ragged) else examples.x


_PROMISES: tuple[Promise[PoisoningTrial], ...] = (
    Promise(says="declares its shares and its target", check=_declares_itself),
    Promise(says="marks examples with a bool each", check=_marks_examples),
    Promise(says="makes poisoned copies and writes to no data", check=_poisons),
    Promise(says="leaves examples alone that are not eligible", check=_leaves_the_rest),
)
