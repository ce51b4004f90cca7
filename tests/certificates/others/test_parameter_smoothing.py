from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent
from numpy.typing import NDArray
from scipy.stats import norm

from fedward.base.validate import InvalidValue
from fedward.certificates.others import ParameterSmoothing
from fedward.certificates.others.parameter_smoothing import (
    SmoothedRound,
    divergence_left,
    divergence_survived,
)
from fedward.certificates.prediction import certified_k
from fedward.privacy.group import Threat

Floats = NDArray[np.float64]

GRID = np.linspace(-12, 12, 481)
STEP = GRID[1] - GRID[0]


def kl(p: Floats, q: Floats) -> float:
    """KL(p ‖ q) of two laws on the grid."""
    there = p > 1e-300
    return float((p[there] * np.log(p[there] / np.maximum(q[there], 1e-300))).sum())


def law(mean: float, noise: float) -> Floats:
    found: Floats = norm.pdf(GRID, mean, noise) * STEP
    return np.asarray(found / found.sum())


def round_of(p: Floats, model: Floats, noise: float, shift: float = 0.0) -> Floats:
    """The law after w -> model(w) + shift + N(0, noise²)."""
    kernel = norm.pdf(GRID[:, None], (model + shift)[None, :], noise) * STEP
    kernel /= kernel.sum(axis=0)
    found: Floats = kernel @ p
    return found


def models(reach: float) -> list[Floats]:
    """What honest users may make of a model: bounded functions, some of which pull models apart."""
    return [
        np.clip(GRID, -reach, reach),
        np.clip(20 * GRID, -reach, reach),
        reach * np.sign(GRID),
        reach * np.sin(3 * GRID),
        np.zeros_like(GRID),
    ]


@pytest.mark.parametrize(("reach", "noise"), [(0.5, 1.0), (1.0, 1.0), (2.0, 1.0), (1.5, 0.8)])
def test_a_round_without_attackers_brings_two_laws_nearer_by_at_least_its_factor(
    reach: float, noise: float
) -> None:
    c = SmoothedRound(reach=reach, noise=noise).contraction
    largest = 0.0
    for p, q in ((law(0, 1), law(1, 1)), (law(-3, 0.3), law(3, 0.3)), (law(0, 0.5), law(0, 2))):
        for model in models(reach):
            left = kl(round_of(p, model, noise), round_of(q, model, noise))
            assert left <= c * kl(p, q) + 1e-9
            largest = max(largest, left / kl(p, q))
    assert largest > 0.05 * c  # the pairs are worth trying


@pytest.mark.parametrize("attacked", [(True,), (True, False), (False, True, False), (True, True, False)])
def test_the_last_models_are_no_further_apart_than_is_claimed(attacked: tuple[bool, ...]) -> None:
    noise, rho, shift = 1.0, 1.0, 0.8
    step = SmoothedRound(reach=rho, noise=noise)
    for model in models(rho):
        clean = attack = law(0.0, 0.3)
        for acts in attacked:
            clean = round_of(clean, model, noise)
            attack = round_of(attack, model, noise, shift * noise if acts else 0.0)
        claimed = divergence_left(shift, attacked, step.contraction)
        for found in (kl(attack, clean), kl(clean, attack)):
            assert found <= claimed + 1e-6
    # The last of the models forgets where it was: then two Gaussians are left, exactly that far apart.
    if attacked == (True,):
        assert kl(attack, clean) == pytest.approx(shift**2 / 2, rel=1e-3)


def test_an_attacker_that_remembers_earlier_models_gains_nothing() -> None:
    """It shifts by what it saw before the last honest round; the marginal of the model is what is bounded."""
    noise, shift = 1.0, 0.8
    model = np.clip(GRID, -1.0, 1.0)
    clean = round_of(round_of(law(0, 0.3), model, noise), model, noise)
    first = law(0, 0.3)
    mixed = np.zeros_like(GRID)
    seen = round_of(first, model, noise, shift)  # attacked in round 0
    for place in np.flatnonzero(seen > 1e-9)[::12]:
        point = np.zeros_like(GRID)
        point[place] = seen[place]
        # In round 1 it pushes away from where it saw the model.
        mixed += round_of(point, model, noise, shift if GRID[place] > 0 else -shift)
    mixed /= mixed.sum()
    claimed = divergence_left(shift, (True, True), 1.0)
    assert kl(mixed, clean) <= claimed + 1e-3


