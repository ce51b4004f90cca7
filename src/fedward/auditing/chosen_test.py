"""The choice of a test: a score and its thresholds, fixed before the trainings that it judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from fedward.attacks.inference.auc import Floats
from fedward.auditing.error_rates import ErrorRates
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.rate_bound import least_epsilon
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.auditing.training_scores import Scorer
from fedward.base.validate import InvalidValue

# Thresholds that are tried; between them a test hardly changes.
_THRESHOLDS = 41
# Trainings drawn from the claim, to choose thresholds by.
_DRAWN = 20_000
# How much leakier, in logarithms of noise, a learned score must look than it would have to be.
_MARGIN = 0.1
# How likely a rate lies above what it is taken for, where it was chosen among many.
_LUCK = 0.1


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenTest:
    """A score and the thresholds that promise most, chosen on trainings that are not judged.

    ``promise`` is how leaky the mechanism would be found to be, roughly, and how well the test tells apart
    where that is nothing: tests are compared by it. ``weight`` is what a false positive weighs in the test
    of the family.
    """

    scorer: Scorer
    for_rates: float
    for_family: float
    weight: float
    promise: tuple[float, float]


def choose_test(
    scorers: Iterable[Scorer], seen: SeenTrainings, family: NoiseFamily, judged: int
) -> ChosenTest:
    """The score that promises most on trainings kept for choosing, and a threshold for each bound.

    The exact ratio needs none of them: the claim says how well it does, and with which thresholds. A learned
    score is taken in its place only if it is leakier even where these few trainings have flattered it.

    Args:
      judged: how many trainings will be judged.
    """
    best: ChosenTest | None = None
    for scorer in scorers:
        scores = scorer(seen)
        inside, outside = scores[seen.inside], scores[~seen.inside]
        if scorer.exact:
            found = _chosen(scorer, *draw_claim(scorer.laws), family, _as_they_are, judged)
        else:
            found = _chosen(scorer, inside, outside, family, _flattered, judged)
            leak, apart = found.promise
            found = replace(found, promise=(leak - _MARGIN, apart))
        if best is None or found.promise > best.promise:
            best = found
    if best is None:
        raise InvalidValue("a test must be chosen among scores, got none")
    return best


def _chosen(
    scorer: Scorer,
    inside: Floats,
    outside: Floats,
    family: NoiseFamily,
    taken_as: Callable[[ErrorRates], tuple[float, float]],
    judged: int,
) -> ChosenTest:
    """The thresholds that promise most, if so many trainings go as these, with rates taken so."""
    cuts = np.unique(np.quantile(np.concatenate([inside, outside]), np.linspace(0.02, 0.98, _THRESHOLDS)))
    rates = [ErrorRates.of(cut, inside, outside) for cut in cuts.tolist()]
    fpr, fnr = _expected(map(taken_as, rates), judged)
    by_rates = [least_epsilon(a, b, family.delta) for a, b in zip(fpr.tolist(), fnr.tolist(), strict=True)]
    # Where nothing is proven at all, the threshold that tells most apart.
    apart = np.array([separation(*each.smoothed) for each in rates])
    leaks = family.leaks(fpr, fnr)
    best = (
        np.flatnonzero(leaks == leaks.max()) if leaks.max() > -math.inf else np.array([int(np.argmax(apart))])
    )
    place = int(best[len(best) // 2])
    # The member of the family that is hardest to refute of those that should be.
    noise = math.exp(-float(leaks[place])) if leaks[place] > -math.inf else 1.0
    return ChosenTest(
        scorer=scorer,
        for_rates=float(cuts[int(np.argmax(by_rates))]),
        for_family=float(cuts[place]),
        weight=family.weight(noise, taken_as(rates[place])[0]),
        promise=(float(leaks.max()), float(apart.max())),
    )


def _as_they_are(rates: ErrorRates) -> tuple[float, float]:
    return rates.smoothed


def _flattered(rates: ErrorRates) -> tuple[float, float]:
    """Each rate as large as it may well be: the best of many thresholds and scores was lucky."""
    return rates.upper(_LUCK)


def _expected(rates: Iterable[tuple[float, float]], judged: int) -> tuple[Floats, Floats]:
    """The bounds on error rates that so many trainings would give, if they went as these."""
    each = judged // 2
    bounds = [
        ErrorRates(
            false_positives=round(each * fpr),
            without=each,
            false_negatives=round(each * fnr),
            having=each,
        ).upper(0.05)
        for fpr, fnr in rates
    ]
    fpr, fnr = np.array(bounds).T
    return fpr, fnr


def draw_claim(laws: tuple[RoundLaw, ...]) -> tuple[Floats, Floats]:
    """Likelihood ratios of trainings as the claim has them, with the canary and without it."""
    rng = np.random.default_rng(0)
    found = []
    for inside in (True, False):
        ratio = np.zeros(_DRAWN)
        for law in laws:
            ratio += law.draw_log_ratio(inside, _DRAWN, rng)
        found.append(ratio)
    return found[0], found[1]


def separation(fpr: float, fnr: float) -> float:
    """How far two normal laws of variance 1 are apart that a threshold tells apart with these error rates.

        μ = Φ⁻¹(1 - FPR) - Φ⁻¹(FNR)

    >>> round(separation(0.1587, 0.1587), 3)
    2.0
    """
    return float(-ndtri(fpr) - ndtri(fnr))


def exact_scores(laws: tuple[RoundLaw, ...], table: Floats) -> Floats:
    """The score of each canary of one training, from a table with one row for each round.

    Without laws it is what lies in its direction, all rounds together.
    """
    if not laws:
        total: Floats = table.sum(axis=0)
        return total
    found = np.zeros(table.shape[1])
    for law, row in zip(laws, table, strict=True):
        found += law.log_ratio(row)
    return found
