"""What steps before a rule share: they mix rows, so the rule must not mind whose they are."""

from __future__ import annotations

from torch import Tensor

from fedward.aggregation.all_rows import Rule, WatchingRule
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.types import Memory


def require_mixable(rule: Rule, step: str) -> None:
    """Raises in words if the rule is none, or goes by who sent a row."""
    if not hasattr(rule, "combine"):
        raise InvalidType(f"rule must combine all rows of a round, got {rule!r}")
    if isinstance(rule, WatchingRule) and (rule.knows_users or rule.root_user is not None):
        raise InvalidValue(f"{step} mixes rows, and its rule must not go by who sent them, got {rule}")


def noise_of(rule: Rule) -> str:
    """Why no ε covers the noise that the rule adds; empty if it adds none."""
    return rule.own_noise if isinstance(rule, WatchingRule) else ""


def memory_of(rule: Rule, parameters: Tensor) -> Memory:
    """What the rule remembers before round 0."""
    return rule.first_memory(parameters) if isinstance(rule, WatchingRule) else ()
