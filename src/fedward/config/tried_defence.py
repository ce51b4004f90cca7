"""The defence of an experiment, and whether its attackers know it: for marks where results are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fedward.attacks import MODEL_POISONINGS
from fedward.attacks.adaptive import Tried

MARK = "†"
"""Stands behind the success of an attack on a defence that nobody tried who knew it."""

MEANING = (
    "† nobody tried this defence who knew it (adaptive_backdoor, say): what it withstands from others says "
    "little about it"
)

_NO_DEFENCE = ("fedavg", "fedsgd")


def tried_defence(experiment: Mapping[str, Any]) -> Tried | None:
    """What an experiment, as its files hold it, tries; None without attackers, or without a defence.

    An attack of somebody's own counts as one that does not know the defence: its file cannot be asked.

    >>> attack = {"model": [{"name": "adaptive_backdoor"}]}
    >>> tried_defence({"algorithm": {"preset": "median"}, "attack": attack}).adapts
    True
    """
    attack, algorithm = experiment.get("attack"), experiment["algorithm"]
    if not attack or algorithm.get("preset") in _NO_DEFENCE:
        return None
    names = [part.get("name") for part in attack.get("model") or ()]
    adapts = any(_adapts(name) for name in names if isinstance(name, str))
    return Tried(defence=json.dumps(algorithm, sort_keys=True, default=str), adapts=adapts)


def _adapts(name: str) -> bool:
    part = MODEL_POISONINGS.get(name)
    return part is not None and bool(getattr(part.conduct, "adapts", False))
