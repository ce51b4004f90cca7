"""A pilot's predictions are cautious where margins are Gaussian, and scale with the noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from fedward.base.validate import InvalidValue
from fedward.certificates.confidence import Confidence
from fedward.certificates.pilot import Noise, Pilot
from fedward.certificates.predicted_share import least_votes, predict_shares
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import Tally

NOISE = Noise(noise_multiplier=2.0, sampling_rate=0.1, rounds=5, users=1000)


def drawn(firmness: Any, replicas: int, seed: int, spread: float = 1.0) -> Replicas:
    """Replicas of a model with two classes, whose margins are Gaussian."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(np.asarray(firmness), spread, (replicas, len(firmness)))
    right = 1 / (1 + np.exp(-margins))
    scores = np.stack([right, 1 - right], axis=2)
    labels = np.zeros(len(firmness), dtype=np.int64)
    return Replicas(scores=scores, numbers=np.arange(replicas), seed=1, labels=labels)


def test_the_firmness_of_confidences_and_of_votes_is_that_of_the_margins() -> None:
    true = np.array([-1.0, 0.0, 0.5, 1.5])
    replicas = drawn(true, 2000, 0)
    by_margin, by_votes = Pilot.of(replicas, NOISE), Pilot.of(Tally.of(replicas), NOISE)
    assert by_margin.expected == pytest.approx(true, abs=0.1)
    assert by_votes.expected == pytest.approx(true, abs=0.1)
    for pilot in (by_margin, by_votes):
        assert (pilot.cautious < pilot.expected).all()
    assert by_margin.accuracy in (0.5, 0.75)


@pytest.mark.parametrize("replicas", [200, 1000])
@pytest.mark.parametrize("needed", [0.6, 0.8, 0.95])
def test_the_cautious_share_is_reached_when_it_comes_to_it(replicas: int, needed: float) -> None:
    true = np.random.default_rng(5).normal(1.5, 1.5, 600)
    error = Confidence(looks=(replicas,), method="clopper_pearson").each(2, 1)
    rule = Confidence(looks=(replicas,), method="clopper_pearson")
    reached = []
    for seed in range(4):
        predicted = predict_shares(Pilot.of(drawn(true, 16, seed), NOISE), needed, replicas, error)
        bounds = rule.bounds(Tally.of(drawn(true, replicas, 100 + seed)))
        really = float(((bounds.lower >= needed) & (bounds.top == 0)).mean())
        assert predicted.cautious <= predicted.expected
        reached.append((really - predicted.cautious, really - predicted.expected))
    assert min(low for low, _ in reached) >= 0
    # And it is no empty promise: the share without caution is close to what comes.
    assert max(abs(middle) for _, middle in reached) < 0.06


def test_with_too_few_replicas_nothing_is_predicted() -> None:
    pilot = Pilot.of(drawn([9.0] * 10, 16, 0), NOISE)
    assert predict_shares(pilot, 0.9, 10, 0.001).expected == 0
    assert predict_shares(pilot, None, 1000, 0.001).expected == 0
    assert predict_shares(pilot, 0.9, 1000, 0.001).cautious == 1


def test_twice_the_noise_halves_the_firmness_and_other_lengths_are_not_known() -> None:
    pilot = Pilot.of(drawn([2.0], 400, 0), NOISE)
    louder = pilot.under(replace(NOISE, noise_multiplier=4.0))
    assert louder is not None
    assert louder.expected == pytest.approx(pilot.expected / 2)
    assert pilot.under(replace(NOISE, rounds=6)) is None


def test_drawing_counts_as_much_as_noise() -> None:
    # A quarter of the cohort with a quarter of the noise: the same noise on the mean, twice the drawing.
    smaller = replace(NOISE, sampling_rate=0.025, noise_multiplier=0.5)
    assert smaller.on_mean == pytest.approx(NOISE.on_mean)
    assert (
        smaller.over(NOISE)
        == pytest.approx(smaller.of_drawing / NOISE.of_drawing)
        == pytest.approx(2.08, 0.01)
    )
    everyone = replace(NOISE, sampling_rate=1.0)
    assert everyone.over(NOISE) == pytest.approx(0.1)
    # Nobody has seen how much drawing moves a model that everybody trained.
    assert NOISE.over(everyone) is None


def test_the_fewest_votes_are_the_fewest() -> None:
    votes = least_votes(0.8, 200, 0.001)
    rule = Confidence(looks=(200,), method="clopper_pearson", error=0.002)
    counts = np.array([[votes, 200 - votes], [votes - 1, 201 - votes]])
    lower = rule.bounds(Tally(counts=counts, replicas=200, seed=1)).lower
    assert lower[0] >= 0.8 > lower[1]


@pytest.mark.parametrize("way", ["labels", "replicas"])
def test_what_says_nothing_about_accuracy_is_refused(way: str) -> None:
    replicas = drawn([1.0], 3 if way == "replicas" else 8, 0)
    if way == "labels":
        replicas = replace(replicas, labels=None)
    with pytest.raises(
        InvalidValue, match="true classes" if way == "labels" else "at least 4 replicas, got 3"
    ):
        Pilot.of(replicas, NOISE)


def test_the_share_of_right_votes_follows_from_the_firmness() -> None:
    counts = np.array([[round(1000 * ndtr(d)), 1000 - round(1000 * ndtr(d))] for d in (0.3, 1.2)])
    tally = Tally(counts=counts, replicas=1000, seed=1, labels=np.array([0, 0]))
    assert Pilot.of(tally, NOISE).expected == pytest.approx([0.3, 1.2], abs=0.01)
