"""The examples that are decided: further replicas would not change what is certified against some k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, whole
from fedward.certificates.confidence import OF_COUNTS
from fedward.certificates.confidence.top_class import ANY_TIME
from fedward.certificates.prediction import margin
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Tally
from fedward.privacy.group import group_curve

# Coarser than what misses by little is certified with: an example may be called undecided a little longer.
_INTERVAL = 1e-2


def decided(setting: Setting, tally: Tally, attackers: Sequence[int]) -> NDArray[np.bool_]:
    """Which examples are certified against each of these k, or never will be; for all threats of the setting.

        certified:   with the lower bound of the top class and the upper bounds of all others
        hopeless:    not even with the upper bound of the top class and the lower bounds of all others

    Guarantee: none is needed. The bounds hold at all numbers of replicas at once, so that a certificate holds
    whenever somebody stops, for whatever reason; this is a good reason.

    Args:
      setting: with a method that holds at any time and that counts are enough for.
      tally: the votes so far.
      attackers: k, each.
    """
    rule = setting.confidence
    if rule.method not in ANY_TIME or rule.method not in OF_COUNTS:
        raise InvalidValue(
            f"method must be betting_votes to stop once examples are decided, got {rule.method!r}"
        )
    bound, error = OF_COUNTS[rule.method], rule.each(tally.classes, tally.examples)
    rows, top = np.arange(tally.examples), tally.counts.argmax(axis=1)
    least, most = (bound(tally.counts, len(tally), error, side) for side in ("lower", "upper"))
    others_least, others_most = least.copy(), most.copy()
    others_least[rows, top] = others_most[rows, top] = 0.0
    sure = least[rows, top], np.minimum(1.0 - least[rows, top], others_most.max(axis=1))
    hoped = most[rows, top], others_least.max(axis=1)
    found = np.ones(tally.examples, dtype=np.bool_)
    for k in attackers:
        whole("attackers to decide about", k)
        curve = group_curve(setting.spending, k, interval=_INTERVAL)
        for threat in setting.threats:
            found &= (margin(*sure, curve, threat) > 0) | (margin(*hoped, curve, threat) <= 0)
    return found
