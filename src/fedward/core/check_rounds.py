"""The check that no round fails, after others were paid for, for a reason that is known before the first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.types import Adversary, Bounds, Scheduled, ServerState, total_bound


def check_rounds(algorithm: Algorithm, rounds: int) -> None:
    """Raises with the first round that could not be carried out, and the value that it fails for.

    It tries the looks of every round, its clip bound and noise where the policy does not go by what it has
    seen, and the local trainer: in the rounds that it says stand for all, or else in all of them. A million
    rounds take a second or two.
    """
    for t in range(rounds):
        algorithm.looks(t)
    if algorithm.mechanism.whole_training is not None:
        check_whole_training(algorithm, rounds, algorithm.mechanism.whole_training)
    tried = {*decisive(algorithm.local, rounds), *_extremes(algorithm, rounds)}
    _try_each(sorted(tried), rounds, lambda t: algorithm.local.at_round(t, bounds_of(algorithm, t)))


def check_whole_training(algorithm: Algorithm, rounds: int, covered: int) -> None:
    """One event covers rounds of one sensitivity, and only so many of them."""
    if rounds > covered:
        raise InvalidValue(
            f"rounds must be at most {covered}, which {algorithm.mechanism} covers, got {rounds}"
        )
    if algorithm.policy.reads_norms or algorithm.policy.init():
        raise InvalidValue(
            "noise that is charged for a whole training needs a clip bound that stays, got "
            f"{algorithm.policy}"
        )
    first = bounds_of(algorithm, 0)
    for t in range(1, rounds):
        if (bounds := bounds_of(algorithm, t)) != first:
            raise InvalidValue(
                "noise that is charged for a whole training needs a clip bound that stays, got "
                f"{total_bound(first)} and then {total_bound(bounds)} in round {t}"
            )


def check_attacked_rounds(adversary: Adversary, algorithm: Algorithm, rounds: int) -> None:
    """The same of what an adversary's users train with, in the rounds in which they attack."""
    tried = set(adversary.rounds or ())
    if adversary.rounds is None:
        tried.update(decisive(adversary, rounds), decisive(algorithm.local, rounds))
        tried.update(_extremes(algorithm, rounds))

    def attempt(t: int) -> None:
        bounds = bounds_of(algorithm, t)
        adversary.trainer(algorithm.local.at_round(t, bounds), t, bounds)

    _try_each(sorted(tried), rounds, attempt)


def decisive(part: object, rounds: int) -> Iterable[int]:
    """The rounds in which a part has to be tried: those that it names, or all."""
    return part.decisive_rounds(rounds) if isinstance(part, Scheduled) else range(rounds)


def bounds_of(algorithm: Algorithm, t: int) -> Bounds:
    """The bounds that users are told in a round, as far as that is known before the first.

    Those of a policy that carries something from round to round are the first ones; a policy that reads the
    norms of its own round has none.
    """
    policy = algorithm.policy
    if policy.reads_norms:
        return ()
    state = policy.init()
    bounds = policy.bound(state, 0 if state else t, None)
    return bounds * algorithm.norm.groups if len(bounds) == 1 else bounds


def check_bounds(algorithm: Algorithm, bounds: Bounds) -> None:
    """There must be a bound for each group, above zero, and noise above zero: or none would be added."""
    groups = algorithm.norm.groups
    if len(bounds) != groups and (bounds or not algorithm.policy.reads_norms):
        raise InvalidValue(f"clip bounds must be 1 or {groups}, one for each layer, got {len(bounds)}")
    for bound in bounds:
        if not bound > 0:
            raise InvalidValue(f"clip bound must be positive, got {bound}")
    if algorithm.mechanism.multiplier > 0 and bounds:
        std = algorithm.noise_std(total_bound(bounds))
        if not 0 < std < math.inf:
            raise InvalidValue(f"standard deviation of the noise must be positive and finite, got {std}")
        algorithm.grid(total_bound(bounds))


def checked_bounds(algorithm: Algorithm, state: ServerState, norms: list[Bounds] | None) -> Bounds:
    """The bounds of a round under way.

    What a policy makes of the norms it has seen nobody could check before: never a model without its noise.
    """
    bounds = algorithm.bounds(state, norms)
    check_bounds(algorithm, bounds)
    return bounds


def _extremes(algorithm: Algorithm, rounds: int) -> set[int]:
    """The first round and those with the smallest and the largest bound; raises if one will not do.

    Noise grows with its bound, and a trainer that can do with both can do with all between.
    """
    policy = algorithm.policy
    if policy.reads_norms or policy.init():
        return {0}
    least = most = odd = 0
    smallest, largest, numbers = math.inf, 0.0, (1, algorithm.norm.groups)
    for t in range(rounds):
        bounds = policy.bound((), t, None)
        low, high = min(bounds, default=0.0), max(bounds, default=0.0)
        if low < smallest:
            smallest, least = low, t
        if high > largest:
            largest, most = high, t
        if not low > 0 or len(bounds) not in numbers:
            odd = t
            break
    extremes = {0, least, most, odd}
    try:
        for t in extremes:
            check_bounds(algorithm, bounds_of(algorithm, t))
    except InvalidValue:
        _try_each(range(rounds), rounds, lambda t: check_bounds(algorithm, bounds_of(algorithm, t)))
    return extremes


def _try_each(tried: Iterable[int], rounds: int, attempt: Callable[[int], object]) -> None:
    t = 0
    try:
        for t in tried:
            attempt(t)
    except InvalidValue as error:
        raise InvalidValue(f"{error} in round {t} of {rounds} (rounds are counted from 0)") from error
