"""The recommendation of a plan: one training of the frontier, how often to repeat it, and why this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedward.certificates.ceiling import ceiling_k, replicas_needed, round_up_count
from fedward.certificates.largest_k import largest
from fedward.certificates.pilot import Noise, Pilot
from fedward.certificates.plan_goal import METHOD, Goal
from fedward.certificates.planning import ACCOUNTANT, MANY, Option, ledger_of, make_option, needed_at
from fedward.certificates.predicted_share import NONE, Shares, predict_shares
from fedward.certificates.prediction import MOST
from fedward.certificates.setting import Setting
from fedward.certificates.threat import certifiable
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.pld import NoiseTooSmall

Evidence = Literal["measured", "scaled", "assumed", "unknown"]
Cost = Callable[[Noise, int], float]

# Steps of the noise that are tried above the least: to about three times as much.
_STEP, _STEPS = 1.12, 11
# A cheaper training is taken if it loses no more than this: of the share, or of noise over signal.
_SHARE_LEFT, _NOISE_LEFT = 0.02, 1.1
_COUNTS = (20, 50, 100, 150, 200, 300, 400, 500, 700, MANY, 1500, 2000, 3000, 5000)
# An ε of this size protects nobody, and a quick bound on it says as much.
_EXACT = 60.0


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """An option of the frontier with what is known about its accuracy.

    Args:
      option: the training.
      shares: the shares of test examples that would be right and certified against k; None if unknown.
      evidence: where they come from: trainings with this noise, trainings with other noise, a confidence that
        was assumed, or nothing.
    """

    option: Option
    shares: Shares | None
    evidence: Evidence


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The one answer of a plan.

    Args:
      prospect: the training.
      replicas: M.
      least_replicas: with fewer k cannot be certified at all.
      ceiling: the largest k that M replicas could certify here.
      largest_k: the largest k at which the cautious share is that of the goal; None if unknown or none.
      guarantee: of one training.
      releasing_all: of all M together: what publishing the certificate costs.
      reached: whether the goal's share is predicted; None where accuracy is unknown.
    """

    prospect: Prospect
    replicas: int
    least_replicas: int | None
    ceiling: int
    largest_k: int | None
    guarantee: Guarantee
    releasing_all: Guarantee
    reached: bool | None


def judge(goal: Goal, option: Option, pilot: Pilot | None, evidence: Evidence = "unknown") -> Prospect:
    """An option with the noise that is best by a pilot, as far as that speaks about it."""
    if pilot is None:
        return Prospect(option=option, shares=None, evidence=evidence)
    replicas, noise = goal.replicas or MANY, option.noise
    best, most, measured = option, NONE, False
    for step in range(_STEPS):
        z = noise.noise_multiplier if step == 0 else _tidy(noise.noise_multiplier * _STEP**step)
        other = replace(noise, noise_multiplier=z)
        there = pilot.under(other)
        if there is None:
            return Prospect(option=option, shares=None, evidence="unknown")
        needed = needed_at(goal, noise.sampling_rate, noise.rounds, z)
        shares = predict_shares(there, needed, replicas, goal.each)
        if step == 0 or (shares.cautious, shares.expected) > (most.cautious, most.expected):
            limited = option.limited_by if step == 0 else "share"
            best = make_option(goal, noise.sampling_rate, noise.rounds, z, limited)
            most, measured = shares, other == pilot.noise
    return Prospect(option=best, shares=most, evidence="measured" if measured else "scaled")


def choose(prospects: Sequence[Prospect], cost: Cost | None = None) -> Prospect | None:
    """The best of a frontier; of those that are nearly as good the one with the least work.

    By the share that is predicted where anything is known, else by noise over signal.
    """
    if not prospects:
        return None
    shares = [each.shares.cautious for each in prospects if each.shares is not None]
    if shares:
        enough = max(shares) - _SHARE_LEFT
        near = [each for each in prospects if each.shares is not None and each.shares.cautious >= enough]
    else:
        least = min(each.option.noise_over_signal for each in prospects)
        near = [each for each in prospects if each.option.noise_over_signal <= _NOISE_LEFT * least]

    def work(each: Prospect) -> tuple[float, float]:
        noise = each.option.noise
        return (each.option.trainings if cost is None else cost(noise, 1), each.option.noise_over_signal)

    return min(near, key=work)


