"""The promises of a sampler: the cohorts that it draws are those that its event is about."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from dp_accounting import GaussianDpEvent, NoOpDpEvent, PoissonSampledDpEvent
from numpy.typing import NDArray

from fedward.core.types import EpochSampler, Sampler, ScheduledSampler
from fedward.privacy.accounting_events import RandomAllocationDpEvent
from fedward.privacy.events import ADJACENCIES, check_event
from fedward.privacy.terms import ExactAttackers
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, not_applicable
from fedward.testing.event_cost import cost, costs_less
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, require_repeatable
from fedward.testing.small_world import USERS

_DRAWS = 4000
_NOISE = GaussianDpEvent(1.0)


def check_sampler(sampler: Sampler, *, num_users: int = USERS) -> Conformance:
    """Runs every promise of ``fedward.core.types.Sampler``.

    Args:
      num_users: of a federation that it can sample.
    """
    promises = tuple(
        Promise[Sampler](says=says, check=partial(check, users=num_users)) for says, check in _CHECKS
    )
    return check_promises("sampler", sampler, (*VALUE_PROMISES, *promises))


def _declares_itself(sampler: Sampler, users: int) -> None:
    if sampler.adjacency not in ADJACENCIES:
        broken(f"adjacency is {sampler.adjacency!r}", f"Return one of {', '.join(ADJACENCIES)}")
    for name, value in (("exact", sampler.exact), ("declares_size", sampler.declares_size)):
        if not isinstance(value, bool):
            broken(f"{name} is {value!r}", "Say True or False")
    if sampler.staged is not None and not isinstance(sampler.staged, ExactAttackers):
        broken(f"staged is {sampler.staged!r}", "Return None: attackers are drawn like everybody")
    if len(str(sampler).splitlines()) != 1:
        broken(f"it prints as {str(sampler)!r}", "Print one line: errors name it so")
    sampler.check(users)
    if not 0 < sampler.expected_size(users) <= users:
        broken(
            f"expected_size({users}) is {sampler.expected_size(users)}",
            f"Return a number above 0, at most {users}",
        )
    if sampler.declares_size and sampler.expected_size(users) != sampler.expected_size(users + 1):
        broken(
            f"declares_size is True, but {users} users give {sampler.expected_size(users)} and "
            f"{users + 1} give "
            f"{sampler.expected_size(users + 1)}",
            "Say False: the expected size follows the number of users",
        )


def _draws_users(sampler: Sampler, users: int) -> None:
    for seed in range(50):
        cohort = sampler.draw(users, np.random.default_rng(seed))
        if not isinstance(cohort, np.ndarray) or cohort.dtype != np.int64 or cohort.ndim != 1:
            broken(f"draw gave {in_short(cohort)}", "Return one row of numpy's int64")
        if (np.diff(cohort) <= 0).any():
            broken(
                f"draw gave {cohort.tolist()}", "Return each user once, ascending: np.sort without repeats"
            )
        if len(cohort) and not (cohort[0] >= 0 and cohort[-1] < users):
            broken(f"draw gave {cohort.tolist()} of {users} users", f"Return users from 0 to {users - 1}")
        if sampler.exact and len(cohort) != sampler.expected_size(users):
            broken(
                f"exact is True, but a cohort has {len(cohort)} users and not "
                f"{sampler.expected_size(users):g}",
                "Say False, or draw exactly so many",
            )


def _repeats_itself(sampler: Sampler, users: int) -> None:
    require_repeatable(lambda: sampler.draw(users, np.random.default_rng(3)), "draw")


def _many_cohorts(sampler: Sampler, users: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How often each user is in many cohorts, as a share, and the sizes of these cohorts."""
    rng, counts, sizes = np.random.default_rng(0), np.zeros(users), np.zeros(_DRAWS)
    for place in range(_DRAWS):
        cohort = sampler.draw(users, rng)
        counts[cohort] += 1
        sizes[place] = len(cohort)
    return counts / _DRAWS, sizes


def _keeps_to_its_schema(sampler: Sampler, users: int) -> None:
    if not isinstance(sampler, ScheduledSampler):
        not_applicable("it keeps nobody to a schema of participation")
    schema, last, often = sampler.participation, np.full(users, -1), np.zeros(users, dtype=np.int64)
    for t in range(2 * schema.most * schema.separation):
        cohort = sampler.at_round(t).draw(users, np.random.default_rng(t))
        soon = cohort[(last[cohort] >= 0) & (t - last[cohort] < schema.separation)]
        often[cohort] += 1
        if len(soon) or (often > schema.most).any():
            broken(
                f"in round {t} it draws {cohort.tolist()}, and its participation is: {schema}",
                "Draw nobody who took part too lately or too often",
            )
        last[cohort] = t


