"""How long a backdoor outlasts its attackers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedward.base.validate import InvalidValue, rate


@dataclass(frozen=True, kw_only=True)
class Durability:
    """The success of a backdoor in the rounds after the last attack.

    Args:
      last_attack: the round of the last attack, counted from 0.
      success: the success rate by how many rounds after it the model was measured; 0 is that round's own.
      threshold: the success below which a backdoor counts as gone.
      lifespan: the first number of rounds after the last attack at which success was measured below the
        threshold; None if it never was.
      watched: how many rounds after the last attack the last measurement is from.
    """

    last_attack: int
    success: Mapping[int, float]
    threshold: float
    lifespan: int | None
    watched: int

    @classmethod
    def of(cls, measured: Mapping[int, float], last_attack: int, threshold: float = 0.5) -> Durability:
        """From the success after every measured round.

        >>> found = Durability.of({4: 0.9, 5: 0.8, 9: 0.6, 19: 0.3}, last_attack=5)
        >>> found.lifespan, found.watched, dict(found.success)
        (14, 14, {0: 0.8, 4: 0.6, 14: 0.3})

        Zhang et al. 2022 call the lifespan so, with a threshold of one half.
        """
        rate("threshold of durability", threshold)
        after = {round - last_attack: success for round, success in sorted(measured.items())}
        after = {since: success for since, success in after.items() if since >= 0}
        if not after:
            raise InvalidValue(
                "durability needs a measurement in or after the last round of the attack, "
                f"{last_attack}, got none; measure more often (every, under [evaluation])"
            )
        gone = [since for since, success in after.items() if success < threshold]
        return cls(
            last_attack=last_attack,
            success=after,
            threshold=threshold,
            lifespan=gone[0] if gone else None,
            watched=max(after),
        )