def recommend(goal: Goal, prospect: Prospect, pilot: Pilot | None) -> Recommendation:
    """The whole answer about a prospect that was chosen: M, its guarantees, and what may be expected."""
    option, noise = prospect.option, prospect.option.noise
    there = None if pilot is None else pilot.under(noise)
    least = None if option.needed is None else replicas_needed(option.needed, METHOD, goal.each)
    replicas = goal.replicas or _replicas(goal, option, there, least)
    shares, largest_k, reached = prospect.shares, None, None
    if there is not None:
        shares = predict_shares(there, option.needed, replicas, goal.each)
        reached = shares.cautious >= goal.share
        largest_k = _largest_k(goal, option, there, replicas)
    guarantee, together = _guarantees(goal, noise, replicas)
    return Recommendation(
        prospect=replace(prospect, shares=shares),
        replicas=replicas,
        least_replicas=least,
        ceiling=_ceiling(goal, option, replicas),
        largest_k=largest_k,
        guarantee=guarantee,
        releasing_all=together,
        reached=reached,
    )


def _replicas(goal: Goal, option: Option, pilot: Pilot | None, least: int | None) -> int:
    """The fewest replicas that certify nearly as much as many do; without a pilot twice the least."""
    if pilot is None:
        return MANY if least is None else max(20, round_up_count(2 * least))
    many = predict_shares(pilot, option.needed, MANY, goal.each).cautious
    for count in _COUNTS:
        share = predict_shares(pilot, option.needed, count, goal.each).cautious
        if share > 0 and share >= many - _SHARE_LEFT:
            return count
    return MANY


def _ceiling(goal: Goal, option: Option, replicas: int) -> int:
    noise = option.noise
    spending = certifiable(ledger_of(noise.sampling_rate, noise.rounds, noise.noise_multiplier), goal.model)
    rule = goal.confidence(replicas)
    return ceiling_k(spending, goal.threat, rule, classes=goal.classes, examples=1)


def _largest_k(goal: Goal, option: Option, pilot: Pilot, replicas: int) -> int | None:
    """The largest k at which the cautious share is still that of the goal."""
    noise = option.noise

    def reached(k: int) -> bool:
        needed = needed_at(goal, noise.sampling_rate, noise.rounds, noise.noise_multiplier, k)
        return predict_shares(pilot, needed, replicas, goal.each).cautious >= goal.share

    def holds(k: int, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.full(int(asked.sum()), reached(k))

    found = int(largest(holds, np.array([reached(0)]), MOST)[0])
    return None if found < 0 else found


def _guarantees(goal: Goal, noise: Noise, replicas: int) -> tuple[Guarantee, Guarantee]:
    """What one training and what all of them spend, by exact accounting; rdp where ε is beyond pld."""
    ledger = ledger_of(noise.sampling_rate, noise.rounds, noise.noise_multiplier)
    try:
        one = ledger.guarantee(goal.own_delta, ACCOUNTANT)
    except NoiseTooSmall:
        one = ledger.guarantee(goal.own_delta, "rdp")
    setting = Setting(
        ledger=ledger,
        users=goal.users,
        confidence=goal.confidence(replicas),
        delta=goal.own_delta,
        initial_model="planned",
        data="planned",
        threats=(goal.threat,),
        attendance=goal.attendance,
        accountant="rdp",
    )
    together = setting.releasing_all()
    if together.epsilon <= _EXACT:
        together = replace(setting, accountant=ACCOUNTANT).releasing_all()
    # Nothing is drawn for a plan, so nothing is said about where noise comes from.
    return replace(one, noise_source=None), replace(together, noise_source=None)


def _tidy(z: float) -> float:
    return float(f"{z:.3g}")
