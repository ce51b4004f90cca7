"""The draw of a certification: the name of the random streams that belong to what is claimed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedward.certificates.confidence import ANY_TIME
from fedward.certificates.others.certain import Rule

_FORMAT = "fedward claims 1"


@dataclass(frozen=True, kw_only=True)
class CostClaims:
    """What is claimed about the cost of an attack besides.

    Args:
      attackers: the numbers of attackers that are tried, 0 first.
      bounds: C̄ of each variant.
    """

    attackers: tuple[int, ...]
    bounds: Mapping[str, float]


def draw_of_claims(
    rule: Rule,
    *,
    score: str,
    threats: Sequence[str],
    attendance: str,
    costs: CostClaims | None = None,
    by: Mapping[str, Any] | None = None,
) -> str:
    """The draw whose replicas these claims are about: the same claims name the same one, others another.

    So whoever looks at the replicas of some claims and then claims something else, in whatever directory,
    gets replicas that share no sampling and no noise with those that were seen. The number of replicas is
    part of what is claimed, except where the bounds hold at all numbers at once: there replicas are added.

    Args:
      rule: how the means over the replicas are bounded, with M.
      score: ``confidence`` or ``vote``.
      threats, attendance: against whom.
      costs: where the cost of an attack is bounded.
      by: by which other proof, as plain values; None for fedward's own.

    >>> from fedward.certificates.confidence import Confidence
    >>> a, b = (
    ...     draw_of_claims(Confidence(looks=(m,)), score="confidence", threats=["inject"], attendance="drawn")
    ...     for m in (12, 24)
    ... )
    >>> a == b, len(a)
    (False, 32)
    """
    claimed = {
        "format": _FORMAT,
        # Costs are bounded at one number of replicas, whatever the method.
        "replicas": None if rule.method in ANY_TIME and costs is None else rule.replicas,
        "method": rule.method,
        # As a float, so that 1 and 1.0 are the same error, and with all its digits.
        "error": repr(float(rule.error)),
        "simultaneous": rule.simultaneous,
        "score": score,
        "threats": sorted(threats),
        "attendance": attendance,
        "costs": None
        if costs is None
        else {
            "attackers": list(costs.attackers),
            "bounds": {name: repr(float(bound)) for name, bound in costs.bounds.items()},
        },
    }
    if by is not None:  # without, the name is the one it always was
        claimed["by"] = dict(by)
    text = json.dumps(claimed, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