@pytest.mark.parametrize(("top", "runner_up"), [(0.9, 0.05), (0.6, 0.3), (0.99, 0.01), (0.45, 0.2)])
def test_no_law_that_is_nearer_has_another_class_on_top(top: float, runner_up: float) -> None:
    limit = float(divergence_survived([top], [runner_up])[0])
    p = np.array([top, runner_up, 1 - top - runner_up]) + 1e-12
    p /= p.sum()
    rng = np.random.default_rng(0)
    draws = rng.dirichlet(np.ones(3), 40_000)
    # All laws with the other class on top, and those on the edge, where the nearest one lies.
    draws = np.concatenate([draws, np.stack([m := (draws[:, 0] + draws[:, 1]) / 2, m, 1 - 2 * m], axis=1)])
    lost = draws[draws[:, 0] <= draws[:, 1] + 1e-12]
    apart = (lost * np.log(np.maximum(lost, 1e-300) / p)).sum(axis=1)
    assert apart.min() >= limit - 1e-6
    assert apart.min() == pytest.approx(limit, rel=0.02)


@pytest.mark.parametrize("threat", ["inject", "present", "compromise"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_it_is_never_more_than_the_whole_curve_where_all_rounds_are_attacked(
    threat: Threat, rounds: int
) -> None:
    top = np.array([0.51, 0.7, 0.9, 0.99, 0.999])
    for runner_up in (1 - top, (1 - top) / 3):
        theirs = ParameterSmoothing().attackers(
            top, runner_up, noise_multiplier=9.0, rounds=rounds, threat=threat
        )
        ours = certified_k(top, runner_up, [(GaussianDpEvent(9.0), rounds)], threat)
        assert (theirs <= ours).all()
        assert theirs[-1] > 0


def test_an_attack_in_an_early_round_fades_where_noise_is_as_long_as_the_model() -> None:
    early, step = ParameterSmoothing(attacked=(0,)), SmoothedRound(reach=1.0, noise=1.0)
    one = early.attackers([0.9], [0.1], noise_multiplier=9.0, rounds=6, threat="inject", step=step)
    last = ParameterSmoothing(attacked=(5,)).attackers(
        [0.9], [0.1], noise_multiplier=9.0, rounds=6, threat="inject", step=step
    )
    assert one > 2 * last
    useless = SmoothedRound(reach=10.0, noise=1.0)
    assert early.attackers(
        [0.9], [0.1], noise_multiplier=9.0, rounds=6, threat="inject", step=useless
    ) == early.attackers([0.9], [0.1], noise_multiplier=9.0, rounds=6, threat="inject")


def test_the_k_that_is_certified_is_the_last_below_the_limit() -> None:
    by, top = ParameterSmoothing(), np.linspace(0.5, 1.0, 60)
    found = by.attackers(top, 1 - top, noise_multiplier=7.0, rounds=2, threat="inject", most=40)
    limit = divergence_survived(top, 1 - top)
    for k, most in zip(found.tolist(), limit.tolist(), strict=True):
        if k < 0:
            assert most == 0
            continue
        assert by.divergence(k, noise_multiplier=7.0, rounds=2, threat="inject") < most
        if k < 40:
            more = by.divergence(k + 1, noise_multiplier=7.0, rounds=2, threat="inject")
            assert more >= most * (1 - 1e-9)


def test_the_least_probability_is_that_of_the_worst_law_near_enough() -> None:
    q = ParameterSmoothing().least([0.9], 0.3)[0]
    apart = q * np.log(q / 0.9) + (1 - q) * np.log((1 - q) / 0.1)
    assert apart == pytest.approx(0.3, abs=1e-9)
    assert apart <= 0.3 + 1e-12
    assert q < 0.9


def test_attacked_rounds_must_be_rounds() -> None:
    with pytest.raises(InvalidValue, match="below the number of rounds, 3, got 3"):
        ParameterSmoothing(attacked=(0, 3)).acts(3)
    with pytest.raises(InvalidValue, match="one or more, got none"):
        ParameterSmoothing(attacked=())
