from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import CentredClipping, CoordinateMedian, Flame, FoolsGold, Krum, RobustLearningRate
from fedward.base.validate import InvalidType, InvalidValue


@given(st.integers(1, 9), st.integers(0, 9), st.integers(0, 99))
def test_the_result_is_that_of_the_definition(count: int, threshold: int, seed: int) -> None:
    rows = normal_rows(count, 6, seed)
    rows[0][0] = 0.0
    result, _ = watch(RobustLearningRate(threshold=threshold), rows)
    for j in range(6):
        values = [float(row[j]) for row in rows]
        agreed = abs(sum((v > 0) - (v < 0) for v in values))
        mean = sum(values) / count
        assert float(result[j]) == pytest.approx(mean if agreed >= threshold else -mean, abs=1e-9)


def test_any_rule_can_be_turned() -> None:
    rows = normal_rows(7, 6)
    for rule in (CoordinateMedian(), Krum(malicious=2)):
        result, _ = watch(RobustLearningRate(threshold=3, rule=rule), rows)
        assert torch.equal(result.abs(), rule.combine(rows).abs())
    result, memory = watch(RobustLearningRate(threshold=0, rule=CentredClipping(radius=1.0)), rows)
    assert torch.equal(memory[0], result)
    assert RobustLearningRate(threshold=1, rule=Krum(malicious=2)).least_rows == 7
    assert RobustLearningRate(threshold=1, rule=Flame()).own_noise


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidValue, match="threshold must be at least 0"):
        RobustLearningRate(threshold=-1)
    with pytest.raises(InvalidType, match="threshold must be a whole number"):
        RobustLearningRate(threshold=1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="must not go by who sent"):
        RobustLearningRate(threshold=1, rule=FoolsGold())
