from __future__ import annotations

import numpy as np
import pytest
import torch

from aggregation.watched_rounds import normal_rows, watch
from fedward.aggregation import Bucketing, CentredClipping, CoordinateMedian, FoolsGold, Krum, TrimmedMean
from fedward.base.validate import InvalidValue


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_the_rule_gets_the_means_of_random_buckets(size: int) -> None:
    rows = normal_rows(10, 4)
    result, _ = watch(Bucketing(rule=CoordinateMedian(), size=size), rows, seed=5)
    order = np.random.default_rng(5).permutation(10)
    wide = torch.stack(rows).double()
    means = [wide[order[start : start + size]].mean(0) for start in range(0, 10, size)]
    assert torch.allclose(result, CoordinateMedian().combine(means))


def test_buckets_of_one_leave_a_rule_that_minds_no_order_alone_and_one_bucket_is_the_mean() -> None:
    rows = normal_rows(7, 3)
    one, _ = watch(Bucketing(rule=TrimmedMean(trimmed=2), size=1), rows)
    assert torch.allclose(one, TrimmedMean(trimmed=2).combine(rows))
    whole, _ = watch(Bucketing(rule=CoordinateMedian(), size=7), rows)
    assert torch.allclose(whole, torch.stack(rows).double().mean(0))


def test_other_rounds_have_other_buckets() -> None:
    rows, rule = normal_rows(10, 4), Bucketing(rule=CoordinateMedian())
    assert not torch.equal(watch(rule, rows, seed=1)[0], watch(rule, rows, seed=2)[0])


def test_it_needs_as_many_rows_as_fill_the_buckets_that_the_rule_needs() -> None:
    assert Bucketing(rule=Krum(malicious=1), size=2).least_rows == 9  # 5 buckets, the last of one row
    watch(Bucketing(rule=Krum(malicious=1), size=2), normal_rows(9, 3))


def test_memory_goes_through_and_rules_that_go_by_users_are_refused() -> None:
    result, memory = watch(Bucketing(rule=CentredClipping(radius=0.5)), normal_rows(6, 3))
    assert torch.equal(memory[0], result)
    with pytest.raises(InvalidValue, match="bucketing mixes rows"):
        Bucketing(rule=FoolsGold())
    with pytest.raises(InvalidValue, match="size of a bucket must be at least 1"):
        Bucketing(rule=CoordinateMedian(), size=0)
