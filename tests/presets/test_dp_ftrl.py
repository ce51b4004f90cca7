"""DP-FTRL from its keys to its ε, its certificates and its end: trained, killed, resumed, attacked."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from fedward.backends import InProcess
from fedward.base.validate import InvalidValue
from fedward.certificates.threat import ThreatModel, certifiable, certifiable_algorithm
from fedward.certificates.transport import transport
from fedward.core.algorithm import Algorithm
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.mechanisms.banded_noise import BandedNoise
from fedward.mechanisms.banded_strategy import STEPS
from fedward.mechanisms.buffered_noise import BufferedNoise
from fedward.presets import dp_ftrl
from fedward.privacy import Budget
from fedward.privacy.group import group_curve
from fedward.sampling import EveryoneSampler
from support import tiny_federation, tiny_model, tiny_sgd

FEDERATION, MODEL = tiny_federation(), tiny_model()
ROUNDS = 7


def ftrl(**changes: Any) -> Algorithm:
    keys: dict[str, Any] = {"rounds": ROUNDS, "separation": 3, "noise_multiplier": 4.0, "clip_bound": 0.7}
    return dp_ftrl(num_users=12, local=tiny_sgd(), **keys | changes)


def states(algorithm: Algorithm, state: ServerState | None = None, **options: Any) -> list[ServerState]:
    backend = InProcess(MODEL, FEDERATION)
    options = {"rounds": ROUNDS, "seed": 1, "state": state} | options
    return [after for after, _ in train(algorithm, MODEL, FEDERATION, backend, **options)]


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of N(μ, 1) against N(0, 1), in closed form."""
    upper, lower = norm.cdf(mu / 2 - epsilon / mu), norm.cdf(-mu / 2 - epsilon / mu)
    return float(upper - math.exp(epsilon) * lower)


def test_epsilon_is_that_of_one_gaussian_for_the_whole_training() -> None:
    found = ftrl().guarantee(12, ROUNDS, 1e-5, "pld")
    assert gaussian_delta(found.epsilon, math.sqrt(3) / 4.0) == pytest.approx(1e-5, rel=2e-3)
    assert gaussian_delta(found.epsilon, math.sqrt(3) / 4.0) <= 1e-5
    assert "each user in at most 3 rounds, at least 3 apart" in str(found)
    assert not found.sampled
    # It is spent before the first round: fewer rounds do not cost less.
    assert ftrl().guarantee(12, 1, 1e-5, "pld").epsilon == found.epsilon
    assert states(ftrl())[0].ledger.guarantee(1e-5, "pld").epsilon == found.epsilon


def test_amplified_it_costs_less_and_says_what_it_counts_on() -> None:
    found = ftrl(there=0.5, amplified=True).guarantee(12, ROUNDS, 1e-5, "pld")
    assert found.epsilon < ftrl(there=0.5).guarantee(12, ROUNDS, 1e-5, "pld").epsilon
    assert found.sampled
    assert "drawn of their group with q = 0.5" in str(found)
    with pytest.raises(InvalidValue, match="there must be below 1 where noise is amplified"):
        ftrl(amplified=True)


def test_a_budget_pays_for_all_or_nothing_and_more_rounds_are_refused() -> None:
    whole = ftrl().guarantee(12, ROUNDS, 1e-3, "pld").epsilon
    assert len(states(ftrl(), budget=Budget(epsilon=whole, delta=1e-3, accountant="pld"))) == ROUNDS
    with pytest.raises(InvalidValue, match="budget must be at least"):
        states(ftrl(), budget=Budget(epsilon=0.99 * whole, delta=1e-3, accountant="pld"))
    with pytest.raises(InvalidValue, match="rounds must be at most 7"):
        states(ftrl(), rounds=ROUNDS + 1)


def test_the_secret_state_is_gone_after_the_last_round_and_there_before() -> None:
    for source in ("seeded", "system"):
        after = states(ftrl(noise_source=source))
        assert bool(after[-2].mechanism[0].any())
        assert not any(bool(secret.any()) for secret in after[-1].mechanism[:-1])


