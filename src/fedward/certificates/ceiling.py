"""The ceiling that the number of replicas sets: no scores of M trainings certify a larger k."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedward.base.validate import InvalidValue, one_of, open_unit, whole
from fedward.certificates.confidence import METHODS, OF_COUNTS, Confidence
from fedward.certificates.confidence.betting import MOST_LOSS
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.prediction import FINER, MOST, certified_k, margin
from fedward.certificates.setting import Setting
from fedward.privacy.group import Threat, group_curve
from fedward.privacy.spending import Spending

# Nobody trains more often.
MOST_REPLICAS = 10**7
_HALVINGS = 40
_INTERVAL = 1e-2


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The largest k that M trainings can certify against one threat, however good their models are.

    Args:
      threat: inject, present or compromise.
      replicas: M.
      k: the largest k of any scores; -1 if not even the clean prediction can be certified.
      most: the last k that was tried: there it means "at least".
      more: a larger M, and the k that it allows; None where more trainings do not help.
    """

    threat: Threat
    replicas: int
    k: int
    most: int
    more: tuple[int, int] | None = None


def best_lower(method: str, replicas: int, error: float) -> float:
    """The largest lower bound that a method gives for any M values in [0, 1].

        clopper_pearson        error^(1/M)
        hoeffding              1 - sqrt(log(1 / error) / (2 M))
        empirical_bernstein    1 - 7 log(2 / error) / (3 (M - 1))
        betting_votes          the p with p^M = error B(M + 1/2, 1/2) / B(1/2, 1/2)
        betting                the m with (1 + c (1 - m) / m)^M = 1 / error,    c = 3/4

    The first four are reached by M ones. For betting it is an upper bound, since no bet exceeds c / m and no
    value 1; M ones come close to it. The least upper bound of any other class is 1 minus this.

    >>> round(best_lower("clopper_pearson", 1000, 0.01), 4), round(best_lower("betting", 1000, 0.01), 4)
    (0.9954, 0.9939)
    """
    one_of("method", method, METHODS)
    whole("number of replicas", replicas)
    open_unit("error", error)
    if method in OF_COUNTS:
        return float(OF_COUNTS[method](replicas, replicas, error, "lower"))
    if method == "hoeffding":
        return max(0.0, 1.0 - math.sqrt(math.log(1.0 / error) / (2 * replicas)))
    if method == "empirical_bernstein":
        if replicas < 2:
            return 0.0
        return max(0.0, 1.0 - 7.0 * math.log(2.0 / error) / (3.0 * (replicas - 1)))
    return MOST_LOSS / (MOST_LOSS + math.expm1(math.log(1.0 / error) / replicas))


def needed_lower(spending: Spending, k: int, threat: Threat) -> float | None:
    """The least lower bound of a top class that is certified against k, if all others share the rest.

    Guarantee: a prediction with a lower bound of L on its top class, and 1 - L or less for the others, is
    certified against k wherever L is at least this. None if no L below 1 is enough.

    >>> from dp_accounting import GaussianDpEvent
    >>> round(needed_lower([(GaussianDpEvent(4.0), 1)], 2, "inject"), 3)
    0.691
    """
    if k == 0:
        return float(np.nextafter(0.5, 1.0))
    curve = group_curve(spending, k, interval=_INTERVAL / FINER)

    def enough(low: float) -> bool:
        return bool(margin(np.array([low]), np.array([1.0 - low]), curve, threat)[0] > 0)

    low, high = 0.5, 1.0 - 1e-12
    if not enough(high):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def ceiling_k(
    spending: Spending,
    threat: Threat,
    confidence: Confidence,
    *,
    classes: int,
    examples: int,
    most: int = MOST,
) -> int:
    """The largest k that M replicas certify for any example, whatever their scores; -1 if there is none.

    Guarantee: no certificate of this many replicas has a larger k. All replicas voting for one class reach it
    with ``clopper_pearson``, ``betting_votes``, ``hoeffding`` and ``empirical_bernstein``.

    >>> from dp_accounting import GaussianDpEvent
    >>> rule = Confidence(looks=(100,), method="clopper_pearson")
    >>> ceiling_k([(GaussianDpEvent(4.0), 1)], "inject", rule, classes=10, examples=359)
    5
    """
    low = best_lower(confidence.method, confidence.replicas, confidence.each(classes, examples))
    return int(certified_k([low], [1.0 - low], spending, threat, most=most)[0])


def replicas_needed(lower: float, method: str, error: float) -> int | None:
    """The least M whose best lower bound is at least this; None if it is beyond ``MOST_REPLICAS``.

    >>> replicas_needed(0.9954, "clopper_pearson", 0.01)
    999
    """

    def enough(replicas: int) -> bool:
        return best_lower(method, replicas, error) >= lower

    return least_whole(enough, MOST_REPLICAS)


def replicas_for(
    k: int, spending: Spending, threat: Threat, confidence: Confidence, *, classes: int, examples: int
) -> int | None:
    """The least M with which k can be certified at all; None where no number of trainings is enough."""
    lower = needed_lower(spending, whole("k", k, at_least=0), threat)
    if lower is None:
        return None
    return replicas_needed(lower, confidence.method, confidence.each(classes, examples))


def ceilings(setting: Setting | OtherSetting, *, classes: int, examples: int) -> tuple[Ceiling, ...]:
    """The ceiling of each threat, and what more trainings would allow; none where the proof is another."""
    if isinstance(setting, OtherSetting):
        return ()
    rule, spending = setting.confidence, setting.spending
    found = []
    for threat in setting.threats:
        most = setting.most(threat)
        k = ceiling_k(spending, threat, rule, classes=classes, examples=examples, most=most)
        more = None if k >= most else _more(k, most, spending, threat, rule, classes, examples)
        found.append(Ceiling(threat=threat, replicas=rule.replicas, k=k, most=most, more=more))
    return tuple(found)


def _more(
    k: int, most: int, spending: Spending, threat: Threat, rule: Confidence, classes: int, examples: int
) -> tuple[int, int] | None:
    """The k that ten times as many replicas allow and a round number of them that does; else one k more."""

    def reached(replicas: int) -> int:
        larger = Confidence(
            looks=(replicas,), method=rule.method, error=rule.error, simultaneous=rule.simultaneous
        )
        return ceiling_k(spending, threat, larger, classes=classes, examples=examples, most=most)

    for wanted in (reached(10 * rule.replicas), max(1, k + 1)):
        if wanted > k:
            least = replicas_for(wanted, spending, threat, rule, classes=classes, examples=examples)
            if least is not None and (there := reached(replicas := round_up_count(least))) > k:
                return replicas, there
    return None


def round_up_count(count: int) -> int:
    """The next number of two digits and zeros.

    >>> round_up_count(7), round_up_count(603), round_up_count(1200)
    (7, 610, 1200)
    """
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit


def least_whole(enough: Callable[[int], bool], most: int) -> int | None:
    """The least number from 1 on for which it holds, as it does for all larger ones; None above most."""
    if most < 1:
        raise InvalidValue(f"most must be at least 1, got {most}")
    low, high = 0, 1
    while not enough(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
