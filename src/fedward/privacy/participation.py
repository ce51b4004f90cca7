"""A schema of participation: how often and how far apart one user may take part in a training."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.base.validate import whole


@dataclass(frozen=True, kw_only=True)
class Participation:
    """Every user takes part in at most ``most`` rounds, of which each two are at least ``separation`` apart.

    The server keeps to it, whoever is online and whatever an attacker would like: it is a fact about a
    training, not an assumption about users.

    Args:
      most: r.
      separation: b: after round t a user may take part in round t + b again, and not before.

    >>> str(Participation(most=3, separation=10))
    'each user in at most 3 rounds, at least 10 apart'
    >>> Participation(most=3, separation=10).allows(Participation(most=2, separation=12))
    True
    """

    most: int
    separation: int

    def __post_init__(self) -> None:
        whole("participations", self.most)
        whole("separation", self.separation)

    def __str__(self) -> str:
        rounds = "1 round" if self.most == 1 else f"{self.most:,} rounds"
        return f"each user in at most {rounds}, at least {self.separation:,} apart"

    def allows(self, other: Participation) -> bool:
        """Whether everybody who keeps to ``other`` keeps to this one."""
        return other.most <= self.most and (other.separation >= self.separation or other.most == 1)