def test_a_sampler_that_does_not_keep_the_schema_is_refused() -> None:
    with pytest.raises(
        InvalidValue, match="needs a sampler that keeps to its schema, each user in at most 3"
    ):
        replace(ftrl(), sampler=EveryoneSampler())
    often = ftrl(separation=2, bands=2).sampler
    with pytest.raises(InvalidValue, match="needs a sampler that keeps to its schema"):
        replace(ftrl(), sampler=often)


def test_mistakes_are_refused_before_anything_starts() -> None:
    with pytest.raises(InvalidValue, match="rounds must be at most participations times separation, 2 x 3"):
        ftrl(participations=2)
    with pytest.raises(InvalidValue, match="bands must be at most 3"):
        ftrl(bands=4)
    with pytest.raises(InvalidValue, match="separation must be at most the number of users, 12"):
        ftrl(separation=13)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_certified_scores_are_those_of_the_closed_form(k: int) -> None:
    ledger = states(ftrl())[-1].ledger
    certifiable_algorithm(ftrl())
    scores = np.array([0.6, 0.9, 0.99])
    away = k * math.sqrt(3) / 4.0
    for attendance in ("drawn", "chosen", "every-round"):
        for threat, moved in (("inject", away), ("present", away), ("compromise", 2 * away)):
            model = ThreatModel(threat=threat, attendance=attendance)  # type: ignore[arg-type]
            curve = group_curve(certifiable(ledger, model), k)
            least = transport(scores, curve, threat, "lower")  # type: ignore[arg-type]
            closed = norm.cdf(norm.ppf(scores) - moved)
            assert bool((least <= closed + 1e-9).all())
            assert least.tolist() == pytest.approx(closed.tolist(), abs=2e-3)


def test_drawn_attackers_of_amplified_training_are_refused_with_the_reason() -> None:
    ledger = states(ftrl(there=0.5, amplified=True))[-1].ledger
    with pytest.raises(
        InvalidValue, match="coins show in overlapping rounds; use the attendance 'every-round'"
    ):
        certifiable(ledger, ThreatModel())
    always = certifiable(ledger, ThreatModel(attendance="every-round"))
    assert always == certifiable(states(ftrl(there=0.5))[-1].ledger, ThreatModel())


def worst_shift(noise: BandedNoise, users: int, most: int, separation: int, rounds: int) -> float:
    """How far that many users can move C x for S = 1, over all their patterns: by brute force."""
    c = np.array(noise.strategy) / STEPS
    matrix = np.array(
        [[c[t - s] if 0 <= t - s < len(c) else 0.0 for s in range(rounds)] for t in range(rounds)]
    )
    patterns = [
        chosen
        for count in range(1, most + 1)
        for chosen in itertools.combinations(range(rounds), count)
        if all(b - a >= separation for a, b in itertools.pairwise(chosen))
    ]
    worst = 0.0
    for together in itertools.combinations_with_replacement(patterns, users):
        rows = sum(np.isin(np.arange(rounds), chosen).astype(float) for chosen in together)
        worst = max(worst, float(np.linalg.norm(matrix @ rows)))
    return worst


@pytest.mark.parametrize("users", [1, 2])
def test_no_users_together_move_what_is_noised_by_more_than_their_number_times_the_root(users: int) -> None:
    noise = ftrl().mechanism
    assert isinstance(noise, BandedNoise)
    declared = users * math.sqrt(3) * math.hypot(*noise.strategy) / STEPS
    worst = worst_shift(noise, users, 3, 3, ROUNDS)
    assert 0.9 * declared < worst <= declared * (1 + 1e-12)