def _allots_one_round_of_an_epoch(sampler: Sampler, users: int) -> None:
    if not isinstance(sampler, EpochSampler):
        not_applicable("its cohorts are not drawn together for an epoch")
    event = sampler.at_round(0).amplify(_NOISE, users)
    for start in (0, 3 * sampler.epoch):
        rounds = range(start, start + sampler.epoch)
        cohorts = [sampler.at_round(t).draw(users, np.random.default_rng(start)) for t in rounds]
        if sorted(np.concatenate(cohorts).tolist()) != list(range(users)):
            broken(
                f"in the rounds {start} to {rounds[-1]} it draws {in_short(cohorts)}",
                "Draw every user in exactly one round of an epoch",
            )
        charged = [sampler.at_round(t).amplify(_NOISE, users) for t in rounds]
        if charged != [event, *[NoOpDpEvent()] * (sampler.epoch - 1)]:
            broken(
                f"in the rounds {start} to {rounds[-1]} amplify gives {in_short(charged)}",
                "Return the event of the whole epoch in its first round, and NoOpDpEvent() in the others",
            )
    allotted = RandomAllocationDpEvent(sampler.epoch, _NOISE) if sampler.epoch > 1 else _NOISE
    if costs_less(event, allotted):
        broken(
            f"amplify claims ε = {cost(event):.4g}, and a user who is in one of {sampler.epoch} rounds costs "
            f"{cost(allotted):.4g} at δ = 1e-5",
            "Return RandomAllocationDpEvent(epoch, event)",
        )


def _draws_everybody_alike(sampler: Sampler, users: int) -> None:
    if isinstance(sampler, ScheduledSampler):
        not_applicable("who is drawn depends on the round")
    if sampler.staged is not None:
        not_applicable("it is staged, and says so: attackers are drawn in another way than others")
    expected = sampler.expected_size(users) / users
    shares, _ = _many_cohorts(sampler, users)
    # Of many users the one furthest off is further off than one alone.
    errors = 5 + math.sqrt(2 * math.log(users))
    error = errors * math.sqrt(expected * (1 - expected) / _DRAWS)
    for user, share in enumerate(shares):
        if abs(share - expected) > error + 1e-12:
            broken(
                f"user {user} is in {share:.1%} of {_DRAWS:,} cohorts, and expected_size says {expected:.1%}",
                "Draw every user with the same probability, and return the mean size of a cohort",
            )


def _amplifies_soundly(sampler: Sampler, users: int) -> None:
    event = sampler.amplify(_NOISE, users)
    check_event(event)
    rate = sampler.expected_size(users) / users
    if sampler.adjacency not in ("add/remove", "zero-out"):
        if rate == 1 and cost(event, sampler.adjacency) < cost(_NOISE, sampler.adjacency):
            broken("everybody is drawn, but amplify claims less ε", "Return the event as it is")
        return
    drawn = PoissonSampledDpEvent(rate, _NOISE) if rate < 1 else _NOISE
    if costs_less(event, drawn):
        broken(
            f"amplify claims ε = {cost(event):.4g}, and a user who is in {rate:.1%} of all cohorts costs "
            f"{cost(drawn):.4g} at δ = 1e-5",
            "Return PoissonSampledDpEvent(q, event) with the probability q that a user is drawn with",
        )


def _draws_users_apart(sampler: Sampler, users: int) -> None:
    rate = sampler.expected_size(users) / users
    if isinstance(sampler, ScheduledSampler):
        not_applicable("who is drawn depends on the round")
    if sampler.adjacency not in ("add/remove", "zero-out") or rate == 1:
        not_applicable("it claims nothing of users that are drawn independently")
    _, sizes = _many_cohorts(sampler, users)
    wanted = users * rate * (1 - rate)
    # The variance of a sample of a binomial has about this relative error.
    if abs(sizes.var() / wanted - 1) > 5 * math.sqrt(2 / _DRAWS + 1 / (_DRAWS * wanted)):
        broken(
            f"sizes of cohorts have variance {sizes.var():.3g}, and users drawn independently "
            f"give {wanted:.3g}",
            "Poisson accounting holds for users that are drawn each on its own; cohorts of a "
            "fixed size are for "
            "the adjacency replace-one",
        )


_CHECKS = (
    ("declares what it does", _declares_itself),
    ("draws users once each, ascending", _draws_users),
    ("gives the same bits again", _repeats_itself),
    ("keeps everybody to the participation that it declares", _keeps_to_its_schema),
    ("draws everybody once in an epoch that it draws together", _allots_one_round_of_an_epoch),
    ("draws everybody as often as it declares", _draws_everybody_alike),
    ("claims no more from sampling than there is", _amplifies_soundly),
    ("draws users independently where it counts on that", _draws_users_apart),
)
