from __future__ import annotations

import math
from typing import Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.clipping.norms import FlatNorm, clip_to, l2_norm

WIDTHS: dict[torch.dtype, Literal[16, 32, 64]] = {torch.float32: 32, torch.float64: 64, torch.float16: 16}
BOUNDS = st.floats(min_value=1e-30, max_value=1e30)


@st.composite
def finite_updates(draw: st.DrawFn) -> Tensor:
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    values = st.floats(width=WIDTHS[dtype], allow_nan=False, allow_infinity=False, allow_subnormal=True)
    special = st.sampled_from([0.0, -0.0, 1e30, -1e30, 1e-45, 1e-40, 3.4e38, -3.4e38, 1.0])
    return torch.tensor(draw(st.lists(values | special, min_size=1, max_size=30)), dtype=dtype)


def exact_norm(update: Tensor) -> float:
    """The norm without overflow or rounding to speak of, by another route than the code's."""
    return math.hypot(*update.double().tolist())


@given(finite_updates(), BOUNDS)
def test_no_norm_gets_above_the_bound(update: Tensor, bound: float) -> None:
    norm = FlatNorm()
    clipped = norm.clip(update, norm.measure(update), (bound,))
    assert bool(torch.isfinite(clipped).all())
    assert clipped.shape == update.shape
    assert clipped.dtype == update.dtype
    assert exact_norm(clipped) <= bound * (1 + 1e-15)


@given(finite_updates(), BOUNDS)
def test_what_is_within_the_bound_is_left_as_it_is(update: Tensor, bound: float) -> None:
    if exact_norm(update) < bound * (1 - 1e-12):
        norm = FlatNorm()
        assert torch.equal(norm.clip(update, norm.measure(update), (bound,)), update)


@given(finite_updates(), st.floats(min_value=1e-6, max_value=1e6))
def test_what_is_above_the_bound_keeps_its_direction_and_reaches_the_bound(
    update: Tensor, bound: float
) -> None:
    before = exact_norm(update)
    if before <= bound or math.isinf(before):
        return
    clipped = clip_to(update, l2_norm(update), bound)
    assert exact_norm(clipped) >= bound * (1 - 1e-5)
    direction = update.double() / before
    # Coordinates far below the bound may round to nothing.
    torch.testing.assert_close(clipped.double() / bound, direction, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [1e30, 3e38])
def test_a_float32_norm_that_would_overflow_is_still_measured_and_clipped(value: float) -> None:
    update = torch.full((1000,), value)
    assert math.isinf(float(update.square().sum()))
    assert l2_norm(update) == pytest.approx(value * math.sqrt(1000), rel=1e-6)
    assert l2_norm(clip_to(update, l2_norm(update), 0.7)) == pytest.approx(0.7, rel=1e-5)


def test_a_float64_norm_beyond_the_largest_number_is_clipped() -> None:
    update = torch.full((100,), 1.7e308, dtype=torch.float64)
    assert math.isinf(l2_norm(update))
    assert l2_norm(clip_to(update, l2_norm(update), 0.7)) == pytest.approx(0.7, rel=1e-5)


def test_a_zero_update_stays_zero() -> None:
    assert torch.equal(clip_to(torch.zeros(5), 0.0, 0.7), torch.zeros(5))


def test_no_bound_clips_nothing() -> None:
    update = torch.tensor([3e38, -3e38])
    assert torch.equal(clip_to(update, l2_norm(update), math.inf), update)


def test_a_bound_near_the_smallest_number_gives_nothing_rather_than_too_much() -> None:
    update = torch.ones(1000)
    clipped = clip_to(update, l2_norm(update), 1e-45)
    assert exact_norm(clipped) <= 1e-45


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_clipping_an_update_that_is_not_finite_ends_and_gives_nothing(bad: float) -> None:
    update = torch.tensor([1.0, bad, 2.0])
    assert torch.equal(clip_to(update, l2_norm(update), 0.5), torch.zeros(3))


@pytest.mark.parametrize("entries", [1, 4, 100])
@pytest.mark.parametrize("share", [0.6, 0.9, 1.6])
def test_what_would_be_rounded_up_above_its_bound_becomes_nothing(entries: int, share: float) -> None:
    """The smallest float32 is 2^-149: a share of it per entry is rounded to a whole one."""
    update = torch.ones(entries)
    bound = share * 2.0**-149 * math.sqrt(entries)
    assert exact_norm(clip_to(update, l2_norm(update), bound)) <= bound
