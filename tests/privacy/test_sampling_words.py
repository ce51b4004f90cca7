"""Words about sampling are made from events: they follow every change of an event, and of nothing else."""

from __future__ import annotations

import pytest
from dp_accounting import (
    ComposedDpEvent,
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)

from fedward.privacy.sampling_words import sampling_in_words
from fedward.privacy.terms import ExactAttackers, Terms

G = GaussianDpEvent(3.0)
LOOKED = PoissonSampledDpEvent(0.2, ComposedDpEvent([G, G]))
STEPS = SelfComposedDpEvent(PoissonSampledDpEvent(0.1, G), 5)


@pytest.mark.parametrize(
    ("events", "terms", "words"),
    [
        ([PoissonSampledDpEvent(0.25, G)], Terms(), "Poisson sampling q = 0.25"),
        ([PoissonSampledDpEvent(0.001, G)], Terms(), "Poisson sampling q = 0.001"),
        ([LOOKED, PoissonSampledDpEvent(0.2, G)], Terms(), "Poisson sampling q = 0.2"),
        (
            [PoissonSampledDpEvent(0.2, G), PoissonSampledDpEvent(0.1, G)],
            Terms(),
            "Poisson sampling q = 0.2 and Poisson sampling q = 0.1",
        ),
        ([SampledWithoutReplacementDpEvent(200, 20, G)], Terms(), "fixed-size sampling m = 20"),
        ([G], Terms(), "everyone in every round"),
        ([ComposedDpEvent([G, G])], Terms(), "everyone in every round"),
        ([NonPrivateDpEvent()], Terms(), "not accounted for"),
        ([], Terms(), "nothing charged"),
        (
            [NoOpDpEvent(), PoissonSampledDpEvent(0.5, G)],
            Terms(noise_of="looks"),
            "looks at norms only, Poisson sampling q = 0.5",
        ),
        (
            [PoissonSampledDpEvent(0.5, G)],
            Terms(staged=ExactAttackers(each=2, attackers=4)),
            "Poisson sampling q = 0.5, staged with exactly 2 of 4 attackers in every cohort (outside the "
            "sampling of certificates)",
        ),
        ([STEPS], Terms(noise_of="user"), "DP-SGD at the user, batches p = 0.1, 5 steps a round"),
        (
            [ComposedDpEvent([G, GaussianDpEvent(9.0)])],
            Terms(noise_of="user", deviating=True, looks=True),
            "one clipped gradient with noise at the user, attackers need not follow the local protocol, the "
            "server's looks at norms included",
        ),
        (
            [PoissonSampledDpEvent(0.4, G)],
            Terms(noise_of="cohort", cohort=20.0),
            "DP-SGD at the user, batches p = 0.4, 1 step a round; noise of the whole cohort, m = 20",
        ),
        (
            [PoissonSampledDpEvent(0.2, G)],
            Terms(noise_of="cohort", cohort=20.0, claimed_rate=0.5),
            "DP-SGD at the user, batches p = 0.4, 1 step a round; probability p q, q = 0.5, noise of the "
            "whole cohort",
        ),
    ],
)
def test_words_are_those_of_the_events(events: list[DpEvent], terms: Terms, words: str) -> None:
    assert sampling_in_words([(event, 3) for event in events], terms) == words
