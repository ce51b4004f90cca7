"""The probability that a forger is caught by training some replicas again."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from fedward.base.validate import InvalidValue, whole

SHARES = (Fraction(1, 3), Fraction(1, 10))
"""The shares of false replicas that a check says its probability for."""


@dataclass(frozen=True, kw_only=True)
class Catch:
    """How surely a forger is caught who did not know which replicas are trained again.

    Args:
      share: p, of the replicas that are false.
      false: how many that is, of all M: the least whole number that is no smaller share.
      probability: that at least one of them is among the N that are trained again, 1 - C(M - F, N) / C(M, N).
      at_least: 1 - (1 - p)^N, which does not depend on M. Replicas are taken without replacement, so the
        probability is never smaller.
    """

    share: float
    false: int
    probability: float
    at_least: float

    def to_json(self) -> dict[str, float | int]:
        return asdict(self)


def catch(replicas: int, retrained: int, share: Fraction) -> Catch:
    """The probability that N of M replicas, taken at random without replacement, hold a false one.

    >>> found = catch(100, 30, Fraction(1, 3))
    >>> found.false, round(found.at_least, 6), found.probability > found.at_least
    (34, 0.999995, True)
    >>> catch(3, 3, Fraction(1, 3)).probability
    1.0
    """
    whole("number of replicas", replicas)
    if not 1 <= whole("number of replicas to train again", retrained) <= replicas:
        raise InvalidValue(
            f"number of replicas to train again must be at most the {replicas:,} there are, got {retrained:,}"
        )
    if not 0 < share <= 1:
        raise InvalidValue(f"share of false replicas must be above 0 and at most 1, got {share}")
    false = math.ceil(share * replicas)
    # In whole numbers: differences of nearly equal floats would be all that is left of it.
    missed = Fraction(math.comb(replicas - false, retrained), math.comb(replicas, retrained))
    return Catch(
        share=float(share),
        false=false,
        probability=_float_down(1 - missed),
        at_least=_float_down(1 - (1 - share) ** retrained),
    )


def _float_down(exact: Fraction) -> float:
    """The largest float that is no larger: nearly certain is not certain."""
    found = float(exact)
    return math.nextafter(found, 0.0) if Fraction(found) > exact else found
