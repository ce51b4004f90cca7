"""The promises of a poisoning of updates: it does what it declares, with no more than it needs to know."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import ModelPoisoning, OwnWayToTrain
from fedward.attacks.declared import check_declared
from fedward.core.types import LocalTrainer, Sight
from fedward.local import DPSGD
from fedward.testing.conformance import Promise, broken, not_applicable
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, left_alone, require_repeatable, same_bits
from fedward.testing.small_world import random_rows, small_trainer

_SIZE, _USER, _BOUNDS = 6, 1, (0.7,)
_OTHERS = (4, 9)


def private_trainer() -> DPSGD:
    """A trainer that protects its user, for attackers to skip what it owes."""
    return DPSGD(
        learning_rate=0.1, probability=0.4, expected_batch=2.0, steps=1, noise_multiplier=1.0, clip_bound=0.5
    )


def _trainer(part: ModelPoisoning) -> LocalTrainer:
    return private_trainer() if part.conduct.skips_local_privacy else small_trainer()


def _update(seed: int = 0) -> Tensor:
    return 0.1 * random_rows(1, _SIZE, seed)[0]


def _sight(
    part: ModelPoisoning, update: Tensor, *, everything: bool, honest: int = 7, seed: int = 1
) -> Sight:
    """The least that the attack says that it needs; ``everything`` adds rows that it must not read."""
    others = [0.1 * row for row in random_rows(len(_OTHERS), _SIZE, seed)]
    own = {_USER: update.clone()}
    if part.conduct.needs_all_rows or everything:
        own |= dict(zip(_OTHERS, others, strict=True))
    knows = part.needs == "cohort"
    rows = 0.1 * torch.stack(random_rows(honest, _SIZE, seed + 1)) if honest else torch.zeros(0, _SIZE)
    return Sight(
        round=0,
        parameters=torch.zeros(_SIZE),
        bounds=_BOUNDS,
        own=own,
        cohort=tuple(range(10)) if knows else None,
        honest=rows if knows and (part.conduct.needs_all_rows or everything) else None,
    )


def _tamper(part: ModelPoisoning, update: Tensor, *, everything: bool = False, honest: int = 7) -> Tensor:
    sight = _sight(part, update, everything=everything, honest=honest)
    return part.tamper(update.clone(), sight, np.random.default_rng(0))


def _declares_itself(part: ModelPoisoning) -> None:
    check_declared(part)


def _sends_an_update(part: ModelPoisoning) -> None:
    for update in (_update(), torch.zeros(_SIZE)):
        for honest in (7, 1, 0):
            sent = require_repeatable(partial(_tamper, part, update, honest=honest), "tamper")
            if not isinstance(sent, Tensor) or sent.shape != (_SIZE,):
                broken(
                    f"tamper gave {in_short(sent)} for an update of shape ({_SIZE},)", "Return the same shape"
                )
            if not bool(torch.isfinite(sent).all()):
                broken(
                    f"tamper made {in_short(sent)} of {in_short(update)}, with {honest} honest rows to see",
                    "Send finite numbers: the server makes zeros of others",
                )


def _reads_what_it_declares(part: ModelPoisoning) -> None:
    if part.conduct.needs_all_rows:
        not_applicable("it says that it reads all rows that it may see")
    alone, beside = (_tamper(part, _update(), everything=everything) for everything in (False, True))
    if not same_bits(alone, beside):
        broken(
            f"needs_all_rows is False, but rows of others changed what it sends from {in_short(alone)} to "
            f"{in_short(beside)}",
            "Say needs_all_rows = True, or read the own row only: otherwise the others are never there",
        )


def _discards_what_it_declares(part: ModelPoisoning) -> None:
    same = all(
        same_bits(_tamper(part, _update(0), honest=honest), _tamper(part, _update(5), honest=honest))
        for honest in (7, 0)
    )
    if part.conduct.discards_update and not same:
        broken("discards_update is True, but what it sends depends on what was trained", "Say False")
    if not part.conduct.discards_update and same:
        broken(
            "discards_update is False, but it sends the same whatever was trained",
            "Say True: bad data has no effect then, and fedward notes it beside the result",
        )


def _trains_as_it_declares(part: ModelPoisoning) -> None:
    if not isinstance(part, OwnWayToTrain):
        not_applicable("its users train as they are told")
    given = _trainer(part)
    with left_alone("trainer", given):
        used = part.trainer(given, 0, _BOUNDS)
    if used != part.trainer(given, 0, _BOUNDS):
        broken("two calls of trainer gave trainers that differ", "Return equal trainers for equal rounds")
    if used == given:
        broken(
            f"trains_its_own_way is True, but trainer returns {in_short(given)} as it came",
            "Return the trainer that attackers use, or leave out the method and the flag",
        )


TAMPERING_PROMISES: tuple[Promise[ModelPoisoning], ...] = (
    *VALUE_PROMISES,
    Promise(says="declares what it needs and does", check=_declares_itself),
    Promise(says="sends a finite update, the same each time", check=_sends_an_update),
    Promise(says="reads no row but its own unless it says so", check=_reads_what_it_declares),
    Promise(says="uses or discards what was trained as it says", check=_discards_what_it_declares),
    Promise(says="trains as it says", check=_trains_as_it_declares),
)
"""What a poisoning of updates promises."""
