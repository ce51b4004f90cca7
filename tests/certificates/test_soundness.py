"""Soundness and tightness by experiment: attacks on trainings small enough to be run many times."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from scipy.stats import binom, norm

from fedward.certificates.prediction import transport
from fedward.presets import user_dp_fedavg
from fedward.privacy.group import group_curve
from fedward.sampling import PoissonSampler
from support import one_round, tiny_federation, tiny_sgd

Array = np.ndarray[Any, np.dtype[np.float64]]
Attack = Callable[[Array, int, np.random.Generator], Array]
TRIALS = 40_000
# An honest test fails once in a billion runs of it.
ERROR = 1e-9

ATTACKS: dict[str, Attack] = {
    "up": lambda model, t, rng: np.ones_like(model),
    "down": lambda model, t, rng: -np.ones_like(model),
    "outwards": lambda model, t, rng: np.where(model > 0, 1.0, -1.0),
    "to the middle": lambda model, t, rng: np.clip(-3 * model, -1.0, 1.0),
    "in the last round": lambda model, t, rng: np.full_like(model, float(t == 2)),
    "at random": lambda model, t, rng: rng.choice([-1.0, 1.0], size=len(model)),
}
SCORES: dict[str, Callable[[Array], Array]] = {
    "above": lambda model: (model > 0.2).astype(float),
    "below": lambda model: (model < 0.45).astype(float),
    "logistic": lambda model: 1 / (1 + np.exp(-6 * (model - 0.2))),
}


def width(trials: int) -> float:
    """By how much a mean of so many scores in [0, 1] can be off (Hoeffding)."""
    return math.sqrt(math.log(1 / ERROR) / (2 * trials))


def trained(
    targets: Array, attackers: int, attack: Attack, q: float, z: float, rng: np.random.Generator
) -> Array:
    """Three rounds of a clipped, noisy mean of one number, once for each trial.

    Honest users pull the model towards their target; updates are clipped to 1 and divided by the expected
    cohort of 10 users, whoever is there.
    """
    model = np.zeros(TRIALS)
    for t in range(3):
        total = z * rng.normal(size=TRIALS)
        for target in targets:
            total += (rng.random(TRIALS) < q) * np.clip(target - model, -1.0, 1.0)
        total += rng.binomial(attackers, q, TRIALS) * attack(model, t, rng)
        model = model + total / (10 * q)
    return model


@pytest.mark.parametrize(("q", "z", "k"), [(0.3, 2.0, 2), (0.3, 2.0, 6), (0.8, 4.0, 3)])
def test_no_attack_gets_beyond_the_bounds(q: float, z: float, k: int) -> None:
    rng = np.random.default_rng(0)
    targets = np.linspace(-0.2, 0.8, 10)
    curve = group_curve([(PoissonSampledDpEvent(q, GaussianDpEvent(z)), 3)], k)
    clean = trained(targets, 0, ATTACKS["up"], q, z, rng)
    reduced = trained(targets[k:], 0, ATTACKS["up"], q, z, rng)
    w = width(TRIALS)
    for attack in ATTACKS.values():
        injected = trained(targets, k, attack, q, z, rng)
        replaced = trained(targets[k:], k, attack, q, z, rng)
        for score in SCORES.values():
            for threat, sampled, threatened in (
                ("inject", clean, injected),
                ("present", injected, clean),
                ("present", replaced, reduced),
                ("compromise", clean, replaced),
            ):
                before, after = float(score(sampled).mean()), float(score(threatened).mean())
                low = transport(max(0.0, before - w), curve, threat, "lower")  # type: ignore[arg-type]
                high = transport(min(1.0, before + w), curve, threat, "upper")  # type: ignore[arg-type]
                assert after + w >= low
                assert after - w <= high


def test_a_bound_for_fewer_attackers_is_broken_by_more() -> None:
    """The experiment above can fail: the same attack breaks the bound for a third of its attackers."""
    rng = np.random.default_rng(1)
    q, z, targets = 0.3, 2.0, np.linspace(-0.2, 0.8, 10)
    curve = group_curve([(PoissonSampledDpEvent(q, GaussianDpEvent(z)), 3)], 2)
    clean, injected = (SCORES["below"](trained(targets, k, ATTACKS["up"], q, z, rng)).mean() for k in (0, 6))
    assert injected + width(TRIALS) < transport(clean - width(TRIALS), curve, "inject", "lower")


def log_ratio(release: Array, q: float, z: float, k: int) -> Array:
    """log(mixture / base) of one round's release, in units of the clip bound."""
    j = np.arange(k + 1)
    ratio: Array = np.log(np.exp((release[..., None] * j - j**2 / 2) / z**2) @ binom.pmf(j, k, q))
    return ratio


