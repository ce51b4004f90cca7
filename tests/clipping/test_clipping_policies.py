"""What each policy does with norms, and that no look moves further than it declares."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import ClipNormDecay, FixedBound, HistogramMedian, PolynomialDecay, Quantile, RawMedian
from fedward.clipping.quantile import noise_beside
from fedward.core.types import Bounds
from fedward.privacy.events import fold

COHORT = 4.0
CND = ClipNormDecay(initial=1.0, decay=0.9, look_noise=3.5, expected_cohort=COHORT)
QUANTILE = Quantile(initial=1.0, quantile=0.5, bit_noise=2.0, expected_cohort=COHORT)
HISTOGRAM = HistogramMedian(initial=1.0, least=0.1, most=10.0, bins=6, look_noise=2.0, every=5, most_looks=4)

# How a look answers, how far one user added or removed may move it, and how many times as far one replaced.
LOOKS: dict[str, tuple[Any, float, float]] = {
    "clip norm decay": (lambda norms: np.array([CND.look(1.0, norms)]), 1.0 / COHORT, CND.replaced_moves),
    "quantile": (lambda norms: np.array([QUANTILE.look(1.0, norms)]), 0.5, QUANTILE.replaced_moves),
    "histogram median": (HISTOGRAM.look, 1.0, HISTOGRAM.replaced_moves),
}
NORMS = [0.0, 1e-40, 0.3, 1.0, 1.0000001, 5.0, 1e30, math.inf]


@pytest.mark.parametrize("name", LOOKS)
def test_no_neighbouring_cohort_moves_a_look_beyond_its_sensitivity(name: str) -> None:
    look, declared, times = LOOKS[name]
    added, replaced = 0.0, 0.0
    for size in range(4):
        for cohort in itertools.product(NORMS, repeat=size):
            norms: list[Bounds] = [(norm,) for norm in cohort]
            answer = look(norms)
            for new in NORMS:
                added = max(added, float(np.linalg.norm(look([*norms, (new,)]) - answer)))
                if norms:
                    replaced = max(replaced, float(np.linalg.norm(look([*norms[1:], (new,)]) - answer)))
    assert added <= declared * (1 + 1e-12)
    # The declaration is reached, so a smaller one would be wrong.
    assert added >= declared * (1 - 1e-12)
    # What the event of replace-one counts on, and no more than that.
    assert replaced <= times * declared * (1 + 1e-12)
    assert replaced >= times * declared * (1 - 1e-12)


@pytest.mark.parametrize(
    ("policy", "deviation"), [(CND, 3.5 / COHORT), (QUANTILE, 2.0 * 0.2 / COHORT)], ids=["cnd", "quantile"]
)
def test_a_look_has_the_noise_that_is_charged(policy: Any, deviation: float) -> None:
    """The declared multiplier times the look's sensitivity, seen through what the policy makes of it."""
    rng = np.random.default_rng(0)
    norms: list[Bounds] = [(0.5,)] * 4
    moved = np.array([policy.move((1.0,), 0, (1.0,), norms, rng)[0] for _ in range(20_000)])
    if policy is QUANTILE:
        values = np.log(moved)
        assert values.std() == pytest.approx(deviation, rel=0.03)
    else:
        # The bound is min(0.9, mean norm + noise), at least the floor: compare what lies between.
        share = float(((moved > 0.01) & (moved < 0.9)).mean())
        normal = [0.5 * math.erfc(-(x - 0.5) / deviation / math.sqrt(2)) for x in (0.01, 0.9)]
        assert share == pytest.approx(normal[1] - normal[0], abs=0.015)


