from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.others import RandomGroups
from fedward.privacy.group import Threat

THREATS: tuple[Threat, ...] = ("inject", "present", "compromise")


@pytest.mark.parametrize(("users", "size"), [(6, 2), (9, 4), (60, 7), (539, 50)])
def test_the_share_of_untouched_groups_is_the_exact_one_rounded_down(users: int, size: int) -> None:
    by = RandomGroups(size=size)
    for k in (0, 1, 2, users // 3, users):
        there = users - k
        exact = Fraction(comb(there, size) if there >= 0 else 0, comb(users, size))
        joined = Fraction(comb(users, size), comb(users + k, size))
        threats: tuple[Threat, ...] = ("present", "compromise")
        for found, true in (
            *((by.untouched(k, users, threat), exact) for threat in threats),
            (by.untouched(k, users, "inject"), joined),
        ):
            assert found <= true
            assert found == pytest.approx(float(true), rel=1e-10)


def shares(votes: dict[tuple[int, ...], int], classes: int = 3) -> list[Fraction]:
    return [Fraction(sum(v == c for v in votes.values()), len(votes)) for c in range(classes)]


def worst(votes: dict[tuple[int, ...], int], free: set[tuple[int, ...]], top: int, rival: int) -> bool:
    """Whether ``rival`` is at least level with ``top`` if all free groups vote for it."""
    forged = {group: rival if group in free else vote for group, vote in votes.items()}
    found = shares(forged)
    return found[rival] >= found[top]


def world(users: int, size: int, rng: np.random.Generator, weights: Any) -> dict[tuple[int, ...], int]:
    groups = list(itertools.combinations(range(users), size))
    return {group: int(rng.choice(3, p=weights)) for group in groups}


@pytest.mark.parametrize("threat", THREATS)
@pytest.mark.parametrize("weights", [(0.9, 0.05, 0.05), (0.6, 0.3, 0.1), (1.0, 0.0, 0.0), (0.75, 0.25, 0)])
def test_no_choice_of_k_attackers_changes_the_expected_vote(threat: Threat, weights: Any) -> None:
    """Every set of users is listed, and every model may vote as it likes: that of a group is anything."""
    users, size, rng = 7, 2, np.random.default_rng(4)
    by, certified = RandomGroups(size=size), 0
    for _ in range(20):
        votes = world(users, size, rng, weights)
        found = shares(votes)
        top = found.index(max(found))
        others = [c for c in range(3) if c != top]
        p, q = float(found[top]), max(float(found[c]) for c in others)
        (k,) = by.attackers([p], [q], users=users, threat=threat).tolist()
        certified += max(k, 0)
        for chosen in itertools.combinations(range(users), max(0, k) if threat != "inject" else 0):
            if threat == "inject":
                everyone = range(users + max(0, k))
                after = {g: votes.get(g, 0) for g in itertools.combinations(everyone, size)}
                free = {g for g in after if max(g) >= users}
            elif threat == "compromise":
                after, free = votes, {g for g in votes if set(g) & set(chosen)}
            else:  # what was seen, without those who may have been attackers
                after, free = {g: v for g, v in votes.items() if not set(g) & set(chosen)}, set()
            if k >= 0 and after:
                assert not any(worst(after, free, top, rival) for rival in others)
    if weights[0] >= 0.9:
        assert certified > 0


def test_the_bound_for_users_taken_over_is_reached() -> None:
    """With one attacker more there are models, with these shares, for which the vote is lost."""
    users, size, k = 8, 2, 1
    groups = list(itertools.combinations(range(users), size))
    by = RandomGroups(size=size)
    touched = [g for g in groups if 0 in g or 1 in g]
    for lost in range(len(groups)):
        # All groups that two attackers reach vote for the top before; of the others so many do not.
        rest = [g for g in groups if g not in touched]
        if lost > len(rest):
            break
        votes = dict.fromkeys(groups, 0) | dict.fromkeys(rest[:lost], 1)
        p, q = (float(share) for share in shares(votes)[:2])
        if by.attackers([p], [q], users=users, threat="compromise").tolist() == [k]:
            assert worst(votes, set(touched), 0, 1)
            return
    pytest.fail("no shares are certified against exactly one attacker")


def test_what_is_certified_falls_with_k_and_ends_where_no_group_is_untouched() -> None:
    by = RandomGroups(size=3)
    for threat in THREATS:
        least = [float(by.least([0.9], k, 10, threat)[0]) for k in range(11)]
        most = [float(by.most([0.05], k, 10, threat)[0]) for k in range(11)]
        assert least == sorted(least, reverse=True)
        assert most == sorted(most)
    assert by.least([1.0], 8, 10, "compromise").tolist() == [0.0]
    assert by.most([0.0], 8, 10, "present").tolist() == [1.0]
    assert by.attackers([0.4], [0.4], users=10, threat="inject").tolist() == [-1]


def test_groups_are_drawn_anew_for_every_model_and_draw_and_are_of_everybody_alike() -> None:
    by = RandomGroups(size=4)
    drawn = [by.members(model, 20, seed=1, draw="ab") for model in range(2000)]
    assert all(len(set(group)) == 4 and list(group) == sorted(group) for group in drawn)
    counts = np.bincount(np.concatenate([np.array(group) for group in drawn]), minlength=20)
    # Binomial(2000, 0.2): 400 with a standard deviation of 18.
    assert counts.min() > 310
    assert counts.max() < 490
    assert drawn[0] == by.members(0, 20, seed=1, draw="ab")
    assert drawn[:20] != [by.members(model, 20, seed=1, draw="cd") for model in range(20)]


def test_a_group_of_more_users_than_there_are_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most the 5 that there are, got 6"):
        RandomGroups(size=6).members(0, 5, seed=1, draw="")