def test_adaptive_attackers_stay_within_the_bound_and_the_best_come_near_it() -> None:
    """Trainings of one number, many at once: two attackers, each when it likes within the schema."""
    rng, trials, k, z = np.random.default_rng(0), 60_000, 2, 6.0
    noise = ftrl(noise_multiplier=z).mechanism
    assert isinstance(noise, BandedNoise)
    c = np.array(noise.strategy) / STEPS
    std = z * math.hypot(*c)

    def trained(attack: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        model, past = np.zeros(trials), [np.zeros(trials)] * (len(c) - 1)
        for t in range(ROUNDS):
            honest = np.clip(1.0 - model, -1.0, 1.0)
            always, wavering = float(t % 3 == 0), np.where(model > 2, -1.0, 1.0) * (t % 3 == 1)
            sent = {"none": 0.0, "together": k * always, "apart": always + float(t % 3 == 1)}
            pushed = sent.get(attack, always + wavering)
            error = std * rng.normal(size=trials) - sum(a * b for a, b in zip(c[1:], past, strict=True))
            past = [error, *past[:-1]]
            model = model + honest + pushed + error
        # The most telling score: what the attack moves in C x, seen through all releases.
        return model, (model > 6).astype(float)

    away, width = k * math.sqrt(3) / z, math.sqrt(math.log(1e9) / (2 * trials))
    clean = float(trained("none")[1].mean())
    most = float(norm.cdf(norm.ppf(min(1.0, clean + width)) + away)) + width
    reached = [float(trained(attack)[1].mean()) for attack in ("together", "apart", "wavering")]
    assert max(reached) <= most
    assert max(reached) > clean + 3 * width


def test_the_best_test_of_all_releases_reaches_the_bound() -> None:
    """k attackers together, against whoever sees every y_t = (C x + z)_t: exactly the Gaussian's power."""
    rng, trials, k, z = np.random.default_rng(1), 100_000, 2, 6.0
    noise = ftrl(noise_multiplier=z).mechanism
    assert isinstance(noise, BandedNoise)
    c = np.array(noise.strategy) / STEPS
    shift = np.convolve([k * float(t % 3 == 0) for t in range(ROUNDS)], c)[:ROUNDS]
    power = np.linalg.norm(shift) / (z * math.hypot(*c))
    assert power <= k * math.sqrt(3) / z
    seen = (rng.normal(size=(trials, ROUNDS)) + shift / (z * math.hypot(*c))) @ shift / np.linalg.norm(shift)
    found, wanted = float((seen > 0.5).mean()), float(norm.cdf(power - 0.5))
    assert found == pytest.approx(wanted, abs=0.01)


def test_buffers_spend_the_same_and_keep_the_schema_of_certificates() -> None:
    blt, banded = ftrl(strategy="blt", buffers=2), ftrl()
    assert blt.guarantee(12, ROUNDS, 1e-5, "pld") == banded.guarantee(12, ROUNDS, 1e-5, "pld")
    after = states(blt)
    assert bool(after[-2].mechanism[0].any())
    assert not bool(after[-1].mechanism[0].any())
    model = ThreatModel()
    assert certifiable(after[-1].ledger, model) == certifiable(states(banded)[-1].ledger, model)
    # Drawn in floating point, from whatever source.
    assert not ftrl(strategy="blt", noise_source="system").exact
    assert ftrl(noise_source="system").exact
    found = ftrl(strategy="blt", noise_source="system").guarantee(12, ROUNDS, 1e-5, "pld")
    assert str(found).endswith("system entropy")


def test_decays_are_those_that_are_given_and_keys_of_the_other_strategy_are_refused() -> None:
    mechanism = ftrl(strategy="blt", decays=(0.9, 0.2)).mechanism
    assert isinstance(mechanism, BufferedNoise)
    assert mechanism.strategy.decays == (0.9, 0.2)
    with pytest.raises(InvalidValue, match="bands belong to the strategy banded, got 2 with blt"):
        ftrl(strategy="blt", bands=2)
    with pytest.raises(InvalidValue, match="buffers and decays belong to the strategy blt"):
        ftrl(buffers=2)
    with pytest.raises(InvalidValue, match="amplified needs the strategy banded"):
        ftrl(strategy="blt", amplified=True, there=0.5)
    with pytest.raises(InvalidValue, match="strategy must be one of banded, blt"):
        ftrl(strategy="tree")
    with pytest.raises(InvalidValue, match="decay of a buffer must be"):
        ftrl(strategy="blt", decays=(1.5,))
