from __future__ import annotations

import json
import math
from typing import Any

import pytest
from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SampledWithReplacementDpEvent,
    SelfComposedDpEvent,
    UnsupportedDpEvent,
    ZCDpEvent,
)
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy.events import check_event, event_from_json, event_to_json, fold

NOISE = st.floats(1e-3, 1e6)
SIZES = st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)).map(lambda pair: (max(pair), min(pair)))
PLAIN = st.one_of(st.builds(GaussianDpEvent, NOISE), st.just(NonPrivateDpEvent()), st.just(NoOpDpEvent()))
EVENTS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.builds(PoissonSampledDpEvent, st.floats(1e-9, 1.0), inner),
        st.builds(lambda sizes, event: SampledWithoutReplacementDpEvent(*sizes, event), SIZES, inner),
        st.builds(SelfComposedDpEvent, inner, st.integers(1, 10**6)),
        st.builds(ComposedDpEvent, st.lists(inner, max_size=3)),
    ),
    max_leaves=5,
)


@given(EVENTS)
def test_an_event_comes_back_from_its_json_text(event: DpEvent) -> None:
    assert event_from_json(json.loads(json.dumps(event_to_json(event), allow_nan=False))) == event


@pytest.mark.parametrize(
    "event",
    [
        LaplaceDpEvent(1.0),
        ZCDpEvent(1.0),
        UnsupportedDpEvent(),
        SampledWithReplacementDpEvent(10, 2, GaussianDpEvent(1.0)),
        PoissonSampledDpEvent(0.1, LaplaceDpEvent(1.0)),
        ComposedDpEvent([GaussianDpEvent(1.0), ZCDpEvent(1.0)]),
        SelfComposedDpEvent("GaussianDpEvent", 3),
        None,
        3.0,
    ],
)
def test_an_unknown_event_is_refused(event: Any) -> None:
    with pytest.raises(InvalidType, match="event must be one of GaussianDpEvent"):
        event_to_json(event)


def test_a_subclass_is_not_taken_for_its_parent() -> None:
    class GaussianDpEvent(globals()["GaussianDpEvent"]):  # type: ignore[misc]
        pass

    with pytest.raises(InvalidType):
        check_event(GaussianDpEvent(1.0))


@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan, math.inf, -math.inf, 1e-60, 1e60])
def test_noise_out_of_range_is_refused(noise: float) -> None:
    with pytest.raises(InvalidValue, match=r"noise multiplier must be (positive and finite|from)"):
        check_event(GaussianDpEvent(noise))
    with pytest.raises(InvalidValue, match="noise multiplier"):
        event_from_json({"type": "GaussianDpEvent", "noise_multiplier": noise})
    with pytest.raises(InvalidValue, match="noise multiplier"):
        fold(1.0, noise)


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, math.nan, math.inf])
def test_a_rate_that_is_no_probability_is_refused(rate: float) -> None:
    with pytest.raises(InvalidValue, match="sampling rate must be above 0 and at most 1"):
        check_event(PoissonSampledDpEvent(rate, GaussianDpEvent(1.0)))


@pytest.mark.parametrize(("records", "sample"), [(10, 11), (0, 0), (10, 0), (-10, 5)])
def test_impossible_sample_sizes_are_refused(records: int, sample: int) -> None:
    with pytest.raises(InvalidValue):
        check_event(SampledWithoutReplacementDpEvent(records, sample, GaussianDpEvent(1.0)))


@pytest.mark.parametrize("count", [0, -1, 10**13])
def test_impossible_counts_are_refused(count: int) -> None:
    with pytest.raises(InvalidValue, match="count must be at"):
        check_event(SelfComposedDpEvent(GaussianDpEvent(1.0), count))


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "GaussianDpEvent",
        {},
        {"type": 3},
        {"type": ["GaussianDpEvent"], "noise_multiplier": 1.0},
        {"type": "GaussianDpEvent"},
        {"type": "GaussDpEvent", "noise_multiplier": 1.0},
        {"type": "GaussianDpEvent", "noise_multiplier": 1.0, "extra": 1},
        {"type": "GaussianDpEvent", "noise_multiplier": "1.0"},
        {"type": "GaussianDpEvent", "noise_multiplier": True},
        {"type": "GaussianDpEvent", "noise_multiplier": None},
        {"type": "SelfComposedDpEvent", "event": {"type": "NoOpDpEvent"}, "count": 1.5},
        {"type": "SelfComposedDpEvent", "event": {"type": "NoOpDpEvent"}, "count": True},
        {"type": "SelfComposedDpEvent", "event": "NoOpDpEvent", "count": 1},
        {"type": "ComposedDpEvent", "events": {"type": "NoOpDpEvent"}},
        {"type": "LaplaceDpEvent", "noise_multiplier": 1.0},
    ],
)
def test_malformed_json_is_refused(content: Any) -> None:
    with pytest.raises((InvalidType, InvalidValue)):
        event_from_json(content)


def test_a_misspelt_type_names_the_nearest() -> None:
    with pytest.raises(InvalidValue, match="did you mean 'GaussianDpEvent'"):
        event_from_json({"type": "GausianDpEvent", "noise_multiplier": 1.0})


@given(st.lists(NOISE, min_size=1, max_size=6))
def test_folding_adds_inverse_variances(noises: list[float]) -> None:
    assert fold(*noises) ** -2 == pytest.approx(sum(z**-2 for z in noises), rel=1e-12)
    assert fold(*noises) <= min(noises)


def test_folding_one_changes_nothing_and_folding_none_is_refused() -> None:
    assert fold(0.1) == 0.1
    with pytest.raises(InvalidValue):
        fold()
