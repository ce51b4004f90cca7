from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import Scale
from fedward.attacks.model_poisoning.scale import scale_update
from fedward.base.validate import InvalidValue
from fedward.clipping import FlatNorm
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Sight
from fedward.presets import norm_bounding
from fedward.sampling import EveryoneSampler
from support import one_round, tiny_federation, tiny_model, tiny_sgd

FEDERATION, SIZE = tiny_federation(), ParameterSpec.of(tiny_model()).size
FACTORS = st.floats(min_value=1e-3, max_value=1e6)
ROWS = st.lists(
    st.floats(min_value=-1e3, max_value=1e3, width=32) | st.sampled_from([3e38, -1e30, 0.0]),
    min_size=1,
    max_size=8,
)


def tampered(update: Tensor, factor: float) -> Tensor:
    sight = Sight(round=0, parameters=torch.zeros_like(update), bounds=(), own={0: update.clone()})
    return Scale(factor=factor).tamper(update.clone(), sight, np.random.default_rng(0))


def unclipped() -> Any:
    return norm_bounding(num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=1e9)


def attacker(factor: float) -> Attacker:
    part = Scale(factor=factor)
    return Attacker(users=frozenset({3}), knowledge="own", rounds=None, data=(), model=(part,))


@given(ROWS, FACTORS)
def test_every_coordinate_is_multiplied_and_rounded_once(row: list[float], factor: float) -> None:
    with np.errstate(over="ignore"):
        wanted = (np.array(row, dtype=np.float32).astype(np.float64) * factor).astype(np.float32)
    assert np.array_equal(tampered(torch.tensor(row), factor).numpy(), wanted)


def test_one_attacker_replaces_the_model_in_one_round_of_a_plain_mean() -> None:
    algorithm, wanted = unclipped(), torch.linspace(-1, 1, SIZE)
    state = algorithm.init(ParameterSpec.of(tiny_model()).flatten(tiny_model()))
    after, log, _ = one_round(
        algorithm,
        state,
        FEDERATION,
        lambda u: wanted - state.parameters if u == 3 else torch.zeros(SIZE),
        adversary=attacker(12.0),
    )
    assert torch.allclose(after.parameters, wanted, atol=1e-6)
    assert log.telemetry is not None
    (norm,) = log.telemetry.norms_of(malicious=True)
    assert norm == pytest.approx(12 * float((wanted - state.parameters).norm()), rel=1e-5)


def test_a_row_beyond_the_largest_number_is_rejected_and_costs_only_itself() -> None:
    algorithm = unclipped()
    state = algorithm.init(torch.zeros(SIZE))
    ones = torch.ones(SIZE)
    after, log, _ = one_round(algorithm, state, FEDERATION, lambda u: ones, adversary=attacker(1e300))
    without, _, _ = one_round(algorithm, state, FEDERATION, lambda u: None if u == 3 else ones)
    assert log.telemetry is not None
    assert log.telemetry.rejected == (3,)
    assert torch.equal(after.parameters, without.parameters)


def test_nothing_stays_nothing_however_large_the_factor() -> None:
    assert torch.equal(tampered(torch.zeros(4), 1e300), torch.zeros(4))
    assert torch.equal(scale_update(torch.zeros(4), 1e300, 1.0), torch.zeros(4))


@given(ROWS, FACTORS, st.floats(min_value=1e-6, max_value=1e6))
def test_a_row_within_a_norm_is_left_whole_by_a_server_that_clips_there(
    row: list[float], factor: float, norm: float
) -> None:
    update = torch.tensor(row)
    sent = scale_update(update.clone(), factor, norm)
    measure = FlatNorm().measure(sent)
    assert measure[0] <= norm
    assert torch.equal(FlatNorm().clip(sent, measure, (norm,)), sent)


@given(ROWS, FACTORS, st.floats(min_value=1e-6, max_value=1e6))
def test_a_norm_is_used_up_where_the_factor_allows_it(row: list[float], factor: float, norm: float) -> None:
    update = np.array(row, dtype=np.float32).astype(np.float64)
    wanted = update * min(factor, norm / (np.linalg.norm(update) or 1.0))
    # A few parts in a million are given up so that rounding cannot lift the row above the norm.
    sent = scale_update(torch.tensor(row), factor, norm).double().numpy()
    assert np.allclose(sent, wanted, rtol=3e-6, atol=1e-40)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_what_is_not_finite_stays_so_and_is_left_to_the_server(bad: float) -> None:
    for norm in (None, 1.0):
        assert not bool(torch.isfinite(scale_update(torch.tensor([bad, 1.0]), 2.0, norm)).all())


def test_a_norm_beyond_float32_does_no_harm() -> None:
    assert scale_update(torch.tensor([1e30]), 1e20, 1e300).tolist() == [math.inf]
    wide = scale_update(torch.tensor([1e300], dtype=torch.float64), 1e20, 1.0)
    assert float(wide) == pytest.approx(1.0, rel=3e-6)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf, True, "50"])
def test_a_factor_that_is_not_positive_and_finite_is_refused(factor: Any) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be"):
        Scale(factor=factor)
