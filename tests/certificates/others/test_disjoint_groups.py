from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.certificates.others import DisjointGroups

CLASSES = 3
NOBODY = CLASSES


def winner(votes: tuple[int, ...]) -> int:
    """Most votes; the smallest class in a tie. Whoever votes for nobody counts for none."""
    counts = [votes.count(c) for c in range(CLASSES)]
    return counts.index(max(counts))


def can_change(votes: tuple[int, ...], k: int) -> bool:
    """Whether k groups, whichever, can make another class win by voting as they like."""
    for chosen in itertools.combinations(range(len(votes)), min(k, len(votes))):
        for lies in itertools.product(range(CLASSES + 1), repeat=len(chosen)):
            forged = list(votes)
            for group, lie in zip(chosen, lies, strict=True):
                forged[group] = lie
            if winner(tuple(forged)) != winner(votes):
                return True
    return False


@pytest.mark.parametrize("groups", [2, 3, 4, 5])
def test_no_attack_on_k_groups_changes_the_vote_and_one_more_group_can(groups: int) -> None:
    by = DisjointGroups(groups=groups)
    seen = set()
    for votes in itertools.combinations_with_replacement(range(CLASSES + 1), groups):
        counts = [[votes.count(c) for c in range(CLASSES)]]
        (k,) = by.attackers(counts).tolist()
        if set(votes) == {NOBODY}:
            assert k == -1
            continue
        seen.add(k)
        assert not can_change(votes, k), votes
        assert can_change(votes, k + 1), votes
    assert seen == set(range(groups // 2 + 1))


def test_whoever_joins_moves_nobody_and_comes_into_one_group() -> None:
    by, names = DisjointGroups(groups=7), [f"writer {i}" for i in range(200)]
    before = by.members(names, seed=3)
    assert sorted(itertools.chain(*before)) == list(range(200))
    after = by.members([*names, "a stranger"], seed=3)
    changed = [g for g in range(7) if before[g] != after[g]]
    assert len(changed) == 1
    assert after[changed[0]] == (*before[changed[0]], 200)
    gone = by.members([name for name in names if name != "writer 5"], seed=3)
    left = [{names[u] for u in group} - {"writer 5"} for group in before]
    assert [{[n for n in names if n != "writer 5"][u] for u in group} for group in gone] == left


def test_groups_are_about_as_large_as_each_other_and_other_for_another_seed() -> None:
    by = DisjointGroups(groups=10)
    sizes = [len(group) for group in by.members(range(5000), seed=1)]
    # Binomial(5000, 0.1): 500 with a standard deviation of 21.
    assert min(sizes) > 400
    assert max(sizes) < 600
    assert by.members(range(50), seed=1) != by.members(range(50), seed=2)


@pytest.mark.parametrize(
    ("arguments", "error"), [({"groups": 1}, InvalidValue), ({"groups": 2.5}, InvalidType)]
)
def test_one_group_is_none(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="number of groups must be"):
        DisjointGroups(**arguments)


def test_more_votes_than_groups_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at most one of each of 4 groups"):
        DisjointGroups(groups=4).attackers(np.array([[4, 1]]))
