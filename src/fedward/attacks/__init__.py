"""Attacks on federated training: bad data, bad updates, who sends them and when."""

from __future__ import annotations

from fedward.attacks.attack import Attack, Staged
from fedward.attacks.attack_goal import Goal
from fedward.attacks.attack_types import Conduct
from fedward.attacks.attacker import Attacker
from fedward.attacks.model_poisoning import MODEL_POISONINGS
from fedward.attacks.poisoning import POISONINGS
from fedward.attacks.who import WHO, NamedUsers, PerCohort, RandomUsers

__all__ = [
    "MODEL_POISONINGS",
    "POISONINGS",
    "WHO",
    "Attack",
    "Attacker",
    "Conduct",
    "Goal",
    "NamedUsers",
    "PerCohort",
    "RandomUsers",
    "Staged",
]