def test_the_histogram_has_the_noise_that_is_charged() -> None:
    """With few norms the noise decides how often their bin wins: as often as with counts of deviation 2."""
    rng = np.random.default_rng(0)
    norms: list[Bounds] = [(1.0,)] * 3
    kept = [HISTOGRAM.move((1.0,), 0, (1.0,), norms, rng)[0] for _ in range(4000)]
    place = int(np.searchsorted(HISTOGRAM.edges[1:-1], 1.0, side="right"))
    truth = float(np.sqrt(HISTOGRAM.edges[place] * HISTOGRAM.edges[place + 1]))
    simulated = []
    other = np.random.default_rng(1)
    for _ in range(4000):
        counts = HISTOGRAM.look(norms) + 2.0 * other.standard_normal(6)
        simulated.append(HISTOGRAM.median(counts))
    right = np.mean([value == pytest.approx(truth) for value in kept])
    assert right == pytest.approx(np.mean([value == pytest.approx(truth) for value in simulated]), abs=0.05)
    assert 0.2 < right < 0.9


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("start", [0.01, 100.0])
def test_the_quantile_is_found_from_far_below_and_far_above(quantile: float, start: float) -> None:
    """Starts 100 times too small and too large. With the clipped fraction the bound would run away."""
    rng = np.random.default_rng(3)
    policy = Quantile(initial=start, quantile=quantile, bit_noise=5.0, expected_cohort=100)
    state = policy.init()
    seen = []
    for t in range(400):
        norms: list[Bounds] = [(norm,) for norm in rng.lognormal(0.0, 0.5, size=100)]
        state = policy.move(state, t, state, norms, rng)
        seen.append(state[0])
    truth = float(np.quantile(np.random.default_rng(0).lognormal(0.0, 0.5, size=1_000_000), quantile))
    assert np.median(seen[200:]) == pytest.approx(truth, rel=0.1)


def test_model_and_bits_share_the_noise() -> None:
    policy = Quantile(initial=1.0, quantile=0.5, bit_noise=2.5, expected_cohort=COHORT)
    model = policy.model_noise(1.2)
    assert model == pytest.approx((1.2**-2 - 5.0**-2) ** -0.5)
    assert fold(model, *policy.looks(0)) == pytest.approx(1.2)
    with pytest.raises(InvalidValue, match="looks must have more noise"):
        noise_beside(5.0, 5.0)


@pytest.mark.parametrize("total", [1e-300, 5e-324, 1e-160, 1e300])
def test_noise_that_nothing_can_be_computed_with_is_refused_in_words(total: float) -> None:
    with pytest.raises(InvalidValue, match="noise multiplier must be from 1e-50 to 1e\\+50"):
        noise_beside(total, math.inf)


def test_clip_norm_decay_falls_by_its_factor_between_looks() -> None:
    assert CND.move((1.0,), 10, (1.0,), [(1.0,)] * 4, np.random.default_rng(0)) == (0.9,)
    assert CND.looks(10) == ()
    assert [t for t in range(300) if CND.looks(t)] == [*range(10), 50, 100, 150, 200, 250]


def test_clip_norm_decay_follows_small_norms_down_and_never_rises() -> None:
    quiet = ClipNormDecay(initial=1.0, decay=0.99, look_noise=1e-6, expected_cohort=4.0)
    assert quiet.move((1.0,), 0, (1.0,), [(0.25,)] * 4, np.random.default_rng(0))[0] == pytest.approx(
        0.25, abs=1e-4
    )
    state = CND.init()
    rng = np.random.default_rng(0)
    for t in range(200):
        following = CND.move(state, t, state, [(9.0,)] * 4, rng)
        assert following[0] <= state[0]
        state = following


def test_clip_norm_decay_stops_at_its_public_floor() -> None:
    for floor, wanted in ((None, 0.01), (0.2, 0.2)):
        policy = ClipNormDecay(initial=1.0, decay=0.5, look_noise=3.5, expected_cohort=4.0, floor=floor)
        state = policy.init()
        for t in range(100):
            state = policy.move(state, t, state, [], np.random.default_rng(t))
        assert state == (wanted,)


def test_the_polynomial_follows_its_formula() -> None:
    for power in (0.5, 1.0, 2.0):
        policy = PolynomialDecay(initial=0.05, power=power, rounds=50)
        for t in (0, 1, 25, 49):
            assert policy.bound((), t, None)[0] == pytest.approx(0.05 * (1 - t / 50) ** power)
        assert policy.bound((), 500, None) == policy.bound((), 49, None)


def test_the_histogram_finds_the_bin_of_the_median_without_noise() -> None:
    quiet = HistogramMedian(
        initial=1.0, least=0.01, most=100.0, bins=40, look_noise=1e-9, every=1, most_looks=5
    )
    rng = np.random.default_rng(0)
    norms: list[Bounds] = [(norm,) for norm in rng.lognormal(0.7, 1.0, size=999)]
    bound = quiet.move((1.0,), 0, (1.0,), norms, rng)[0]
    width = (100.0 / 0.01) ** (1 / 40)
    truth = float(np.median(norms))
    assert truth / width <= bound <= truth * width


