from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.watched_rounds import normal_rows, rows_of, watch
from fedward.aggregation import (
    CentredClipping,
    CoordinateMedian,
    Flame,
    FLTrust,
    FoolsGold,
    Krum,
    NearestNeighbourMixing,
    TrimmedMean,
)
from fedward.aggregation.nearest_neighbour_mixing import mix_nearest
from fedward.base.validate import InvalidType, InvalidValue


@given(st.integers(2, 9), st.integers(0, 3), st.integers(0, 99))
def test_mixed_rows_are_those_of_the_definition(count: int, malicious: int, seed: int) -> None:
    rows = normal_rows(count, 4, seed)
    nearest = max(1, count - malicious)
    wide = torch.stack(rows).double().numpy()
    for i, mixed in enumerate(mix_nearest(rows, nearest)):
        order = np.argsort(((wide - wide[i]) ** 2).sum(1), kind="stable")[:nearest]
        assert np.allclose(mixed, wide[order].mean(0))


def test_any_rule_gets_the_mixed_rows() -> None:
    rows = normal_rows(9, 4)
    for rule in (CoordinateMedian(), TrimmedMean(trimmed=2), Krum(malicious=2)):
        result, memory = watch(NearestNeighbourMixing(rule=rule, malicious=2), rows)
        assert torch.equal(result, rule.combine(mix_nearest(rows, 7)))
        assert memory == ()


def test_a_rule_inside_keeps_its_memory_and_its_noise() -> None:
    mixing = NearestNeighbourMixing(rule=CentredClipping(radius=0.5), malicious=1)
    first, memory = watch(mixing, normal_rows(6, 3))
    assert torch.equal(memory[0], first)
    assert NearestNeighbourMixing(rule=Flame(), malicious=1).own_noise == Flame().own_noise != ""
    assert mixing.own_noise == ""


def test_rows_too_far_apart_to_square_are_told_apart() -> None:
    rows = [row.double() * 1e200 for row in rows_of([[1.0], [2.0], [1.1], [900.0]])]
    assert [float(row) / 1e200 for row in mix_nearest(rows, 2)] == pytest.approx([1.05, 1.55, 1.05, 451.0])


@pytest.mark.parametrize("rule", [FLTrust(root=0), FoolsGold()], ids=str)
def test_a_rule_that_goes_by_users_is_refused(rule: FLTrust | FoolsGold) -> None:
    with pytest.raises(InvalidValue, match="mixes rows, and its rule must not go by who sent them, got"):
        NearestNeighbourMixing(rule=rule, malicious=1)


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(InvalidType, match="rule must combine all rows"):
        NearestNeighbourMixing(rule="krum", malicious=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="number of malicious rows must be at least 0"):
        NearestNeighbourMixing(rule=CoordinateMedian(), malicious=-1)
    assert NearestNeighbourMixing(rule=CoordinateMedian(), malicious=3).least_rows == 4
    assert NearestNeighbourMixing(rule=Krum(malicious=3), malicious=3).least_rows == 9
