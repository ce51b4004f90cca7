from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import fedward
from fedward.base.validate import InvalidValue
from fedward.clipping import ClipNormDecay, FixedBound, PerLayerNorm, RawMedian
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import ParameterSpec
from fedward.core.types import total_bound
from fedward.presets import user_dp_fedavg
from fedward.sampling import EveryoneSampler, PoissonSampler
from support import one_round, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

SIZES = ParameterSpec.of(tiny_model()).layer_sizes()


def test_a_layer_is_its_weight_and_its_bias() -> None:
    assert SIZES == (16, 10)
    conv = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    assert ParameterSpec.of(conv).layer_sizes() == (20, 18)
    assert ParameterSpec.of(nn.Linear(3, 2)).layer_sizes() == (8,)


@given(
    st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=26, max_size=26),
    st.tuples(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)),
)
def test_no_layer_gets_above_its_bound_nor_the_update_above_all_together(
    values: list[float], bounds: tuple[float, float]
) -> None:
    norm, update = PerLayerNorm(sizes=SIZES), torch.tensor(values)
    clipped = norm.clip(update, norm.measure(update), bounds)
    for layer, bound in zip(torch.split(clipped, list(SIZES)), bounds, strict=True):
        assert math.hypot(*layer.double().tolist()) <= bound * (1 + 1e-15)
    assert math.hypot(*clipped.double().tolist()) <= total_bound(bounds) * (1 + 1e-12)


def test_each_layer_is_clipped_by_itself() -> None:
    norm = PerLayerNorm(sizes=(2, 2))
    update = torch.tensor([30.0, 40.0, 0.1, 0.0])
    clipped = norm.clip(update, norm.measure(update), (1.0, 1.0))
    torch.testing.assert_close(clipped, torch.tensor([0.6, 0.8, 0.1, 0.0]), rtol=1e-5, atol=1e-6)


def test_noise_is_scaled_by_all_layers_together() -> None:
    common = {
        "num_users": 20,
        "sampler": PoissonSampler(rate=0.5),
        "local": tiny_sgd(),
        "noise_multiplier": 2.0,
    }
    one = user_dp_fedavg(**common, clip="per-layer", layers=(5, 5, 5, 5), clip_bound=0.3)  # type: ignore[arg-type]
    each = user_dp_fedavg(**common, clip="per-layer", layers=(5, 5), clip_bound=(0.3, 0.4))  # type: ignore[arg-type]
    for algorithm, wanted in ((one, 0.6), (each, 0.5)):
        bounds = algorithm.bounds(algorithm.init(torch.zeros(10)), None)
        assert len(bounds) == algorithm.norm.groups
        assert total_bound(bounds) == pytest.approx(wanted)
        assert algorithm.noise_std(total_bound(bounds)) == pytest.approx(2.0 * wanted / 10)
    # The multiplier is z whatever the number of layers: accounted as one layer it would be z / sqrt(L).
    assert one.round_event(20, 0) == each.round_event(20, 0)


def layered(**options: Any) -> Algorithm:
    return tiny_algorithm(sampler=EveryoneSampler(), layers=SIZES, **options)


def test_released_noise_of_a_per_layer_round_has_that_deviation() -> None:
    federation, model = tiny_federation(), tiny_model()
    algorithm = layered(clip="per-layer", clip_bound=0.5, noise_multiplier=1.5)
    size = ParameterSpec.of(model).size
    state = replace(algorithm.init(torch.zeros(size)), parameters=torch.zeros(size, dtype=torch.float64))
    moves = []
    for _ in range(300):
        after, _, _ = one_round(
            algorithm, state, federation, lambda u: torch.zeros(size, dtype=torch.float64)
        )
        moves.append(after.parameters - state.parameters)
        state = after
    values = torch.cat(moves)
    wanted = 1.5 * 0.5 * math.sqrt(2) / 12
    assert float(values.std()) == pytest.approx(wanted, rel=6 / math.sqrt(2 * len(values)))


def test_one_user_moves_the_model_by_at_most_all_bounds_together() -> None:
    federation, model = tiny_federation(), tiny_model()
    algorithm = layered(clip="per-layer", clip_bound=(0.5, 0.2), noise_multiplier=1e-3)
    state = algorithm.init(ParameterSpec.of(model).flatten(model))
    huge = torch.full((26,), 1e30)
    moved, _, _ = one_round(algorithm, state, federation, lambda u: huge if u == 0 else None)
    still, _, _ = one_round(algorithm, state, federation, lambda u: None)
    move = float((moved.parameters - still.parameters).double().norm())
    assert move == pytest.approx(math.hypot(0.5, 0.2) / 12, rel=1e-4)


@pytest.mark.parametrize("clip", ["median", "per-layer-median"])
def test_the_medians_clip_to_the_median_and_print_no_epsilon(clip: str) -> None:
    federation, model = tiny_federation(), tiny_model()
    algorithm = layered(clip=clip, clip_bound=1.0, noise_multiplier=1.0)
    state = algorithm.init(ParameterSpec.of(model).flatten(model))
    _, log, _ = one_round(algorithm, state, federation, lambda u: torch.full((26,), float(u)))
    sizes = SIZES if clip == "per-layer-median" else (26,)
    assert log.bounds == pytest.approx(tuple(5.5 * math.sqrt(size) for size in sizes), rel=1e-6)
    guarantee = algorithm.guarantee(12, 5, 1e-3, "pld")
    assert str(guarantee) == "no guarantee: the clip bound is the raw median of private norms"


def test_bounds_or_layers_that_do_not_fit_the_model_are_refused_before_any_work() -> None:
    for arguments in (
        {"layers": SIZES, "clip_bound": (0.1, 0.2, 0.3)},
        {"layers": (5, 5), "clip_bound": 0.1},
    ):
        algorithm = tiny_algorithm(clip="per-layer", **arguments)
        with pytest.raises(InvalidValue, match=r"must be 1 or 2|add up to 26"):
            fedward.rounds(algorithm, tiny_model(), tiny_federation(), rounds=1, seed=1)


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(InvalidValue, match="policy for several bounds"):
        replace(
            tiny_algorithm(),
            norm=PerLayerNorm(sizes=SIZES),
            policy=ClipNormDecay(initial=1.0, decay=0.9, look_noise=1.0, expected_cohort=6),
        )
    with pytest.raises(InvalidValue, match="sizes of the model's layers"):
        tiny_algorithm(clip="per-layer")
    with pytest.raises(InvalidValue, match="at least one layer"):
        PerLayerNorm(sizes=())
    with pytest.raises(InvalidValue, match="did you mean 'median'"):
        tiny_algorithm(clip="medain")
    with pytest.raises(InvalidValue, match="either clip_bound or policy"):
        tiny_algorithm(policy=RawMedian())
    with pytest.raises(InvalidValue, match="either clip_bound or policy"):
        tiny_algorithm(clip_bound=None)
    with pytest.raises(InvalidValue, match="needs one clip_bound"):
        tiny_algorithm(clip="median", clip_bound=(1.0, 2.0))
    assert tiny_algorithm(clip_bound=None, policy=FixedBound(clip_bound=0.2)).policy == FixedBound(
        clip_bound=0.2
    )
