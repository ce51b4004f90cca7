"""The evaluation of property inference: a classifier trained on simulated rounds judges real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedward.attacks.inference.limit import Limit
from fedward.attacks.inference.participant import Observation
from fedward.attacks.inference.promised_limit import property_limit
from fedward.attacks.inference.roc import Roc
from fedward.attacks.inference.snapshots import classify_snapshots
from fedward.attacks.inference.streams import seed_of
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm

LEAST_ROUNDS = 10
"""With fewer, chance may leave one kind of round out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Property:
    """What the attacker found out about the rounds, beside what privacy allows it to find out.

    Args:
      rounds: how many were asked about.
      roc: over these rounds; a round with the property is a positive.
      limit: on any attack.
    """

    rounds: int
    roc: Roc
    limit: Limit

    @property
    def crossed(self) -> tuple[str, ...]:
        """Where the attack found more than privacy allows: an error in the accounting, or in the program."""
        return self.limit.crossed(self.roc)

    def to_json(self) -> dict[str, Any]:
        """Everything but the curve, as plain values."""
        return {
            "rounds": self.rounds,
            **self.roc.to_json(),
            "limit": self.limit.to_json(),
            "crossed": list(self.crossed),
        }


def judge_rounds(
    algorithm: Algorithm,
    num_users: int,
    observed: Sequence[Observation],
    *,
    seed: int,
    trees: int = 100,
    warm_up: int = 0,
) -> Property:
    """Trains the classifier on all simulated snapshots and asks it about the observed ones.

    Args:
      algorithm: as it was trained, for the limit.
      num_users: how many users there are.
      observed: what the attacker kept of each round.
      seed: of the classifier.
      trees: of its forest.
      warm_up: first rounds that are left out.
    """
    kept = [each for each in observed if each.round >= warm_up]
    if len(kept) < LEAST_ROUNDS:
        raise InvalidValue(
            f"property inference needs at least {LEAST_ROUNDS} rounds after the warm-up, got {len(kept)}"
        )
    known = np.stack([each.simulated for each in kept])
    truth = np.broadcast_to(np.array([False, True])[None, :, None], known.shape[:3])
    sure = classify_snapshots(
        known.reshape(-1, known.shape[-1]),
        truth.reshape(-1),
        np.stack([each.seen for each in kept]),
        trees=trees,
        seed=seed_of(seed, "classifier"),
    )
    return Property(
        rounds=len(kept),
        roc=Roc.of(sure, np.array([each.truth for each in kept])),
        limit=property_limit(algorithm, num_users, max(each.round for each in kept) + 1),
    )
