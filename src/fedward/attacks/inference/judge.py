"""The evaluation of membership attacks: scores of every record, beside what privacy allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.attacks.inference.auc import Floats
from fedward.attacks.inference.evidence import Evidence
from fedward.attacks.inference.limit import Limit
from fedward.attacks.inference.membership import MEMBERSHIP_ATTACKS
from fedward.attacks.inference.promised_limit import membership_limit
from fedward.attacks.inference.roc import Roc
from fedward.attacks.inference.trials import MembershipInference, Trial
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.privacy.guarantee import Unit

Confidences = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class Membership:
    """What membership attacks found, beside what privacy allows them to find.

    Args:
      unit: what was asked about.
      targets, shadows: how many trainings there were of each kind.
      attacks: the ROC curve of each attack, by name.
      limit: on all of them.
      member_loss, other_loss: the targets' mean loss on records that they have seen, and on others.
    """

    unit: Unit
    targets: int
    shadows: int
    attacks: dict[str, Roc]
    limit: Limit
    member_loss: float
    other_loss: float

    @property
    def crossed(self) -> dict[str, tuple[str, ...]]:
        """Where an attack found more than privacy allows: an error in the accounting, or in the program."""
        found = {name: self.limit.crossed(roc) for name, roc in self.attacks.items()}
        return {name: where for name, where in found.items() if where}

    def to_json(self) -> dict[str, Any]:
        """Everything but the curves, as plain values."""
        return {
            "unit": self.unit,
            "targets": self.targets,
            "shadows": self.shadows,
            "attacks": {name: roc.to_json() for name, roc in self.attacks.items()},
            "limit": self.limit.to_json(),
            "crossed": {name: list(where) for name, where in self.crossed.items()},
            "member_loss": self.member_loss,
            "other_loss": self.other_loss,
        }


def judge(
    config: MembershipInference,
    algorithm: Algorithm,
    federation: Federation,
    found: Mapping[Trial, Confidences],
    *,
    rounds: int,
    seed: int,
) -> Membership:
    """Attacks every target with the shadows' help, and puts the scores together.

    Args:
      algorithm: as it was trained.
      federation: the whole, of which each training saw a half.
      found: for every trial the scaled confidence in each example of the whole.
      rounds: how many rounds the targets had.
      seed: of the halves.
    """
    halves = config.halves(algorithm, seed)
    candidates = halves.candidates(federation)
    # One example of each user is always trained on: nothing can be asked about it.
    columns = candidates if config.unit == "example" else np.ones(len(federation.examples), dtype=np.bool_)
    offsets = federation.offsets.numpy() if config.unit == "user" else None
    shadows = np.stack([found[trial][columns] for trial in config.shadow_trials]).astype(np.float64)
    inside = np.stack([trial.inside(halves, federation)[candidates] for trial in config.shadow_trials])
    scores: dict[str, list[Floats]] = {name: [] for name in MEMBERSHIP_ATTACKS}
    truths, losses = [], []
    for trial in config.target_trials:
        target = found[trial][columns].astype(np.float64)
        evidence = Evidence(target=target, shadows=shadows, inside=inside, offsets=offsets)
        for name, attack in MEMBERSHIP_ATTACKS.items():
            scores[name].append(attack.scores(evidence))
        truths.append(trial.inside(halves, federation)[candidates])
        losses.append(evidence.losses())
    truth, loss = np.concatenate(truths), np.concatenate(losses)
    trained_on = federation.num_users // 2 if halves.exact else federation.num_users
    return Membership(
        unit=config.unit,
        targets=config.targets,
        shadows=config.shadows,
        attacks={name: Roc.of(np.concatenate(parts), truth) for name, parts in scores.items()},
        limit=membership_limit(algorithm, config.unit, trained_on, rounds),
        member_loss=float(loss[truth].mean()),
        other_loss=float(loss[~truth].mean()),
    )
