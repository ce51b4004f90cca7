from __future__ import annotations

import math
from typing import Any

import pytest

from fedward.privacy import Guarantee
from fedward.privacy.terms import Terms
from fedward.reports.page.words.guarantee_words import promise


def guarantee(**changed: Any) -> Guarantee:
    usual: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 0.001,
        "unit": "user",
        "adjacency": "add/remove",
        "sampling": "Poisson sampling q = 0.5",
        "accountant": "pld",
        "noise_source": "seeded",
        "rounds": 3,
    }
    return Guarantee(**usual | changed)


def said(found: Any) -> str:
    return " ".join((found.heading, *found.sentences, *found.limits)).replace("\xa0", " ")


def test_the_numbers_of_the_guarantee_are_said_in_words() -> None:
    text = said(promise(guarantee(), seed=7))
    assert "at most 2.72 times as often (plus 0.1 % of the time)" in text
    # (e + 0.001) / (e + 1) = 0.73133...
    assert "right at most 73.2 % of the time" in text
    assert "seed 7" in text
    assert "Research only" in text


def test_noise_of_the_system_is_not_called_research() -> None:
    text = said(promise(guarantee(noise_source="system"), seed=7))
    assert "Research only" not in text
    assert "floating-point" in text


def test_without_a_guarantee_no_number_is_given() -> None:
    found = promise(guarantee(epsilon=math.inf, reason="no noise is added"), seed=1)
    assert not found.private
    assert "no noise is added" in said(found)
    assert not any(character.isdigit() for character in said(found))
    assert "ε" not in said(found)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"adjacency": "replace-one"}, "as if another user stood in its place"),
        ({"adjacency": "local"}, "That a user takes part, and when, is not hidden"),
        ({"unit": "example"}, "any one example of any one user"),
        ({"unit": "example"}, "That a user takes part"),
        ({"caveat": "the paper's accounting"}, "The paper's accounting."),
        ({"terms": Terms(noise_of="cohort")}, "only if all users of a cohort add their noise"),
        ({"sampled": True}, "nobody learning who was drawn"),
        ({"terms": Terms(handed_out=3)}, "About the federation after 3 examples of honest users were handed"),
        ({"terms": Terms(divisor=5.0, declared=True)}, "does not move when a user joins or leaves"),
        ({"adjacency": "zero-out"}, "does not hide whether a user is counted"),
        ({}, "Choosing the best of several runs is not covered"),
        ({}, "is taken to be public"),
        ({}, "under no ε"),
        (
            {"adjacency": "local", "terms": Terms(noise_of="user", looks=True)},
            "The server itself saw those norms: it must be trusted with them.",
        ),
    ],
)
def test_every_qualification_is_kept(changed: dict[str, Any], words: str) -> None:
    assert words in said(promise(guarantee(**changed), seed=1))


def test_a_figure_that_nobody_proves_has_no_odds() -> None:
    found = promise(guarantee(accountant="moments", adjacency="replace-one", papers_sampling=True), seed=1)
    assert (found.private, found.limits) == (False, ())
    assert found.heading.startswith("Not a guarantee: the papers' figure is ε = ")
    assert "% of the time" not in said(found)
    assert "at most" not in said(found)


def test_a_large_epsilon_is_not_called_protection() -> None:
    assert "strong protection" in said(promise(guarantee(epsilon=0.2), seed=1))
    assert "hardly any protection" in said(promise(guarantee(epsilon=8.0), seed=1))


def test_a_person_with_several_devices_is_spoken_of_as_one() -> None:
    text = said(promise(guarantee(devices=3), seed=7))
    assert "for every person with up to 3 devices" in text
    assert "any one person, with all data on up to 3 devices" in text
    assert "if all devices of that person take part as if none does" in text
    none = said(promise(guarantee(epsilon=math.inf, reason="nothing is proven", devices=2), seed=7))
    assert "No privacy guarantee for persons with several devices" in none
    assert "about a person with up to 2 devices. The reason: nothing is proven" in none