def test_the_histogram_counts_what_lies_outside_in_its_outer_bins() -> None:
    assert HISTOGRAM.look([(0.0,), (1e-300,), (1e30,), (math.inf,)]).tolist() == [2, 0, 0, 0, 0, 2]


def test_the_histogram_stops_looking_and_keeps_its_bound() -> None:
    assert [t for t in range(100) if HISTOGRAM.looks(t)] == [0, 5, 10, 15]
    rng = np.random.default_rng(0)
    assert HISTOGRAM.move((0.7,), 20, (0.7,), [(5.0,)] * 9, rng) == (0.7,)
    assert HISTOGRAM.median(np.array([-1.0, -2.0, 0.0, 0.0, 0.0, 0.0])) is None


def test_the_raw_median_is_taken_layer_by_layer_and_has_no_epsilon() -> None:
    policy = RawMedian(initial=0.3)
    assert policy.bound((), 0, [(1.0, 9.0), (2.0, 7.0), (30.0, 8.0)]) == (2.0, 8.0)
    assert policy.bound((), 0, []) == (0.3,)
    assert policy.bound((), 0, [(0.0,)])[0] > 0
    assert "median of private norms" in policy.unproven


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (FixedBound, {"clip_bound": ()}),
        (FixedBound, {"clip_bound": (1.0, 0.0)}),
        (FixedBound, {"clip_bound": (1.0, math.nan)}),
        (PolynomialDecay, {"initial": 0.0, "power": 1.0, "rounds": 3}),
        (PolynomialDecay, {"initial": 1.0, "power": 0.0, "rounds": 3}),
        (PolynomialDecay, {"initial": 1.0, "power": math.inf, "rounds": 3}),
        (PolynomialDecay, {"initial": 1.0, "power": 1e6, "rounds": 10}),
        (PolynomialDecay, {"initial": 1.0, "power": 1.0, "rounds": 0}),
        (ClipNormDecay, {"initial": 1.0, "decay": 0.0, "look_noise": 1.0, "expected_cohort": 1.0}),
        (ClipNormDecay, {"initial": 1.0, "decay": 1.1, "look_noise": 1.0, "expected_cohort": 1.0}),
        (ClipNormDecay, {"initial": 1.0, "decay": 0.9, "look_noise": 0.0, "expected_cohort": 1.0}),
        (ClipNormDecay, {"initial": 1.0, "decay": 0.9, "look_noise": 1.0, "expected_cohort": math.nan}),
        (
            ClipNormDecay,
            {"initial": 1.0, "decay": 0.9, "look_noise": 1.0, "expected_cohort": 1.0, "floor": 0.0},
        ),
        (
            ClipNormDecay,
            {"initial": 1.0, "decay": 0.9, "look_noise": 1.0, "expected_cohort": 1.0, "floor": 2.0},
        ),
        (Quantile, {"initial": 1.0, "quantile": 1.0, "bit_noise": 1.0, "expected_cohort": 1.0}),
        (Quantile, {"initial": 1.0, "quantile": 0.0, "bit_noise": 1.0, "expected_cohort": 1.0}),
        (Quantile, {"initial": 1.0, "quantile": 0.5, "bit_noise": 0.0, "expected_cohort": 1.0}),
        (Quantile, {"initial": 1e-20, "quantile": 0.5, "bit_noise": 1.0, "expected_cohort": 1.0}),
        (HistogramMedian, {"least": 2.0}),
        (HistogramMedian, {"bins": 1}),
        (HistogramMedian, {"look_noise": -1.0}),
        (HistogramMedian, {"every": 0}),
        (HistogramMedian, {"most_looks": 0}),
        (RawMedian, {"initial": 0.0}),
    ],
)
def test_impossible_settings_are_refused(kind: Any, settings: dict[str, Any]) -> None:
    if kind is HistogramMedian:
        usual = {
            "initial": 1.0,
            "least": 0.1,
            "most": 1.0,
            "bins": 4,
            "look_noise": 1.0,
            "every": 1,
            "most_looks": 1,
        }
        settings = usual | settings
    with pytest.raises(InvalidValue):
        kind(**settings)


def test_a_setting_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(InvalidType):
        FixedBound(clip_bound="0.5")  # type: ignore[arg-type]
