"""A plan: the frontier of trainings that meet ε and k, judged by a pilot, and the one to take."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from fedward.base.validate import InvalidValue, positive
from fedward.certificates.pilot import Noise, Pilot
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import Option, options
from fedward.certificates.recommendation import Evidence, Prospect, Recommendation, choose, judge, recommend
from fedward.forecast.pilot_trainings import PilotTrainings
from fedward.studies.progress import Progress

RATES = (0.01, 0.03, 0.1, 0.3, 1.0)
ROUNDS = (1, 3, 10, 30, 100)

# Replicas of a training that is one of several, and of the one that is chosen.
_FEW, _MORE = 8, 32
# Fresh ones: those that a training was chosen by flatter it.
_FRESH = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What was asked for, every training that would do, and the one to take.

    Args:
      goal: what was asked for.
      recommendation: None if nothing on the grid meets ε and k.
      frontier: the least noise for each number of rounds and sampling rate, judged by the pilot.
      tried: how many pairs of rounds and sampling rate were tried.
      pilot: what accuracy was judged by; None if it is unknown.
      clip_bound: S, where a pilot's file says it.
      seconds: the least and the most that training all M replicas may take; None if nothing was measured.
    """

    goal: Goal
    recommendation: Recommendation | None
    frontier: tuple[Prospect, ...]
    tried: int
    pilot: Pilot | None = None
    clip_bound: float | None = None
    seconds: tuple[float, float] | None = None


def make_plan(
    goal: Goal,
    *,
    sampling_rates: Sequence[float] = RATES,
    rounds: Sequence[int] = ROUNDS,
    top: float | None = None,
    pilot: Pilot | PilotTrainings | None = None,
    seconds: float = 30.0,
) -> Generator[Progress, None, Plan]:
    """Yields how far it is and what it does now; returns the plan.

    Args:
      goal: what is wanted.
      sampling_rates, rounds: q and T to try; with a pilot that was run before, T is that of the pilot.
      top: an expected vote that is assumed, in the place of a pilot.
      pilot: replicas that are there, or an experiment that is trained for a short while.
      seconds: how long pilot trainings may take, about.
    """
    positive("seconds", seconds)
    if top is not None and pilot is not None:
        raise InvalidValue("top must not be given together with a pilot, which measures it")
    if isinstance(pilot, Pilot):
        rounds = (pilot.noise.rounds,)
        sampling_rates = sorted({*sampling_rates, pilot.noise.sampling_rate})
    pairs = len(set(sampling_rates)) * len(set(rounds))
    trainings = len(set(rounds)) + 2 if isinstance(pilot, PilotTrainings) else 0
    total = pairs + trainings + 1
    found: list[Option] = []
    for number, each in enumerate(options(goal, sampling_rates, rounds, top)):
        found += [each] if each is not None else []
        yield Progress(done=number + 1, total=total, name="the least noise for ε and k")
    if not isinstance(pilot, PilotTrainings):
        return _judge(goal, found, pilot, "unknown" if top is None else "assumed", pairs)
    steps = _measure(goal, found, pilot, seconds, pairs)
    done = pairs
    while True:
        try:
            doing = next(steps)
        except StopIteration as end:
            made: Plan = end.value
            return made
        yield Progress(done=done, total=total, name=doing)
        done += 1


def _judge(goal: Goal, found: Sequence[Option], pilot: Pilot | None, evidence: Evidence, pairs: int) -> Plan:
    prospects = [judge(goal, option, pilot, evidence) for option in found]
    chosen = choose(prospects)
    return Plan(
        goal=goal,
        recommendation=None if chosen is None else recommend(goal, chosen, pilot),
        frontier=tuple(prospects),
        tried=pairs,
        pilot=pilot,
    )


def _measure(
    goal: Goal, found: Sequence[Option], trainings: PilotTrainings, seconds: float, pairs: int
) -> Generator[str, None, Plan]:
    """Trains one option of each length, as large as time allows, then the chosen one again, afresh."""
    lengths = sorted({option.noise.rounds for option in found})
    pilots: dict[int, Pilot] = {}
    left = seconds
    for number, t in enumerate(lengths):
        # What short trainings leave of their share goes to longer ones; two shares are kept for the last.
        share = left / (len(lengths) - number + 2)
        one = _largest_within(trainings, [o for o in found if o.noise.rounds == t], share)
        if one is not None:
            yield f"{_FEW} pilot trainings of {t} round{'s' * (t > 1)}"
            pilots[t] = trainings.train(_here(trainings, one.noise), _FEW)
            left -= _seconds(trainings, one.noise, _FEW)
    prospects = [judge(goal, option, pilots.get(option.noise.rounds)) for option in found]
    chosen = choose(prospects, _work(trainings))
    if chosen is None:
        bound = trainings.clip_bound
        return Plan(goal=goal, recommendation=None, frontier=(), tried=pairs, clip_bound=bound)
    noise = chosen.option.noise
    pilot = pilots.get(noise.rounds)
    count = _count_within(trainings, noise, left)
    if count >= _FEW:
        yield f"{count} pilot trainings of the one that is chosen"
        pilot = trainings.train(_here(trainings, noise), count, _FRESH)
        again = judge(goal, chosen.option, pilot)
        prospects = [again if each is chosen else each for each in prospects]
        chosen = again
    answer = recommend(goal, chosen, pilot)
    return Plan(
        goal=goal,
        recommendation=answer,
        frontier=tuple(prospects),
        tried=pairs,
        pilot=pilot,
        clip_bound=trainings.clip_bound,
        seconds=trainings.seconds(answer.prospect.option.noise, answer.replicas),
    )


def _here(trainings: PilotTrainings, noise: Noise) -> Noise:
    """The training on the pilot's users whose noise on a mean is that of the one that is planned."""
    users = trainings.users
    if users == noise.users:
        return noise
    return replace(noise, users=users, noise_multiplier=noise.noise_multiplier * users / noise.users)


def _largest_within(trainings: PilotTrainings, found: Sequence[Option], seconds: float) -> Option | None:
    """The option with the largest cohorts of which a few replicas can be trained in that time."""
    affordable = [o for o in found if _seconds(trainings, o.noise, _FEW) <= seconds]
    return max(affordable, key=lambda o: o.noise.sampling_rate, default=None)


def _count_within(trainings: PilotTrainings, noise: Noise, seconds: float) -> int:
    counts = [n for n in (_MORE, 3 * _FEW, 2 * _FEW, _FEW) if _seconds(trainings, noise, n) <= seconds]
    return max(counts, default=0)


def _seconds(trainings: PilotTrainings, noise: Noise, replicas: int) -> float:
    about = trainings.seconds_here(_here(trainings, noise), replicas)
    # Without a measurement small trainings are tried, and only these.
    return (0.0 if noise.rounds <= 3 else float("inf")) if about is None else about


def _work(trainings: PilotTrainings) -> Callable[[Noise, int], float]:
    return lambda noise, replicas: _seconds(trainings, noise, 100 * replicas)