@pytest.mark.parametrize(("q", "z", "k", "rounds"), [(0.3, 2.0, 6, 1), (0.1, 3.0, 14, 3), (0.5, 8.0, 5, 8)])
@pytest.mark.parametrize("threat", ["inject", "present"])
def test_the_best_attack_comes_within_a_tenth_of_the_bound(
    q: float, z: float, k: int, rounds: int, threat: Any
) -> None:
    """Honest users at zero, attackers at the clip bound, and a score that sees every round's release."""
    rng = np.random.default_rng(2)
    trials = 200_000
    noise = z * rng.normal(size=(2, trials, rounds))
    without, with_them = noise[0], noise[1] + rng.binomial(k, q, (trials, rounds))
    seen = {
        name: log_ratio(release, q, z, k).sum(axis=1)
        for name, release in (("base", without), ("mixture", with_them))
    }
    sampled, threatened = ("base", "mixture") if threat == "inject" else ("mixture", "base")
    # What is likelier where the model was sampled than under the threat scores 1.
    sign = -1.0 if threat == "inject" else 1.0
    curve = group_curve([(PoissonSampledDpEvent(q, GaussianDpEvent(z)), rounds)], k)
    for wanted in (0.7, 0.9):
        threshold = np.quantile(sign * seen[sampled], 1 - wanted)
        before = float((sign * seen[sampled] > threshold).mean())
        after = float((sign * seen[threatened] > threshold).mean())
        bound = float(transport(before, curve, threat, "lower"))
        assert after <= 1.1 * bound
        slack = 2 * width(trials)
        assert after >= float(transport(before - slack, curve, threat, "lower")) - slack


def test_a_real_round_under_its_worst_attack_meets_the_bound() -> None:
    """The same with fedward's own rounds: the bound holds, and the attack comes within a tenth of it."""
    users, k, q, z, trials = 12, 5, 0.5, 2.0, 1500
    algorithm = user_dp_fedavg(
        num_users=users,
        sampler=PoissonSampler(rate=q),
        local=tiny_sgd(),
        clip_bound=0.7,
        noise_multiplier=z,
    )
    federation = tiny_federation(users + k)
    released = []
    for trial in range(trials):
        state, _, _ = one_round(
            algorithm,
            algorithm.init(torch.zeros(1), replica=trial),
            federation,
            # Users beyond the honest ones send as much as they can and more; the server clips it.
            lambda user: torch.full((1,), 100.0 if user >= users else 0.0),
        )
        released.append(float(state.parameters[0]))
    # A clean model is noise alone, so the score below this point has mean 0.85.
    point = norm.ppf(0.85) * z * 0.7 / (q * users)
    after = float(np.mean(np.array(released) < point))
    curve = group_curve([(algorithm.sampler.amplify(GaussianDpEvent(z), users), 1)], k)
    bound = float(transport(0.85, curve, "inject", "lower"))
    error = 5 * math.sqrt(bound * (1 - bound) / trials)
    assert bound - error <= after <= 1.1 * bound + error
    assert after < 0.85 - error
