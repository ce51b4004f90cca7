from __future__ import annotations

import pytest

from config.tiny_sweep import sweep_of
from fedward.base.validate import InvalidValue
from fedward.config.sweep_axis import SweepAxis


def test_names_of_directories_are_safe() -> None:
    axis = SweepAxis.of("algorithm", [{"label": "../a/b c", "preset": "fedavg"}, {"preset": "fedavg"}])
    assert axis.labels == ("../a/b c", "fedavg")
    sweep = sweep_of({"algorithm": list(axis.values)})
    assert [point.directory for point in sweep.points] == [
        "algorithm=.._a_b_c,seed=4",
        "algorithm=fedavg,seed=4",
    ]
    with pytest.raises(InvalidValue, match="would have one directory; give them different labels"):
        sweep_of({"algorithm": [{"label": "a b"}, {"label": "a/b"}]})


def test_tables_without_a_label_are_named_by_what_they_say() -> None:
    sweep = sweep_of({"algorithm": [{"clip_bound": 1.0}, {"clip_bound": 2.0}]})
    assert sweep.axes[0].labels == ("clip_bound=1", "clip_bound=2")
    assert SweepAxis.of("algorithm.sampler", [{"name": "x"}, {"name": "x", "y": 1}]).labels == ("x 1", "x 2")


def test_only_numbers_that_a_float_can_hold_are_drawn_against() -> None:
    assert SweepAxis.of("rounds", [1, 2.5]).numeric
    for value in (10**400, float("inf"), float("nan"), True, "1", [1]):
        assert not SweepAxis.of("rounds", [2, value]).numeric
